//! The effects a conversation can request. They are performed in order; when a write fails, the later ones are not
//! performed.

use serde_json::Value;

use super::ReplyToken;
use crate::domain::Class;
use crate::domain::{
    Approval, CorrelationId, IngressEvent, Intent, MessageId, Scope, StoredFile, ToolCallId,
};
use crate::ports::{Acceptance, AuditLine, Durability};
use crate::uimessage::{CheckpointReason, UiMessage};

#[derive(Debug, PartialEq)]
pub enum Effect {
    Commit {
        messages: Vec<UiMessage>,
        /// Messages to send, in order, each with the message it is derived from.
        say: Vec<Spoken>,
        durability: Durability,
    },
    Answer(ReplyToken, Acceptance),
    /// Request a permit for a concurrent run.
    AcquireSlot,
    ReleaseSlot,
    /// Call the model with the current prompt.
    CallModel,
    /// Compact the conversation; [`Event::Compacted`] tells what came of it.
    ///
    /// [`Event::Compacted`]: super::Event::Compacted
    Compact {
        reason: CheckpointReason,
        /// What a person wants to be kept above all.
        focus: Option<String>,
    },
    /// Judge whether a call may run.
    Judge {
        call: ToolCallId,
        name: String,
        input: Value,
    },
    /// Store a text as a file of a thread, durably.
    KeepFile {
        file: StoredFile,
        text: String,
    },
    /// Store an approval, durably.
    SaveApproval(Box<Approval>),
    /// Store a grant for calls like this one, with this scope.
    Grant(Box<Approval>, Scope),
    /// Have a model classify a reply, given the reply alone.
    ReadReply {
        message: MessageId,
        words: String,
    },
    /// A question of another thread was decided here: pass the decision on.
    DecideElsewhere(Box<IngressEvent>),
    Audit(Box<AuditLine>),
    RunTool {
        call: ToolCallId,
        name: String,
        arguments: Value,
        /// The effects that the call may have.
        class: Class,
    },
    /// Cancel the model call and all running tools.
    CancelJobs,
    /// The live view has changed.
    Publish,
    /// The answer has grown; adapters may update the draft.
    Drafted,
    Show(Intent),
    /// A message belongs to another run from now on, and so do its waiters.
    Moved {
        message: MessageId,
        to: CorrelationId,
    },
    /// A run waits for an approval; its waiters are told so.
    Parked(CorrelationId),
    /// A run has ended.
    Finished(CorrelationId),
}

impl Effect {
    /// A commit of messages that sends nothing.
    pub(super) const fn commit(messages: Vec<UiMessage>, durability: Durability) -> Self {
        Self::Commit { messages, say: Vec::new(), durability }
    }
}

/// A message to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// What it is derived from; part of the delivery id.
    pub source: String,
    pub correlation: CorrelationId,
    /// The platform's id of the message it replies to.
    pub reply_to: Option<String>,
    pub intent: Intent,
}
