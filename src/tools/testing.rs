//! A project on disk for the tests of the tools.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Confinement;
use crate::domain::{
    ChatKind, HistoryReach, Language, MemoryScope, Origin, Permit, ScopeSettings, ThreadId, Timestamp,
};
use crate::ports::{Acceptance, Clock, RunMessage, ScopedSearch, ThreadRequest, ThreadsHandle, ToolContext};
use crate::store::memory::{InMemoryNotes, InMemoryTasks, InMemoryThreads};
use crate::store::{AttachmentFiles, FileMemory, FileSearch};
use crate::tasks::TaskBook;
use crate::uimessage::UiMessage;

/// A temporary project directory, removed on drop.
#[derive(Debug)]
pub(super) struct Project {
    root: PathBuf,
    cancel: CancellationToken,
    history: Arc<InMemoryThreads>,
    tasks: Arc<TaskBook>,
    seconds: AtomicI64,
    requests: mpsc::Sender<ThreadRequest>,
    heard: mpsc::Receiver<ThreadRequest>,
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
        let seconds = AtomicI64::new(0);
        let tasks = Arc::new(TaskBook::new(
            Arc::new(InMemoryTasks::default()),
            Arc::new(InMemoryNotes::default()),
            Arc::new(FixedClock),
            jiff::tz::TimeZone::UTC,
        ));
        Self { root, cancel, history: Arc::default(), tasks, seconds, requests, heard, _dir: dir }
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
        let line = serde_json::to_string(&message).unwrap();
        let folder = self.root.join(".ship/threads");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}.jsonl", self.thread().file_name()));
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
        self.history.put(message);
    }

    /// The time of the next message, in milliseconds: a second later than the one before.
    pub(super) fn next_second(&self) -> i64 {
        self.seconds.fetch_add(1, Ordering::Relaxed) * 1000 + 1000
    }

    /// The next message of a tool, with its target; the tool is told that it was accepted.
    pub(super) async fn hear(&mut self) -> Option<(ThreadId, RunMessage)> {
        let Some(ThreadRequest::Say { thread, run_message, reply }) = self.heard.recv().await else {
            return None;
        };
        reply.send(Acceptance::Duplicate { message: "m".parse().unwrap() }).unwrap();
        Some((thread, *run_message))
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(super) fn context(&self) -> ToolContext {
        let scope = MemoryScope::resolve(
            &"fake:user:7".parse().unwrap(),
            ChatKind::Direct,
            &self.thread(),
            &ScopeSettings::default(),
        );
        let ship = self.root.join(".ship");
        let memory = Arc::new(FileMemory::new(ship.clone()));
        ToolContext {
            project: self.root.clone(),
            thread: self.thread(),
            correlation: "run-1".parse().unwrap(),
            call: "call-1".parse().unwrap(),
            permit: Permit::UNASKED,
            scope: scope.clone(),
            origin: Origin::Member,
            requester: "fake:user:7".parse().ok(),
            unattended: false,
            language: Language::En,
            tasks: self.tasks.clone(),
            asked_in: vec!["m1".parse().unwrap()],
            approval: None,
            search: ScopedSearch {
                search: Arc::new(FileSearch::new(ship)),
                memory: memory.clone(),
                thread: self.thread(),
                scope,
                reach: HistoryReach::Thread,
            },
            memory,
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
