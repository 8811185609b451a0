//! The events of a conversation, and the effects it can request. Effects are performed in order; when a write fails, the
//! later ones are not performed.

use serde_json::Value;

use super::compaction::Compacted;
use super::runs::over_budget::OverBudget;
use super::runs::promotion::Proposal;
use crate::domain::{
    Approval, ApprovalId, ApprovalNumber, Class, CorrelationId, IngressEvent, Intent, MessageId, Scope,
    StoredFile, ToolCallId,
};
use crate::policy::reply::ModelHint;
use crate::ports::{
    Acceptance, AuditLine, Completion, Durability, Judgement, ModelDelta, ModelError, RunMessage, ToolOutcome,
};
use crate::uimessage::{CheckpointReason, UiMessage};

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

/// The decision about a message without a mention.
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
    /// The relevance gate decided about messages without a mention.
    Decided(Vec<GateDecision>),
    /// No new turns from now on; the running one may end.
    Stopping,
}

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
    /// [`Event::Compacted`]: Event::Compacted
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
