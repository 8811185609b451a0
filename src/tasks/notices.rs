//! Messages of the scheduler beside the results of runs: slots that are lost, failures, and spend caps.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::definition::TaskId;
use super::run::{Run, RunNote, RunParts, local};
use super::state::MOST_FAILURES;
use crate::domain::{
    CapScope, CorrelationId, Intent, MessageId, ThreadId, Timestamp, ToolCallId, short_digest,
};
use crate::phrases;
use crate::ports::{RejectReason, Rejection, RunMessage, RunMessageSource};

/// How long to wait before an event or a delivery that was not taken is submitted again.
pub(super) const AGAIN: Duration = Duration::from_secs(5);
/// How often an owner is told of failures.
const FAILURE_INTERVAL_MILLIS: u64 = 60 * 60 * 1000;
/// Most lost slots that are named in one message.
const MOST_NAMED: usize = 10;

/// A slot that passed while nothing could run, and that nothing makes up for.
#[derive(Clone, Debug)]
pub(super) struct LostSlot {
    pub task: TaskId,
    pub slot: Timestamp,
    pub zone: TimeZone,
}

/// Tells an owner of lost slots, in one message.
pub(super) async fn tell_lost(parts: RunParts, lost: Vec<LostSlot>) {
    let Some(first) = lost.first() else { return };
    let Some(owner) = parts.owner_chat().await else {
        tracing::warn!(tasks = lost.len(), "lost slots not told: no direct chat with an owner is known");
        return;
    };
    let language = parts.language.unwrap_or_default();
    let line = |lost: &LostSlot| {
        phrases::tasks::missed_slot(lost.task.as_str(), &local(lost.slot, &lost.zone), language)
    };
    let mut lines: Vec<String> = lost.iter().take(MOST_NAMED).map(line).collect();
    let more = lost.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        lines.push(phrases::tasks::more_missed(more, language));
    }
    let all: String = lost.iter().map(|lost| format!("{}@{} ", lost.task, lost.slot.rfc3339())).collect();
    let source = MessageId::made("task_", &format!("lost-{}", short_digest(all.as_bytes(), 8)));
    let Ok(from) = ThreadId::of_chat(&parts.platform, first.task.as_str()) else { return };
    let text = phrases::tasks::missed_heading(&lines.join("\n"), language);
    if let Err(reason) = parts.say(owner, &from, &source, text_intent(text), "lost").await {
        tracing::warn!(reason, "lost slots not told");
    }
}

impl RunParts {
    /// The direct chat with the first owner who has one.
    pub(super) async fn owner_chat(&self) -> Option<ThreadId> {
        let mut found = None;
        for owner in self.owners.current() {
            found = self.direct.of(owner).await;
            if found.is_some() {
                break;
            }
        }
        found
    }

    /// Posts a message to a thread; the same `source` and `name` post once.
    pub(super) async fn say(
        &self,
        target: ThreadId,
        from: &ThreadId,
        source: &MessageId,
        intent: Intent,
        name: &str,
    ) -> Result<(), String> {
        let run_message = RunMessage {
            from: from.clone(),
            correlation: CorrelationId::made("", source.as_str()),
            source: RunMessageSource::Call(ToolCallId::made("", name)),
            intent,
        };
        loop {
            match self.threads.say(target.clone(), run_message.clone()).await.into_result() {
                Ok(_) => return Ok(()),
                Err(Rejection { reason: RejectReason::Refused, detail }) => return Err(detail),
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }
}

impl Run {
    /// Tells an owner of failures: after the configured number in a row, then at most once an hour, and when the task is
    /// disabled. A task that runs once is told of at once.
    pub(super) async fn tell_failure(&self, reason: &str) {
        let failures = self.failures.saturating_add(1);
        let disabled = failures >= MOST_FAILURES;
        let recently = self
            .failure_told
            .is_some_and(|told| self.parts.clock.now().millis_since(told) < FAILURE_INTERVAL_MILLIS);
        let policy = self.definition.failures;
        let after = if self.definition.schedule.is_one_shot() { 1 } else { policy.after };
        if !policy.owner || failures < after || (recently && !disabled) {
            return;
        }
        let Some(owner) = self.parts.owner_chat().await else {
            tracing::warn!(task = %self.id, "failure not told: no direct chat with an owner is known");
            return;
        };
        let language = self.language();
        let heading = phrases::tasks::failing_heading(disabled, language);
        let text = phrases::tasks::failing(self.id.as_str(), heading, failures, reason, language);
        match self.say(owner, text_intent(text), "failure").await {
            Ok(()) => drop(self.notes.send((self.id.clone(), RunNote::FailureTold))),
            Err(reason) => tracing::warn!(task = %self.id, reason, "failure notice not delivered"),
        }
    }

    /// Tells an owner once a day that a spend cap keeps this task from running.
    pub(super) async fn tell_skipped(&self, why: &str) {
        let until = self.parts.budget.end_of(CapScope::Day);
        match self.parts.budget.notice(format!("task:{}:{}", self.id, until.rfc3339())).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(task = %self.id, error = &error as &dyn std::error::Error, "notice not recorded");
                return;
            }
        }
        let Some(owner) = self.parts.owner_chat().await else { return };
        let text = phrases::budget::task_skipped(self.id.as_str(), why, self.language());
        if let Err(reason) = self.say(owner, text_intent(text), "budget").await {
            tracing::warn!(task = %self.id, reason, "budget notice not delivered");
        }
    }

    /// Posts a message to a thread; the same `name` posts once for this slot.
    pub(super) async fn say(&self, target: ThreadId, intent: Intent, name: &str) -> Result<(), String> {
        self.parts.say(target, &self.run.thread, &self.run.message, intent, name).await
    }
}

pub(super) const fn text_intent(text: String) -> Intent {
    Intent::AssistantText { text }
}
