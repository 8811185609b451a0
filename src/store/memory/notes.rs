//! The key-value stores of adapters, in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::ports::{BoxFuture, Durability, KeyValueStore, StoreError};

/// Values by their nested store and their name.
type AllNotes = BTreeMap<(Vec<String>, String), Value>;

/// One store. Clones and nested stores share their values.
#[derive(Clone, Debug, Default)]
pub struct InMemoryNotes {
    all: Arc<Mutex<AllNotes>>,
    path: Vec<String>,
}

impl InMemoryNotes {
    fn all(&self) -> MutexGuard<'_, AllNotes> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, name: &str) -> (Vec<String>, String) {
        (self.path.clone(), name.to_owned())
    }
}

impl KeyValueStore for InMemoryNotes {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        Box::pin(ready(Ok(self.all().get(&self.key(name)).cloned())))
    }

    fn put(&self, name: &str, note: Value, _: Durability) -> BoxFuture<'_, Result<(), StoreError>> {
        self.all().insert(self.key(name), note);
        Box::pin(ready(Ok(())))
    }

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        self.all().remove(&self.key(name));
        Box::pin(ready(Ok(())))
    }

    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>> {
        let all = Self::all(self);
        let here = all.iter().filter(|((path, _), _)| *path == self.path);
        let notes = here.map(|((_, name), note)| (name.clone(), note.clone())).collect();
        Box::pin(ready(Ok(notes)))
    }

    fn nested(&self, name: &str) -> Arc<dyn KeyValueStore> {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Arc::new(Self { all: self.all.clone(), path })
    }
}
