//! The participants of a thread: whether a conversation is between the agent and one person, and which memory it may
//! use.
//!
//! Only the newest messages are in memory. So each message that is written after a second person has spoken is marked
//! as not private.

use super::Conversation;
use crate::domain::{AuthorId, CorrelationId, MemoryScope, Origin};
use crate::uimessage::{Role, UiMessage};

/// The mark of a message that is not private.
pub(super) const IN_COMPANY: &str = "inCompany";

impl Conversation {
    /// Whether a message of this person is not, or no longer, private.
    pub(super) fn is_in_company(&self, author: &AuthorId) -> bool {
        let spoke = self.history.iter().any(|message| message.role == Role::User);
        spoke && self.private_with().as_ref() != Some(author)
    }

    /// Whether nobody else has spoken in this thread.
    pub fn is_private_for(&self, author: &AuthorId) -> bool {
        !self.is_in_company(author)
    }

    /// The memory that the run in flight may use: as it was resolved when its messages were accepted, and narrowed where
    /// other people have spoken in this thread.
    pub fn memory_scope(&self) -> MemoryScope {
        self.scope_of(self.run_messages())
    }

    /// The memory that all of these messages may use.
    pub fn scope_of<'a>(&self, messages: impl Iterator<Item = &'a UiMessage>) -> MemoryScope {
        let scopes = messages
            .filter(|message| message.role == Role::User && !message.metadata.command)
            .map(|message| message.memory_scope().unwrap_or_default());
        let common = scopes.reduce(|common, scope| common.and(&scope)).unwrap_or_default();
        if self.private_with().is_some() { common } else { common.without_person() }
    }

    /// How far the least trusted author of the run in flight is trusted.
    pub fn origin(&self) -> Origin {
        self.run_messages().map(UiMessage::origin).max().unwrap_or(Origin::Member)
    }

    /// The messages of people that the run in flight answers; those of the last run where none is in flight.
    pub fn run_messages(&self) -> impl Iterator<Item = &UiMessage> {
        let said = |message: &&UiMessage| message.role == Role::User && !message.metadata.command;
        let last = || self.history.iter().rfind(said).map(|message| &message.metadata.correlation_id);
        let run: Option<&CorrelationId> = self.current().or_else(last);
        let own = move |message: &&UiMessage| run == Some(&message.metadata.correlation_id);
        self.history.iter().filter(said).filter(own)
    }

    /// The only person in this thread, where no one else can read it.
    pub fn private_with(&self) -> Option<AuthorId> {
        let mut people = self.history.iter().filter(|message| message.role == Role::User);
        let first = people.next()?;
        let person = first.metadata.author_id.as_ref()?;
        let shared = |message: &&UiMessage| {
            message.metadata.extra.contains_key("speaker")
                || message.metadata.extra.contains_key(IN_COMPANY)
                || message.metadata.author_id.as_ref() != Some(person)
        };
        let alone = !std::iter::once(first).chain(people).any(|message| shared(&message));
        alone.then(|| person.clone())
    }
}
