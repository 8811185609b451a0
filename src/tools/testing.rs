//! A project on disk for the tests of the tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Confinement;
use crate::domain::{MessageId, Permit, ThreadId, Timestamp};
use crate::ports::{
    Acceptance, BoxFuture, Clock, Commit, Request, Saying, StoreError, ThreadRecord, ThreadStore,
    ThreadSummary, ThreadsHandle, ToolContext,
};
use crate::store::FileMemory;
use crate::uimessage::UiMessage;

/// A project directory that goes away with its value.
#[derive(Debug)]
pub(super) struct Project {
    root: PathBuf,
    cancel: CancellationToken,
    history: Arc<History>,
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

/// What was said in the one thread there is.
#[derive(Debug, Default)]
struct History(Mutex<Vec<UiMessage>>);

impl ThreadStore for History {
    fn load(&self, _: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn contains(&self, _: &ThreadId, _: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn run_of(&self, _: &ThreadId, _: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn page(
        &self,
        _: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let mut page = self.0.lock().unwrap().clone();
        if let Some(end) = before.and_then(|id| page.iter().position(|message| message.id == *id)) {
            page.truncate(end);
        }
        let page = page.split_off(page.len().saturating_sub(limit));
        Box::pin(async move { Ok(page) })
    }

    fn commit(&self, _: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ThreadSummary>, StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn exists(&self, _: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async { Ok(true) })
    }

    fn unfinished(&self) -> Vec<ThreadId> {
        Vec::new()
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

    /// Says something in the thread.
    pub(super) fn said(&self, message: UiMessage) {
        self.history.0.lock().unwrap().push(message);
    }

    /// What a tool says next, and to whom; it is told that it was taken.
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
            person: "fake:user:7".parse().ok(),
            memory: Arc::new(FileMemory::new(self.root.join(".ship"))),
            history: self.history.clone(),
            door: ThreadsHandle::new(self.requests.clone()),
            progress: None,
            clock: Arc::new(FixedClock),
            cancel: self.cancel.clone(),
        }
    }

    pub(super) fn confinement(&self) -> Confinement {
        Confinement::new(&self.context())
    }
}
