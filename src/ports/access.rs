//! Access records: people and groups that were let in beyond `ship.json`, and pairing requests. Chat adapters look up
//! everyone the settings do not name; the operator decides through the console and the command line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoxFuture, StoreError};
use crate::domain::{Author, AuthorId, Platform, Role, ThreadId, Timestamp};

/// The result of a pairing request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairingRequest {
    /// A code that the operator can confirm.
    Code {
        code: String,
        expires: Timestamp,
        /// Whether to send the code: false when it was sent a moment ago.
        fresh: bool,
    },
    /// Too many requests are open. Send no reply.
    TooMany,
}

/// The result of confirming a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairingConfirmation {
    /// This person has access now.
    Confirmed(Member),
    /// No open request has this code: it is wrong, used or expired.
    NoSuchCode,
    /// Too many wrong codes: codes are refused until then.
    Locked { until: Timestamp },
}

/// A code that gives access to the first person who redeems it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invitation {
    pub code: String,
    pub role: Role,
    pub invited_by: AuthorId,
    pub expires: Timestamp,
}

/// A person or group whose access can be revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessSubject {
    Person(AuthorId),
    /// A group, by the thread of the whole chat.
    Chat(ThreadId),
}

impl std::fmt::Display for AccessSubject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Person(person) => person.fmt(f),
            Self::Chat(chat) => chat.fmt(f),
        }
    }
}

impl std::str::FromStr for AccessSubject {
    type Err = crate::domain::BadId;

    /// Parses `platform:user:id` or `platform:chat:id`.
    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        match raw.parse() {
            Ok(chat) => Ok(Self::Chat(chat)),
            Err(_) => raw.parse().map(Self::Person),
        }
    }
}

/// A person with access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    pub id: AuthorId,
    /// The display name at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default)]
    pub role: Role,
    pub approved_by: AuthorId,
    /// RFC 3339.
    pub approved_at: String,
}

/// A group that was opened by an owner's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenChat {
    /// The thread of the whole chat.
    pub id: ThreadId,
    pub opened_by: AuthorId,
    /// RFC 3339.
    pub opened_at: String,
}

/// A person with an open pairing request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applicant {
    pub id: AuthorId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The code for the operator.
    pub code: String,
    /// RFC 3339.
    pub asked_at: String,
    /// RFC 3339.
    pub expires_at: String,
}

/// A person whose access was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    pub id: AuthorId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub removed_by: AuthorId,
    /// RFC 3339.
    pub removed_at: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessList {
    pub people: Vec<Member>,
    /// Groups that were opened.
    pub chats: Vec<OpenChat>,
    pub asking: Vec<Applicant>,
    /// People whose access was revoked; they stay out until they are let in again.
    #[serde(default)]
    pub removed: Vec<Removed>,
}

/// The access records. A change is durable before its future is ready. A look-up is cheap enough to be done for every
/// message. If the records cannot be read, access is denied.
pub trait AccessStore: Send + Sync + std::fmt::Debug {
    /// The role of a person with access; `None` without access.
    fn role_of(&self, author: &AuthorId) -> BoxFuture<'_, Result<Option<Role>, StoreError>>;

    /// Whether a person's access was revoked. Unless the settings name them, they stay out.
    fn is_removed(&self, author: &AuthorId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// A pairing request of an unknown person in a private chat: a code for the operator to confirm, the same one until
    /// it expires.
    fn ask_in(&self, who: Author, now: Timestamp) -> BoxFuture<'_, Result<PairingRequest, StoreError>>;

    /// Whether a group was opened by an owner's message.
    fn is_open(&self, platform: &Platform, chat: &str) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Opens a group. The caller has checked that the person is an owner.
    fn open_chat(
        &self,
        platform: &Platform,
        chat: &str,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// All records, oldest first.
    fn list(&self, now: Timestamp) -> BoxFuture<'_, Result<AccessList, StoreError>>;

    /// The operator confirms a code: its person gets access, once.
    fn approve(
        &self,
        code: &str,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<PairingConfirmation, StoreError>>;

    /// The operator creates a code that gives access to the first person who redeems it.
    fn invite(
        &self,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Invitation, StoreError>>;

    /// Redeems an invitation code. Returns whether it gave access.
    fn redeem(&self, who: Author, code: &str, now: Timestamp) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// The operator changes a person's role. `None` where the person has no access.
    fn change_role(
        &self,
        who: &AuthorId,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<Member>, StoreError>>;

    /// The operator revokes access. Returns whether there was any.
    fn revoke(
        &self,
        who: &AccessSubject,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_chats_are_told_apart_by_their_ids() {
        assert!(matches!("telegram:user:7".parse(), Ok(AccessSubject::Person(_))));
        assert!(matches!("telegram:chat:-100".parse(), Ok(AccessSubject::Chat(_))));
        assert_eq!("feishu:chat:oc_1".parse::<AccessSubject>().unwrap().to_string(), "feishu:chat:oc_1");
        for bad in ["", "ada", "telegram:7", "telegram:user:"] {
            assert!(bad.parse::<AccessSubject>().is_err(), "{bad:?}");
        }
    }
}
