//! A project with a scheduler on a virtual clock, and threads that accept every event once.

#![expect(clippy::disallowed_methods, reason = "the tasks of a test end with its runtime")]
#![expect(clippy::string_slice, reason = "times are ASCII")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{AuthorId, IngressKind, Intent, Language, ThreadId, Timestamp};
use crate::ports::{
    Acceptance, BoxFuture, Clock, DirectChats, Durability, KeyValueStore, RunOutcome, StoreError,
    StoreErrorKind, TaskFileEntry, TaskFiles, TaskHistoryEntry, Tasks as _, ThreadRequest, ThreadsHandle,
    WaitUntil,
};
use crate::store::memory::{InMemoryNotes, InMemoryStore, InMemoryTasks};
use crate::tasks::TaskBook;
use crate::tasks::frontmatter::TaskContext;
use crate::tasks::run::RunParts;
use crate::tasks::scheduler::{Scheduler, SchedulerParts};
use crate::tasks::task_states::TaskStates;
use crate::uimessage::RunStatus;

pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// A wall clock that follows the virtual time of the test and can be set.
#[derive(Debug)]
pub(super) struct WallClock {
    began: tokio::time::Instant,
    /// Milliseconds at `began`.
    base: AtomicI64,
}

impl WallClock {
    fn at(time: &str) -> Arc<Self> {
        let base = time.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        Arc::new(Self { began: tokio::time::Instant::now(), base: AtomicI64::new(base) })
    }

    /// Sets the clock forward or back, as after a suspend or by hand.
    pub(super) fn step(&self, seconds: i64) {
        self.base.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap();
        Timestamp::from_millis(self.base.load(Ordering::Relaxed) + passed)
    }
}

/// The direct chat of every owner, if there is one.
#[derive(Debug, Default)]
pub(super) struct OneDirectChat(pub(super) Mutex<Option<ThreadId>>);

impl DirectChats for OneDirectChat {
    fn of(&self, _: &AuthorId) -> BoxFuture<'_, Option<ThreadId>> {
        let chat = self.0.lock().unwrap().clone();
        Box::pin(async { chat })
    }

    fn note(&self, _: &AuthorId, _: &ThreadId) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Task files that may be unreadable.
#[derive(Clone, Debug, Default)]
pub(super) struct FlakyFiles {
    pub(super) files: InMemoryTasks,
    /// Listing fails.
    pub(super) unlisted: Arc<AtomicBool>,
    /// Reading fails.
    pub(super) unread: Arc<AtomicBool>,
}

fn unavailable<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    let error = StoreError::new(StoreErrorKind::Unavailable, "a file", "permission denied");
    Box::pin(async { Err(error) })
}

impl TaskFiles for FlakyFiles {
    fn list(&self) -> BoxFuture<'_, Result<Vec<TaskFileEntry>, StoreError>> {
        if self.unlisted.load(Ordering::Relaxed) { unavailable() } else { self.files.list() }
    }

    fn read(&self, name: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        if self.unread.load(Ordering::Relaxed) { unavailable() } else { self.files.read(name) }
    }

    fn write(
        &self,
        name: &str,
        before: Option<Vec<u8>>,
        content: Vec<u8>,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.files.write(name, before, content)
    }

    fn remove(&self, name: &str, before: Vec<u8>) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.files.remove(name, before)
    }

    fn set_aside(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        self.files.set_aside(name)
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.files.changed()
    }
}

/// States of which one may be unreadable.
#[derive(Clone, Debug, Default)]
pub(super) struct FlakyStates {
    pub(super) states: InMemoryNotes,
    pub(super) unread: Arc<Mutex<Option<&'static str>>>,
}

impl KeyValueStore for FlakyStates {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        if *self.unread.lock().unwrap() == Some(name) { unavailable() } else { self.states.get(name) }
    }

    fn put(&self, name: &str, note: Value, durability: Durability) -> BoxFuture<'_, Result<(), StoreError>> {
        self.states.put(name, note, durability)
    }

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        self.states.remove(name)
    }

    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>> {
        if self.unread.lock().unwrap().is_some() { unavailable() } else { self.states.all() }
    }

    fn nested(&self, name: &str) -> Arc<dyn KeyValueStore> {
        self.states.nested(name)
    }
}

/// What the threads of a test do, and what reached them.
#[derive(Debug)]
pub(super) struct FakeThreads {
    /// The events that were accepted, by their ids.
    pub(super) accepted: Mutex<Vec<String>>,
    /// The messages that were posted, by their threads.
    pub(super) said: Mutex<Vec<(ThreadId, String)>>,
    /// How every run ends.
    pub(super) ends: Mutex<Option<RunStatus>>,
    /// How long every run takes.
    takes: Duration,
}

impl FakeThreads {
    async fn run(self: Arc<Self>, mut requests: mpsc::Receiver<ThreadRequest>) {
        let (mut known, mut posted) = (BTreeSet::new(), BTreeSet::new());
        while let Some(request) = requests.recv().await {
            match request {
                ThreadRequest::Deliver { event, reply } => {
                    let message = event.message.clone();
                    let new = known.insert(message.clone());
                    if new && matches!(event.kind, IngressKind::Said(_)) {
                        self.accepted.lock().unwrap().push(message.to_string());
                    }
                    let answer = match new {
                        true => Acceptance::Accepted { message, correlation: "run_1".parse().unwrap() },
                        false => Acceptance::Duplicate { message },
                    };
                    drop(reply.send(answer));
                }
                ThreadRequest::Await { until: WaitUntil::Begun, reply, .. } => {
                    drop(reply.send(RunOutcome::default()));
                }
                ThreadRequest::Await { reply, .. } => {
                    let (status, takes) = (*self.ends.lock().unwrap(), self.takes);
                    drop(tokio::spawn(async move {
                        tokio::time::sleep(takes).await;
                        drop(reply.send(RunOutcome { status, ..RunOutcome::default() }));
                    }));
                }
                ThreadRequest::Say { thread, reply, .. } if thread.as_str().ends_with("refuses") => {
                    drop(reply.send(Acceptance::Refused("not here".into())));
                }
                ThreadRequest::Say { thread, run_message, reply } => {
                    let source = format!("{thread} {} {:?}", run_message.correlation, run_message.source);
                    if posted.insert(source)
                        && let Intent::AssistantText { text } = &run_message.intent
                    {
                        self.said.lock().unwrap().push((thread, text.clone()));
                    }
                    let message = "said".parse().unwrap();
                    drop(reply.send(Acceptance::Duplicate { message }));
                }
                ThreadRequest::Watch { .. } | ThreadRequest::Views { .. } | ThreadRequest::Alone { .. } => {}
            }
        }
    }
}

/// A project whose scheduler can be stopped and started again.
pub(super) struct Bench {
    pub(super) files: FlakyFiles,
    pub(super) states: FlakyStates,
    pub(super) clock: Arc<WallClock>,
    pub(super) threads: Arc<FakeThreads>,
    pub(super) direct: Arc<OneDirectChat>,
    handle: ThreadsHandle,
    pub(super) book: TaskBook,
    pub(super) stop: CancellationToken,
}

impl Bench {
    /// A project at this time, whose runs take so long. Nothing is scheduled before [`Self::start`].
    pub(super) fn new(time: &str, takes: Duration) -> Self {
        let (files, states) = (FlakyFiles::default(), FlakyStates::default());
        let clock = WallClock::at(time);
        let (sender, requests) = mpsc::channel(64);
        let threads = Arc::new(FakeThreads {
            accepted: Mutex::default(),
            said: Mutex::default(),
            ends: Mutex::new(Some(RunStatus::Done)),
            takes,
        });
        tokio::spawn(threads.clone().run(requests));
        let book =
            TaskBook::new(Arc::new(files.clone()), Arc::new(states.clone()), clock.clone(), TimeZone::UTC);
        let handle = ThreadsHandle::new(sender);
        let (direct, stop) = (Arc::default(), CancellationToken::new());
        Self { files, states, clock, threads, direct, handle, book, stop }
    }

    pub(super) async fn start(&mut self) {
        self.stop.cancel();
        self.stop = CancellationToken::new();
        let (book, requests) = self.book.clone().for_daemon();
        self.book = book;
        let run = RunParts {
            threads: self.handle.clone(),
            clock: self.clock.clone(),
            access: InMemoryStore::default().open().access,
            platform: "task".parse().unwrap(),
            owners: Arc::new(crate::domain::Replaceable::new(vec!["web:user:ann".parse().unwrap()])),
            direct: self.direct.clone(),
            budget: Arc::new(crate::ports::NoMeter),
            language: Some(Language::En),
        };
        let files = Arc::new(self.files.clone());
        let parts = SchedulerParts {
            files,
            states: TaskStates(Arc::new(self.states.clone())),
            run,
            context: TaskContext::in_zone(TimeZone::UTC),
        };
        tokio::spawn(Scheduler::new(parts, requests, self.stop.clone()).run());
        // A real folder is read at once; here a change makes the scheduler look.
        assert!(self.files.write("_", None, Vec::new()).await.unwrap());
        assert!(self.files.remove("_", Vec::new()).await.unwrap());
    }

    /// Lets the scheduler handle what is due.
    pub(super) async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }

    pub(super) async fn write(&self, id: &str, file: &str) {
        let before = self.files.read(id).await.unwrap();
        assert!(self.files.write(id, before, file.as_bytes().to_vec()).await.unwrap());
        self.settle().await;
    }

    pub(super) async fn remove(&self, id: &str) {
        let before = self.files.read(id).await.unwrap().unwrap();
        assert!(self.files.remove(id, before).await.unwrap());
        self.settle().await;
    }

    /// The slots of a task that ran, in the order of their start.
    pub(super) fn runs(&self, id: &str) -> Vec<String> {
        let prefix = format!("task_{id}@");
        let accepted = self.threads.accepted.lock().unwrap();
        accepted.iter().filter_map(|message| message.strip_prefix(&prefix).map(str::to_owned)).collect()
    }

    pub(super) async fn history(&self, id: &str) -> Vec<TaskHistoryEntry> {
        let mut history = self.book.show(id, Language::En).await.unwrap().history;
        history.reverse();
        history
    }

    /// The outcomes of a task, oldest first.
    pub(super) async fn outcomes(&self, id: &str) -> Vec<String> {
        let history = self.history(id).await;
        history.into_iter().map(|entry| format!("{} {}", &entry.slot[11..16], entry.outcome)).collect()
    }
}
