//! What a platform and its settings provide to the pipeline.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::super::{FetchError, GroupsSection, Menu};
use super::access::AllowList;
use super::{Attachment, Inbound, InboundMessage, Press, QueuedEvent};
use crate::domain::{Approval, ApprovalId, ChatKind, StoredFile};
use crate::metrics::Metrics;
use crate::ports::{AdapterParts, BoxFuture, StoreError};

/// One chat platform, as the pipeline sees it. Every method ends in bounded time.
pub trait InboundPlatform: Send + Sync + std::fmt::Debug + 'static {
    /// Parses an event. Without I/O.
    fn parse(&self, raw: &Value) -> Vec<Inbound>;

    /// Parses an inbox entry of an earlier version.
    fn parse_stored(&self, _stored: &Value) -> Option<QueuedEvent> {
        None
    }

    /// The author has access: records what later answers need, and looks up what the event does not carry. May be called
    /// again for the same message.
    fn admitted<'a>(&'a self, _message: &'a mut InboundMessage) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Downloads a part of a message.
    fn fetch<'a>(
        &'a self,
        message: &'a InboundMessage,
        attachment: &'a Attachment,
        file: &'a StoredFile,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>>;

    /// Whether a person administers a group.
    fn is_admin<'a>(&'a self, query: AdminQuery<'a>) -> BoxFuture<'a, Result<AdminAnswer, LookupError>>;

    /// Sends a notice outside the conversation. It may get lost.
    fn tell<'a>(&'a self, message: &'a InboundMessage, words: &'a str, urgency: Urgency)
    -> BoxFuture<'a, ()>;

    /// A message that is for the agent was accepted. Must not wait.
    fn accepted(&self, _message: &InboundMessage) {}

    /// What the message says instead of a file that could not be fetched; `notice` is what the author is told.
    fn missing_file(&self, _name: &str, notice: &str) -> String {
        notice.to_owned()
    }

    /// The chat of an approval; `None` where the button was pressed in another chat.
    fn locate<'a>(&'a self, press: &'a Press, approval: &'a Approval) -> BoxFuture<'a, Option<PressedIn>>;

    /// A person with access pressed a button of an approval.
    fn press_admitted<'a>(&'a self, _press: &'a Press, _approval: &'a Approval) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Answers a pressed button. The value, if any, is the platform's acknowledgement of the event.
    fn answer_press<'a>(
        &'a self,
        press: &'a Press,
        approval: Option<&'a Approval>,
        answer: PressAnswer,
    ) -> BoxFuture<'a, Option<Value>>;

    fn handle<'a>(&'a self, _event: &'a Value) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

/// The settings about people and groups, the same for all platforms.
#[derive(Clone, Debug)]
pub struct InboundOptions {
    pub allow: AllowList,
    pub groups: GroupsSection,
    /// Whether group administrators may decide approvals.
    pub admins_decide: bool,
    /// Whether an unknown person gets a pairing code.
    pub offers_pairing: bool,
    /// Counts refused messages.
    pub metrics: Arc<Metrics>,
}

impl Default for InboundOptions {
    fn default() -> Self {
        Self {
            allow: AllowList::default(),
            groups: GroupsSection::default(),
            admins_decide: false,
            offers_pairing: true,
            metrics: Arc::default(),
        }
    }
}

impl InboundOptions {
    /// From the adapter's section: the people who may write in a direct chat, the groups that are served, and the
    /// settings for groups.
    pub fn new<P: AsRef<str>>(
        parts: &AdapterParts,
        people: &[P],
        chats: &[String],
        groups: &GroupsSection,
    ) -> Self {
        Self {
            allow: AllowList::new(parts, people, chats),
            groups: groups.clone(),
            admins_decide: parts.admins_decide,
            offers_pairing: true,
            metrics: parts.metrics.clone(),
        }
    }
}

/// The fixed differences between platforms.
#[derive(Clone, Copy, Debug)]
pub struct InboundProfile {
    /// The folder of the inbox in the adapter's state.
    pub inbox: &'static str,
    /// Whether messages can be recalled.
    pub recalls: bool,
    /// Whether the files of an edit are downloaded; otherwise only those that are stored already are attached.
    pub fetches_edits: bool,
    /// Whether a message of which nothing could be fetched is submitted.
    pub submits_lost_files: bool,
    /// Whether a message without any content is submitted.
    pub submits_empty: bool,
    /// Whether a press that cannot be accepted now is stored; otherwise the person is asked to press again.
    pub stores_presses: bool,
    /// How many downloads run at the same time, and the deadline of each.
    pub downloads: usize,
    pub download_within: Duration,
}

impl Default for InboundProfile {
    fn default() -> Self {
        Self {
            inbox: "inbox",
            recalls: false,
            fetches_edits: true,
            submits_lost_files: true,
            submits_empty: false,
            stores_presses: true,
            downloads: 8,
            download_within: Duration::from_secs(60),
        }
    }
}

/// A fetched part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The file is stored.
    File { media_type: String },
    /// The text of the message.
    Text(String),
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    Needed,
    /// May be left out where sending is limited.
    Passing,
}

/// What an administrator check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminCheck {
    /// Deciding approvals, where the settings allow administrators.
    Decision,
    /// Stopping runs of others, always allowed.
    End,
}

#[derive(Clone, Copy, Debug)]
pub struct AdminQuery<'a> {
    pub chat: &'a str,
    /// The platform's own id of the person.
    pub user: &'a str,
    pub check: AdminCheck,
    /// The detail of the message or press.
    pub detail: &'a Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminAnswer {
    Is(bool),
    /// All administrators of the group.
    All(BTreeSet<String>),
    /// There is no way to find out.
    Unknown,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum LookupError {
    /// For this group; another group may be answered.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    NoAnswer(String),
}

/// The chat where a button was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PressedIn {
    /// The ids of the chat, as in [`InboundMessage::chats`].
    pub chats: Vec<String>,
    pub kind: ChatKind,
}

/// The response to a pressed button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PressAnswer {
    /// The decision counts.
    Counted,
    /// It does not count, with the reason.
    Refused(String),
    /// The other menu of an open approval.
    Menu(ApprovalId, Menu),
    /// The person may not decide this approval, with the reason.
    NotTheirs(String),
    /// There is no such open approval.
    NotOpen,
    /// The person has no access, or the button was pressed in another chat.
    NoAccess,
    /// Another chat than the approval's.
    OtherChat,
    /// Not a button of an approval.
    NotOurs,
    /// Cannot be stored now: the person has to press again.
    Later,
}
