//! What is asked of the sandbox, as it is handed from process to process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{Class, Network};

/// How commands are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Landlock and seccomp inside namespaces of their own: hidden files are covered by mounts, all that is
    /// not the command's to write is mounted read-only, and its processes end with it. A hidden file that
    /// somebody replaces meanwhile is no longer covered for a command that runs already.
    Namespaces,
    /// Landlock and seccomp alone: hidden files are left out of the rules, so a folder that holds one cannot
    /// get new entries, and its names can be listed; modes and times of files outside the project can be
    /// changed by a command that may write.
    Rules,
    /// Nothing but limits.
    Nothing,
}

impl Isolation {
    /// Whether what a spec lists as hidden cannot be read.
    pub fn hides(self) -> bool {
        self != Self::Nothing
    }
}

/// How much a command may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Processor seconds of one process.
    pub cpu_secs: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Processes beside those that the user has already.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes of address space of one process; none by default, since many runtimes reserve without using.
    pub memory_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu_secs: 3_600, file_bytes: 4 << 30, processes: 1_024, open_files: 4_096, memory_bytes: None }
    }
}

/// One command and all it may do. Every path is absolute and resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// For `sh -c`.
    pub command: String,
    /// How it is kept in.
    pub isolation: Isolation,
    /// What it may do to files.
    pub class: Class,
    /// Whether it may reach other machines.
    pub network: Network,
    /// The project directory.
    pub project: PathBuf,
    /// Where it starts, inside of the project.
    pub cwd: PathBuf,
    /// A folder of its own, writable where the project is.
    pub scratch: PathBuf,
    /// Files and folders of the project that it must not see. They exist.
    pub hidden: Vec<PathBuf>,
    /// Folders inside of hidden ones that it may read nevertheless. They exist.
    pub shown: Vec<PathBuf>,
    /// What it may read and execute beside the system and the project; what does not exist is skipped.
    pub readable: Vec<PathBuf>,
    /// How much it may use.
    pub limits: Limits,
    /// Milliseconds between being asked to end and being ended.
    pub grace_ms: u64,
}
