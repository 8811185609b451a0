//! Routes each event to the part that decides about it, and combines the effects.

use std::sync::Arc;

use super::inbound::reply_target;
use crate::domain::{Approval, CorrelationId, ThreadId, Timestamp};
use crate::ports::ThreadRecord;
use crate::turn::approval::approvals::Approvals;
use crate::turn::compaction::ManualCompaction;
use crate::turn::context::{CheckArguments, ConversationSettings, EffectsOf, Rules, TurnContext};
use crate::turn::history::History;
use crate::turn::queue::{Queue, Waiting};
use crate::turn::runs::recover::Resumed;
use crate::turn::runs::run::{Run, RunPhase};
use crate::turn::{Effect, Event};
use crate::uimessage::UiMessage;

/// Counts of a thread's deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeliveryCounts {
    pub(super) outstanding: usize,
    pub(super) dead: usize,
    /// Were on hold until the message that arrived now.
    pub(super) held: usize,
}

/// The state machine of one thread.
pub struct Conversation {
    pub(super) settings: ConversationSettings,
    pub(super) history: History,
    pub(super) queue: Queue,
    pub(super) run: Option<Run>,
    pub(super) approvals: Approvals,
    /// A `/compact` that is not answered yet.
    pub(super) manual: Option<ManualCompaction>,
    /// Real tokens per estimated token, from the usage the server reported last.
    pub(super) token_ratio: f64,
    /// Delivery counts for `/status`; updated by the actor.
    pub(super) deliveries: DeliveryCounts,
    /// The names of other agents that are here; updated by the actor.
    pub(super) others: Vec<String>,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("thread", &self.settings.thread)
            .field("run", &self.run)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl Conversation {
    /// A thread with its stored history. The first event must be [`Event::Resumed`].
    pub fn new(
        thread: ThreadId,
        rules: Arc<Rules>,
        effects_of: EffectsOf,
        check_arguments: CheckArguments,
        record: ThreadRecord,
    ) -> Self {
        Self {
            settings: ConversationSettings { thread, rules, effects_of, check_arguments },
            approvals: Approvals::new(&record),
            deliveries: DeliveryCounts { outstanding: record.undelivered.len(), dead: record.dead, held: 0 },
            history: History::new(record),
            queue: Queue::default(),
            run: None,
            manual: None,
            others: Vec::new(),
            token_ratio: 1.0,
        }
    }

    /// Works by these settings from the next event on.
    pub fn use_rules(&mut self, rules: Arc<Rules>) {
        self.settings.rules = rules;
    }

    /// Processes one event and returns the effects. `fresh` makes an id for a run that begins now.
    pub fn step(
        &mut self,
        event: Event,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        match event {
            Event::Resumed(approvals) => self.resume(approvals, now),
            Event::Arrived { event, ticket, known, lookups } => {
                self.arrived(&event, ticket, known, &lookups, now, fresh)
            }
            Event::RunMessage { run_message, ticket, known } => {
                self.post_run_message(*run_message, ticket, known, now, fresh)
            }
            Event::SlotGranted => self.slot_granted(now),
            Event::Delta(delta) => self.with_run(now, |run, ctx| run.delta(delta, ctx)),
            Event::ModelEnded(result) => self.with_run(now, |run, ctx| run.model_ended(result, ctx)),
            Event::ToolEnded { call, outcome } => {
                self.with_run(now, |run, ctx| run.tool_ended(&call, outcome, ctx))
            }
            Event::OverBudget(what) => self.with_run(now, |run, ctx| run.over_budget(*what, ctx)),
            Event::BudgetChanged => self.with_run(now, |run, _| run.budget_changed()),
            Event::Judged { call, judgement, slot } => self.judged(&call, *judgement, slot, now),
            Event::NotGranted(approval) => self.not_granted(&approval, now),
            Event::ReplyRead { message, words, hint } => {
                self.reply_classified(&message, &words, hint.as_ref(), now, fresh)
            }
            Event::Tick => self.expire(now),
            Event::Compacted(done) => self.compacted(*done, now, fresh),
            Event::Proposed(proposal) => self.propose(&proposal, now),
            Event::Reported(messages) => self.reported(messages),
            Event::Decided(decisions) => self.decided(&decisions, now, fresh),
            Event::Stopping => {
                self.queue.close();
                Vec::new()
            }
        }
    }

    /// What the parts may read.
    pub(super) const fn at(&self, now: Timestamp) -> TurnContext<'_> {
        TurnContext { settings: &self.settings, history: &self.history, now }
    }

    /// Lets the run in flight act. When it has ended, the next one starts.
    pub(super) fn with_run(
        &mut self,
        now: Timestamp,
        act: impl FnOnce(&mut Run, &TurnContext<'_>) -> Vec<Effect>,
    ) -> Vec<Effect> {
        let Some(run) = self.run.as_mut() else { return Vec::new() };
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let mut effects = act(run, &ctx);
        let ended = run.phase() == RunPhase::Ended;
        self.history.record(&effects);
        if ended {
            self.run = None;
            self.approvals.run_ended();
            effects.extend(self.start_next(now));
            effects.push(Effect::Publish);
        }
        effects
    }

    /// Commits messages and adds them to the history.
    pub(super) fn recorded(&mut self, commit: Effect) -> Effect {
        self.history.record(std::slice::from_ref(&commit));
        commit
    }

    /// The line of the run in flight that must be in the file before a message of a later run.
    pub(super) fn place_run(&mut self) -> Vec<UiMessage> {
        self.run.as_mut().and_then(Run::place).into_iter().collect()
    }

    fn slot_granted(&mut self, now: Timestamp) -> Vec<Effect> {
        if self.run.as_ref().is_none_or(|run| run.phase() != RunPhase::WaitingForSlot) {
            return vec![Effect::ReleaseSlot];
        }
        self.with_run(now, Run::slot_granted)
    }

    /// Starts the run that has waited longest.
    pub(super) fn start_next(&mut self, now: Timestamp) -> Option<Effect> {
        if self.run.is_some() {
            return None;
        }
        let Waiting { correlation, messages } = self.queue.next_run()?;
        let last = messages.last().and_then(|last| self.history.find(last));
        let reply_to = last.and_then(reply_target);
        self.run = Some(Run::new(&self.settings.thread, correlation, reply_to, now));
        Some(Effect::AcquireSlot)
    }

    /// Resumes open runs after a restart. The first one continues where it was interrupted; the others wait.
    fn resume(&mut self, approvals: Vec<Approval>, now: Timestamp) -> Vec<Effect> {
        let mut open = self.history.unfinished().into_iter();
        let Some(first) = open.next() else { return Vec::new() };
        let waiting = open.map(|correlation| {
            let messages = self.history.said_in(&correlation).map(|message| message.id.clone()).collect();
            Waiting { correlation, messages }
        });
        self.queue.resume(waiting);
        let Resumed { run, approvals, effects } = Run::resume(first, approvals, &self.at(now));
        self.run = Some(run);
        self.approvals.resume(approvals);
        self.history.record(&effects);
        effects
    }
}
