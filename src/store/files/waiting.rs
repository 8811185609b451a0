//! The set of pending approvals: loaded once from all files, then updated by every write.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Approval, ApprovalId};
use crate::ports::StoreError;

/// The pending approvals; `None` before the first query.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Option<BTreeSet<ApprovalId>>>);

impl Waiting {
    /// Records a write. Called after the write: a concurrent scan sees the file, or is updated here.
    pub(super) fn note(&self, written: &Approval) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = known.as_mut() else { return };
        if written.is_pending() {
            waiting.insert(written.id.clone());
        } else {
            waiting.remove(&written.id);
        }
    }

    /// The pending approvals. The first call scans with `all`; writes meanwhile are recorded after that.
    pub(super) fn ids(
        &self,
        all: impl FnOnce() -> Result<Vec<Approval>, StoreError>,
    ) -> Result<Vec<ApprovalId>, StoreError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = match known.as_mut() {
            Some(waiting) => waiting,
            None => {
                let found = all()?.into_iter().filter(Approval::is_pending).map(|approval| approval.id);
                known.insert(found.collect())
            }
        };
        Ok(waiting.iter().cloned().collect())
    }
}
