//! The participants of a thread: whether a conversation is between the agent and one person.
//!
//! Only the newest messages are in memory. So each message that is written after a second person has spoken is marked
//! as not private.

use super::Conversation;
use crate::domain::AuthorId;
use crate::uimessage::{Role, UiMessage};

/// The mark of a message that is not private.
pub(super) const IN_COMPANY: &str = "inCompany";

impl Conversation {
    /// Whether a message of this person is not, or no longer, private.
    pub(super) fn is_in_company(&self, author: &AuthorId) -> bool {
        let spoke = self.history.iter().any(|message| message.role == Role::User);
        spoke && self.private_with().as_ref() != Some(author)
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
