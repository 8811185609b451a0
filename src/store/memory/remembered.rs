//! Memory texts, in memory. There are no tasks: people write those as files.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::{MemoryScope, Remembered, ScopeKey, TaskNote};
use crate::ports::{BoxFuture, Memory, Note, NotesAdded, StoreError};

/// The texts by scope. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InMemoryMemory {
    texts: Arc<Mutex<HashMap<String, String>>>,
    notes: Arc<Mutex<HashMap<ScopeKey, Vec<Note>>>>,
}

impl InMemoryMemory {
    /// The notes of a scope, in the order they were added.
    pub(super) fn notes_of(&self, scope: &ScopeKey) -> Vec<Note> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(scope).cloned().unwrap_or_default()
    }
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

    fn add_notes(&self, scope: &ScopeKey, notes: Vec<Note>) -> BoxFuture<'_, Result<NotesAdded, StoreError>> {
        let mut all = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.entry(scope.clone()).or_default();
        let mut done = NotesAdded::default();
        for note in notes {
            if own.contains(&note) {
                done.known = done.known.saturating_add(1);
            } else {
                own.push(note);
                done.added = done.added.saturating_add(1);
            }
        }
        Box::pin(ready(Ok(done)))
    }

    fn tasks(&self) -> BoxFuture<'_, Result<Vec<TaskNote>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}
