//! Which approvals wait for an answer: found once among all the files, then kept up to date by what is written.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Approval, ApprovalId};
use crate::ports::StoreError;

/// Those that wait; nothing is known before somebody asks.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Option<BTreeSet<ApprovalId>>>);

impl Waiting {
    /// Notes what was written. Only afterwards: whoever looks through the files meanwhile sees it there or hears of it
    /// here.
    pub(super) fn note(&self, written: &Approval) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = known.as_mut() else { return };
        if written.is_pending() {
            waiting.insert(written.id.clone());
        } else {
            waiting.remove(&written.id);
        }
    }

    /// Those that wait. The first who asks has `all` looked through; what is written meanwhile is noted after that.
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
