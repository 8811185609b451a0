//! What the agent may learn by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
