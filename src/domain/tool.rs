//! The description of a tool, for the model and for the turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The effects of a call; they decide what happens after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// No side effects: may be repeated.
    ReadOnly,
    /// Side effects: never runs twice for one call.
    SideEffects,
    /// Posts a message: repeated, the same call posts it once.
    Speaks,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: String,
    /// JSON Schema of its arguments: draft 7, self-contained.
    pub parameters: Value,
    pub effects: Effects,
}

/// What a call may do to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Not approved by a person: read only.
    ReadOnly,
    /// Approved: write inside the project only.
    ProjectWritable,
}

/// Whether a call may use the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    Off,
    On,
}

/// The permissions of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    pub class: Class,
    pub network: Network,
}

impl Permit {
    /// The permit of a call that runs without approval.
    pub const UNASKED: Self = Self { class: Class::ReadOnly, network: Network::Off };

    /// The permit of a class: an approved call may use the network too.
    pub const fn of(class: Class) -> Self {
        match class {
            Class::ReadOnly => Self::UNASKED,
            Class::ProjectWritable => Self { class, network: Network::On },
        }
    }
}
