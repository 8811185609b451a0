//! Who was let in beyond what `ship.json` says, and who asks to be. Chat adapters ask it about everybody their
//! settings do not name; the operator answers through the console and the command line.

use serde::{Deserialize, Serialize};

use super::{BoxFuture, StoreError};
use crate::domain::{Author, AuthorId, Platform, Role, ThreadId, Timestamp};

/// What became of somebody's wish to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairingRequest {
    /// They have a code that the operator can confirm.
    Code {
        code: String,
        /// When it is worth nothing any more.
        expires: Timestamp,
        /// Whether to say it: false when it was said a moment ago.
        fresh: bool,
    },
    /// Too many others wait. Nothing is to be said.
    TooMany,
}

/// What became of a code that the operator confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approved {
    /// This person is let in.
    Let(Member),
    /// Nobody waits with this code: it is wrong, used or too old.
    NoSuchCode,
    /// Too many wrong codes: none is looked at until then.
    Locked { until: Timestamp },
}

/// A code that lets in whoever brings it first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invitation {
    pub code: String,
    /// What they may do.
    pub role: Role,
    pub invited_by: AuthorId,
    /// When it is worth nothing any more.
    pub expires: Timestamp,
}

/// Whoever access can be taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guest {
    Person(AuthorId),
    /// A group, by the thread of the whole chat.
    Chat(ThreadId),
}

impl std::fmt::Display for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Person(person) => person.fmt(f),
            Self::Chat(chat) => chat.fmt(f),
        }
    }
}

impl std::str::FromStr for Guest {
    type Err = crate::domain::BadId;

    /// `platform:user:id` or `platform:chat:id`.
    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        match raw.parse() {
            Ok(chat) => Ok(Self::Chat(chat)),
            Err(_) => raw.parse().map(Self::Person),
        }
    }
}

/// Somebody who was let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    pub id: AuthorId,
    /// What people called them then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What they may do.
    #[serde(default)]
    pub role: Role,
    pub approved_by: AuthorId,
    /// When, RFC 3339.
    pub approved_at: String,
}

/// A group that was opened by an owner who spoke there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenChat {
    /// The thread of the whole chat.
    pub id: ThreadId,
    pub opened_by: AuthorId,
    /// When, RFC 3339.
    pub opened_at: String,
}

/// Somebody who asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applicant {
    pub id: AuthorId,
    /// What people call them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What they were told to hand to the operator.
    pub code: String,
    /// Since when, RFC 3339.
    pub asked_at: String,
    /// Until when the code is good, RFC 3339.
    pub expires_at: String,
}

/// Somebody who had been let in and was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    pub id: AuthorId,
    /// What people called them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub removed_by: AuthorId,
    /// When, RFC 3339.
    pub removed_at: String,
}

/// Everybody the book knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessList {
    /// Those who were let in.
    pub people: Vec<Member>,
    /// Groups that were opened.
    pub chats: Vec<OpenChat>,
    pub asking: Vec<Applicant>,
    /// Those who were removed, and stay out until they are let in again.
    #[serde(default)]
    pub removed: Vec<Removed>,
}

/// The book of who was let in. What it was told is on the disk before it says so. Asking it is cheap enough to be
/// done for every message. A book that cannot be read lets nobody in.
pub trait AccessBook: Send + Sync + std::fmt::Debug {
    /// What a person may do who was let in; nothing where they were not.
    fn role_of(&self, author: &AuthorId) -> BoxFuture<'_, Result<Option<Role>, StoreError>>;

    /// Whether a person had been let in and was removed. Unless the settings name them, they stay out.
    fn is_removed(&self, author: &AuthorId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// A person nobody knows writes in private: a code for the operator to confirm, the same one while it lives.
    fn ask_in(&self, who: Author, now: Timestamp) -> BoxFuture<'_, Result<PairingRequest, StoreError>>;

    /// Whether a group was opened by an owner who spoke there.
    fn is_open(&self, platform: &Platform, chat: &str) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// An owner spoke in a group. Whoever calls it knows that they are one.
    fn open_chat(
        &self,
        platform: &Platform,
        chat: &str,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Everybody, those first who were first.
    fn list(&self, now: Timestamp) -> BoxFuture<'_, Result<AccessList, StoreError>>;

    /// The operator confirms a code: whoever has it is let in, once.
    fn approve(
        &self,
        code: &str,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Approved, StoreError>>;

    /// The operator makes a code that lets in one person, whoever brings it first.
    fn invite(
        &self,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Invitation, StoreError>>;

    /// Somebody brings a code they were invited with. Says whether they are let in by it.
    fn redeem(&self, who: Author, code: &str, now: Timestamp) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// The operator changes what somebody may do who was let in. Nothing where they were not.
    fn change_role(
        &self,
        who: &AuthorId,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<Member>, StoreError>>;

    /// The operator takes access back. Says whether there was any.
    fn revoke(&self, who: &Guest, by: &AuthorId, now: Timestamp) -> BoxFuture<'_, Result<bool, StoreError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_chats_are_told_apart_by_their_ids() {
        assert!(matches!("telegram:user:7".parse(), Ok(Guest::Person(_))));
        assert!(matches!("telegram:chat:-100".parse(), Ok(Guest::Chat(_))));
        assert_eq!("feishu:chat:oc_1".parse::<Guest>().unwrap().to_string(), "feishu:chat:oc_1");
        for bad in ["", "ada", "telegram:7", "telegram:user:"] {
            assert!(bad.parse::<Guest>().is_err(), "{bad:?}");
        }
    }
}
