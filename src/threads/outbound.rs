//! The actor's deliveries: attempts them and records the results in the outbox.

use std::sync::Arc;

use super::actor::Actor;
use super::count;
use super::deliveries::{CUT_OFF, Next};
use super::jobs::Done;
use super::runtime::Runtime;
use super::targets::hand_over;
use crate::domain::{AttachmentKind, Intent, OutboundIntent, Timestamp};
use crate::fail_point::fail_point;
use crate::ports::{
    Adapter, Attempt, Commit, DeliveryError, Durability, OutboxEntry, OutboxLine, Receipt, SpeechRequest,
    SpokenFile, StoreError, Work,
};
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
        let began = self.runtime.clock.now();
        self.conversation.note_sending(&entry.intent.intent, began);
        let adapter = self.runtime.adapters.get(self.id.platform()).cloned();
        let deadline = self.runtime.limits.delivery_deadline;
        if entry.intent.thread_id != self.id {
            let handing = hand_over(self.threads.open(), self.id.clone(), entry);
            let clock = self.runtime.clock.clone();
            let job = async move {
                let sent = tokio::time::timeout(deadline, handing).await.ok();
                Done::Delivery(sent, clock.now())
            };
            self.delivery.start(job, Done::Delivery(None, began));
            return;
        }
        let runtime = self.runtime.clone();
        let job = async move {
            let sent = send(&runtime, adapter, entry, attempt).await;
            Done::Delivery(sent, runtime.clock.now())
        };
        let panicked = DeliveryError::Permanent { reason: "the adapter failed unexpectedly".to_owned() };
        self.delivery.start(job, Done::Delivery(Some(Err(panicked)), began));
    }

    /// Records the result of an attempt, answered at this time; `None` for one that reached its deadline.
    pub(super) async fn delivered(
        &mut self,
        result: Option<Result<Receipt, DeliveryError>>,
        answered_at: Timestamp,
    ) {
        let late = DeliveryError::Retry { after: None, reason: CUT_OFF.to_owned() };
        let answer = result.as_ref().map_or(Err(&late), Result::as_ref);
        match answer {
            Ok(_) => fail_point("delivery-sent"),
            Err(DeliveryError::Hold { reason }) => {
                tracing::info!(thread = %self.id, reason, "delivery waits")
            }
            Err(error) => tracing::warn!(thread = %self.id, %error, "delivery failed"),
        }
        count::delivery(&self.runtime.metrics, answer);
        let Some(entry) = self.deliveries.first() else { return };
        self.conversation.note_sent(&entry.intent.intent, answer);
        let (id, sent) = (entry.id.clone(), entry.intent.clone());
        if let Ok(receipt) = answer {
            self.tell_room_of_delivery(id.as_str(), &sent, receipt, answered_at).await;
        }
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
        let busy =
            !self.conversation.is_idle() || self.deliveries.outstanding() > 0 || self.gate.is_pending();
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

/// Sends an entry through its platform; `None` where that reached its deadline.
async fn send(
    runtime: &Runtime,
    adapter: Option<Arc<dyn Adapter>>,
    entry: OutboxEntry,
    attempt: Attempt,
) -> Option<Result<Receipt, DeliveryError>> {
    let Some(adapter) = adapter else {
        let reason = "the platform is not configured".to_owned();
        return Some(Err(DeliveryError::Retry { after: None, reason }));
    };
    let entry = match spoken(runtime, &*adapter, entry).await {
        Ok(Some(entry)) => entry,
        Ok(None) => return Some(Ok(Receipt::default())),
        Err(error) => return Some(Err(error)),
    };
    let deadline = runtime.limits.delivery_deadline;
    tokio::time::timeout(deadline, adapter.deliver(entry, attempt)).await.ok()
}

/// A delivery as its platform gets it: a spoken answer becomes a voice message. `None` where there is nothing to say.
async fn spoken(
    runtime: &Runtime,
    adapter: &dyn Adapter,
    entry: OutboxEntry,
) -> Result<Option<OutboxEntry>, DeliveryError> {
    let Intent::Speech { text } = &entry.intent.intent else { return Ok(Some(entry)) };
    let format = runtime.capabilities(entry.intent.thread_id.platform()).voice;
    let (Some(format), Some(speech)) = (format, &runtime.speech) else { return Ok(None) };
    let (thread, source) = (&entry.intent.thread_id, entry.id.as_str());
    let made = tokio::select! {
        made = speech.speaker.speak(SpeechRequest { thread, source, text, format }) => made,
        never = adapter.show_recording(thread) => match never {},
    };
    // The text has been sent: an answer that cannot be spoken is not tried for hours.
    let made = made.map_err(|error| DeliveryError::Permanent { reason: format!("not spoken: {error}") })?;
    let Some(SpokenFile { file, name, media_type }) = made else { return Ok(None) };
    let intent = Intent::Attachment {
        file,
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        kind: AttachmentKind::Voice,
        caption: None,
    };
    Ok(Some(OutboxEntry { intent: OutboundIntent { intent, ..entry.intent }, ..entry }))
}
