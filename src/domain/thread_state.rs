//! The state of a thread, as people see it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// Idle; the next message starts a turn.
    #[default]
    Idle,
    /// A turn is in flight.
    Running,
    /// A turn waits for an approval.
    AwaitingApproval,
}
