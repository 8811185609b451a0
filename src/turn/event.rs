//! The events of a conversation.

use super::compaction::Compacted;
use crate::domain::{Approval, ApprovalId, ApprovalNumber, IngressEvent, MessageId, ToolCallId};
use crate::policy::reply::ModelHint;
use crate::ports::{Completion, Judgement, ModelDelta, ModelError, Saying, ToolOutcome};
use crate::uimessage::UiMessage;

/// Identifies the caller that waits for an acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyToken(pub u64);

/// The id and number for an approval, should one be needed.
#[derive(Clone, Debug)]
pub struct ApprovalSlot {
    pub id: ApprovalId,
    /// The number people see.
    pub number: ApprovalNumber,
}

/// Facts from the stores that accompany an event.
#[derive(Debug, Default)]
pub struct Lookups {
    /// Stored approvals: the one that a decision names, or the settled ones that a message decides again by number or
    /// id.
    pub approvals: Vec<Approval>,
    /// The message to correct, where it is no longer in memory.
    pub earlier: Option<Box<UiMessage>>,
    /// The reply to a command whose facts are not in the conversation.
    pub words: Option<String>,
}

#[derive(Debug)]
pub enum Event {
    /// The thread was loaded from the store: unfinished work resumes. With the approvals that its open calls refer to.
    Resumed(Vec<Approval>),
    Arrived {
        event: Box<IngressEvent>,
        ticket: ReplyToken,
        /// Whether the thread already has a message of this id.
        known: bool,
        lookups: Lookups,
    },
    /// A tool posts a message to this thread.
    Voiced {
        saying: Box<Saying>,
        ticket: ReplyToken,
        /// Whether it was posted before.
        known: bool,
    },
    /// The run got its permit.
    SlotGranted,
    Delta(ModelDelta),
    /// The model call has ended.
    ModelEnded(Result<Completion, ModelError>),
    /// A call was judged.
    Judged {
        call: ToolCallId,
        judgement: Box<Judgement>,
        /// For the approval, where one is needed: see [`Conversation::needs_slot`].
        ///
        /// [`Conversation::needs_slot`]: super::Conversation::needs_slot
        slot: Option<ApprovalSlot>,
    },
    /// No grant was stored for this approval, though its scope was longer than once.
    NotGranted(ApprovalId),
    /// A model has classified a message that arrived while approvals were pending and was no decision by the rules.
    ReplyRead {
        message: MessageId,
        /// The text it was shown.
        words: String,
        /// Its classification; `None` where the call failed or its answer was invalid.
        hint: Option<ModelHint>,
    },
    /// Time has passed: approvals may have expired.
    Tick,
    /// A call is at its end.
    ToolEnded {
        call: ToolCallId,
        outcome: ToolOutcome,
    },
    /// An attempt to compact the conversation is at its end.
    Compacted(Box<Compacted>),
    /// No new turns from now on; the running one may end.
    Stopping,
}
