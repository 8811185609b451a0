//! The events of a conversation.

use serde_json::Value;

use super::compaction::Compacted;
use super::runs::over_budget::OverBudget;
use super::runs::promotion::Proposal;
use crate::domain::{Approval, ApprovalId, ApprovalNumber, IngressEvent, MessageId, ToolCallId};
use crate::policy::reply::ModelHint;
use crate::ports::{Completion, Judgement, ModelDelta, ModelError, RunMessage, ToolOutcome};
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
    /// The pending questions of other threads that were asked here, too.
    pub asked_here: Vec<Approval>,
    /// The message to correct, where it is no longer in memory.
    pub earlier: Option<Box<UiMessage>>,
    /// The reply to a command whose facts are not in the conversation.
    pub words: Option<String>,
    /// The name of the model that answers the thread, for `/status`.
    pub model: Option<String>,
    /// What was spent, in one line, for `/status`.
    pub spent: Option<String>,
    /// Whether the command begins a new conversation.
    pub begins_anew: bool,
}

/// What was decided about a message that names nobody.
#[derive(Clone, Debug, PartialEq)]
pub struct GateDecision {
    pub message: MessageId,
    pub answer: bool,
    /// Kept in the message's metadata.
    pub reason: Value,
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
    RunMessage {
        run_message: Box<RunMessage>,
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
    /// The next model call of the run does not fit into a spend cap.
    OverBudget(Box<OverBudget>),
    /// A spend cap may have room again for a run that waits for it.
    BudgetChanged,
    /// Notes were taken that may go into core memory.
    Proposed(Box<Proposal>),
    /// Other agents have reported messages of this group.
    Reported(Vec<UiMessage>),
    /// It is decided whether messages that name nobody are answered.
    Decided(Vec<GateDecision>),
    /// No new turns from now on; the running one may end.
    Stopping,
}
