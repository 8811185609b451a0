//! The newest messages of a thread: which of them the model reads, and when the oldest leave memory.

use super::runs::run::Phase;
use super::{Conversation, Effect};
use crate::domain::{CorrelationId, MessageId};
use crate::ports::Durability;
use crate::uimessage::{CheckpointRecord, Part, UiMessage};

/// Size of the tail in memory at which its oldest messages are dropped.
const TAIL_BYTES: usize = 1 << 20;
/// Estimated size of a message beside its parts.
const MESSAGE_OVERHEAD: usize = 512;

/// A tail of so many bytes or messages is compacted, so that its start moves only with a checkpoint. Below what a store
/// takes a thread up with.
const LONG_TAIL_BYTES: usize = TAIL_BYTES * 5 / 8;
const LONG_TAIL_MESSAGES: usize = 640;

/// How many messages arrive before the tail is measured again.
pub(super) const TRIM_EVERY: usize = 32;

/// The status in the record of a refused command.
pub(super) const REFUSED: &str = "refused";

impl Conversation {
    /// Whether this message is in memory.
    pub fn remembers(&self, id: &MessageId) -> bool {
        self.history.iter().any(|message| message.id == *id)
    }

    /// Whether the file has messages that are not in memory.
    pub const fn has_older(&self) -> bool {
        self.has_older
    }

    /// The run of a message in memory, and the run's messages so far.
    pub fn run_of(&self, id: &MessageId) -> Option<(CorrelationId, Vec<UiMessage>)> {
        let live = self.run.as_ref().map(|run| &run.message);
        let known = self.history.iter().chain(live).find(|message| message.id == *id)?;
        let correlation = known.metadata.correlation_id.clone();
        let messages = self.messages_of(&correlation);
        Some((correlation, messages))
    }

    /// The messages of a run that are in memory.
    pub fn messages_of(&self, correlation: &CorrelationId) -> Vec<UiMessage> {
        let of_run = |message: &&UiMessage| message.metadata.correlation_id == *correlation;
        self.history.iter().filter(of_run).cloned().collect()
    }

    /// The message after which the visible conversation begins, where that is not the thread's first.
    pub fn start(&self) -> Option<&MessageId> {
        let begun = self.history.iter().rfind(|message| is_new_conversation(message));
        begun.or(self.checkpoints.last()).map(|message| &message.id)
    }

    /// What the model is shown of the conversation before the messages in memory, oldest first.
    pub fn checkpoints(&self) -> Vec<&CheckpointRecord> {
        // A new conversation begins without what was summed up before.
        let anew = self.history.iter().any(is_new_conversation);
        self.checkpoints.iter().filter(|_| !anew).filter_map(UiMessage::checkpoint).collect()
    }

    /// Where the messages of the conversation begin in `history`.
    pub(super) fn boundary(&self) -> usize {
        self.history.iter().rposition(is_new_conversation).map_or(0, |at| at + 1)
    }

    /// Whether so much is in memory that its beginning will be let go soon, however large the window is.
    pub fn is_tail_long(&self) -> bool {
        let size = || self.history.iter().map(UiMessage::size).sum::<usize>();
        self.history.len() >= LONG_TAIL_MESSAGES || size() >= LONG_TAIL_BYTES
    }

    /// The messages for the model: the history up to and including the run's own message. Messages for a later run are
    /// not included.
    pub fn context(&self) -> Vec<&UiMessage> {
        let mut out: Vec<&UiMessage> = Vec::new();
        for message in
            self.history.iter().skip(self.boundary()).filter(|message| !message.metadata.checkpoint)
        {
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

    /// Adds a message to the history in the file's order: a known id keeps its place.
    pub(super) fn remember(&mut self, message: &UiMessage) {
        match self.history.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message.clone(),
            None => self.history.push(message.clone()),
        }
    }

    /// A commit of `messages`, which are also added to the history.
    pub(super) fn commit(&mut self, messages: Vec<UiMessage>, durability: Durability) -> Effect {
        for message in &messages {
            self.remember(message);
        }
        Effect::Commit { messages, say: Vec::new(), durability }
    }

    /// The line that must be in the file before a message of a later run.
    pub(super) fn place_held(&mut self) -> Option<UiMessage> {
        let run = self.run.as_mut().filter(|run| !run.placed && run.phase != Phase::WaitingForSlot)?;
        run.placed = true;
        Some(run.snapshot())
    }

    /// Estimated memory of the history: parsed messages take about three times the bytes of their text.
    pub fn memory(&self) -> usize {
        self.history
            .iter()
            .map(|message| message.size().saturating_add(MESSAGE_OVERHEAD).saturating_mul(3))
            .sum()
    }

    /// Drops the oldest messages once the tail has grown too long: whole runs only, and never an open one. Call it when
    /// no effects are outstanding.
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
}

/// Whether a message begins a new conversation in the thread.
fn is_new_conversation(message: &UiMessage) -> bool {
    let asked = message.parts.iter().any(|part| matches!(part, Part::Command(record) if record.is("new")));
    asked && !message.metadata.extra.contains_key(REFUSED)
}
