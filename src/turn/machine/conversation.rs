//! The state machine of one thread: its history, the run in flight, and the messages that wait for the next run.
//!
//! Its parts: `intake` accepts messages, `steps` advances a run, `commands` answers commands, `recover` resumes a
//! thread after a restart.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::{
    ApprovalId, Capabilities, CorrelationId, Effects, Intent, Language, MessageId, ReadReplies,
    ScopeSettings, ThreadId, ThreadState, Timestamp, ToolCallId, WhileRunning, WhileWaiting,
};
use crate::policy::Rights;
use crate::ports::{DeliveryError, Receipt, ThreadRecord, ThreadView};
use crate::turn::approval::visibility::{QuestionVisibility, asked_by};
use crate::turn::compaction::{CompactionRules, ManualCompaction};
use crate::turn::history::TRIM_EVERY;
use crate::turn::queue::Arrival;
use crate::turn::runs::run::{Phase, Run};
use crate::turn::{Effect, Event};
use crate::uimessage::{ErrorRecord, Part, Role, RunStatus, UiMessage};

/// The settings of a conversation. The same for all threads of a daemon, except for the capabilities.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Within how many milliseconds a second message joins a run that has shown nothing yet.
    pub merge_ms: u64,
    /// What a message does that arrives later.
    pub while_running: WhileRunning,
    /// Most messages that may wait.
    pub mailbox: usize,
    /// Most model calls of a run.
    pub max_steps: u32,
    /// The language of the daemon's texts; `None` means the person's language.
    pub language: Option<Language>,
    /// Who may answer approvals.
    pub rights: Rights,
    /// After how many milliseconds an approval expires.
    pub expire_ms: u64,
    /// What a message does while an approval is pending.
    pub while_waiting: WhileWaiting,
    /// Whether a model classifies replies that the rules cannot.
    pub read_replies: ReadReplies,
    /// When a conversation is compacted.
    pub compaction: CompactionRules,
    /// Which memory a message may use.
    pub scopes: Arc<ScopeSettings>,
    /// The model's name, for `/status`.
    pub model: String,
    pub capabilities: Capabilities,
}

/// A function from a tool's name to its effects; `None` for an unknown tool.
pub type EffectsOf = Arc<dyn Fn(&str) -> Option<Effects> + Send + Sync>;

/// Says what is wrong with the arguments of a call, in words for the model.
pub type CheckArguments = Arc<dyn Fn(&str, &Value) -> Result<(), String> + Send + Sync>;

/// Stored messages that will be answered together by the next run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::turn) struct Waiting {
    pub(in crate::turn) correlation: CorrelationId,
    pub(in crate::turn) messages: Vec<MessageId>,
}

/// Counts of a thread's deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::turn) struct Outgoing {
    pub(in crate::turn) outstanding: usize,
    pub(in crate::turn) dead: usize,
    /// Were on hold until the message that arrived now.
    pub(in crate::turn) held: usize,
}

/// How often a conversation is compacted in one turn at most.
const MOST_COMPACTIONS: u32 = 2;

/// The state machine of one thread.
pub struct Conversation {
    pub(in crate::turn) thread: ThreadId,
    pub(in crate::turn) rules: Arc<Rules>,
    pub(in crate::turn) effects_of: EffectsOf,
    pub(in crate::turn) check_arguments: CheckArguments,
    /// The newest messages, in the order of the file.
    pub(in crate::turn) history: Vec<UiMessage>,
    /// The checkpoints that hold, oldest first. What they cover is not in `history`.
    pub(in crate::turn) checkpoints: Vec<UiMessage>,
    /// The number of the next checkpoint.
    pub(in crate::turn) next_checkpoint: u32,
    /// A `/compact` that is not answered yet.
    pub(in crate::turn) manual: Option<ManualCompaction>,
    pub(in crate::turn) run: Option<Run>,
    pub(in crate::turn) waiting: VecDeque<Waiting>,
    pub(in crate::turn) stopping: bool,
    /// Whether the file has older messages than `history`.
    pub(in crate::turn) has_older: bool,
    /// The history's length at which it is measured next for trimming.
    pub(in crate::turn) trim_at: usize,
    /// Real tokens per estimated token, from the usage the server reported last.
    pub(in crate::turn) token_ratio: f64,
    /// Which questions people can have seen.
    pub(in crate::turn) sight: QuestionVisibility,
    /// Delivery counts for `/status`; updated by the actor.
    pub(in crate::turn) deliveries: Outgoing,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("thread", &self.thread)
            .field("run", &self.run)
            .field("waiting", &self.waiting)
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
        let sight = QuestionVisibility::resumed(&record);
        Self {
            thread,
            rules,
            effects_of,
            check_arguments,
            sight,
            next_checkpoint: next_number(&record.checkpoints),
            checkpoints: record.checkpoints,
            manual: None,
            history: record.tail,
            has_older: record.has_more,
            run: None,
            waiting: VecDeque::new(),
            stopping: false,
            trim_at: TRIM_EVERY,
            token_ratio: 1.0,
            deliveries: Outgoing { outstanding: record.undelivered.len(), dead: record.dead, held: 0 },
        }
    }

    /// Processes one event and returns the effects. `fresh` makes an id for a run that begins now.
    pub fn step(
        &mut self,
        event: Event,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let mut out = Vec::new();
        match event {
            Event::Resumed(approvals) => self.resume(approvals, now, &mut out),
            Event::Judged { call, judgement, seat } => self.judged(&call, *judgement, seat, now, &mut out),
            Event::ReplyRead { message, words, hint } => {
                self.reply_read(&message, &words, hint.as_ref(), now, fresh, &mut out)
            }
            Event::NotGranted(approval) => self.not_granted(&approval, &mut out),
            Event::Tick => self.expire(now, &mut out),
            Event::Arrived { event, ticket, known, lookups } => {
                let arrival = Arrival { event: *event, ticket, known, lookups };
                self.take_in(arrival, now, fresh, &mut out)
            }
            Event::Voiced { saying, ticket, known } => {
                self.voice(*saying, ticket, known, now, fresh, &mut out)
            }
            Event::SlotGranted => self.slot_granted(now, &mut out),
            Event::Delta(delta) => self.show_delta(delta, &mut out),
            Event::ModelEnded(Ok(completion)) => self.model_answered(completion, now, &mut out),
            Event::ModelEnded(Err(error)) => self.model_failed(&error, now, &mut out),
            Event::ToolEnded { call, outcome } => self.tool_ended(&call, outcome, now, &mut out),
            Event::Compacted(done) => self.compacted(*done, now, fresh, &mut out),
            Event::Stopping => self.stopping = true,
        }
        out
    }

    pub fn state(&self) -> ThreadState {
        match &self.run {
            Some(run) if run.phase == Phase::AwaitingApproval => ThreadState::AwaitingApproval,
            Some(_) => ThreadState::Running,
            None => ThreadState::Idle,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.run.is_none() && self.waiting.is_empty()
    }

    /// Whether a run is in progress and does not wait for a person.
    pub fn is_working(&self) -> bool {
        self.run.as_ref().is_some_and(|run| matches!(run.phase, Phase::Thinking | Phase::Acting))
    }

    /// The text of the answer that the model has produced so far.
    pub fn draft(&self) -> Option<String> {
        let run = self.run.as_ref().filter(|run| run.phase == Phase::Thinking)?;
        Some(run.step_words().0).filter(|text| !text.trim().is_empty())
    }

    /// Whether the actor should end now: a stop was requested and nothing is in flight.
    pub fn is_drained(&self) -> bool {
        // A run that waits for an approval can wait on the disk.
        self.stopping && self.run.as_ref().is_none_or(|run| run.phase == Phase::AwaitingApproval)
    }

    pub fn current(&self) -> Option<&CorrelationId> {
        self.run.as_ref().map(|run| &run.correlation)
    }

    /// The platform's id of the message that the run in flight answers.
    pub fn replies_to(&self) -> Option<&str> {
        self.run.as_ref().and_then(|run| run.reply_to.as_deref())
    }

    /// The current view for subscribers. The live message is copied only if there are any.
    pub fn view(&self, watched: bool) -> ThreadView {
        let live = self.run.as_ref().filter(|_| watched);
        ThreadView {
            state: self.state(),
            live: live.map(|run| Arc::new(run.message.clone())),
            queued: self.waiting.iter().map(|waiting| waiting.messages.len()).sum(),
            pending_approvals: self.pending_approvals().len(),
        }
    }

    /// Whether this run is in flight or waiting.
    pub fn is_pending(&self, correlation: &CorrelationId) -> bool {
        self.current() == Some(correlation)
            || self.manual.as_ref().is_some_and(|manual| manual.correlation == *correlation)
            || self.waiting.iter().any(|waiting| waiting.correlation == *correlation)
    }

    /// Whether this run waits for an approval.
    pub fn is_parked(&self, correlation: &CorrelationId) -> bool {
        self.current() == Some(correlation) && self.state() == ThreadState::AwaitingApproval
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
        if let Some(question) = asked_by(intent).filter(|question| self.waits(question)) {
            self.sight.show(question, now);
        }
    }

    /// Records the result of sending a question: the platform message that shows it, or why there is none.
    pub fn note_sent(&mut self, intent: &Intent, result: Result<&Receipt, &DeliveryError>) {
        let Some(question) = asked_by(intent) else { return };
        match result {
            Ok(receipt) => {
                if let Some(post) = &receipt.platform_message {
                    self.sight.post(question, post);
                }
            }
            Err(_) if !self.waits(question) => {}
            // The request may have succeeded with only the response lost.
            Err(DeliveryError::Retry { .. }) => self.sight.doubt(question),
            Err(DeliveryError::Hold { .. } | DeliveryError::Permanent { .. }) => {
                self.sight.take_back(question);
            }
        }
    }

    /// Whether this approval is pending.
    fn waits(&self, question: &ApprovalId) -> bool {
        self.run.as_ref().is_some_and(|run| run.ledger.find_asked(question).is_some())
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
        self.run.as_ref().is_some_and(|run| run.compactions < MOST_COMPACTIONS)
    }

    /// Tells that the run waits for the conversation to be compacted.
    pub fn note_compacting(&mut self) {
        if let Some(run) = &mut self.run {
            run.compacting = true;
            run.compactions += 1;
        }
    }

    /// The divisor of the run's context window, after the server found the prompt too long.
    pub fn window_divisor(&self) -> usize {
        self.run.as_ref().map_or(1, |run| 1 << run.shrunk)
    }

    /// The language the person writes in, unless the operator has chosen.
    pub fn language(&self) -> Language {
        let last_said = || self.history.iter().rev().find(|message| message.role == Role::User);
        self.rules.language.unwrap_or_else(|| last_said().map_or_else(Language::default, written_in))
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

    /// The effects of a call, by its tool.
    pub(in crate::turn) fn effects_of_call(&self, name: &str) -> Option<Effects> {
        (self.effects_of)(name)
    }

    pub fn is_running(&self, call: &ToolCallId) -> bool {
        self.run.as_ref().is_some_and(|run| run.ledger.is_running(call))
    }
}

fn written_in(message: &UiMessage) -> Language {
    let text = message.parts.iter().find_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    text.map(Language::of).unwrap_or_default()
}

/// Whether a message is a command for the daemon, or the reply to one.
pub(in crate::turn) const fn is_command(message: &UiMessage) -> bool {
    message.metadata.command
}

fn next_number(checkpoints: &[UiMessage]) -> u32 {
    let newest =
        checkpoints.iter().filter_map(|message| message.checkpoint()).map(|record| record.number).max();
    newest.unwrap_or(0).saturating_add(1)
}
