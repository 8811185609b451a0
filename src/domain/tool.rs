//! What a tool is, told to a model and to the turn.

use serde_json::Value;

/// What a call may do to the world; it decides what happens after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// Only looks: may simply run again.
    ReadOnly,
    /// Changes something: never runs twice for one call.
    SideEffects,
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
