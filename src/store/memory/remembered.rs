//! Memory texts, in memory. There are no tasks: people write those as files.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::{MemoryScope, Remembered, TaskNote};
use crate::ports::{BoxFuture, Memory, StoreError};

/// The texts by scope. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InMemoryMemory {
    texts: Arc<Mutex<HashMap<String, String>>>,
}

impl Memory for InMemoryMemory {
    fn recall(&self, scope: &MemoryScope) -> BoxFuture<'_, Result<Option<Remembered>, StoreError>> {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let text = texts.get(&scope.file()).filter(|text| !text.is_empty()).cloned();
        Box::pin(ready(Ok(text.map(|text| Remembered { text, cut: false }))))
    }

    fn remember(
        &self,
        scope: &MemoryScope,
        before: Option<&str>,
        text: &str,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = texts.get(&scope.file()).map(String::as_str).filter(|text| !text.is_empty());
        let unchanged = known == before;
        if unchanged {
            texts.insert(scope.file(), text.trim().to_owned());
        }
        Box::pin(ready(Ok(unchanged)))
    }

    fn tasks(&self) -> BoxFuture<'_, Result<Vec<TaskNote>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}
