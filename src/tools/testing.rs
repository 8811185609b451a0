//! A project on disk for the tests of the tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Confinement;
use crate::domain::{ThreadId, Timestamp};
use crate::ports::{Clock, ToolContext};

/// A project directory that goes away with its value.
#[derive(Debug)]
pub(super) struct Project {
    root: PathBuf,
    cancel: CancellationToken,
    _dir: tempfile::TempDir,
}

#[derive(Debug)]
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000)
    }
}

impl Project {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { root: dir.path().canonicalize().unwrap(), cancel: CancellationToken::new(), _dir: dir }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    #[expect(clippy::disallowed_methods, reason = "a test's file need not survive a crash")]
    pub(super) fn file(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn thread(&self) -> ThreadId {
        "web:chat:t1".parse().unwrap()
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(super) fn context(&self) -> ToolContext {
        ToolContext {
            call: "call_test".parse().unwrap(),
            class: crate::policy::Class::ReadOnly,
            project: self.root.clone(),
            thread: self.thread(),
            clock: Arc::new(FixedClock),
            cancel: self.cancel.clone(),
        }
    }

    pub(super) fn confinement(&self) -> Confinement {
        Confinement::new(&self.context())
    }
}
