//! What the helpers tell the daemon.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub(super) enum Report {
    /// The restrictions are in force; the command starts.
    Entered(Restrictions),
    /// The command ended by itself.
    Exited { code: i32 },
    /// A signal ended it.
    Killed { signal: i32 },
    /// The command was not started.
    Failed {
        /// What was not possible.
        why: String,
    },
}

/// What was put in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Restrictions {
    /// The version of Landlock; 0 without.
    pub(super) landlock: u8,
    /// What this kernel cannot restrict.
    pub(super) gaps: Vec<String>,
}
