//! The open calls of a step and their states.

use std::collections::BTreeMap;

use crate::domain::{Class, ToolCallId};

/// The state of an open call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::turn) enum Call {
    Unjudged,
    Judging,
    /// It has side effects and was interrupted by a crash: a person must be asked what became of it.
    Lost,
    /// Being judged for the question about its lost outcome.
    JudgingLost,
    /// Ready; it may run in this class.
    Cleared(Class),
    /// A person was asked.
    Asked,
    /// Ready; a person approved it.
    Approved,
    /// Being judged again before it runs: it must still be the call that was approved.
    Checking,
    Running,
}

/// The open calls of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCalls {
    calls: BTreeMap<ToolCallId, Call>,
}

impl OpenCalls {
    /// The state of a call; an unknown call is unjudged.
    pub(super) fn get(&self, call: &ToolCallId) -> Call {
        self.calls.get(call).copied().unwrap_or(Call::Unjudged)
    }

    pub(super) fn set(&mut self, call: &ToolCallId, state: Call) {
        self.calls.insert(call.clone(), state);
    }

    /// Removes an ended call. Returns whether it was running.
    pub(super) fn close(&mut self, call: &ToolCallId) -> bool {
        matches!(self.calls.remove(call), Some(Call::Running))
    }

    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Whether any call is being judged, checked or run.
    pub(super) fn is_busy(&self) -> bool {
        self.calls
            .values()
            .any(|call| matches!(call, Call::Judging | Call::JudgingLost | Call::Checking | Call::Running))
    }

    /// Whether a person was asked about any call.
    pub(super) fn any_asked(&self) -> bool {
        self.calls.values().any(|call| *call == Call::Asked)
    }
}
