//! What a thread is doing, as people see it.

use serde::{Deserialize, Serialize};

/// What a thread is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// Nothing; the next message starts a turn.
    #[default]
    Idle,
    /// A turn is in flight.
    Running,
    /// A turn waits for a person's decision.
    AwaitingApproval,
}
