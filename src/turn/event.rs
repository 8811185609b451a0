//! Everything that can happen to a conversation.

use crate::domain::{Approval, ApprovalId, ApprovalNumber, IngressEvent, MessageId, ToolCallId};
use crate::policy::reply::ModelHint;
use crate::ports::{Completion, Judgement, ModelDelta, ModelError, Saying, ToolOutcome};

/// Stands for whoever waits to hear whether an event was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyToken(pub u64);

/// What a question will be called, should one have to be asked.
#[derive(Clone, Debug)]
pub struct ApprovalSlot {
    pub id: ApprovalId,
    /// What people call it.
    pub number: ApprovalNumber,
}

/// What the machine cannot know by itself and is given with an event.
#[derive(Debug, Default)]
pub struct Lookups {
    /// As they were last written down: the question that a decision names, or the settled ones that a message
    /// decides once more by their own names.
    pub approvals: Vec<Approval>,
    /// The answer to a command whose facts are not the conversation's own.
    pub words: Option<String>,
}

#[derive(Debug)]
pub enum Event {
    /// The daemon took the thread up again: whatever was open goes on. With it come the approvals that its open
    /// calls name.
    Resumed(Vec<Approval>),
    Arrived {
        event: Box<IngressEvent>,
        /// Who waits for the acceptance.
        ticket: ReplyToken,
        /// Whether the thread already has a message of this id.
        known: bool,
        /// What had to be looked up for it.
        lookups: Lookups,
    },
    /// A tool of the agent's says something here.
    Voiced {
        saying: Box<Saying>,
        /// Who waits for the acceptance.
        ticket: ReplyToken,
        /// Whether it was said before.
        known: bool,
    },
    /// The run may use the machine.
    SlotGranted,
    /// The model shows something.
    Delta(ModelDelta),
    /// The model has answered, or will not.
    ModelEnded(Result<Completion, ModelError>),
    /// A call was looked at.
    Judged {
        call: ToolCallId,
        judgement: Box<Judgement>,
        /// For the question, where one has to be asked: see [`Conversation::needs_seat`].
        ///
        /// [`Conversation::needs_seat`]: super::Conversation::needs_seat
        seat: Option<ApprovalSlot>,
    },
    /// A longer yes to this question could not be kept as a grant.
    NotGranted(ApprovalId),
    /// A model has looked at a message that came while questions waited and was no decision by the rules.
    ReplyRead {
        message: MessageId,
        /// What it was shown.
        words: String,
        /// What it believes; nothing where it could not be asked or made no sense.
        hint: Option<ModelHint>,
    },
    /// Time has passed: questions may have grown too old.
    Tick,
    /// A call is at its end.
    ToolEnded { call: ToolCallId, outcome: ToolOutcome },
    /// No new turns from now on; the running one may end.
    Stopping,
}
