//! Task files in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ports::{BoxFuture, StoreError, TaskFileEntry, TaskFiles};

/// The files by name, with a version that grows with each change.
type Files = BTreeMap<String, (u64, Vec<u8>)>;

/// Task files. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InMemoryTasks {
    files: Arc<Mutex<(u64, Files)>>,
    changed: Arc<Notify>,
}

impl InMemoryTasks {
    fn files(&self) -> MutexGuard<'_, (u64, Files)> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts or removes a file if it is what the caller thinks it is.
    fn swap(&self, name: &str, before: Option<&[u8]>, after: Option<Vec<u8>>) -> bool {
        let mut files = self.files();
        let (version, files) = &mut *files;
        if files.get(name).map(|(_, content)| content.as_slice()) != before {
            return false;
        }
        *version = version.saturating_add(1);
        match after {
            Some(content) => files.insert(name.to_owned(), (*version, content)),
            None => files.remove(name),
        };
        self.changed.notify_one();
        true
    }
}

impl TaskFiles for InMemoryTasks {
    fn list(&self) -> BoxFuture<'_, Result<Vec<TaskFileEntry>, StoreError>> {
        let entry = |(name, (version, _)): (&String, &(u64, Vec<u8>))| TaskFileEntry {
            name: name.clone(),
            version: *version,
        };
        let all = self.files().1.iter().map(entry).collect();
        Box::pin(ready(Ok(all)))
    }

    fn read(&self, name: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(ready(Ok(self.files().1.get(name).map(|(_, content)| content.clone()))))
    }

    fn write(
        &self,
        name: &str,
        before: Option<Vec<u8>>,
        content: Vec<u8>,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.swap(name, before.as_deref(), Some(content)))))
    }

    fn remove(&self, name: &str, before: Vec<u8>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.swap(name, Some(&before), None))))
    }

    fn set_aside(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        let before = self.files().1.get(name).map(|(_, content)| content.clone());
        if let Some(before) = before {
            self.swap(name, Some(&before), None);
        }
        Box::pin(ready(Ok(())))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.changed.notified())
    }
}
