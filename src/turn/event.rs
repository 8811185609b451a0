//! Everything that can happen to a conversation.

use crate::domain::{IngressEvent, ToolCallId};
use crate::ports::{Completion, ModelDelta, ModelError, ToolOutcome};

/// Stands for whoever waits to hear whether an event was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// The daemon took the thread up again: whatever was open goes on.
    Resumed,
    /// Something came in.
    Arrived {
        /// What.
        event: Box<IngressEvent>,
        /// Who waits for the acceptance.
        ticket: Ticket,
        /// Whether the thread already has a message of this id.
        known: bool,
    },
    /// The run may use the machine.
    SlotGranted,
    /// The model shows something.
    Delta(ModelDelta),
    /// The model has answered, or will not.
    ModelEnded(Result<Completion, ModelError>),
    /// A call is at its end.
    ToolEnded {
        /// Which.
        call: ToolCallId,
        /// How.
        outcome: ToolOutcome,
    },
    /// No new turns from now on; the running one may end.
    Stopping,
}
