//! Who is there: whether a conversation is between the agent and one person.
//!
//! Only the newest messages are in memory. So that what came before them is not forgotten, each message that is said after
//! a second person has spoken says so.

use super::Conversation;
use crate::domain::AuthorId;
use crate::uimessage::{Role, UiMessage};

/// What a message says that was not said in private.
pub(super) const IN_COMPANY: &str = "inCompany";

impl Conversation {
    /// Whether words of this person's are not, or no longer, said in private.
    pub(super) fn is_in_company(&self, author: &AuthorId) -> bool {
        let spoke = self.history.iter().any(|message| message.role == Role::User);
        spoke && self.private_with().as_ref() != Some(author)
    }

    /// The one person who speaks here, where nobody else reads along.
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
