//! What agents in one group share: the lines of a room's log, and who the agents are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MessageId, Platform, ThreadId, Timestamp};

/// The version of the line format.
pub const LINE_VERSION: u32 = 1;
/// Longest text of a line, in bytes.
pub const MAX_LINE_TEXT: usize = 12 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    Said,
    Edited,
    /// The author removed it.
    Gone,
    /// An agent wants to answer the message.
    Claim,
}

/// Who wrote a message. Reported by an agent, not vouched for by the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpeakerKind {
    #[default]
    Person,
    /// An agent of the roster.
    Agent,
    Bot,
    Channel,
}

impl SpeakerKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Bot => "bot",
            Self::Channel => "channel",
        }
    }

    /// Whether a program writes.
    pub const fn is_program(self) -> bool {
        matches!(self, Self::Agent | Self::Bot)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineAuthor {
    /// The platform's id of a person, or the roster's id of an agent.
    pub id: String,
    pub name: String,
    pub kind: SpeakerKind,
}

/// How the writer of a line knows of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The platform sent it to the writer.
    Inbound,
    /// The writer sent it.
    Outbound,
    /// The writer asked the platform for it.
    History,
}

impl Via {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
            Self::History => "history",
        }
    }
}

/// The message that a line replies to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineReply {
    pub message_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// One line of a room's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomLine {
    pub v: u32,
    pub kind: LineKind,
    /// What makes two reports the same message: the id that the message has in a thread file.
    pub key: MessageId,
    /// By the platform's clock; of a claim, by the machine's.
    pub at: Timestamp,
    /// The platform's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<LineReply>,
    pub author: LineAuthor,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether the text was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Of an agent's line: the human message that the chain of answers began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<MessageId>,
    /// Of an agent's line: how many agents' messages the chain has, with this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// Of an agent's line: the agent that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Of a claim: how sure the agent is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub score: u32,
    /// Of a claim: the agent whose earlier claim has lapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lapsed: Option<String>,
    pub via: Via,
    /// The roster's id of the writer.
    pub by: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde requires")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl RoomLine {
    /// Cuts a text that is too long for a line.
    pub fn cut_text(mut self) -> Self {
        if self.text.len() > MAX_LINE_TEXT {
            let end = (0..=MAX_LINE_TEXT).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
            self.text.truncate(end);
            self.cut = true;
        }
        self
    }

    /// Whether an agent other than `me` wrote the message.
    pub fn is_of_other_agent(&self, me: &str) -> bool {
        self.author.kind == SpeakerKind::Agent && self.author.id != me
    }
}

/// An agent's own account on a platform, and what its daemon has learned about the chats there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAccount {
    pub platform: Platform,
    /// The same for every account that sees it: a user id, or the id of an app.
    pub id: String,
    /// The name that mentions and commands carry.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it is sent every message of its groups, where the platform tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hears_all: Option<bool>,
    /// When the platform last sent it a message of another bot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_bot: Option<Timestamp>,
    /// The permission that the platform last found missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// The ids of other agents as this account sees them, by their roster ids, where the platform gives each account its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen_as: BTreeMap<String, String>,
}

impl AgentAccount {
    pub const fn new(platform: Platform, id: String, name: String) -> Self {
        let seen_as = BTreeMap::new();
        Self { platform, id, name, hears_all: None, heard_bot: None, lacks: None, seen_as }
    }
}

/// One agent of the roster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// The same for a project directory on a machine.
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub purpose: String,
    #[serde(default)]
    pub accounts: Vec<AgentAccount>,
    /// The rooms where it is; `None` where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rooms: Option<Vec<ThreadId>>,
    pub at: Timestamp,
    /// Whether it was ended in order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    #[serde(default)]
    pub version: String,
}

/// A heartbeat older than this means that the agent is away.
const AWAY_AFTER_MS: u64 = 90_000;

impl AgentCard {
    pub fn new(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            aliases: Vec::new(),
            purpose: String::new(),
            accounts: Vec::new(),
            rooms: None,
            at: Timestamp::default(),
            left: false,
            version: String::new(),
        }
    }

    pub fn is_away(&self, now: Timestamp) -> bool {
        self.left || now.millis_since(self.at) > AWAY_AFTER_MS
    }

    /// Whether it is in the chat of a room, as far as it tells.
    pub fn is_in(&self, room: &ThreadId) -> bool {
        let same = |other: &ThreadId| other.platform() == room.platform() && other.chat() == room.chat();
        self.rooms.as_ref().is_none_or(|rooms| rooms.iter().any(same))
    }

    /// Its name and aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    pub fn account_on(&self, platform: &Platform) -> Option<&AgentAccount> {
        self.accounts.iter().find(|account| account.platform == *platform)
    }

    /// An account that it shares with another agent, which has these.
    pub fn shared_account(&self, accounts: &[AgentAccount]) -> Option<&AgentAccount> {
        let is_same = |own: &&AgentAccount| {
            accounts.iter().any(|account| account.platform == own.platform && account.id == own.id)
        };
        self.accounts.iter().find(is_same)
    }

    /// Whether this id of a platform is the agent's, for an observer that sees its accounts as `seen_as` tells.
    pub fn is_known_as(
        &self,
        platform: &Platform,
        id: &str,
        seen_as: Option<&BTreeMap<String, String>>,
    ) -> bool {
        let own = self.account_on(platform).is_some_and(|account| account.id == id);
        own || seen_as.and_then(|seen| seen.get(&self.id)).is_some_and(|seen| seen == id)
    }
}
