//! Who is there: whether a conversation is between the agent and one person.

use super::Conversation;
use crate::domain::AuthorId;
use crate::uimessage::{Role, UiMessage};

impl Conversation {
    /// The one person who speaks here, where nobody else reads along.
    pub fn private_with(&self) -> Option<AuthorId> {
        let mut people = self.history.iter().filter(|message| message.role == Role::User);
        let first = people.next()?;
        let person = first.metadata.author_id.as_ref()?;
        let shared = |message: &&UiMessage| {
            message.metadata.extra.contains_key("speaker")
                || message.metadata.author_id.as_ref() != Some(person)
        };
        let alone = !std::iter::once(first).chain(people).any(|message| shared(&message));
        alone.then(|| person.clone())
    }
}
