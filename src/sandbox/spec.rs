//! What is asked of the sandbox, as it is handed from process to process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{Class, Network};

/// How commands are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Landlock and seccomp inside namespaces of their own: hidden files are covered by mounts, all that is
    /// not the command's to write is mounted read-only, and its processes end with it. The top-level
    /// directories without system files (`/tmp`, `/run`, `/var`, `/home`, …) are covered by empty ones, so
    /// that other programs' sockets in them are out of reach. A hidden file that is replaced meanwhile is no
    /// longer covered for a command that runs already.
    Namespaces,
    /// Landlock and seccomp alone: hidden files are left out of the rules, so a folder that holds one cannot
    /// get new entries, and its names can be listed; modes and times of files outside the project can be
    /// changed by a command that may write. Landlock does not judge connecting to a socket, so local sockets
    /// are forbidden altogether unless the spec lists some.
    Rules,
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
    /// Bytes of files in the temporary directories that a command has to itself, which are memory.
    pub temporary_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu_secs: 3_600,
            file_bytes: 4 << 30,
            processes: 1_024,
            open_files: 4_096,
            temporary_bytes: 512 << 20,
        }
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
    pub project: PathBuf,
    /// Where it starts, inside of the project.
    pub cwd: PathBuf,
    /// A folder of its own, writable where the project is.
    pub scratch: PathBuf,
    /// Files and folders of the project that it must not see. They exist.
    pub hidden: Vec<PathBuf>,
    /// Folders inside of hidden ones that it may read nevertheless. They exist.
    pub shown: Vec<PathBuf>,
    /// Files of the project that it may read and never write. They exist.
    pub read_only: Vec<PathBuf>,
    /// What it may read and execute beside the system and the project; what does not exist is skipped.
    pub readable: Vec<PathBuf>,
    /// Names in its environment that lead through links to what it may read: `PATH` entries and the like.
    pub aliases: Vec<PathBuf>,
    /// Sockets of other programs, or folders with such, that it may connect to if it has network.
    pub sockets: Vec<PathBuf>,
    /// How much it may use.
    pub limits: Limits,
    /// Milliseconds between being asked to end and being ended.
    pub grace_ms: u64,
}

impl Spec {
    /// Whether it may make local sockets, which connect to other programs of this machine by a path.
    pub(super) fn local_sockets(&self) -> LocalSockets {
        match (self.network, self.isolation) {
            (Network::Off, _) => LocalSockets::Forbidden,
            (Network::On, Isolation::Rules) if self.sockets.is_empty() => LocalSockets::Forbidden,
            (Network::On, Isolation::Namespaces | Isolation::Rules | Isolation::Nothing) => {
                LocalSockets::Allowed
            }
        }
    }
}

/// Whether a command may make sockets of the family `AF_UNIX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocalSockets {
    /// What they reach is bounded by what the command sees of the file system.
    Allowed,
    /// None but connected pairs.
    Forbidden,
}
