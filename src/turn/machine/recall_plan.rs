//! What a conversation does with memory: the quiet recall before a run, and what is learned from it afterwards.

use std::collections::BTreeSet;

use crate::domain::{MessageId, Timestamp};
use crate::ports::Durability;
use crate::turn::runs::promotion::Proposal;
use crate::turn::runs::run::{Run, RunPhase};
use crate::turn::{CompactionSpan, Conversation, Effect};
use crate::uimessage::{Part, RecalledText, Role, ToolState, UiMessage};

/// The tool that changes memory.
pub const MEMORY_UPSERT: &str = "memory_upsert";
/// Longest query, in characters.
const QUERY_CHARS: usize = 1_000;

/// A search before a run asks the model for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallPlan {
    /// The newest message that the run answers; the result is kept with it.
    pub message: MessageId,
    /// What people said in the messages that the run answers.
    pub words: String,
    /// Messages that the prompt shows anyway.
    pub shown: BTreeSet<MessageId>,
    /// Whether the thread has messages that the prompt does not show.
    pub has_unshown: bool,
}

impl Conversation {
    /// What to search before the next model call; nothing once the run has asked the model, or where the result is
    /// known.
    pub fn to_recall(&self) -> Option<RecallPlan> {
        let run = self.run.as_ref().filter(|run| run.phase() == RunPhase::Thinking)?;
        let asked = run.steps() > 1 || run.message().parts.iter().any(|part| *part != Part::StepStart);
        let newest = self.run_messages().last().filter(|newest| newest.recalled().is_empty() && !asked)?;
        let words = self.run_messages().map(UiMessage::text).collect::<Vec<_>>().join("\n");
        let words: String = words.chars().take(QUERY_CHARS).collect();
        if words.trim().is_empty() {
            return None;
        }
        Some(RecallPlan {
            message: newest.id.clone(),
            words,
            shown: self.context().into_iter().map(|message| message.id.clone()).collect(),
            has_unshown: self.has_older() || self.start().is_some(),
        })
    }

    /// Keeps what was found with the message. Returns the message as it is to be stored.
    pub fn note_recalled(&mut self, id: &MessageId, texts: &[RecalledText]) -> Option<UiMessage> {
        let mut message = self.history.find(id)?.clone();
        message.set_recalled(texts);
        self.history.remember(&message);
        Some(message)
    }
}

impl Conversation {
    /// Whether the run in flight has read the output of a tool that does more than remember.
    pub fn has_tool_output(&self) -> bool {
        let read = |part: &Part| match part {
            Part::Tool(tool) => {
                let ended =
                    matches!(tool.state, ToolState::OutputAvailable { .. } | ToolState::OutputError { .. });
                ended && tool.tool.name() != MEMORY_UPSERT
            }
            _ => false,
        };
        self.run.as_ref().is_some_and(|run| {
            let mut earlier = self.history.answers_of(run.correlation());
            run.message().parts.iter().any(read) || earlier.any(|message| message.parts.iter().any(read))
        })
    }

    /// How many turns of people are behind this message; all that are in memory where it is not there.
    pub fn turns_since(&self, read: Option<&MessageId>) -> usize {
        let said = |m: &&UiMessage| m.role == Role::User && !m.metadata.command && !m.metadata.context;
        let runs: BTreeSet<_> =
            self.behind_message(read).filter(said).map(|m| &m.metadata.correlation_id).collect();
        runs.len()
    }

    /// The first thing that a person said, and the answer to it.
    pub fn opening(&self) -> Option<(String, String)> {
        let mut messages = self.history.messages().iter();
        let asks = |m: &&UiMessage| {
            m.role == Role::User
                && !m.metadata.command
                && !m.metadata.context
                && !m.metadata.checkpoint
                && !m.text().trim().is_empty()
        };
        let asked = messages.find(asks)?.text();
        let answers = |m: &&UiMessage| m.role == Role::Assistant && !m.text().trim().is_empty();
        Some((asked, messages.find(answers)?.text()))
    }

    /// Asks which notes go into core memory, while nothing else is to be done. The run has its line before anybody is
    /// asked, so that a crash in between neither loses the question nor asks it twice.
    pub(super) fn propose(&mut self, proposal: &Proposal, now: Timestamp) -> Vec<Effect> {
        if !self.is_idle() || self.queue.is_closed() || proposal.items.is_empty() {
            return Vec::new();
        }
        self.run = Some(Run::promotion(&self.settings.thread, proposal, now));
        let lines = self.place_run();
        let mut effects = vec![self.recorded(Effect::commit(lines, Durability::Synced))];
        effects.extend(self.with_run(now, Run::advance_calls));
        effects.push(Effect::Publish);
        effects
    }

    /// The newest message of the thread.
    pub fn last_message(&self) -> Option<&MessageId> {
        self.history.messages().last().map(|message| &message.id)
    }

    /// The messages in memory behind the last one of a span.
    pub fn behind(&self, span: &CompactionSpan) -> Vec<MessageId> {
        let last = span.messages.last().map(|message| &message.id);
        self.behind_message(last).map(|message| message.id.clone()).collect()
    }

    fn behind_message(&self, id: Option<&MessageId>) -> impl Iterator<Item = &UiMessage> {
        let at = self.history.messages().iter().position(|message| Some(&message.id) == id);
        self.history.messages().iter().skip(at.map_or(0, |at| at + 1))
    }
}
