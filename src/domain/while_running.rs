//! What a message does that arrives while a run is in flight.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a message does that arrives while a run is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhileRunning {
    /// It waits, and is answered with all others that wait.
    #[default]
    Merge,
    /// It is handed to the run between two steps.
    Steer,
    /// The run is broken off and begins anew with it.
    Interrupt,
}
