//! What goes out: core says what is meant, an adapter decides how it looks.

use serde::{Deserialize, Serialize};

use super::{
    Approval, ApprovalId, ApprovalKind, CorrelationId, ErrorKind, Language, Risk, ScopeKind, StoredFile,
    ThreadId, ToolCallId,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Intent {
    /// The agent's words, as CommonMark.
    AssistantText {
        /// The whole text, or one chunk of it once it is in the outbox.
        text: String,
    },
    /// The answer so far, while it is being written. Never kept: a later one replaces it.
    AssistantDelta {
        /// The text so far.
        text: String,
    },
    /// What is going on. Never kept.
    Progress {
        text: String,
        /// The call it tells of, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<ToolCallId>,
    },
    /// Typing indicator. Never stored.
    Typing,
    /// A question to a person before something risky is done.
    ApprovalRequest {
        /// Its own id, for buttons.
        approval_id: ApprovalId,
        /// What people call it: `A1`.
        number: String,
        kind: ApprovalKind,
        /// The language of the person who is asked.
        language: Language,
        /// What would be done, in one line.
        summary: String,
        /// How dangerous it looks.
        risk: Risk,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
        /// How far a yes can reach.
        #[serde(default)]
        scopes: Vec<ScopeKind>,
        /// What can be answered, in the person's language.
        suggested_replies: Vec<String>,
        /// Until when, RFC 3339.
        expires_at: String,
    },
    /// A reply did not say plainly what to do about questions that wait: it is asked back, with their answers as
    /// buttons where there are buttons.
    ApprovalAskBack {
        /// What is asked, and how it can be answered in words.
        text: String,
        language: Language,
        /// The questions it is about.
        choices: Vec<ApprovalChoice>,
    },
    /// A question was answered, or needs no answer any more.
    ApprovalResolved {
        approval_id: ApprovalId,
        /// What became of it and who decided, in the person's language.
        text: String,
    },
    /// A file, to be seen or kept.
    Attachment {
        file: StoredFile,
        /// What it is called.
        name: String,
        media_type: String,
        /// How it is best shown.
        kind: AttachmentKind,
        /// Words that go with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
    },
    Error {
        /// What sort of trouble.
        kind: ErrorKind,
        /// What happened and what to do, in the person's language.
        text: String,
        /// Whether trying again may help.
        retryable: bool,
    },
}

/// A question that waits, as one of those that somebody can mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalChoice {
    pub id: ApprovalId,
    /// What people call it: `A1`.
    pub number: String,
    pub kind: ApprovalKind,
}

impl From<&Approval> for ApprovalChoice {
    fn from(approval: &Approval) -> Self {
        Self { id: approval.id.clone(), number: approval.number.to_string(), kind: approval.kind }
    }
}

/// How a file is best shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// As a file to keep.
    File,
    Image,
    /// As a voice message.
    Voice,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboundIntent {
    pub thread_id: ThreadId,
    /// The run it belongs to.
    pub correlation_id: CorrelationId,
    /// The platform's id of the message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub intent: Intent,
}

/// One delivery. It is derived from the message it carries, so that the same chunk always has the same
/// id, also after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// The `index`th chunk of what `source` says.
    pub fn new(source: &str, index: usize) -> Self {
        Self(format!("{source}#{index}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
