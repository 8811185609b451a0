//! The actor's deliveries: attempts them and records the results in the outbox.

use super::actor::Actor;
use super::count;
use super::deliver::{CUT_OFF, Next};
use super::jobs::Done;
use super::targets::hand_over;
use crate::domain::Intent;
use crate::ports::{Commit, DeliveryError, Durability, OutboxLine, Receipt, StoreError, Work};
use crate::render::Phrase;

impl Actor {
    /// Starts the next delivery, if none is in flight. The store knows about it before it begins.
    pub(super) async fn start_delivery(&mut self) {
        if let Some(id) = self.deliveries.unrecorded().cloned() {
            let line = OutboxLine::Attempted { id, at: self.runtime.clock.now() };
            if let Err(error) = self.write_outbox(vec![line]).await {
                self.storage_failed(&error);
                return;
            }
            self.deliveries.record();
        }
        let Some((entry, attempt)) = self.deliveries.begin() else { return };
        self.conversation.note_sending(&entry.intent.intent, self.runtime.clock.now());
        let adapter = self.runtime.adapters.get(self.id.platform()).cloned();
        let deadline = self.runtime.limits.delivery_deadline;
        if entry.intent.thread_id != self.id {
            let handing = hand_over(self.threads.open(), self.id.clone(), entry);
            let job = async move { Done::Delivery(tokio::time::timeout(deadline, handing).await.ok()) };
            self.jobs.start(job, Done::Delivery(None));
            return;
        }
        let job = async move {
            let Some(adapter) = adapter else {
                let reason = "the platform is not configured".to_owned();
                return Done::Delivery(Some(Err(DeliveryError::Retry { after: None, reason })));
            };
            Done::Delivery(tokio::time::timeout(deadline, adapter.deliver(entry, attempt)).await.ok())
        };
        let panicked = DeliveryError::Permanent { reason: "the adapter failed unexpectedly".to_owned() };
        self.jobs.start(job, Done::Delivery(Some(Err(panicked))));
    }

    /// Records the result of an attempt; `None` for one that reached its deadline.
    pub(super) async fn delivered(&mut self, result: Option<Result<Receipt, DeliveryError>>) {
        let late = DeliveryError::Retry { after: None, reason: CUT_OFF.to_owned() };
        let answer = result.as_ref().map_or(Err(&late), Result::as_ref);
        match answer {
            Ok(_) => {}
            Err(DeliveryError::Hold { reason }) => {
                tracing::info!(thread = %self.id, reason, "delivery waits")
            }
            Err(error) => tracing::warn!(thread = %self.id, %error, "delivery failed"),
        }
        count::delivery(&self.runtime.metrics, answer);
        let Some(entry) = self.deliveries.first() else { return };
        self.conversation.note_sent(&entry.intent.intent, answer);
        let id = entry.id.clone();
        let (chance, now) = (self.runtime.ids.chance(), self.runtime.clock.now());
        let answered = result.is_some();
        let next = self.deliveries.tried(result, now, chance);
        let mut lines = match &next {
            Some(Next::Settle(line)) => vec![OutboxLine::clone(line)],
            // The platform has answered: the next attempt repeats nothing.
            Some(Next::Wait(_) | Next::Hold) | None if answered => vec![OutboxLine::Failed { id, at: now }],
            Some(Next::Wait(_) | Next::Hold) | None => Vec::new(),
        };
        // The next delivery is attempted at once: the same write tells the store, so that it costs nothing.
        let begins = self.deliveries.unrecorded().cloned();
        lines.extend(begins.clone().map(|id| OutboxLine::Attempted { id, at: now }));
        if !lines.is_empty()
            && let Err(error) = self.write_outbox(lines.clone()).await
        {
            // What the platform has answered is not sent again, though the disk does not know.
            lines.retain(|line| matches!(line, OutboxLine::Receipt { .. } | OutboxLine::Dead { .. }));
            self.unwritten.extend(lines);
            self.storage_failed(&error);
            return;
        }
        if begins.is_some() {
            self.deliveries.record();
        }
        match next {
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
            Some(Next::Settle(_)) => self.note_deliveries(),
            None => {}
        }
    }

    /// Writes outbox lines. They survive the end of the process, which is what they are for; after a power loss the last
    /// deliveries may be repeated.
    async fn write_outbox(&self, outbox: Vec<OutboxLine>) -> Result<(), StoreError> {
        let busy = !self.conversation.is_idle() || self.deliveries.outstanding() > 0;
        let commit = Commit {
            thread: self.id.clone(),
            messages: Vec::new(),
            outbox,
            durability: Durability::Written,
            work: if busy { Work::Open } else { Work::Settled },
        };
        self.runtime.store.commit(commit).await
    }

    /// Updates the delivery counts that `/status` shows.
    pub(super) fn note_deliveries(&mut self) {
        self.conversation.note_deliveries(self.deliveries.outstanding(), self.deliveries.dead);
    }
}
