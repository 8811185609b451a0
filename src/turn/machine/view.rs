//! What the actor asks a conversation, and what it tells it beside events.

use std::sync::Arc;

use super::conversation::Conversation;
use crate::domain::{
    Approval, ApprovalId, AuthorId, CorrelationId, Intent, Language, MemoryScope, MessageId, Origin, Said,
    ThreadId, ThreadState, Timestamp, ToolCallId,
};
use crate::ports::{DeliveryError, Judgement, Receipt, Ruling, RunMessage, ThreadView};
use crate::turn::compaction::{self, CompactionSpan};
use crate::turn::runs::open_calls::Call;
use crate::turn::runs::over_budget::cap_asked_in;
use crate::turn::runs::run::{Run, RunPhase};
use crate::turn::runs::run_messages;
use crate::uimessage::{CheckpointReason, CheckpointRecord, ErrorRecord, Part, Role, RunStatus, UiMessage};

impl Conversation {
    pub fn state(&self) -> ThreadState {
        match &self.run {
            Some(run) if run.phase() == RunPhase::AwaitingApproval => ThreadState::AwaitingApproval,
            Some(_) => ThreadState::Running,
            None => ThreadState::Idle,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.run.is_none() && self.queue.is_empty()
    }

    /// Whether a run is in progress and does not wait for a person.
    pub fn is_working(&self) -> bool {
        self.run.as_ref().is_some_and(|run| matches!(run.phase(), RunPhase::Thinking | RunPhase::Acting))
    }

    /// The text of the answer that the model has produced so far.
    pub fn draft(&self) -> Option<String> {
        self.run.as_ref().and_then(Run::draft)
    }

    /// Whether the actor should end now: a stop was requested and nothing is in flight.
    pub fn is_drained(&self) -> bool {
        // A run that waits for an approval can wait on the disk.
        let waits = |run: &Run| run.phase() == RunPhase::AwaitingApproval;
        self.queue.is_closed() && self.run.as_ref().is_none_or(waits)
    }

    pub fn current(&self) -> Option<&CorrelationId> {
        self.run.as_ref().map(Run::correlation)
    }

    /// How many times the run in flight has called a model.
    pub fn steps(&self) -> u32 {
        self.run.as_ref().map_or(0, Run::steps)
    }

    /// The platform's id of the message that the run in flight answers.
    pub fn replies_to(&self) -> Option<&str> {
        self.run.as_ref().and_then(Run::reply_to)
    }

    /// The current view for subscribers. The live message is copied only if there are any.
    pub fn view(&self, watched: bool) -> ThreadView {
        let live = self.run.as_ref().filter(|_| watched);
        ThreadView {
            state: self.state(),
            live: live.map(|run| Arc::new(run.message().clone())),
            queued: self.queue.len(),
            waiting: if watched { self.queue.messages().cloned().collect() } else { Vec::new() },
            pending_approvals: self.approvals.pending().len(),
        }
    }

    /// Whether this run is in flight or waiting.
    pub fn is_pending(&self, correlation: &CorrelationId) -> bool {
        self.current() == Some(correlation)
            || self.manual.as_ref().is_some_and(|manual| manual.correlation == *correlation)
            || self.queue.has_run(correlation)
    }

    /// The run in flight, once it has a slot.
    pub fn begun(&self) -> Option<&CorrelationId> {
        self.run.as_ref().filter(|run| run.phase() != RunPhase::WaitingForSlot).map(Run::correlation)
    }

    pub fn has_begun(&self, correlation: &CorrelationId) -> bool {
        self.begun() == Some(correlation)
    }

    /// Whether this run waits for an approval.
    pub fn is_parked(&self, correlation: &CorrelationId) -> bool {
        self.current() == Some(correlation) && self.state() == ThreadState::AwaitingApproval
    }

    pub fn is_running(&self, call: &ToolCallId) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_running(call))
    }

    /// The author of the message that led to the run's current calls.
    pub fn requester(&self) -> Option<AuthorId> {
        let run = self.run.as_ref()?;
        run.asked_person().or_else(|| self.history.requester(run.correlation()))
    }

    /// The language the person writes in, unless the operator has chosen.
    pub fn language(&self) -> Language {
        self.settings.rules.language.unwrap_or_else(|| self.history.language())
    }

    /// The people who have written here, as far as their messages are in memory.
    pub fn people(&self) -> Vec<AuthorId> {
        self.history.people()
    }

    /// The only person in this thread, where no one else can read it.
    pub fn private_with(&self) -> Option<AuthorId> {
        self.history.private_with()
    }

    /// Whether only one person has spoken in this thread.
    pub fn is_private_for(&self, author: &AuthorId) -> bool {
        !self.history.is_in_company(author)
    }

    /// The memory that the run in flight may use.
    pub fn memory_scope(&self) -> MemoryScope {
        let own = self.run.as_ref().and_then(Run::own_memory_scope);
        own.unwrap_or_else(|| self.history.memory_scope(self.current()))
    }

    /// The memory that all of these messages may use.
    pub fn scope_of<'a>(&self, messages: impl Iterator<Item = &'a UiMessage>) -> MemoryScope {
        self.history.scope_of(messages)
    }

    /// How far the least trusted author of the run in flight is trusted.
    pub fn origin(&self) -> Origin {
        self.run_messages().map(UiMessage::origin).max().unwrap_or(Origin::Member)
    }

    /// The messages of people that the run in flight answers; those of the last run where none is in flight.
    pub fn run_messages(&self) -> impl Iterator<Item = &UiMessage> {
        self.history.people_in(self.current())
    }

    /// Whether a program wrote one of the messages that the run in flight answers.
    pub fn is_asked_by_program(&self) -> bool {
        self.current().is_some_and(|run| self.history.is_asked_by_program(run))
    }

    /// The task whose run this is, and the further threads where its questions are asked.
    pub fn asks_elsewhere(&self, run: &CorrelationId) -> Option<(String, Vec<ThreadId>)> {
        let scheduled = self.history.scheduled(run)?;
        let threads = self.history.asks_in(run, &self.settings.thread);
        (!threads.is_empty()).then_some((scheduled.id, threads))
    }

    /// The further threads where a run asks about a spend cap.
    pub fn cap_asked_in(&self, run: &CorrelationId, approval: &ApprovalId) -> Vec<ThreadId> {
        cap_asked_in(self.history.answers_of(run), approval)
    }

    /// Whether the run in flight waits for the answer to a question about a spend cap that another thread asked.
    pub fn waits_for_budget(&self) -> bool {
        self.run.as_ref().is_some_and(Run::waits_for_budget)
    }

    /// Whether a task started the run in flight.
    pub fn is_scheduled(&self) -> bool {
        self.current().is_some_and(|run| self.history.scheduled(run).is_some())
    }

    /// The id of the task that started the run in flight.
    pub fn task(&self) -> Option<String> {
        Some(self.history.scheduled(self.current()?)?.id)
    }

    /// The named model of the task that started the run in flight.
    pub fn task_model(&self) -> Option<String> {
        self.history.scheduled(self.current()?)?.model
    }

    /// The most that the run in flight may cost, where its task says so.
    pub fn task_max_cost(&self) -> Option<u64> {
        self.history.scheduled(self.current()?)?.max_cost
    }

    /// How many earlier runs the model is shown, where the task of the run in flight limits them.
    pub fn earlier_runs(&self) -> Option<usize> {
        self.history.scheduled(self.current()?)?.context
    }

    /// The approval that allowed a call of the run in flight.
    pub fn approval_of(&self, call: &ToolCallId) -> Option<ApprovalId> {
        self.run.as_ref().and_then(|run| run.approval_of(call))
    }

    /// Updates the counts of outstanding and permanently failed deliveries.
    pub const fn note_deliveries(&mut self, outstanding: usize, dead: usize) {
        self.deliveries.outstanding = outstanding;
        self.deliveries.dead = dead;
    }

    /// Sets how many deliveries were on hold until the message that arrives now.
    pub const fn note_held(&mut self, held: usize) {
        self.deliveries.held = held;
    }

    /// If the intent is a question, records that it is being sent: from now on people may see it.
    pub fn note_sending(&mut self, intent: &Intent, now: Timestamp) {
        self.approvals.note_sending(intent, now);
    }

    /// Records the result of sending a question: the platform message that shows it, or why there is none.
    pub fn note_sent(&mut self, intent: &Intent, result: Result<&Receipt, &DeliveryError>) {
        self.approvals.note_sent(intent, result);
    }

    /// The pending approvals, in the order they were asked.
    pub fn pending_approvals(&self) -> Vec<Approval> {
        self.approvals.pending().to_vec()
    }

    /// When the next approval expires.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.approvals.next_expiry()
    }

    /// The approval whose question a message replies to.
    pub fn quoted_question(&self, said: &Said) -> Option<&ApprovalId> {
        self.approvals.quoted_question(said)
    }

    /// Whether this judgement leads to an approval, which then needs a number. Numbers are assigned only to approvals
    /// that are asked: a gap would make people look for a missing question.
    pub fn needs_slot(&self, call: &ToolCallId, judgement: &Judgement) -> bool {
        match self.run.as_ref().map(|run| run.call(call)) {
            Some(Call::Judging) => judgement.ruling == Ruling::Ask,
            Some(Call::JudgingLost) => true,
            Some(Call::Checking) => {
                let approved = self.approvals.approved(call);
                let changed = approved.is_some_and(|one| one.fingerprint != judgement.fingerprint);
                changed && !matches!(judgement.ruling, Ruling::Deny(_))
            }
            _ => false,
        }
    }

    /// The ratio of real to estimated tokens of the model.
    pub const fn token_ratio(&self) -> f64 {
        self.token_ratio
    }

    /// Tells how many tokens the server counts for one that is estimated.
    pub const fn note_token_ratio(&mut self, ratio: f64) {
        self.token_ratio = ratio;
    }

    /// Whether a run may still wait for the conversation to be compacted before its next call.
    pub fn may_compact(&self) -> bool {
        self.run.as_ref().is_some_and(Run::may_compact)
    }

    /// Tells that the run waits for the conversation to be compacted.
    pub fn note_compacting(&mut self) {
        if let Some(run) = &mut self.run {
            run.note_compacting();
        }
    }

    /// The divisor of the run's context window, after the server found the prompt too long.
    pub fn window_divisor(&self) -> usize {
        self.run.as_ref().map_or(1, Run::window_divisor)
    }

    /// What a checkpoint would cover now; nothing where none would help. `usable` is the window in estimated tokens.
    pub fn plan_compaction(
        &self,
        reason: CheckpointReason,
        focus: Option<String>,
        usable: usize,
    ) -> Option<CompactionSpan> {
        let covered = self.coverable();
        compaction::plan(&self.history, covered, reason, focus, usable, self.language())
    }

    /// The oldest messages behind the last checkpoint, as far as they may be covered.
    pub(super) fn coverable(&self) -> Vec<&UiMessage> {
        let keep = self.settings.rules.compaction.keep_runs;
        compaction::coverable(&self.history, keep, |run| self.is_pending(run))
    }

    /// Whether this message is in memory.
    pub fn remembers(&self, id: &MessageId) -> bool {
        self.history.find(id).is_some()
    }

    /// Whether the file has messages that are not in memory.
    pub const fn has_older(&self) -> bool {
        self.history.has_older()
    }

    /// The run of a message in memory, and the run's messages so far.
    pub fn run_of(&self, id: &MessageId) -> Option<(CorrelationId, Vec<UiMessage>)> {
        let live = self.run.as_ref().map(Run::message).filter(|message| message.id == *id);
        let known = self.history.find(id).or(live)?;
        let correlation = known.metadata.correlation_id.clone();
        let messages = self.messages_of(&correlation);
        Some((correlation, messages))
    }

    /// The messages of a run that are in memory.
    pub fn messages_of(&self, correlation: &CorrelationId) -> Vec<UiMessage> {
        self.history.of_run(correlation).cloned().collect()
    }

    /// The message after which the visible conversation begins, where that is not the thread's first.
    pub fn start(&self) -> Option<&MessageId> {
        self.history.start()
    }

    /// What the model is shown of the conversation before the messages in memory, oldest first.
    pub fn checkpoints(&self) -> Vec<&CheckpointRecord> {
        self.history.checkpoints()
    }

    /// Whether so much is in memory that its beginning will be dropped soon, however large the window is.
    pub fn is_tail_long(&self) -> bool {
        self.history.is_tail_long()
    }

    /// The messages for the model: the history up to and including the run's own message. Messages for a later run are
    /// not included.
    pub fn context(&self) -> Vec<&UiMessage> {
        let live = self.run.as_ref().map(Run::message);
        self.history.prompt_messages(live, |message| self.queue.has_message(message))
    }

    /// The same, grouped by run. The run in flight is the last group, with all messages that arrived since it began.
    pub fn context_by_run(&self) -> Vec<Vec<&UiMessage>> {
        let mut runs: Vec<Vec<&UiMessage>> = Vec::new();
        let mut last: Option<&CorrelationId> = None;
        for message in self.context() {
            let correlation = &message.metadata.correlation_id;
            let goes_on = last == Some(correlation) || (last.is_some() && last == self.current());
            match runs.last_mut().filter(|_| goes_on) {
                Some(run) => run.push(message),
                None => {
                    runs.push(vec![message]);
                    last = Some(correlation);
                }
            }
        }
        runs
    }

    /// Estimated memory of the history.
    pub fn memory(&self) -> usize {
        self.history.memory()
    }

    /// Drops the oldest messages once the tail has grown too long. Call it when no effects are outstanding.
    pub fn trim(&mut self) {
        let (run, manual, queue) = (self.run.as_ref(), self.manual.as_ref(), &self.queue);
        self.history.trim(|id| {
            run.is_some_and(|run| run.correlation() == id)
                || manual.is_some_and(|manual| manual.correlation == *id)
                || queue.has_run(id)
        });
    }

    /// The id under which a thread stores the message of a call in another thread.
    pub fn said_by(run_message: &RunMessage) -> MessageId {
        run_messages::said_by(run_message)
    }

    #[cfg(test)]
    pub(in crate::turn) const fn visibility(&self) -> &crate::turn::approval::visibility::QuestionVisibility {
        self.approvals.visibility()
    }

    /// How a run ended, from its messages.
    pub fn ending(messages: &[UiMessage]) -> (Option<RunStatus>, Option<ErrorRecord>) {
        let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
        let status = last.and_then(|message| message.metadata.status);
        let error = last.and_then(|message| {
            message.parts.iter().find_map(|part| match part {
                Part::Error(record) => Some(record.clone()),
                _ => None,
            })
        });
        (status, error)
    }
}
