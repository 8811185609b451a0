//! The threads without sockets: the real router and store, a scripted model and a scripted platform.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shipagent::domain::{
    Approval, Author, Capabilities, ChatKind, Class, Delivery, IngressEvent, IngressKind, Intent, LengthUnit,
    MessageId, Platform, Risk, Said, Scope, ScopeKind, StoredFile, ThreadId, Timestamp, WhileRunning,
    WhileWaiting,
};
use shipagent::metrics::Metrics;
use shipagent::policy::Rights;
use shipagent::policy::grants::GrantProposal;
use shipagent::ports::{
    Acceptance, Adapter, AdapterIo, Attempt, BoxFuture, CallToJudge, Changes, Commit, Completion, Delivering,
    DeliveryError, FixedInstructions, Judge, Judgement, Model, ModelDelta, ModelError, OutboxEntry, Prompt,
    RandomIds, Receipt, Ruling, Running, StoreError, StoreErrorKind, SystemClock, ThreadPage, ThreadQuery,
    ThreadRecord, ThreadStore, ThreadsHandle, ToolBox,
};
use shipagent::store::memory::{InMemoryAudit, InMemoryGrants};
use shipagent::store::{AttachmentFiles, FileAccess, FileApprovals, ThreadFiles};
use shipagent::telemetry::Redactor;
use shipagent::threads::{AgentFacts, ApprovalRules, Limits, Router, Runtime, SearchFollower};
use shipagent::uimessage::{Content, ModelMessage, UiMessage};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A platform that records its deliveries.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// Every delivered chunk, in order.
    pub(crate) delivered: Mutex<Vec<(String, String)>>,
    /// The results of the next attempts; afterwards all succeed.
    pub(crate) troubles: Mutex<VecDeque<DeliveryError>>,
    /// Every delivered file, in order.
    pub(crate) files: Mutex<Vec<StoredFile>>,
    pub(crate) tries: AtomicUsize,
    pub(crate) attempts: Mutex<Vec<Attempt>>,
    /// Messages arrive, and no attempt gets an answer.
    pub(crate) hangs: AtomicBool,
    /// A store that refuses all writes after the next delivery.
    pub(crate) refuses_after: Mutex<Option<Arc<FailingStore>>>,
}

impl Recorder {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.delivered.lock().unwrap().iter().map(|(_, text)| text.clone()).collect()
    }

    pub(crate) fn attachments(&self) -> Vec<StoredFile> {
        self.files.lock().unwrap().clone()
    }
}

impl Adapter for Recorder {
    fn platform(&self) -> Platform {
        "task".parse().unwrap()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            delivery: Delivery::Push,
            max_length: Some(20),
            length_unit: LengthUnit::Chars,
            ..Capabilities::pull()
        }
    }

    fn run(self: Arc<Self>, _io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move {
            stop.cancelled().await;
            Ok(())
        })
    }

    fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> Delivering<'_> {
        self.tries.fetch_add(1, Ordering::SeqCst);
        self.attempts.lock().unwrap().push(attempt);
        Box::pin(async move {
            if let Some(trouble) = self.troubles.lock().unwrap().pop_front() {
                return Err(trouble);
            }
            let text = match entry.intent.intent {
                Intent::AssistantText { text } | Intent::Error { text, .. } => text,
                Intent::Attachment { file, .. } => {
                    self.files.lock().unwrap().push(file);
                    return Ok(Receipt::default());
                }
                other => format!("{other:?}"),
            };
            self.delivered.lock().unwrap().push((entry.id.as_str().to_owned(), text));
            if let Some(store) = self.refuses_after.lock().unwrap().take() {
                store.refuses.store(true, Ordering::SeqCst);
            }
            if self.hangs.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            Ok(Receipt { platform_message: Some("1".to_owned()) })
        })
    }
}

/// A model that answers with the text of the question, or panics if asked to.
#[derive(Debug)]
pub(crate) struct EchoModel;

impl Model for EchoModel {
    fn complete(
        &self,
        prompt: Prompt,
        _live: tokio::sync::mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            ModelMessage::User { content, .. } => content.iter().find_map(|part| match part {
                Content::Text(text) => Some(text.clone()),
                _ => None,
            }),
            _ => None,
        });
        Box::pin(async move {
            let text = said.unwrap_or_default();
            assert!(text != "panic", "asked to");
            Ok(Completion { text, ..Completion::default() })
        })
    }

    fn name(&self) -> &'static str {
        "parrot"
    }
}

/// A judge that allows every call.
#[derive(Debug)]
struct AllowAllJudge;

impl Judge for AllowAllJudge {
    fn judge(&self, call: CallToJudge) -> BoxFuture<'_, Judgement> {
        let ruling = Ruling::Allow(Class::ReadOnly);
        let judgement = Judgement {
            ruling,
            fingerprint: call.tool.clone(),
            summary: call.tool,
            details: None,
            whole: None,
            risk: Risk::Low,
            scopes: vec![ScopeKind::Once],
            grants: Vec::new(),
        };
        Box::pin(async { judgement })
    }

    fn propose(&self, _: &Approval, _: Scope, _: Timestamp) -> BoxFuture<'_, Option<GrantProposal>> {
        Box::pin(async { None })
    }
}

/// A store that refuses writes while it is told to.
#[derive(Debug)]
pub(crate) struct FailingStore {
    inner: ThreadFiles,
    /// Writes are refused.
    pub(crate) refuses: AtomicBool,
    /// The outcome of a run cannot be read.
    pub(crate) is_blind: AtomicBool,
    /// The next load of a thread panics.
    pub(crate) startles: AtomicBool,
    /// How often a thread was loaded.
    pub(crate) loads: AtomicUsize,
}

impl FailingStore {
    pub(crate) fn open(dir: &Path) -> Self {
        Self {
            inner: ThreadFiles::open(dir).unwrap(),
            refuses: false.into(),
            is_blind: false.into(),
            startles: false.into(),
            loads: 0.into(),
        }
    }
}

impl ThreadStore for FailingStore {
    fn load(&self, thread: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        assert!(!self.startles.swap(false, Ordering::SeqCst), "asked to");
        self.inner.load(thread)
    }

    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.contains(thread, id)
    }

    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        if self.is_blind.load(Ordering::SeqCst) {
            let source = std::io::Error::other("a bad sector");
            return Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "state", source)) });
        }
        self.inner.run_of(thread, id)
    }

    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        self.inner.page(thread, before, limit)
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        if self.refuses.load(Ordering::SeqCst) {
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Box::pin(async { Err(StoreError::new(StoreErrorKind::Full, "state", source)) });
        }
        self.inner.commit(commit)
    }

    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>> {
        self.inner.list(query)
    }

    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.exists(thread)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }

    fn unfinished(&self) -> Vec<ThreadId> {
        self.inner.unfinished()
    }

    fn found_unfinished(&self) -> BoxFuture<'_, Vec<ThreadId>> {
        self.inner.found_unfinished()
    }
}

/// The tasks of a state directory.
pub(crate) fn tasks_in(dir: &Path) -> Arc<dyn shipagent::ports::Tasks> {
    Arc::new(task_book(&shipagent::store::State::files_beside_daemon(dir)))
}

fn task_book(state: &shipagent::store::State) -> shipagent::tasks::TaskBook {
    let states = state.notes.nested("tasks");
    shipagent::tasks::TaskBook::new(
        state.tasks.clone(),
        states,
        Arc::new(SystemClock),
        jiff::tz::TimeZone::UTC,
    )
}

/// Running threads on a directory.
#[derive(Debug)]
pub(crate) struct ScriptedThreads {
    pub(crate) threads: ThreadsHandle,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) store: Arc<FailingStore>,
    pub(crate) metrics: Arc<Metrics>,
    stop: CancellationToken,
    router: JoinSet<()>,
}

impl ScriptedThreads {
    /// Opens the directory. `recorder` is the platform, which outlives the daemon as a real one does.
    #[expect(clippy::too_many_lines, reason = "joins all parts")]
    pub(crate) fn open(dir: &Path, recorder: Arc<Recorder>) -> Self {
        let store = Arc::new(FailingStore::open(dir));
        let metrics = Arc::new(Metrics::default());
        let audit = Arc::new(InMemoryAudit::default());
        let stop = CancellationToken::new();
        let state = shipagent::store::State::files_beside_daemon(dir);
        let adapters: BTreeMap<Platform, Arc<dyn Adapter>> =
            [(recorder.platform(), recorder.clone() as Arc<dyn Adapter>)].into();
        let search = Arc::new(shipagent::store::FileSearch::new(dir));
        let (follower, follower_handle) = SearchFollower::new(search.clone());
        let settings = shipagent::threads::TurnSettings {
            judge: Arc::new(AllowAllJudge),
            scopes: Default::default(),
            recall: shipagent::threads::RecallSettings {
                quiet: true,
                reach: shipagent::domain::HistoryReach::Thread,
            },
            compaction: shipagent::turn::CompactionRules::default(),
            titles: false,
            learning: shipagent::threads::Learning {
                auto: shipagent::domain::AutoMemory::Off,
                distil_every: None,
            },
            approval_rules: ApprovalRules {
                rights: Rights { requester: true, people: Vec::new(), ..Rights::default() },
                expire: Duration::from_secs(3600),
                while_waiting: WhileWaiting::Queue,
                read_replies: shipagent::domain::ReadReplies::Rules,
            },
            language: None,
            max_steps: 5,
            merge_ms: 0,
            while_running: WhileRunning::Merge,
        };
        let runtime = Runtime {
            settings: shipagent::domain::Replaceable::new(settings),
            speech: None,
            store: store.clone(),
            models: shipagent::threads::ThreadModels::new(
                shipagent::threads::ThreadModel {
                    model: Arc::new(EchoModel),
                    context_tokens: 8000,
                    deadline: Duration::from_secs(60),
                },
                Default::default(),
                Default::default(),
                state.notes.nested("models"),
            ),
            tools: ToolBox::new([]),
            adapters,
            approvals: Arc::new(FileApprovals::new(dir)),
            files: Arc::new(AttachmentFiles::new(dir)),
            access: Arc::new(FileAccess::new(dir, audit.clone())),
            grants: Arc::new(InMemoryGrants::new(audit.clone())),
            memory: Arc::new(shipagent::store::FileMemory::new(dir)),
            search,
            follower: follower_handle,
            frozen: shipagent::threads::FrozenMemory::new(Duration::from_secs(3600)),
            helper: shipagent::threads::HelperModel { model: Arc::new(EchoModel), context_tokens: 8000 },
            marks: Arc::new(shipagent::ports::ThreadMarks::new(state.notes.nested("threads"))),
            tasks: Arc::new(shipagent::tasks::ChatTasks {
                tasks: Arc::new(task_book(&state)),
                currency: shipagent::domain::Currency::default(),
            }),
            task_book: Arc::new(task_book(&state)),
            direct_chats: Arc::new(shipagent::threads::StoredDirectChats::new(state.notes.nested("direct"))),
            groups: Arc::new(shipagent::threads::Groups::new(
                shipagent::threads::GroupSettings::default(),
                shipagent::domain::AgentCard::new("stage", "stage"),
                shipagent::threads::Sharing::Alone,
            )),
            tokens: shipagent::threads::TokenRatios::new(state.notes),
            audit,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            agent: AgentFacts {
                name: "stage".into(),
                instructions: Arc::new(FixedInstructions("Say it again.".into())),
                project: dir.into(),
            },
            limits: Limits {
                concurrent_runs: 4,
                mailbox: 8,
                history_cache: 64 << 20,
                tool_deadline: Duration::from_secs(60),
                delivery_deadline: Duration::from_secs(60),
                idle: Duration::from_millis(20),
            },
            slots: Arc::new(Semaphore::new(4)),
            metrics: metrics.clone(),
            meter: Arc::new(shipagent::ports::NoMeter),
            budget: Arc::new(shipagent::ports::NoMeter),
            cap_questions: shipagent::threads::CapQuestions::default(),
            owners: Arc::new(shipagent::domain::Replaceable::new(Vec::new())),
            footer: shipagent::domain::Footer::Off,
            spending: Arc::new(shipagent::ports::NoMeter),
            changes: Changes::default(),
            redactor: Redactor::new([""; 0]).unwrap(),
        };
        let (router, threads) = Router::new(Arc::new(runtime), stop.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(router.run(watch::Sender::new(false)));
        tasks.spawn(follower.run(stop.clone()));
        Self { threads, recorder, store, metrics, stop, router: tasks }
    }

    /// Sends a message to the thread `task:chat:<chat>`.
    pub(crate) async fn say(&self, chat: &str, id: &str, text: &str) -> Acceptance {
        self.threads.deliver(said(chat, id, text)).await
    }

    /// Ends as in a crash: at once, at any point.
    pub(crate) async fn crash(mut self) {
        self.router.abort_all();
        while self.router.join_next().await.is_some() {}
        self.store.close().await;
    }

    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while self.router.join_next().await.is_some() {}
        self.store.close().await;
    }
}

pub(crate) fn said(chat: &str, id: &str, text: &str) -> IngressEvent {
    let platform: Platform = "task".parse().unwrap();
    IngressEvent {
        thread: ThreadId::of_chat(&platform, chat).unwrap(),
        author: Author { id: "task:user:1".parse().unwrap(), name: None, role: Default::default() },
        message: id.parse().unwrap(),
        platform_message: id.to_owned(),
        at: Timestamp::from_millis(1),
        chat: ChatKind::Direct,
        kind: IngressKind::Said(Said { text: text.to_owned(), ..Said::default() }),
    }
}
