//! The number of the last message the bot put into each chat. The Bot API has no idempotency keys; this is the next
//! best thing: a message that was sent without an answer can only stand behind the last one that is known of, so it
//! can be looked for before it is sent again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::ports::Notebook;

/// How many chats are kept in memory; the others are on the disk.
const MOST: usize = 4096;

/// The last message of the bot in each chat.
#[derive(Debug)]
pub(super) struct Trail {
    notes: Arc<dyn Notebook>,
    last: Mutex<HashMap<i64, i64>>,
}

impl Trail {
    /// What these notes know.
    pub(super) fn new(notes: Arc<dyn Notebook>) -> Self {
        Self { notes, last: Mutex::default() }
    }

    /// A message stands in a chat.
    pub(super) async fn went(&self, chat: i64, message: i64) {
        let last = self.locked(|last| {
            if last.len() >= MOST {
                last.clear();
            }
            let known = last.entry(chat).or_insert(message);
            *known = message.max(*known);
            *known
        });
        if let Err(error) = self.notes.put(&name(chat), last.into()).await {
            tracing::debug!(chat, %error, "the last message of a chat could not be noted");
        }
    }

    /// The last message of the bot's in a chat.
    pub(super) async fn last(&self, chat: i64) -> Option<i64> {
        if let Some(known) = self.locked(|last| last.get(&chat).copied()) {
            return Some(known);
        }
        self.notes.get(&name(chat)).await.ok().flatten().as_ref().and_then(Value::as_i64)
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<i64, i64>) -> T) -> T {
        work(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn name(chat: i64) -> String {
    format!("last:{chat}")
}
