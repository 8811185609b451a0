//! The queue: accepts messages, decides which run answers each, and keeps those that wait for the next run.

use std::collections::VecDeque;

use super::context::TurnContext;
use super::runs::run::{Run, RunPhase};
use super::user_message::{correction_note, edited, user_message};
use crate::domain::{CorrelationId, IngressEvent, IngressKind, MessageId, Said, WhileRunning};
use crate::ports::Acceptance;
use crate::uimessage::{Role, UiMessage};

/// Most bytes of waiting messages per thread: all of them are in memory, and are read again after a restart.
const MAX_WAITING_BYTES: usize = 8 << 20;

/// Stored messages that will be answered together by the next run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) correlation: CorrelationId,
    pub(super) messages: Vec<MessageId>,
}

/// How a message relates to the run in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunRelation {
    /// It starts a run.
    First,
    /// It joins a run that has shown nothing: the model is called again.
    Join,
    /// The run reads it at its next step.
    Steer,
    /// The step is cancelled and started again with it.
    Interrupt,
    /// It waits for the next run.
    Wait,
}

/// A message that was accepted.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) relation: RunRelation,
    /// The run that answers it.
    pub(super) correlation: CorrelationId,
    pub(super) message: UiMessage,
}

/// What becomes of an edit.
#[derive(Debug)]
pub(super) enum Edit {
    /// There is no such message.
    Unknown,
    Unchanged,
    /// The message is in memory: this line takes its place.
    Replaced(Box<UiMessage>),
    /// The message is covered by a checkpoint. What was made of it cannot be changed, so a note tells the model of the
    /// correction where the conversation is now.
    Corrected {
        line: Box<UiMessage>,
        note: Box<UiMessage>,
    },
}

/// Messages that wait for a run, oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    /// Whether no message is accepted and no run is started any more.
    closed: bool,
}

impl Queue {
    /// Takes up the runs that had not begun before a restart.
    pub(super) fn resume(&mut self, waiting: impl IntoIterator<Item = Waiting>) {
        self.waiting = waiting.into_iter().collect();
    }

    /// The daemon stops: no new messages and no new runs.
    pub(super) const fn close(&mut self) {
        self.closed = true;
    }

    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many messages wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.messages.len()).sum()
    }

    /// The messages that wait, oldest first.
    pub(super) fn messages(&self) -> impl Iterator<Item = &MessageId> {
        self.waiting.iter().flat_map(|waiting| &waiting.messages)
    }

    /// The runs that wait, oldest first.
    pub(super) fn runs(&self) -> impl Iterator<Item = &CorrelationId> {
        self.waiting.iter().map(|waiting| &waiting.correlation)
    }

    pub(super) fn has_run(&self, correlation: &CorrelationId) -> bool {
        self.runs().any(|run| run == correlation)
    }

    pub(super) fn has_message(&self, message: &MessageId) -> bool {
        self.waiting.iter().any(|waiting| waiting.messages.contains(message))
    }

    /// Why an event is not processed at all: the daemon stops, or the thread has its message already.
    pub(super) fn turned_away(&self, event: &IngressEvent, known: bool) -> Option<Acceptance> {
        let is_message = matches!(event.kind, IngressKind::Said(_) | IngressKind::Command(_));
        match (self.closed, known && is_message) {
            (true, _) => Some(Acceptance::Stopping),
            (false, true) => Some(Acceptance::Duplicate { message: event.message.clone() }),
            (false, false) => None,
        }
    }

    /// Accepts a message, unless too many wait. One that waits is kept; what the run in flight does with any other is
    /// said by its relation.
    pub(super) fn accept(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        run: Option<&Run>,
        ctx: &TurnContext<'_>,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Option<Accepted> {
        if self.is_full(said, run, ctx) {
            return None;
        }
        let relation = match said.scheduled {
            // The run of a task answers its own message only.
            Some(_) if run.is_some() || !self.is_empty() => RunRelation::Wait,
            Some(_) => RunRelation::First,
            None => self.relation(run, ctx),
        };
        let of_people = |waiting: &&Waiting| {
            said.scheduled.is_none() && ctx.history.scheduled(&waiting.correlation).is_none()
        };
        let correlation = match (relation, run, self.waiting.back().filter(of_people)) {
            (RunRelation::Join | RunRelation::Steer | RunRelation::Interrupt, Some(run), _) => {
                run.correlation().clone()
            }
            (RunRelation::Wait, _, Some(waiting)) => waiting.correlation.clone(),
            _ => fresh(),
        };
        if relation == RunRelation::Wait {
            self.add(&correlation, event.message.clone());
        }
        let message = user_message(event, said, &correlation, ctx);
        Some(Accepted { relation, correlation, message })
    }

    /// Lets messages wait for a run of their own.
    pub(super) fn wait(&mut self, correlation: &CorrelationId, messages: Vec<MessageId>) {
        messages.into_iter().for_each(|message| self.add(correlation, message));
    }

    fn add(&mut self, correlation: &CorrelationId, message: MessageId) {
        match self.waiting.iter_mut().find(|waiting| waiting.correlation == *correlation) {
            Some(waiting) => waiting.messages.push(message),
            None => {
                let correlation = correlation.clone();
                self.waiting.push_back(Waiting { correlation, messages: vec![message] });
            }
        }
    }

    /// Whether the waiting messages have reached their limit.
    fn is_full(&self, said: &Said, run: Option<&Run>, ctx: &TurnContext<'_>) -> bool {
        if self.len().max(run.map_or(0, Run::joined)) >= ctx.rules().mailbox {
            return true;
        }
        let is_open = |id: &CorrelationId| run.is_some_and(|run| run.correlation() == id) || self.has_run(id);
        let open = ctx
            .history
            .messages()
            .iter()
            .filter(|message| message.role == Role::User && is_open(&message.metadata.correlation_id));
        let bytes: usize = open.map(UiMessage::size).sum();
        let files: usize = said.files.iter().map(|file| file.url.len()).sum();
        bytes > 0 && bytes + said.text.len() + files > MAX_WAITING_BYTES
    }

    /// How a message that arrives now relates to the run in flight.
    fn relation(&self, run: Option<&Run>, ctx: &TurnContext<'_>) -> RunRelation {
        let rules = ctx.rules();
        let Some(run) = run else {
            return if self.is_empty() { RunRelation::First } else { RunRelation::Wait };
        };
        // The run of a task is not joined: it has rights, a model and limits of its own.
        if run.is_promotion() || ctx.history.scheduled(run.correlation()).is_some() {
            return RunRelation::Wait;
        }
        let quick = rules.merge_ms > 0 && ctx.now.millis_since(run.began()) <= rules.merge_ms;
        // A run without a slot has done nothing yet, so joining it costs nothing.
        if run.is_untouched() && (quick || run.phase() == RunPhase::WaitingForSlot) {
            return RunRelation::Join;
        }
        // While an approval is pending the run does not continue: messages wait for the next run.
        if run.phase() == RunPhase::AwaitingApproval {
            return RunRelation::Wait;
        }
        match rules.while_running {
            WhileRunning::Merge => RunRelation::Wait,
            WhileRunning::Steer => RunRelation::Steer,
            WhileRunning::Interrupt => RunRelation::Interrupt,
        }
    }

    /// Reads an edit. `earlier` is the message where it is no longer in memory.
    pub(super) fn edit(
        event: &IngressEvent,
        said: &Said,
        earlier: Option<&UiMessage>,
        ctx: &TurnContext<'_>,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Edit {
        let (known, in_memory) = match (ctx.history.find_said(&event.message), earlier) {
            (Some(known), _) => (known, true),
            (None, Some(earlier)) => (earlier, false),
            (None, None) => return Edit::Unknown,
        };
        match edited(event, said, known, ctx).map(Box::new) {
            None => Edit::Unchanged,
            Some(line) if in_memory => Edit::Replaced(line),
            Some(line) => {
                let note = Box::new(correction_note(event, said, &fresh(), ctx));
                Edit::Corrected { line, note }
            }
        }
    }

    /// The run that has waited longest; none once the queue is closed.
    pub(super) fn next_run(&mut self) -> Option<Waiting> {
        if self.closed { None } else { self.waiting.pop_front() }
    }

    /// Removes a run that waits.
    pub(super) fn take_run(&mut self, correlation: &CorrelationId) {
        self.waiting.retain(|waiting| waiting.correlation != *correlation);
    }

    /// Removes all that wait.
    pub(super) fn take_all(&mut self) -> Vec<Waiting> {
        self.waiting.drain(..).collect()
    }

    /// Whether a message is the only one that waits for its run.
    pub(super) fn is_alone(&self, message: &MessageId) -> bool {
        self.waiting.iter().any(|waiting| waiting.messages == std::slice::from_ref(message))
    }

    /// Removes a message that turned out to be no message for the model.
    pub(super) fn remove(&mut self, message: &MessageId) {
        for waiting in &mut self.waiting {
            waiting.messages.retain(|known| known != message);
        }
        self.waiting.retain(|waiting| !waiting.messages.is_empty());
    }
}
