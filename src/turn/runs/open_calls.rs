//! The open calls of a step and their states.

use std::collections::BTreeMap;

use crate::domain::Class;
use crate::domain::{Approval, ApprovalId, ToolCallId};

/// The state of an open call.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::turn) enum Call {
    Unjudged,
    Judging,
    /// It has side effects and was interrupted by a crash: a person must be asked what became of it.
    Lost,
    /// Being judged for the question about its lost outcome.
    JudgingLost,
    /// Ready; it may run in this class.
    Cleared(Class),
    Asked(Approval),
    /// Ready; a person approved it.
    Approved(Approval),
    /// Being judged again before it runs: it must still be the call that was approved.
    Checking(Approval),
    Running,
}

/// The open calls of a step.
#[derive(Clone, Debug, Default)]
pub(in crate::turn) struct OpenCalls {
    calls: BTreeMap<ToolCallId, Call>,
}

impl OpenCalls {
    /// The state of a call; an unknown call is unjudged.
    pub(in crate::turn) fn get(&self, call: &ToolCallId) -> &Call {
        self.calls.get(call).unwrap_or(&Call::Unjudged)
    }

    pub(in crate::turn) fn set(&mut self, call: &ToolCallId, state: Call) {
        self.calls.insert(call.clone(), state);
    }

    /// Removes an ended call. Returns whether it was running.
    pub(in crate::turn) fn close(&mut self, call: &ToolCallId) -> bool {
        matches!(self.calls.remove(call), Some(Call::Running))
    }

    pub(in crate::turn) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Whether any call is being judged, checked or run.
    pub(in crate::turn) fn is_busy(&self) -> bool {
        self.calls
            .values()
            .any(|call| matches!(call, Call::Judging | Call::JudgingLost | Call::Checking(_) | Call::Running))
    }

    pub(in crate::turn) fn is_running(&self, call: &ToolCallId) -> bool {
        matches!(self.get(call), Call::Running)
    }

    /// The pending approvals, in the order they were asked.
    pub(in crate::turn) fn asked(&self) -> Vec<&Approval> {
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

    /// The approval of this id, if it was approved and its call has not started.
    pub(in crate::turn) fn find_allowed_mut(&mut self, id: &ApprovalId) -> Option<&mut Approval> {
        self.calls.values_mut().find_map(|call| match call {
            Call::Approved(approval) | Call::Checking(approval) if approval.id == *id => Some(approval),
            _ => None,
        })
    }

    /// The pending approval of this id.
    pub(in crate::turn) fn find_asked(&self, id: &ApprovalId) -> Option<&Approval> {
        self.asked().into_iter().find(|approval| approval.id == *id)
    }
}
