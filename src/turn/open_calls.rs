//! The open calls of a step, and what each of them waits for.

use std::collections::BTreeMap;

use crate::domain::Class;
use crate::domain::{Approval, ApprovalId, ToolCallId};

/// What a call waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Unjudged,
    Judging,
    /// It changes something and was cut off by a crash: a person must be asked what became of it.
    Lost,
    /// A look at it, for that question.
    JudgingLost,
    /// Its turn; it may run in this class.
    Cleared(Class),
    Asked(Approval),
    /// Its turn; a person allowed it.
    Approved(Approval),
    /// The last look before it runs: is it still the call that was allowed?
    Checking(Approval),
    Running,
}

/// The open calls of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCalls {
    calls: BTreeMap<ToolCallId, Call>,
}

impl OpenCalls {
    /// Where a call stands; one that was never heard of is still to be judged.
    pub(super) fn get(&self, call: &ToolCallId) -> &Call {
        self.calls.get(call).unwrap_or(&Call::Unjudged)
    }

    /// Moves a call on.
    pub(super) fn set(&mut self, call: &ToolCallId, state: Call) {
        self.calls.insert(call.clone(), state);
    }

    /// The call is at its end. Says whether it was running.
    pub(super) fn close(&mut self, call: &ToolCallId) -> bool {
        matches!(self.calls.remove(call), Some(Call::Running))
    }

    /// All calls are at their end.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Whether something is being done about any call: judged, checked or run.
    pub(super) fn is_busy(&self) -> bool {
        self.calls
            .values()
            .any(|call| matches!(call, Call::Judging | Call::JudgingLost | Call::Checking(_) | Call::Running))
    }

    /// Whether this call runs.
    pub(super) fn is_running(&self, call: &ToolCallId) -> bool {
        matches!(self.get(call), Call::Running)
    }

    /// The questions that wait for a person, in the order they were asked.
    pub(super) fn asked(&self) -> Vec<&Approval> {
        let mut asked: Vec<&Approval> = self
            .calls
            .values()
            .filter_map(|call| match call {
                Call::Asked(approval) => Some(approval),
                _ => None,
            })
            .collect();
        asked.sort_by_key(|approval| approval.number);
        asked
    }

    /// The question of this id, if it was allowed and its call has not begun.
    pub(super) fn find_allowed_mut(&mut self, id: &ApprovalId) -> Option<&mut Approval> {
        self.calls.values_mut().find_map(|call| match call {
            Call::Approved(approval) | Call::Checking(approval) if approval.id == *id => Some(approval),
            _ => None,
        })
    }

    /// The question of this id, if it waits.
    pub(super) fn find_asked(&self, id: &ApprovalId) -> Option<&Approval> {
        self.asked().into_iter().find(|approval| approval.id == *id)
    }
}
