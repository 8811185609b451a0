//! The key-value stores of adapters, in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::ports::{BoxFuture, KeyValueStore, StoreError};

/// Values by their nested store and their name.
type AllNotes = BTreeMap<(Vec<String>, String), Value>;

/// One store. Clones and nested stores share their values.
#[derive(Clone, Debug, Default)]
pub struct InMemoryNotes {
    all: Arc<Mutex<AllNotes>>,
    shelf: Vec<String>,
}

impl InMemoryNotes {
    fn all(&self) -> MutexGuard<'_, AllNotes> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, name: &str) -> (Vec<String>, String) {
        (self.shelf.clone(), name.to_owned())
    }
}

impl KeyValueStore for InMemoryNotes {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        Box::pin(ready(Ok(self.all().get(&self.key(name)).cloned())))
    }

    fn put(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>> {
        self.all().insert(self.key(name), note);
        Box::pin(ready(Ok(())))
    }

    fn keep(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>> {
        self.put(name, note)
    }

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        self.all().remove(&self.key(name));
        Box::pin(ready(Ok(())))
    }

    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>> {
        let all = Self::all(self);
        let here = all.iter().filter(|((shelf, _), _)| *shelf == self.shelf);
        let notes = here.map(|((_, name), note)| (name.clone(), note.clone())).collect();
        Box::pin(ready(Ok(notes)))
    }

    fn shelf(&self, name: &str) -> Arc<dyn KeyValueStore> {
        let mut shelf = self.shelf.clone();
        shelf.push(name.to_owned());
        Arc::new(Self { all: self.all.clone(), shelf })
    }
}
