//! A project on disk for the tests of the tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Confinement;
use crate::domain::{ChatKind, MemoryScope, Origin, Permit, ScopeSettings, ThreadId, Timestamp};
use crate::ports::{Acceptance, Clock, Request, Saying, ThreadsHandle, ToolContext};
use crate::store::memory::InMemoryThreads;
use crate::store::{AttachmentFiles, FileMemory};
use crate::uimessage::UiMessage;

/// A temporary project directory, removed on drop.
#[derive(Debug)]
pub(super) struct Project {
    root: PathBuf,
    cancel: CancellationToken,
    history: Arc<InMemoryThreads>,
    requests: mpsc::Sender<Request>,
    heard: mpsc::Receiver<Request>,
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
        let root = dir.path().canonicalize().unwrap();
        let (requests, heard) = mpsc::channel(8);
        let cancel = CancellationToken::new();
        Self { root, cancel, history: Arc::default(), requests, heard, _dir: dir }
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

    /// Adds a message to the thread.
    pub(super) fn said(&self, message: UiMessage) {
        self.history.put(message);
    }

    /// The next message of a tool, with its target; the tool is told that it was accepted.
    pub(super) async fn hear(&mut self) -> Option<(ThreadId, Saying)> {
        let Some(Request::Say { thread, saying, reply }) = self.heard.recv().await else { return None };
        reply.send(Acceptance::Duplicate { message: "m".parse().unwrap() }).unwrap();
        Some((thread, *saying))
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(super) fn context(&self) -> ToolContext {
        ToolContext {
            project: self.root.clone(),
            thread: self.thread(),
            correlation: "run-1".parse().unwrap(),
            call: "call-1".parse().unwrap(),
            permit: Permit::UNASKED,
            scope: MemoryScope::resolve(
                &"fake:user:7".parse().unwrap(),
                ChatKind::Direct,
                &self.thread(),
                &ScopeSettings::default(),
            ),
            origin: Origin::Member,
            requester: "fake:user:7".parse().ok(),
            asked_in: vec!["m1".parse().unwrap()],
            approval: None,
            memory: Arc::new(FileMemory::new(self.root.join(".ship"))),
            files: Arc::new(AttachmentFiles::new(&self.root.join(".ship"))),
            history: self.history.clone(),
            threads: ThreadsHandle::new(self.requests.clone()),
            progress: None,
            clock: Arc::new(FixedClock),
            cancel: self.cancel.clone(),
        }
    }

    pub(super) fn confinement(&self) -> Confinement {
        Confinement::new(&self.context())
    }
}
