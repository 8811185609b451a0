//! What the operator noted about threads: another title, that one is pinned, that one is archived. Read once, then kept in
//! memory; this adapter alone writes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::domain::ThreadId;
use crate::ports::{Durability, KeyValueStore, StoreError};

/// What was noted about a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThreadMark {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) pinned: bool,
    #[serde(default)]
    pub(super) archived: bool,
}

/// The threads about which something was noted.
pub(super) type MarkedThreads = BTreeMap<ThreadId, ThreadMark>;

#[derive(Debug)]
pub(super) struct ThreadMarks {
    notes: Arc<dyn KeyValueStore>,
    known: Mutex<Option<Arc<MarkedThreads>>>,
    /// One change at a time.
    turn: Semaphore,
}

impl ThreadMarks {
    pub(super) fn new(notes: Arc<dyn KeyValueStore>) -> Self {
        Self { notes, known: Mutex::default(), turn: Semaphore::new(1) }
    }

    fn known(&self) -> MutexGuard<'_, Option<Arc<MarkedThreads>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn all(&self) -> Result<Arc<MarkedThreads>, StoreError> {
        if let Some(known) = self.known().clone() {
            return Ok(known);
        }
        let stored = self.notes.all().await?;
        let mark = |(name, value): (String, serde_json::Value)| {
            Some((name.parse().ok()?, serde_json::from_value(value).ok()?))
        };
        let read = Arc::new(stored.into_iter().filter_map(mark).collect());
        // A change may have been made while the files were read.
        Ok(Arc::clone(self.known().get_or_insert(read)))
    }

    /// Changes what is noted about a thread, durably. A note that says nothing is removed.
    pub(super) async fn change(
        &self,
        thread: &ThreadId,
        change: impl FnOnce(&mut ThreadMark),
    ) -> Result<ThreadMark, StoreError> {
        let _turn = self.turn.acquire().await.map_err(|_| StoreError::closed())?;
        let mut marks = MarkedThreads::clone(&*self.all().await?);
        let mut mark = marks.remove(thread).unwrap_or_default();
        change(&mut mark);
        if mark == ThreadMark::default() {
            self.notes.remove(thread.as_str()).await?;
        } else {
            let stored = serde_json::to_value(&mark).unwrap_or_default();
            self.notes.put(thread.as_str(), stored, Durability::Synced).await?;
            marks.insert(thread.clone(), mark.clone());
        }
        *self.known() = Some(Arc::new(marks));
        Ok(mark)
    }
}
