//! The role of a paired person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of a paired person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Like the owners in the settings.
    Owner,
    /// May talk, and may answer approvals that their own messages led to.
    #[default]
    Member,
    /// May talk. Approvals of what a guest asks for need another person.
    Guest,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Owner, Self::Member, Self::Guest];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
            Self::Guest => "guest",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of owner, member, guest")]
pub struct BadRole(String);

impl std::str::FromStr for Role {
    type Err = BadRole;

    fn from_str(raw: &str) -> Result<Self, BadRole> {
        let found = Self::ALL.into_iter().find(|role| role.name() == raw);
        found.ok_or_else(|| BadRole(raw.chars().take(40).collect()))
    }
}
