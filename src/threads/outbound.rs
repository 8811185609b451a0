//! The actor's deliveries: attempts them and records the results in the outbox.

use super::actor::Actor;
use super::count;
use super::deliver::Next;
use super::jobs::Done;
use crate::domain::Intent;
use crate::ports::{Commit, DeliveryError, Durability, Receipt, Work};
use crate::render::Phrase;

impl Actor {
    /// Starts the next delivery, if none is in flight.
    pub(super) fn start_delivery(&mut self) {
        let Some((entry, attempt)) = self.deliveries.begin() else { return };
        self.conversation.note_sending(&entry.intent.intent, self.runtime.clock.now());
        let adapter = self.runtime.adapters.get(self.id.platform()).cloned();
        let deadline = self.runtime.limits.delivery_deadline;
        let unsure = |reason: &str| DeliveryError::Retry { after: None, reason: reason.to_owned() };
        let job = async move {
            let Some(adapter) = adapter else {
                return Done::Delivery(Err(unsure("the platform is not configured")));
            };
            let tried = tokio::time::timeout(deadline, adapter.deliver(entry, attempt)).await;
            Done::Delivery(tried.unwrap_or_else(|_| Err(unsure("the platform did not answer in time"))))
        };
        let panicked = DeliveryError::Permanent { reason: "the adapter failed unexpectedly".to_owned() };
        self.jobs.start(job, Done::Delivery(Err(panicked)));
    }

    pub(super) async fn delivered(&mut self, result: Result<Receipt, DeliveryError>) {
        match &result {
            Ok(_) => {}
            Err(DeliveryError::Hold { reason }) => {
                tracing::info!(thread = %self.id, reason, "delivery waits")
            }
            Err(error) => tracing::warn!(thread = %self.id, %error, "delivery failed"),
        }
        count::delivery(&self.runtime.metrics, &result);
        if let Some(entry) = self.deliveries.first() {
            self.conversation.note_sent(&entry.intent.intent, result.as_ref());
        }
        let chance = self.runtime.ids.chance();
        match self.deliveries.tried(result, self.runtime.clock.now(), chance) {
            Some(Next::Wait(wait)) => {
                let job = async move {
                    tokio::time::sleep(wait).await;
                    Done::DeliveryDue
                };
                self.jobs.start(job, Done::DeliveryDue);
            }
            Some(Next::Hold) => {
                let waiting = self.deliveries.outstanding();
                let text = Phrase::Held(waiting).say(self.conversation.language());
                self.notice(Intent::Progress { text, call_id: None });
            }
            Some(Next::Settle(line)) => {
                let busy = !self.conversation.is_idle() || self.deliveries.outstanding() > 0;
                let commit = Commit {
                    thread: self.id.clone(),
                    messages: Vec::new(),
                    outbox: vec![*line],
                    durability: Durability::Written,
                    work: if busy { Work::Open } else { Work::Settled },
                };
                if let Err(error) = self.runtime.store.commit(commit).await {
                    self.storage_failed(&error);
                }
                self.note_deliveries();
            }
            None => {}
        }
    }

    /// Updates the delivery counts that `/status` shows.
    pub(super) fn note_deliveries(&mut self) {
        self.conversation.note_deliveries(self.deliveries.outstanding(), self.deliveries.dead);
    }
}
