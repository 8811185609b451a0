//! Everything a conversation can ask to be done. Effects are performed in order; when a write fails, the
//! ones behind it are not performed.

use serde_json::Value;

use super::ReplyToken;
use crate::domain::Class;
use crate::domain::{Approval, CorrelationId, Intent, MessageId, Scope, StoredFile, ToolCallId};
use crate::ports::{Acceptance, AuditLine, Durability};
use crate::uimessage::UiMessage;

/// Something to be done.
#[derive(Debug, PartialEq)]
pub enum Effect {
    Commit {
        /// The lines, in order.
        messages: Vec<UiMessage>,
        /// What people must be sent, in order: each with the message it comes from.
        say: Vec<Spoken>,
        durability: Durability,
    },
    Answer(ReplyToken, Acceptance),
    /// Ask for leave to use the machine.
    AcquireSlot,
    ReleaseSlot,
    /// Ask the model, with the prompt as it is now.
    CallModel,
    /// Look at a call: may it run?
    Judge {
        call: ToolCallId,
        name: String,
        input: Value,
    },
    /// Keep a text as a file of a thread, for certain.
    KeepFile {
        file: StoredFile,
        text: String,
    },
    /// Write an approval down, for certain.
    SaveApproval(Box<Approval>),
    /// Let calls like this one run unasked from now on, as far as the scope reaches.
    Grant(Box<Approval>, Scope),
    /// Have a model look at a reply, the reply alone: does it lean to an answer?
    ReadReply {
        /// Which message it is.
        message: MessageId,
        words: String,
    },
    /// Add a line to the audit trail.
    Audit(Box<AuditLine>),
    RunTool {
        call: ToolCallId,
        name: String,
        arguments: Value,
        /// What it may do.
        class: Class,
    },
    /// End the model call and all tools in flight.
    CancelJobs,
    /// The live view has changed.
    Publish,
    /// More of the answer was written; where answers are sent, it may be shown so far.
    Drafted,
    Show(Intent),
    /// A message belongs to another run from now on; whoever waits for its answer waits for that one.
    Moved {
        message: MessageId,
        to: CorrelationId,
    },
    /// A run waits for a person; whoever waits for its end is told so.
    Parked(CorrelationId),
    /// A run is at its end.
    Finished(CorrelationId),
}

/// Something people must be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// What it is derived from; makes its delivery's id.
    pub source: String,
    /// The run it belongs to.
    pub correlation: CorrelationId,
    /// The platform's id of the message it answers.
    pub reply_to: Option<String>,
    pub intent: Intent,
}
