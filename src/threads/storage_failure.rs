//! Storage failures: drops the state in memory and reloads the thread once writes succeed again.

use std::time::Duration;

use super::actor::Actor;
use super::deliveries::Deliveries;
use super::jobs::{DeliveryJob, Done, Jobs};
use crate::domain::{Backoff, CorrelationId, ErrorKind, Intent};
use crate::ports::{Acceptance, Commit, Durability, RunOutcome, StoreError, ThreadRecord, Work};
use crate::render::Phrase;
use crate::turn::Conversation;
use crate::uimessage::{ErrorRecord, RunStatus};

/// The delay before a store that refused a write is tried again.
const STORAGE_BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(5),
    longest: Duration::from_secs(640),
    stable_after: Duration::ZERO,
};

impl Actor {
    /// Handles a failed write: drops the state in memory, because the disk is the source of truth, tells the waiters,
    /// and schedules a retry.
    pub(super) fn storage_failed(&mut self, error: &StoreError) {
        tracing::error!(thread = %self.id, %error, cause = ?std::error::Error::source(error), "cannot write state");
        self.storage_down = true;
        self.upcoming.clear();
        self.jobs = Jobs::default();
        self.delivery = DeliveryJob::default();
        self.deltas = None;
        self.slot = None;
        for reply in std::mem::take(&mut self.tickets).into_values() {
            drop(reply.send(Acceptance::StorageFailed(error.to_string())));
        }
        for correlation in self.waiters.runs() {
            let outcome = self.storage_failure(Some(correlation.clone()));
            self.waiters.tell(&correlation, &outcome);
        }
        let ErrorRecord { kind, text, retryable, .. } = self.storage_error();
        self.notice(Intent::Error { kind, text, retryable });
        self.conversation = Conversation::new(
            self.id.clone(),
            self.runtime.rules(&self.id),
            self.runtime.effects_of(&self.id),
            self.runtime.check_arguments(&self.id),
            ThreadRecord::default(),
        );
        self.deliveries = Deliveries::default();
        self.stale = true;
        self.storage_waits = self.storage_waits.saturating_add(1);
        let wait = STORAGE_BACKOFF.delay(self.storage_waits, 0.0);
        let job = async move {
            tokio::time::sleep(wait).await;
            Done::StorageDue
        };
        self.jobs.start(job, Done::StorageDue);
    }

    fn storage_error(&self) -> ErrorRecord {
        let text =
            Phrase::Error(ErrorKind::Storage).say(self.runtime.settings().language.unwrap_or_default());
        ErrorRecord { kind: ErrorKind::Storage, text, retryable: true, detail: None }
    }

    /// The outcome for waiters when the store failed.
    pub(super) fn storage_failure(&self, correlation: Option<CorrelationId>) -> RunOutcome {
        RunOutcome {
            status: Some(RunStatus::Failed),
            messages: Vec::new(),
            error: Some(self.storage_error()),
            correlation,
            approvals: Vec::new(),
        }
    }

    /// Reloads the thread if a trial write succeeds. The trial write avoids repeating a run, with its model call, only
    /// to fail at its end again.
    pub(super) async fn retry_storage(&mut self) {
        if !self.storage_down {
            return;
        }
        let trial = Commit {
            thread: self.id.clone(),
            messages: Vec::new(),
            outbox: self.unwritten.clone(),
            durability: Durability::Synced,
            work: Work::Open,
        };
        let reloaded = match self.runtime.store.commit(trial).await {
            Ok(()) => {
                self.unwritten.clear();
                self.load().await
            }
            Err(error) => Err(error),
        };
        match reloaded {
            Ok(()) => {
                self.storage_waits = 0;
                self.listed_unfinished = true;
                tracing::info!(thread = %self.id, "storage recovered");
            }
            Err(error) => self.storage_failed(&error),
        }
    }
}
