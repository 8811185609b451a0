//! The machine of one thread: its history, the run in flight, and what waits for the next one.
//!
//! `intake` takes messages in, `steps` moves a run on, `commands` answers words for the daemon, `recover` takes a
//! thread up after a restart. They are parts of this one machine.

use std::collections::VecDeque;
use std::sync::Arc;

use super::intake::Arrival;
use super::run::{Phase, Run};
use super::{Effect, Event};
use crate::domain::{
    AuthorId, Capabilities, CorrelationId, Effects, Language, MessageId, ReadReplies, ThreadId, ThreadState,
    Timestamp, ToolCallId, WhileRunning, WhileWaiting,
};
use crate::policy::Rights;
use crate::ports::{Durability, ThreadRecord, ThreadView};
use crate::uimessage::{ErrorRecord, Part, Role, RunStatus, UiMessage};

/// How long the tail kept in memory may grow before its oldest messages are let go.
const TAIL_BYTES: usize = 1 << 20;

/// How many messages may come before the tail is measured again.
const TRIM_EVERY: usize = 32;

/// What a conversation goes by. The same for all threads of a daemon, but for the capabilities.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Within how many milliseconds a second message joins a run that has shown nothing yet.
    pub merge_ms: u64,
    /// What a message does that arrives later.
    pub while_running: WhileRunning,
    /// How many messages may wait.
    pub mailbox: usize,
    /// How many model calls a run may make.
    pub max_steps: u32,
    /// The language of the daemon's words; nothing means the person's.
    pub language: Option<Language>,
    /// Who may answer questions.
    pub rights: Rights,
    /// For how many milliseconds a question waits for an answer.
    pub expire_ms: u64,
    /// What a message does while a question waits.
    pub while_waiting: WhileWaiting,
    /// Who reads replies that the rules cannot.
    pub read_replies: ReadReplies,
    /// The model's name, for `/status`.
    pub model: String,
    /// What the platform can do.
    pub capabilities: Capabilities,
}

/// Looks up what calls of a tool may do; nothing means that there is no such tool.
pub type EffectsOf = Arc<dyn Fn(&str) -> Option<Effects> + Send + Sync>;

/// Messages that will be answered together, and are on the disk already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) correlation: CorrelationId,
    pub(super) messages: Vec<MessageId>,
}

/// How the deliveries of a thread stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outgoing {
    /// Still to be delivered.
    pub(super) outstanding: usize,
    /// Given up.
    pub(super) dead: usize,
    /// Had to wait until somebody spoke, who just did.
    pub(super) held: usize,
}

/// One thread, as a machine.
pub struct Conversation {
    pub(super) thread: ThreadId,
    pub(super) rules: Arc<Rules>,
    pub(super) effects_of: EffectsOf,
    /// The newest messages as they stand in the file, in the file's order.
    pub(super) history: Vec<UiMessage>,
    pub(super) run: Option<Run>,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) stopping: bool,
    /// Whether the file has older messages than `history`.
    pub(super) has_older: bool,
    /// How long the history must be before it is worth measuring.
    trim_at: usize,
    /// Real tokens per estimated token, by the server's last word.
    pub(super) token_ratio: f64,
    /// Who settled a question last, when, and of which run.
    pub(super) last_decided: Option<(AuthorId, Timestamp, CorrelationId)>,
    /// How the deliveries stand, for `/status`; the actor keeps it up to date.
    pub(super) deliveries: Outgoing,
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
    /// A thread with the history it has on the disk. Feed it [`Event::Resumed`] first.
    pub fn new(thread: ThreadId, rules: Arc<Rules>, effects_of: EffectsOf, record: ThreadRecord) -> Self {
        Self {
            thread,
            rules,
            effects_of,
            history: record.tail,
            has_older: record.has_more,
            run: None,
            waiting: VecDeque::new(),
            stopping: false,
            trim_at: TRIM_EVERY,
            token_ratio: 1.0,
            last_decided: None,
            deliveries: Outgoing { outstanding: record.undelivered.len(), dead: record.dead, held: 0 },
        }
    }

    /// Takes one event and says what is to be done about it. `fresh` makes an id for a run that begins now.
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
            Event::Tick => self.expire(now, &mut out),
            Event::Arrived { event, ticket, known, brought } => {
                let arrival = Arrival { event: *event, ticket, known, brought };
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
            Event::Stopping => self.stopping = true,
        }
        out
    }

    /// What it is doing.
    pub fn state(&self) -> ThreadState {
        match &self.run {
            Some(run) if run.phase == Phase::AwaitingApproval => ThreadState::AwaitingApproval,
            Some(_) => ThreadState::Running,
            None => ThreadState::Idle,
        }
    }

    /// Whether there is nothing to do and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.run.is_none() && self.waiting.is_empty()
    }

    /// Whether a run is being worked on, and nobody is waited for.
    pub fn is_working(&self) -> bool {
        self.run.as_ref().is_some_and(|run| matches!(run.phase, Phase::Thinking | Phase::Acting))
    }

    /// The answer as far as the model has written it.
    pub fn draft(&self) -> Option<String> {
        let run = self.run.as_ref().filter(|run| run.phase == Phase::Thinking)?;
        Some(run.step_words().0).filter(|text| !text.trim().is_empty())
    }

    /// Whether it should end now: it was told to stop and nothing is in flight.
    pub fn is_drained(&self) -> bool {
        // A run that waits for a person waits just as well on the disk.
        self.stopping && self.run.as_ref().is_none_or(|run| run.phase == Phase::AwaitingApproval)
    }

    /// The run in flight.
    pub fn current(&self) -> Option<&CorrelationId> {
        self.run.as_ref().map(|run| &run.correlation)
    }

    /// The platform's id of the message that the run in flight answers.
    pub fn replies_to(&self) -> Option<&str> {
        self.run.as_ref().and_then(|run| run.reply_to.as_deref())
    }

    /// What people may see of it right now. The live message is copied only for those who look.
    pub fn view(&self, watched: bool) -> ThreadView {
        let live = self.run.as_ref().filter(|_| watched);
        ThreadView {
            state: self.state(),
            live: live.map(|run| Arc::new(run.message.clone())),
            queued: self.waiting.iter().map(|waiting| waiting.messages.len()).sum(),
            pending_approvals: self.pending_approvals().len(),
        }
    }

    /// Whether the part of the history in memory has this message.
    pub fn remembers(&self, id: &MessageId) -> bool {
        self.history.iter().any(|message| message.id == *id)
    }

    /// Whether the file has messages that are not in memory.
    pub const fn has_older(&self) -> bool {
        self.has_older
    }

    /// The run that a message in memory belongs to, and its messages so far.
    pub fn run_of(&self, id: &MessageId) -> Option<(CorrelationId, Vec<UiMessage>)> {
        let live = self.run.as_ref().map(|run| &run.message);
        let known = self.history.iter().chain(live).find(|message| message.id == *id)?;
        let correlation = known.metadata.correlation_id.clone();
        let messages = self.messages_of(&correlation);
        Some((correlation, messages))
    }

    /// The messages of a run, as far as they are in memory.
    pub fn messages_of(&self, correlation: &CorrelationId) -> Vec<UiMessage> {
        let of_run = |message: &&UiMessage| message.metadata.correlation_id == *correlation;
        self.history.iter().filter(of_run).cloned().collect()
    }

    /// Whether this run is in flight or waits.
    pub fn is_pending(&self, correlation: &CorrelationId) -> bool {
        self.current() == Some(correlation)
            || self.waiting.iter().any(|waiting| waiting.correlation == *correlation)
    }

    /// Whether this run waits for a person.
    pub fn is_parked(&self, correlation: &CorrelationId) -> bool {
        self.current() == Some(correlation) && self.state() == ThreadState::AwaitingApproval
    }

    /// Tells how many deliveries are outstanding and how many were given up.
    pub const fn note_deliveries(&mut self, outstanding: usize, dead: usize) {
        self.deliveries.outstanding = outstanding;
        self.deliveries.dead = dead;
    }

    /// Tells how many deliveries had to wait for the message that comes in now.
    pub const fn note_held(&mut self, held: usize) {
        self.deliveries.held = held;
    }

    /// The messages that the model is to read now: the history up to and including the run's own message.
    /// What came in for a later run is not shown before it.
    pub fn context(&self) -> Vec<&UiMessage> {
        let boundary = self.history.iter().rposition(is_new_conversation).map_or(0, |at| at + 1);
        let mut out: Vec<&UiMessage> = Vec::new();
        for message in self.history.iter().skip(boundary) {
            match &self.run {
                Some(run) if run.message.id == message.id => {
                    out.push(&run.message);
                    return out;
                }
                _ if self.waiting.iter().any(|waiting| waiting.messages.contains(&message.id)) => {}
                _ => out.push(message),
            }
        }
        out.extend(self.run.as_ref().map(|run| &run.message));
        out
    }

    /// The same, apart by run: what was asked and answered together. The run in flight is the last, with all that
    /// came in since it began.
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

    /// How far the estimate of tokens is off, by the server's last word.
    pub const fn token_ratio(&self) -> f64 {
        self.token_ratio
    }

    /// By what the run's share of the window was cut, after the server found it too long.
    pub fn window_divisor(&self) -> usize {
        self.run.as_ref().map_or(1, |run| 1 << run.shrunk)
    }

    /// Remembers what the estimate said of the prompt that is being sent.
    pub fn note_estimate(&mut self, tokens: usize) {
        if let Some(run) = &mut self.run {
            run.estimate = tokens;
        }
    }

    /// The language the person writes in, unless the operator has chosen.
    pub fn language(&self) -> Language {
        let last_said = || self.history.iter().rev().find(|message| message.role == Role::User);
        self.rules.language.unwrap_or_else(|| last_said().map_or_else(Language::default, written_in))
    }

    /// Puts a message into the history the way the file will have it: a known id keeps its place.
    pub(super) fn remember(&mut self, message: &UiMessage) {
        match self.history.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message.clone(),
            None => self.history.push(message.clone()),
        }
    }

    /// A write of `messages`, which are remembered too.
    pub(super) fn commit(&mut self, messages: Vec<UiMessage>, durability: Durability) -> Effect {
        for message in &messages {
            self.remember(message);
        }
        Effect::Commit { messages, say: Vec::new(), durability }
    }

    /// The line that must stand in the file before a message of a later run may.
    pub(super) fn place_held(&mut self) -> Option<UiMessage> {
        let run = self.run.as_mut().filter(|run| !run.placed && run.phase != Phase::WaitingForSlot)?;
        run.placed = true;
        Some(run.snapshot())
    }

    /// Lets go of the oldest messages once the tail has grown too long: whole runs only, and never one that is open.
    /// To be called when nothing that was asked for is left to be done.
    pub fn trim(&mut self) {
        if self.history.len() < self.trim_at {
            return;
        }
        self.trim_at = self.history.len() + TRIM_EVERY;
        let mut total: usize = self.history.iter().map(UiMessage::size).sum();
        if total <= TAIL_BYTES {
            return;
        }
        let keep_from =
            self.history.iter().position(|message| self.is_pending(&message.metadata.correlation_id));
        let limit = keep_from.unwrap_or(self.history.len().saturating_sub(1));
        let mut cut = 0;
        let mut run = None;
        for (at, message) in self.history.iter().enumerate().take(limit + 1) {
            let next = &message.metadata.correlation_id;
            if run.replace(next) != Some(next) {
                cut = at;
                if total <= TAIL_BYTES / 2 || at == limit {
                    break;
                }
            }
            total = total.saturating_sub(message.size());
        }
        self.history.drain(..cut);
        self.has_older |= cut > 0;
        self.trim_at = self.history.len() + TRIM_EVERY;
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
    pub(super) fn effects_of_call(&self, name: &str) -> Option<Effects> {
        (self.effects_of)(name)
    }

    /// Whether a call of the run is in flight.
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

/// Whether a message is a word for the daemon, or the daemon's reply to one.
pub(super) const fn is_command(message: &UiMessage) -> bool {
    message.metadata.command
}

/// Whether a message begins a new conversation in the same thread.
fn is_new_conversation(message: &UiMessage) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::Command(record) if record.is("new")))
}
