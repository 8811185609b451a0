//! Settings that decide how a thread treats messages and replies, and what it may learn by itself.

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

/// Who may choose the model that answers a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelChoosers {
    /// The owners and the operator.
    #[default]
    Owners,
    /// Everyone who may talk to the agent, except for guests.
    Members,
}

/// What stands below an answer about what it used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Footer {
    /// Nothing.
    #[default]
    Off,
    /// Its tokens.
    Tokens,
    /// Its cost.
    Cost,
}

/// Who reads a reply to a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadReplies {
    /// The rules alone.
    #[default]
    Rules,
    /// Where the rules cannot read it, a model may. It sees the reply alone, and all it can bring about is a question
    /// back.
    Model,
}

/// What the agent may learn from conversations without being asked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AutoMemory {
    /// Nothing.
    Off,
    /// Notes, which are only searched.
    #[default]
    Propose,
    /// Also core memory, without asking, of the owners' own direct chats.
    Write,
}

impl AutoMemory {
    /// As it stands in ship.json.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Propose => "propose",
            Self::Write => "write",
        }
    }
}
