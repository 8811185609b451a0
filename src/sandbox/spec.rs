//! The specification of a sandboxed command, passed from process to process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{Class, Network};

/// How commands are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Landlock and seccomp inside new namespaces: hidden files are covered by mounts, everything that the command may
    /// not write is mounted read-only, and its processes end with it. The top-level directories without system files
    /// (`/tmp`, `/run`, `/var`, `/home`, …) are covered by empty ones, so that sockets of other programs in them cannot
    /// be reached. A hidden file that is replaced meanwhile is no longer covered for a command that runs already.
    Namespaces,
    /// Landlock and seccomp alone: hidden files are left out of the rules, so a folder with a hidden file cannot get
    /// new entries, and its names can be listed; a command that may write can change modes and times of files outside
    /// the project. Landlock does not restrict connecting to a socket, so local sockets are forbidden unless the spec
    /// lists some.
    Rules,
    Nothing,
}

impl Isolation {
    /// Whether the hidden files of a spec cannot be read.
    pub fn hides(self) -> bool {
        self != Self::Nothing
    }
}

/// The resource limits of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceLimits {
    /// CPU seconds of one process.
    pub cpu_secs: u64,
    pub file_bytes: u64,
    /// Processes beside those that the user has already.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes of files in the command's private temporary directories, which are in memory.
    pub temporary_bytes: u64,
}

impl Default for ResourceLimits {
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

/// One command and its permissions. Every path is absolute and resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The argument of `sh -c`.
    pub command: String,
    pub isolation: Isolation,
    pub class: Class,
    pub network: Network,
    pub project: PathBuf,
    /// The working directory, inside the project.
    pub cwd: PathBuf,
    /// Its own folder, writable where the project is.
    pub scratch: PathBuf,
    /// Files and folders of the project that it must not see. They exist.
    pub hidden: Vec<PathBuf>,
    /// Folders inside hidden ones that it may read nevertheless. They exist.
    pub shown: Vec<PathBuf>,
    /// Files of the project that it may read but not write. They exist.
    pub read_only: Vec<PathBuf>,
    /// Paths that it may read and execute beside the system and the project; missing ones are skipped.
    pub readable: Vec<PathBuf>,
    /// Paths in its environment that lead through links to readable ones: `PATH` entries and the like.
    pub aliases: Vec<PathBuf>,
    /// Sockets of other programs, or folders of such, that it may connect to if it has network access.
    pub sockets: Vec<PathBuf>,
    pub limits: ResourceLimits,
    /// Milliseconds between SIGTERM and SIGKILL.
    pub grace_ms: u64,
}

impl Spec {
    /// Whether it may create local sockets, which connect to other programs of this machine by a path.
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

/// Whether a command may create sockets of the family `AF_UNIX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocalSockets {
    /// Limited to the sockets that the command sees in the file system.
    Allowed,
    /// Connected pairs only.
    Forbidden,
}
