//! The reports of the helpers to the daemon.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub(super) enum Report {
    /// The restrictions are in force; the command starts.
    Entered(Restrictions),
    Exited {
        code: i32,
    },
    Killed {
        signal: i32,
    },
    /// The command was not started.
    Failed {
        /// The reason.
        why: String,
    },
}

/// The restrictions in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Restrictions {
    /// The Landlock version; 0 without Landlock.
    pub(super) landlock: u8,
    /// What this kernel cannot restrict.
    pub(super) gaps: Vec<String>,
}
