//! What a message does that arrives while an approval is pending.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a new message does to a thread that awaits a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhileWaiting {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It withdraws the request.
    Supersede,
}
