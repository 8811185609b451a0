//! Full outputs of calls, in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::ToolCallId;
use crate::ports::{BoxFuture, ToolOutput, ToolOutputs};

type All = BTreeMap<String, String>;

/// The outputs by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InMemoryOutputs {
    all: Arc<Mutex<All>>,
}

impl InMemoryOutputs {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolOutputs for InMemoryOutputs {
    fn begin(&self, call: &ToolCallId) -> Box<dyn ToolOutput> {
        Box::new(Growing { outputs: self.clone(), call: call.plain_name(), text: String::new() })
    }
}

#[derive(Debug)]
struct Growing {
    outputs: InMemoryOutputs,
    call: String,
    text: String,
}

impl ToolOutput for Growing {
    fn write<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()> {
        self.text.push_str(text);
        Box::pin(ready(()))
    }

    fn close(self: Box<Self>, needed: bool) -> BoxFuture<'static, Option<String>> {
        let Self { outputs, call, text } = *self;
        if !needed || text.is_empty() {
            return Box::pin(ready(None));
        }
        let mut all = outputs.all();
        let name = format!("{call}-{}", all.len() + 1);
        all.insert(name.clone(), text);
        drop(all);
        Box::pin(ready(Some(name)))
    }
}
