//! Inbound events: one type for every platform.

use serde::{Deserialize, Serialize};

use super::room::{SpeakerKind, Via};
use super::{
    Answer, ApprovalId, AuthorId, CommandInvocation, MessageId, Role, ScheduledRun, ThreadId, Timestamp,
    Voice,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub id: AuthorId,
    pub name: Option<String>,
    pub role: AuthorRole,
}

/// The role of a message's author, established by the platform and the access records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// A person with access only to talk.
    Guest,
    /// The person is unknown: a bot, a channel, an anonymous administrator. Never decides anything.
    Anonymous,
}

impl AuthorRole {
    /// The role combined with the role in the access records.
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

    /// Whether the access records list the author as an owner.
    pub const fn is_owner(self) -> bool {
        matches!(self, Self::Owner { .. })
    }
}

/// Who can read the chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatKind {
    /// One person and the agent.
    #[default]
    Direct,
    /// Several people.
    Group,
    /// The holder of the operator's token, at the console or in a terminal.
    Operator,
    /// No person in particular: a program that names no user, a task.
    Program,
}

impl ChatKind {
    /// Whether only the author reads it.
    pub const fn is_private(self) -> bool {
        !matches!(self, Self::Group)
    }
}

/// A file of an inbound message, already stored where tools and people can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboundFile {
    pub media_type: String,
    /// A `data:`, `https:` or `/api/files/…` address.
    pub url: String,
    pub name: Option<String>,
}

/// Whether a message in a group names the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MentionState {
    /// By a mention, a reply or a command. So does every message of a direct chat.
    #[default]
    Named,
    /// It is for the agent without a mention: the agent may stay silent.
    Unnamed,
    /// Whether it is for the agent is still to be judged: it is kept as context until then.
    Undecided,
}

impl MentionState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Unnamed => "unnamed",
            Self::Undecided => "undecided",
        }
    }
}

/// Whether a message is for the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Addressed {
    /// The message starts no run. The relevance gate may still have it answered, and people who may decide can decide
    /// approvals with it.
    pub context_only: bool,
    #[serde(rename = "attention")]
    pub mention: MentionState,
}

impl Addressed {
    /// The message names the agent.
    pub const ANSWER: Self = Self { context_only: false, mention: MentionState::Named };
    /// The message names no agent and is for this one all the same: it goes on, or all messages are answered.
    pub const UNNAMED: Self = Self { context_only: false, mention: MentionState::Unnamed };
    /// The message names no agent, and the relevance gate decides by its content.
    pub const UNDECIDED: Self = Self { context_only: true, mention: MentionState::Undecided };
    /// The message is for others, and is kept as context.
    pub const CONTEXT: Self = Self { context_only: true, mention: MentionState::Named };
}

/// What is known of a program that wrote a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerWords {
    pub kind: SpeakerKind,
    /// Its id in the roster.
    pub agent: Option<String>,
    /// How another agent knows of the message, where the platform did not send it.
    pub via: Option<Via>,
    /// The person's message that the chain of answers began with.
    pub chain: Option<MessageId>,
    /// How many messages of agents the chain has.
    pub depth: u32,
}

/// A message: text, files, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Said {
    pub text: String,
    pub files: Vec<InboundFile>,
    #[serde(flatten)]
    pub addressed: Addressed,
    /// Set where a program wrote it, not a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerWords>,
    /// The message it replies to.
    pub quoted: Option<Quoted>,
    /// The original author, where the message was forwarded.
    pub forwarded_from: Option<String>,
    /// The text with strikethrough, quotes and code marked as in Markdown, where the platform sends formatting
    /// separately. Decisions are read from this.
    pub marked_up: Option<String>,
    /// Not written by hand at this time: a scheduled message, an automatic answer, the result of an inline bot.
    pub automatic: bool,
    /// The threads that get the result of its run, beside its own. Its author needs the right to send there.
    pub deliver_to: Vec<ThreadId>,
    /// The run of a task that it starts.
    pub scheduled: Option<Box<ScheduledRun>>,
    /// Set where the message was spoken: its text is a transcript.
    pub voice: Option<Voice>,
    /// The operator wrote it from outside: the people of the thread are shown it, marked as the operator's.
    pub announced: bool,
}

impl Said {
    /// The text that a decision may be read from.
    pub fn decision_text(&self) -> &str {
        self.marked_up.as_deref().unwrap_or(&self.text)
    }
}

/// The earlier message that a message replies to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quoted {
    /// The platform's own id of it.
    pub platform_message: String,
    /// The display name of its author.
    pub author: Option<String>,
    /// Its text, or the quoted part of it; cut to a readable length.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IngressKind {
    Said(Said),
    /// The author edited a message; `message` is the id of the original. A message that was
    /// answered already is recorded as corrected, and not answered again.
    Edited(Said),
    /// The author edited the last question and wants a new answer. `message` is its id.
    Revised(Said),
    /// The author takes back a message that waits for its run. `message` is its id.
    Withdrawn,
    /// The author wants another answer to the last question, or to the one with this id.
    Regenerate(Option<MessageId>),
    Command(CommandInvocation),
    /// The scheduler stops the run that answers this message, and no other.
    StopRun(MessageId),
    /// A decision by approval id: a button, the console, the API.
    Decision(Decision),
}

/// An answer to an approval, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub approval: ApprovalId,
    pub answer: Answer,
    pub reason: Option<String>,
    /// The surface: `button`, `http`, `console`, `cli`.
    pub via: String,
    /// Whether the decision came with the operator's token, which may decide anything.
    pub operator: bool,
}

/// One event of a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressEvent {
    pub thread: ThreadId,
    pub author: Author,
    /// The dedupe key, which becomes the UIMessage's id.
    pub message: MessageId,
    /// The platform's own id of the message.
    pub platform_message: String,
    /// By the platform's clock.
    pub at: Timestamp,
    pub chat: ChatKind,
    pub kind: IngressKind,
}
