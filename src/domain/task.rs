//! What people see of a scheduled task.

use serde::{Deserialize, Serialize};

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStatus {
    Waiting,
    Running,
    Paused,
    /// Failed too often.
    Disabled,
    /// All its times have passed.
    Over,
    /// Its file has a mistake.
    Broken,
}
