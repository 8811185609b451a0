//! The result of a run for other threads than its own.
//!
//! The message that starts a run can name further threads (`Said::deliver_to`). The result is committed together with an
//! outbox entry for each of them. Such an entry is not sent to the platform but handed over to the other thread, which
//! checks the right, stores the text in its history and delivers it under its own receipts. The other thread recognises
//! a repeated hand-over, so a crash at any point neither loses nor repeats it.

use serde_json::Value;

use super::actor::Actor;
use crate::domain::{AuthorId, DeliveryId, Intent, Language, OutboundIntent, ThreadId};
use crate::ports::{Acceptance, DeliveryError, OutboxEntry, Receipt, Saying, SayingSource, ThreadsHandle};
use crate::render::Phrase;
use crate::turn::{DELIVER_TO, Spoken};
use crate::uimessage::{Role, RunStatus, UiMessage};

impl Actor {
    /// The outbox entries for the other threads that get the results which are committed now.
    pub(super) fn hand_overs(&self, messages: &[UiMessage], say: &[Spoken]) -> Vec<OutboxEntry> {
        let at = self.runtime.clock.now();
        let ends = |message: &&UiMessage| {
            matches!(message.metadata.status, Some(RunStatus::Done | RunStatus::Failed))
                && message.role == Role::Assistant
        };
        let mut entries = Vec::new();
        for result in messages.iter().filter(ends) {
            let correlation = &result.metadata.correlation_id;
            let run = self.conversation.messages_of(correlation);
            let targets = targets_of(&run, &self.id);
            let asks = |message: &&UiMessage| message.metadata.extra.contains_key(DELIVER_TO);
            let by = run.iter().find(asks).and_then(|message| message.metadata.author_id.clone());
            let spoken = say.iter().filter(|spoken| spoken.source == result.id.as_str());
            for (spoken, target) in
                spoken.flat_map(|spoken| targets.iter().map(move |target| (spoken, target)))
            {
                entries.push(OutboxEntry {
                    id: DeliveryId::new(&format!("{}.to.{target}", spoken.source), 0),
                    at,
                    intent: OutboundIntent {
                        thread_id: target.clone(),
                        correlation_id: correlation.clone(),
                        reply_to: None,
                        intent: spoken.intent.clone(),
                    },
                    on_behalf_of: by.clone(),
                });
            }
        }
        entries
    }

    /// Why a message of another thread is refused here; `None` where it is permitted.
    pub(super) async fn refuses(&self, saying: &Saying) -> Option<String> {
        let language = self.runtime.language.unwrap_or_else(|| Language::of(text_of(&saying.intent)));
        self.refusal(saying).await.map(|phrase| phrase.say(language))
    }

    async fn refusal(&self, saying: &Saying) -> Option<Phrase> {
        if saying.from == self.id {
            return None;
        }
        if !self.runtime.adapters.contains_key(self.id.platform()) {
            return Some(Phrase::TargetNotServed(self.id.clone()));
        }
        let by = match &saying.source {
            SayingSource::Call(_) => return None,
            SayingSource::Result { by } => by.as_ref(),
        };
        match by {
            Some(by) if self.admits_results_of(by).await => None,
            Some(by) => Some(Phrase::TargetRefused(by.clone(), self.id.clone())),
            None => Some(Phrase::TargetNobody(self.id.clone())),
        }
    }

    async fn admits_results_of(&self, by: &AuthorId) -> bool {
        let role = match self.runtime.access.role_of(by).await {
            Ok(role) => role,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "access book unavailable");
                None
            }
        };
        self.runtime.asking.rights.may_deliver(by, role, &self.conversation.people())
    }
}

/// Hands an entry over to its thread. The receipt says that the thread has stored it.
pub(super) async fn hand_over(
    threads: ThreadsHandle,
    from: ThreadId,
    entry: OutboxEntry,
) -> Result<Receipt, DeliveryError> {
    let OutboundIntent { thread_id: target, correlation_id: correlation, intent, .. } = entry.intent;
    let saying =
        Saying { from, correlation, source: SayingSource::Result { by: entry.on_behalf_of }, intent };
    let later = |reason: String| Err(DeliveryError::Retry { after: None, reason });
    match threads.say(target, saying).await {
        Acceptance::Accepted { message, .. } | Acceptance::Duplicate { message } => {
            Ok(Receipt { platform_message: Some(message.to_string()) })
        }
        Acceptance::Refused(reason) => Err(DeliveryError::Permanent { reason }),
        Acceptance::Busy => later("the other thread has too much waiting".to_owned()),
        Acceptance::StorageFailed(reason) => later(reason),
        Acceptance::Stopping => later("the daemon is stopping".to_owned()),
    }
}

/// The threads that the messages of a run name for its result, without its own, each once.
fn targets_of(messages: &[UiMessage], own: &ThreadId) -> Vec<ThreadId> {
    let named = messages.iter().filter_map(|message| message.metadata.extra.get(DELIVER_TO));
    let named = named.filter_map(Value::as_array).flatten();
    let mut targets: Vec<ThreadId> = Vec::new();
    for target in named.filter_map(|target| target.as_str()?.parse().ok()) {
        if target != *own && !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

fn text_of(intent: &Intent) -> &str {
    match intent {
        Intent::AssistantText { text } | Intent::Error { text, .. } => text,
        _ => "",
    }
}
