//! The `groups` part of an adapter's section in `ship.json`, the same for all chat platforms.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the agent behaves in groups.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GroupsSection {
    /// Which messages in a group are for the agent.
    pub respond: Respond,
    /// Whether a group shares one conversation.
    pub threading: Threading,
    /// For how many seconds after an answer the same person need not mention the agent again.
    #[schemars(range(min = 0, max = 86400))]
    pub followup_secs: u64,
}

impl Default for GroupsSection {
    fn default() -> Self {
        Self { respond: Respond::default(), threading: Threading::default(), followup_secs: 600 }
    }
}

impl GroupsSection {
    /// How long after an answer the same person need not mention the agent again.
    pub const fn followup(&self) -> Duration {
        Duration::from_secs(self.followup_secs)
    }
}

/// Which messages in a group are for the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Respond {
    /// Those that mention it or reply to it.
    #[default]
    Mention,
    /// Every one.
    All,
}

/// Whether a group shares one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threading {
    /// One for all.
    #[default]
    Shared,
    /// One for each person.
    PerUser,
}
