//! What is noted about threads for lists of them: the operator's title or a model's, that one is pinned, that one is
//! archived. Read once, then kept in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::{Durability, KeyValueStore, StoreError};
use crate::domain::ThreadId;

/// What was noted about a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMark {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// What a person calls it.
    pub title: Option<String>,
    /// What a model calls it; counts where no person has named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested: Option<String>,
    #[serde(default)]
    pub pinned: bool,
    #[serde(default)]
    pub archived: bool,
}

impl ThreadMark {
    /// The title in lists; `None` where the first message stands for it.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref().or(self.suggested.as_deref())
    }
}

/// The threads about which something was noted.
pub type MarkedThreads = BTreeMap<ThreadId, ThreadMark>;

#[derive(Debug)]
pub struct ThreadMarks {
    notes: Arc<dyn KeyValueStore>,
    known: Mutex<Option<Arc<MarkedThreads>>>,
    /// One change at a time.
    turn: Semaphore,
}

impl ThreadMarks {
    pub fn new(notes: Arc<dyn KeyValueStore>) -> Self {
        Self { notes, known: Mutex::default(), turn: Semaphore::new(1) }
    }

    fn known(&self) -> MutexGuard<'_, Option<Arc<MarkedThreads>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn all(&self) -> Result<Arc<MarkedThreads>, StoreError> {
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
    pub async fn change(
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
