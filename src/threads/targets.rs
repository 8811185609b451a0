//! The result of a run for other threads than its own.
//!
//! The message that starts a run can name further threads (`Said::deliver_to`). The result is committed together with an
//! outbox entry for each of them. Such an entry is not sent to the platform but handed over to the other thread, which
//! checks the right, stores the text in its history and delivers it under its own receipts. The other thread recognises
//! a repeated hand-over, so a crash at any point neither loses nor repeats it.
//!
//! The questions of a scheduled run take the same way to the threads that its message names (`ScheduledRun::ask_in`).

use serde_json::Value;

use super::actor::Actor;
use crate::domain::{ApprovalId, AuthorId, DeliveryId, Intent, Language, OutboundIntent, ThreadId};
use crate::ports::{
    DeliveryError, OutboxEntry, Receipt, RejectReason, Rejection, RunMessage, RunMessageSource, ThreadsHandle,
};
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
        entries.extend(self.questions_elsewhere(say));
        entries
    }

    /// The outbox entries for the further threads where the questions that are committed now are asked or settled.
    fn questions_elsewhere(&self, say: &[Spoken]) -> Vec<OutboxEntry> {
        let at = self.runtime.clock.now();
        let mut entries = Vec::new();
        for spoken in say.iter().filter(|spoken| question_in(&spoken.intent).is_some()) {
            let question = question_in(&spoken.intent).map(|(approval, _)| approval);
            let of_cap =
                question.map(|approval| self.conversation.cap_asked_in(&spoken.correlation, approval));
            let of_cap = of_cap.unwrap_or_default();
            let (task, mut threads) = match self.conversation.asks_elsewhere(&spoken.correlation) {
                Some((task, threads)) => (Some(task), threads),
                None => (None, Vec::new()),
            };
            threads.extend(of_cap.into_iter().filter(|thread| *thread != self.id));
            threads.sort();
            threads.dedup();
            let mut intent = spoken.intent.clone();
            if let (Intent::ApprovalRequest { details, language, .. }, Some(task)) = (&mut intent, task) {
                let asker = format!("- {}", Phrase::AskedByTask(task).say(*language));
                *details =
                    Some(details.take().map_or(asker.clone(), |details| format!("{asker}\n{details}")));
            }
            entries.extend(threads.into_iter().map(|thread| OutboxEntry {
                id: DeliveryId::new(&format!("{}.to.{thread}", spoken.source), 0),
                at,
                intent: OutboundIntent {
                    thread_id: thread,
                    correlation_id: spoken.correlation.clone(),
                    reply_to: None,
                    intent: intent.clone(),
                },
                on_behalf_of: None,
            }));
        }
        entries
    }

    /// Why a message of another thread is refused here; `None` where it is permitted.
    pub(super) async fn refuses(&self, run_message: &RunMessage) -> Option<String> {
        let language =
            self.runtime.settings().language.unwrap_or_else(|| Language::of(text_of(&run_message.intent)));
        self.refusal(run_message).await.map(|phrase| phrase.say(language))
    }

    async fn refusal(&self, run_message: &RunMessage) -> Option<Phrase> {
        if run_message.from == self.id {
            return None;
        }
        if !self.runtime.adapters.contains_key(self.id.platform()) {
            return Some(Phrase::TargetNotServed(self.id.clone()));
        }
        let by = match &run_message.source {
            RunMessageSource::Call(_) | RunMessageSource::Question { .. } => return None,
            RunMessageSource::Result { by } => by.as_ref(),
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
                tracing::error!(error = &error as &dyn std::error::Error, "access records unavailable");
                None
            }
        };
        self.runtime.settings().approval_rules.rights.may_deliver(by, role, &self.conversation.people())
    }
}

/// Hands an entry over to its thread. The receipt says that the thread has stored it.
pub(super) async fn hand_over(
    threads: ThreadsHandle,
    from: ThreadId,
    entry: OutboxEntry,
) -> Result<Receipt, DeliveryError> {
    let OutboundIntent { thread_id: target, correlation_id: correlation, intent, .. } = entry.intent;
    let source = match question_in(&intent) {
        Some((approval, settled)) => RunMessageSource::Question { approval: approval.clone(), settled },
        None => RunMessageSource::Result { by: entry.on_behalf_of },
    };
    let run_message = RunMessage { from, correlation, source, intent };
    match threads.say(target, run_message).await.into_result() {
        Ok(stored) => Ok(Receipt { platform_message: Some(stored.message.to_string()) }),
        Err(Rejection { reason: RejectReason::Refused, detail: reason }) => {
            Err(DeliveryError::Permanent { reason })
        }
        Err(Rejection { detail: reason, .. }) => Err(DeliveryError::Retry { after: None, reason }),
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

/// The approval that an intent asks for or settles, and which of both.
const fn question_in(intent: &Intent) -> Option<(&ApprovalId, bool)> {
    match intent {
        Intent::ApprovalRequest { approval_id, .. } => Some((approval_id, false)),
        Intent::ApprovalResolved { approval_id, .. } => Some((approval_id, true)),
        _ => None,
    }
}

fn text_of(intent: &Intent) -> &str {
    match intent {
        Intent::AssistantText { text } | Intent::Error { text, .. } => text,
        _ => "",
    }
}
