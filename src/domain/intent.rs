//! Outbound intents: core says what is meant, an adapter decides how it is shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Approval, ApprovalId, ApprovalKind, CorrelationId, Language, Risk, ScopeKind, StoredFile, ThreadId,
    ToolCallId,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Intent {
    /// The agent's answer, as CommonMark.
    AssistantText {
        /// The whole text, or one chunk of it once it is in the outbox.
        text: String,
    },
    /// The answer so far. Never stored: a later delta replaces it.
    AssistantDelta { text: String },
    /// Progress of the run. Never stored.
    Progress {
        text: String,
        /// The call it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<ToolCallId>,
    },
    /// Typing indicator. Never stored.
    Typing,
    /// A question to a person before a risky call.
    ApprovalRequest {
        /// Its id, for buttons.
        approval_id: ApprovalId,
        /// The number people see: `A1`.
        number: String,
        kind: ApprovalKind,
        /// The language of the person who is asked.
        language: Language,
        /// The call in one line.
        summary: String,
        risk: Risk,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
        /// The scopes that the approval can have.
        #[serde(default)]
        scopes: Vec<ScopeKind>,
        /// The possible answers, in the person's language.
        suggested_replies: Vec<String>,
        /// RFC 3339.
        expires_at: String,
    },
    /// A reply was unclear while approvals were pending: the question back, with the answers as buttons on platforms
    /// that have buttons.
    ApprovalAskBack {
        /// What is asked, and how it can be answered in words.
        text: String,
        language: Language,
        /// The approvals that the reply can refer to.
        choices: Vec<ApprovalChoice>,
    },
    /// An approval was settled.
    ApprovalResolved {
        approval_id: ApprovalId,
        /// The outcome and who decided, in the person's language.
        text: String,
    },
    Attachment {
        file: StoredFile,
        /// The file name for people.
        name: String,
        media_type: String,
        /// How to show it.
        kind: AttachmentKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
    },
    /// An answer that is spoken beside its text. It becomes an attachment when it is delivered.
    Speech {
        /// The answer, as CommonMark.
        text: String,
    },
    Error {
        kind: ErrorKind,
        /// What happened and what to do, in the person's language.
        text: String,
        /// Whether a retry may help.
        retryable: bool,
    },
}

/// A pending approval that an unclear reply can refer to.
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

/// How to show a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// As a file to download.
    File,
    Image,
    /// As a voice message.
    Voice,
}

impl AttachmentKind {
    /// How a file of this media type is shown.
    pub fn of_media(media_type: &str) -> Self {
        match media_type {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Self::Image,
            "audio/ogg" => Self::Voice,
            _ => Self::File,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboundIntent {
    pub thread_id: ThreadId,
    pub correlation_id: CorrelationId,
    /// The platform's id of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub intent: Intent,
}

/// The id of a delivery. It is derived from its message, so that the same chunk always has the same id, also after a
/// restart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// The id of the `index`th chunk of the message `source`.
    pub fn new(source: &str, index: usize) -> Self {
        Self(format!("{source}#{index}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a turn failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The model server refused the API key.
    Auth,
    /// The account is out of quota or credit.
    Quota,
    /// Rate limited, also after retries.
    Rate,
    /// The conversation does not fit into the model's context window.
    ContextLength,
    /// The model server could not be reached, or the connection broke.
    Network,
    /// The model did not answer in time.
    Timeout,
    /// The model server failed.
    Server,
    /// The server refused the request as invalid.
    BadRequest,
    /// The server's answer could not be parsed.
    BadResponse,
    /// The turn reached its limit of steps.
    TooManySteps,
    /// The model repeated the same call.
    Loop,
    /// A spend cap of the project has no room for another call, or calls are stopped.
    Budget,
    /// State could not be written.
    Storage,
    Internal,
}

impl ErrorKind {
    /// Whether an unchanged retry may help.
    pub const fn retryable(self) -> bool {
        match self {
            Self::Rate | Self::Network | Self::Timeout | Self::Server | Self::BadResponse | Self::Storage => {
                true
            }
            Self::Auth
            | Self::Quota
            | Self::ContextLength
            | Self::BadRequest
            | Self::TooManySteps
            | Self::Loop
            | Self::Budget
            | Self::Internal => false,
        }
    }
}
