//! What a tool is, told to a model and to the turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call may do to the world; it decides what happens after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// Only looks: may simply run again.
    ReadOnly,
    /// Changes something: never runs twice for one call.
    SideEffects,
    /// Says something to people: run twice, the same call says it once.
    Speaks,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name, `snake_case`.
    pub name: &'static str,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments: draft 7, self-contained.
    pub parameters: Value,
    /// What a call may do.
    pub effects: Effects,
}

/// What a call may do to files; how it came to that was decided before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Not approved by a person: read, and write nowhere.
    ReadOnly,
    /// Approved: write inside the project, and nowhere else.
    ProjectWritable,
}

/// Whether a call may reach other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    Off,
    On,
}

/// What one call was given leave to do.
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
