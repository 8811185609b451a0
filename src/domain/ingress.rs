//! What comes in: one shape for every platform.

use super::{Answer, ApprovalId, AuthorId, CommandInvocation, MessageId, Role, ThreadId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub id: AuthorId,
    /// What people call them.
    pub name: Option<String>,
    /// What is vouched for about them.
    pub role: AuthorRole,
}

/// The role of a message's author, established by the platform and the access records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthorRole {
    #[default]
    Person,
    /// A person who administers the chat they spoke in.
    Admin,
    /// An owner by the access records.
    Owner {
        /// Whether they administer the chat as well.
        admin: bool,
    },
    /// A person who was let in only to talk.
    Guest,
    /// The person is unknown: a bot, a channel, an anonymous administrator. Never decides anything.
    Anonymous,
}

impl AuthorRole {
    /// What is left of it once the access book has spoken.
    pub const fn with(self, role: Option<Role>) -> Self {
        match (self, role) {
            (Self::Anonymous, _) => Self::Anonymous,
            (role, Some(Role::Owner)) => {
                Self::Owner { admin: matches!(role, Self::Admin | Self::Owner { admin: true }) }
            }
            (_, Some(Role::Guest)) => Self::Guest,
            (role, Some(Role::Member) | None) => role,
        }
    }

    /// Whether the access book calls them an owner.
    pub const fn is_owner(self) -> bool {
        matches!(self, Self::Owner { .. })
    }
}

/// Whether one person or several can read the chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatKind {
    /// One person and the agent.
    #[default]
    Direct,
    Group,
}

/// A file that came with a message, already where tools and people can reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundFile {
    pub media_type: String,
    /// A `data:`, `https:` or `/api/files/…` address.
    pub url: String,
    /// Its name, where it had one.
    pub name: Option<String>,
}

/// A message: words, files, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    /// What came with them.
    pub files: Vec<InboundFile>,
    /// Heard but not meant for the agent: kept as context, never answered.
    pub context_only: bool,
    /// The message it replies to.
    pub quoted: Option<Quoted>,
    /// Whose words these are, where they were passed on.
    pub forwarded_from: Option<String>,
    /// The words with what is struck through, quoted or code marked as in Markdown, where the platform keeps that apart
    /// from the text. Decisions are read from this.
    pub marked_up: Option<String>,
    /// Written earlier or by a program: a scheduled message, an automatic answer, the result of an inline bot.
    pub automatic: bool,
}

impl Said {
    /// The words that a decision may be read from.
    pub fn decision_text(&self) -> &str {
        self.marked_up.as_deref().unwrap_or(&self.text)
    }
}

/// The earlier message that a message replies to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quoted {
    /// The platform's own id of it.
    pub platform_message: String,
    /// What people call its author.
    pub author: Option<String>,
    /// Its words, or the part of them that was pointed at; cut to a readable length.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IngressKind {
    Said(Said),
    /// The author edited a message; `message` is the id of the original. A message that was
    /// answered already is recorded as corrected, and not answered again.
    Edited(Said),
    /// The author changed the last question and wants a new answer. `message` is its id.
    Revised(Said),
    /// The author wants another answer to the last question, or to the one with this id.
    Regenerate(Option<MessageId>),
    /// A word for the daemon.
    Command(CommandInvocation),
    /// A decision by approval id: a button, the console, the API.
    Decision(Decision),
}

/// An answer to a question, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub approval: ApprovalId,
    pub answer: Answer,
    pub reason: Option<String>,
    /// From where: `button`, `http`, `console`, `cli`.
    pub via: String,
    /// Whether the decision came with the operator's token, which may decide anything.
    pub operator: bool,
}

/// One thing that happened on a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressEvent {
    pub thread: ThreadId,
    pub author: Author,
    /// The dedupe key, which becomes the UIMessage's id.
    pub message: MessageId,
    /// The platform's own id of the message.
    pub platform_message: String,
    /// When, by the platform's clock.
    pub at: Timestamp,
    pub chat: ChatKind,
    pub kind: IngressKind,
}
