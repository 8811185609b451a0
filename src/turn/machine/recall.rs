//! Quiet recall: what is searched before a run asks the model for the first time, and where the result is kept.

use std::collections::BTreeSet;

use super::conversation::Conversation;
use crate::domain::MessageId;
use crate::turn::runs::run::Phase;
use crate::uimessage::{Part, RecalledText, UiMessage};

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
        let run = self.run.as_ref().filter(|run| run.phase() == Phase::Thinking)?;
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
