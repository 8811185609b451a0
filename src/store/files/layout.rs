//! The paths and modes of files under `.ship/`.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::disk::refused;
use crate::domain::ThreadId;
use crate::ports::StoreError;

/// Directories are for their owner only.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The two files a thread's commits are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    /// The messages: the source of truth.
    Thread,
    Outbox,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileKey {
    pub(super) thread: ThreadId,
    pub(super) stream: Stream,
}

/// The paths under one `.ship` directory.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: impl Into<PathBuf>) -> Self {
        Self { root: ship_dir.into() }
    }

    /// The `.ship` directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn threads(&self) -> PathBuf {
        self.root.join("threads")
    }

    /// Logs, the audit trail, full tool outputs.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// The lock, the token.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// One file per approval.
    pub fn approvals(&self) -> PathBuf {
        self.root.join("approvals")
    }

    pub fn memory(&self) -> PathBuf {
        self.root.join("memory")
    }

    pub fn tasks(&self) -> PathBuf {
        self.root.join("tasks")
    }

    /// Data that can be rebuilt or replayed.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The lock of the project's daemon.
    pub fn lock(&self) -> PathBuf {
        self.run().join("lock")
    }

    pub fn thread(&self, thread: &ThreadId) -> PathBuf {
        self.threads().join(format!("{}.jsonl", thread.file_name()))
    }

    /// The input history of the terminal chat.
    pub fn chat_history(&self) -> PathBuf {
        self.run().join("chat_history")
    }

    pub(super) fn outboxes(&self) -> PathBuf {
        self.state().join("outbox")
    }

    pub(super) fn indexes(&self) -> PathBuf {
        self.state().join("index")
    }

    pub(super) fn index(&self, thread: &ThreadId) -> PathBuf {
        self.indexes().join(format!("{}.idx", thread.file_name()))
    }

    pub(super) fn catalog(&self) -> PathBuf {
        self.state().join("catalog.jsonl")
    }

    /// Exists while the unfinished threads are not known: a scan for them has not ended.
    pub(super) fn scan_marker(&self) -> PathBuf {
        self.state().join("scan-needed")
    }

    pub(super) fn journals(&self) -> PathBuf {
        self.state().join("journal")
    }

    pub(super) fn journal(&self, seq: u64) -> PathBuf {
        self.journals().join(format!("{seq:010}.jsonl"))
    }

    pub(super) fn data(&self, key: &FileKey) -> PathBuf {
        match key.stream {
            Stream::Thread => self.thread(&key.thread),
            Stream::Outbox => self.outboxes().join(format!("{}.jsonl", key.thread.file_name())),
        }
    }

    /// Creates the directories the store writes to.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        for dir in [self.threads(), self.outboxes(), self.indexes(), self.journals(), self.run()] {
            private_dir(&dir).map_err(|source| refused(&dir, source))?;
        }
        let ignore = self.root.join(".gitignore");
        keep_out_of_git(&ignore).map_err(|source| refused(&ignore, source))
    }
}

/// Makes git ignore the whole directory. An existing file is left unchanged.
fn keep_out_of_git(ignore: &Path) -> io::Result<()> {
    match private_file().write(true).create_new(true).open(ignore) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates a directory and its parents with access for the owner only. An existing one is left unchanged.
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)
}

/// Options for a file that only its owner may read.
pub(in crate::store) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn state_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join("project/.ship"));
        layout.create().unwrap();
        layout.create().unwrap();
        private_file().create(true).append(true).open(layout.lock()).unwrap();
        let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(layout.root().to_owned()), 0o700);
        assert_eq!(mode(layout.journals()), 0o700);
        assert_eq!(mode(layout.lock()), 0o600);
    }

    #[test]
    fn git_ignores_the_directory_unless_the_operator_decided_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join(".ship"));
        layout.create().unwrap();
        let ignore = layout.root().join(".gitignore");
        assert_eq!(std::fs::read_to_string(&ignore).unwrap(), "*\n");
        std::fs::File::create(&ignore).unwrap().write_all(b"logs/\n").unwrap();
        layout.create().unwrap();
        assert_eq!(std::fs::read_to_string(&ignore).unwrap(), "logs/\n");
    }

    #[test]
    fn a_thread_id_with_path_characters_stays_inside_the_directory() {
        let layout = Layout::new("/p/.ship");
        let thread: ThreadId = "web:chat:..%2F..%2Fetc".parse().unwrap();
        assert_eq!(layout.thread(&thread).parent(), Some(layout.threads().as_path()));
    }
}
