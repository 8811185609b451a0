//! How much of the conversation was not read yet for things worth remembering.

use std::collections::BTreeSet;

use crate::domain::MessageId;
use crate::turn::{Conversation, Span};
use crate::uimessage::{Role, UiMessage};

impl Conversation {
    /// How many turns of people are behind this message; all that are in memory where it is not there.
    pub fn turns_since(&self, read: Option<&MessageId>) -> usize {
        let said = |m: &&UiMessage| m.role == Role::User && !m.metadata.command && !m.metadata.context;
        let runs: BTreeSet<_> =
            self.behind_message(read).filter(said).map(|m| &m.metadata.correlation_id).collect();
        runs.len()
    }

    /// The newest message of the thread.
    pub fn last_message(&self) -> Option<&MessageId> {
        self.history.messages().last().map(|message| &message.id)
    }

    /// The messages in memory behind the last one of a span.
    pub fn behind(&self, span: &Span) -> Vec<MessageId> {
        let last = span.messages.last().map(|message| &message.id);
        self.behind_message(last).map(|message| message.id.clone()).collect()
    }

    fn behind_message(&self, id: Option<&MessageId>) -> impl Iterator<Item = &UiMessage> {
        let at = self.history.messages().iter().position(|message| Some(&message.id) == id);
        self.history.messages().iter().skip(at.map_or(0, |at| at + 1))
    }
}
