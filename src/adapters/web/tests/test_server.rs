//! The fixture: a router, threads that the test answers, and a store in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request as HttpRequest, Response, StatusCode};
use futures_util::StreamExt as _;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::json_schema::{operation, response_mistakes};
use crate::adapters::AdapterHealths;
use crate::adapters::web::openapi::document;
use crate::adapters::web::routes::operations;
use crate::adapters::web::server::{Web, router};
use crate::adapters::web::{WebOptions, WebParts};
use crate::domain::{IngressEvent, Intent, MessageId, ThreadId, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{
    Acceptance, AdapterIo, BoxFuture, Clock, Commit, HealthReporter, Hook, HookAnswer, HookRequest, Ids,
    RunOutcome, StoreError, Subscription, ThreadPage, ThreadQuery, ThreadRecord, ThreadRequest, ThreadStore,
    ThreadSummary, ThreadView, ThreadsHandle,
};
use crate::store::AttachmentFiles;
use crate::store::memory::{InMemoryAccess, InMemoryAudit, InMemoryGrants};
use crate::uimessage::{Metadata, Part, Role, RunStatus, TextPart, UiMessage};

pub(super) const TOKEN: &str = "s3cret";
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A clock at `NOW` until a test moves it.
#[derive(Debug)]
pub(super) struct ManualClock(AtomicI64);

impl Default for ManualClock {
    fn default() -> Self {
        Self(AtomicI64::new(NOW.as_millis()))
    }
}

impl ManualClock {
    pub(super) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Debug, Default)]
pub(super) struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn unique(&self) -> String {
        self.0.fetch_add(1, Ordering::Relaxed).to_string()
    }
}

#[derive(Debug, Default)]
pub(super) struct FakeStore {
    pub(super) threads: Mutex<BTreeMap<ThreadId, Vec<UiMessage>>>,
}

impl FakeStore {
    pub(super) fn put(&self, message: UiMessage) {
        let thread = message.metadata.thread_id.clone();
        self.threads.lock().unwrap().entry(thread).or_default().push(message);
    }

    fn messages(&self, thread: &ThreadId) -> Vec<UiMessage> {
        self.threads.lock().unwrap().get(thread).cloned().unwrap_or_default()
    }
}

impl ThreadStore for FakeStore {
    fn load(&self, _: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let found = self.messages(thread).iter().any(|message| message.id == *id);
        Box::pin(async move { Ok(found) })
    }

    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let mut run = self.messages(thread);
        let named = run.iter().find(|message| message.id == *id);
        let correlation = named.map(|message| message.metadata.correlation_id.clone());
        run.retain(|message| Some(&message.metadata.correlation_id) == correlation.as_ref());
        Box::pin(async move { Ok(run) })
    }

    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let mut page = self.messages(thread);
        if let Some(end) = before.and_then(|id| page.iter().position(|message| message.id == *id)) {
            page.truncate(end);
        }
        let page = page.split_off(page.len().saturating_sub(limit));
        Box::pin(async move { Ok(page) })
    }

    fn commit(&self, _: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>> {
        let threads = self.threads.lock().unwrap();
        let list = threads.iter().map(|(thread, messages)| ThreadSummary {
            thread_id: thread.clone(),
            state: crate::domain::ThreadState::Idle,
            title: messages.first().map(UiMessage::text).unwrap_or_default(),
            updated_at: NOW,
            message_count: u64::try_from(messages.len()).unwrap(),
            pending_approvals: 0,
        });
        let page = query.page_of(list.collect());
        Box::pin(async move { Ok(page) })
    }

    fn exists(&self, _: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async { Ok(true) })
    }

    fn unfinished(&self) -> Vec<ThreadId> {
        Vec::new()
    }
}

/// The threads' end of the handle, answered by the test.
pub(super) struct Threads(mpsc::Receiver<ThreadRequest>);

/// The threads' end of a subscription.
pub(super) struct Front {
    pub(super) thread: ThreadId,
    pub(super) view: watch::Sender<ThreadView>,
    pub(super) messages: broadcast::Sender<Arc<UiMessage>>,
    pub(super) notices: broadcast::Sender<Intent>,
}

impl Front {
    pub(super) fn live(&self, message: &UiMessage) {
        self.view.send_modify(|view| {
            view.state = crate::domain::ThreadState::Running;
            view.live = Some(Arc::new(message.clone()));
        });
    }
}

impl Threads {
    async fn next(&mut self) -> ThreadRequest {
        let next = tokio::time::timeout(Duration::from_secs(5), self.0.recv()).await;
        next.expect("a request within the deadline").expect("an open channel")
    }

    pub(super) fn nobody_came(&mut self) -> bool {
        self.0.try_recv().is_err()
    }

    /// Drops the next request.
    pub(super) async fn says_nothing(&mut self) {
        drop(self.next().await);
    }

    pub(super) async fn takes(&mut self, acceptance: Acceptance) -> IngressEvent {
        match self.next().await {
            ThreadRequest::Deliver { event, reply } => {
                reply.send(acceptance).unwrap();
                *event
            }
            other => panic!("expected a message, got {other:?}"),
        }
    }

    /// Accepts under the event's own id, as a part of the run `run_1`.
    pub(super) async fn accepts(&mut self) -> IngressEvent {
        match self.next().await {
            ThreadRequest::Deliver { event, reply } => {
                let correlation = "run_1".parse().unwrap();
                reply.send(Acceptance::Accepted { message: event.message.clone(), correlation }).unwrap();
                *event
            }
            other => panic!("expected a message, got {other:?}"),
        }
    }

    pub(super) async fn is_watched(&mut self, view: ThreadView) -> Front {
        match self.next().await {
            ThreadRequest::Watch { thread, reply } => {
                let front = Front {
                    thread,
                    view: watch::Sender::new(view),
                    messages: broadcast::Sender::new(4),
                    notices: broadcast::Sender::new(4),
                };
                let place = Subscription {
                    view: front.view.subscribe(),
                    messages: front.messages.subscribe(),
                    notices: front.notices.subscribe(),
                };
                reply.send(place).unwrap();
                front
            }
            other => panic!("expected a watcher, got {other:?}"),
        }
    }

    pub(super) async fn is_awaited(&mut self) -> (MessageId, oneshot::Sender<RunOutcome>) {
        match self.next().await {
            ThreadRequest::Await { message, reply, .. } => (message, reply),
            other => panic!("expected somebody who waits, got {other:?}"),
        }
    }

    pub(super) async fn tells_views(&mut self, views: Vec<(ThreadId, ThreadView)>) {
        match self.next().await {
            ThreadRequest::Views { reply } => reply.send(views).unwrap(),
            other => panic!("expected a look at all threads, got {other:?}"),
        }
    }
}

/// A body that is read chunk by chunk.
pub(super) struct Reader(BodyDataStream);

impl Reader {
    pub(super) fn new(response: Response<Body>) -> Self {
        Self(response.into_body().into_data_stream())
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<String> {
        let bytes = self.0.next().await?.unwrap();
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    pub(super) async fn rest(&mut self) -> String {
        let mut all = String::new();
        while let Some(bytes) = self.next().await {
            all.push_str(&bytes);
        }
        all
    }
}

pub(super) struct TestServer {
    pub(super) web: Arc<Web>,
    pub(super) router: Router,
    pub(super) store: Arc<FakeStore>,
    pub(super) audit: Arc<InMemoryAudit>,
    pub(super) stop: CancellationToken,
    pub(super) recovered: watch::Sender<bool>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) files: tempfile::TempDir,
}

impl TestServer {
    pub(super) fn new() -> (Self, Threads) {
        Self::with_token(TOKEN)
    }

    pub(super) fn with_token(token: &str) -> (Self, Threads) {
        Self::with(|options| options.token = SecretString::from(token))
    }

    pub(super) fn with(change: impl FnOnce(&mut WebOptions)) -> (Self, Threads) {
        let (requests, inbox) = mpsc::channel(16);
        let store = Arc::new(FakeStore::default());
        let files = tempfile::tempdir().unwrap();
        let recovered = watch::Sender::new(false);
        let mut options = options(files.path());
        change(&mut options);
        let audit = Arc::new(InMemoryAudit::default());
        let parts = WebParts {
            audit: audit.clone(),
            ..parts(Arc::clone(&store), recovered.subscribe(), files.path())
        };
        let clock = Arc::new(ManualClock::default());
        let io = AdapterIo { clock: clock.clone(), ..io(ThreadsHandle::new(requests)) };
        let stop = CancellationToken::new();
        let web = Arc::new(Web::new(options, parts, &io, "127.0.0.1:7717".parse().unwrap(), stop.clone()));
        let router = router(Arc::clone(&web));
        (Self { web, router, store, audit, stop, recovered, clock, files }, Threads(inbox))
    }

    /// Sends a request. The response must be one that the document of the API describes.
    pub(super) async fn send(&self, request: HttpRequest<Body>) -> Response<Body> {
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let response = self.router.clone().oneshot(request).await.unwrap();
        described(&method, &path, response).await
    }

    pub(super) async fn get(&self, path: &str) -> Response<Body> {
        self.send(get(path)).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Response<Body> {
        self.send(post(path, body)).await
    }
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document(&operations()));

/// The same response, after a look at the document. Streams are left as they are.
async fn described(method: &str, path: &str, response: Response<Body>) -> Response<Body> {
    let Some((known, operation)) = operation(&DOCUMENT, method, path) else { return response };
    let status = response.status().as_u16();
    let media_type = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
    let media_type = media_type.unwrap_or_default();
    let (parts, body) = response.into_parts();
    if media_type != "application/json" {
        let mistakes = response_mistakes(&DOCUMENT, operation, status, &media_type, &[]);
        assert!(mistakes.is_empty(), "{method} {known}: {mistakes:?}");
        return Response::from_parts(parts, body);
    }
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let mistakes = response_mistakes(&DOCUMENT, operation, status, &media_type, &body);
    assert!(mistakes.is_empty(), "{method} {known}: {mistakes:?} in {}", String::from_utf8_lossy(&body));
    Response::from_parts(parts, Body::from(body))
}

pub(super) fn options(files: &std::path::Path) -> WebOptions {
    WebOptions {
        listen: "127.0.0.1:7717".parse().unwrap(),
        token: SecretString::from(TOKEN),
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        name: "my-agent".to_owned(),
        language: None,
        version: "0.1.0".to_owned(),
        provider: "offline".to_owned(),
        operator_name: Some("Ada".to_owned()),
        listens: false,
        project: files.to_owned(),
        stop_grace: Duration::from_secs(2),
    }
}

pub(super) fn parts(
    store: Arc<FakeStore>,
    recovered: watch::Receiver<bool>,
    files: &std::path::Path,
) -> WebParts {
    let nowhere = std::path::Path::new("/nonexistent");
    let audit = Arc::new(InMemoryAudit::default());
    WebParts {
        onboarding: None,
        configuration: Arc::new(FixedConfiguration),
        instructions: Arc::new(crate::store::InstructionsHistory::new(
            files.join("Agent.md"),
            Arc::new(crate::store::memory::InMemoryNotes::default()),
        )),
        log: Arc::new(crate::store::LogFiles::new(files)),
        checkup: None,
        backup: Arc::new(crate::store::FileBackup::new(files, &files.join(".ship"))),
        hooks: vec![Arc::new(EchoHook)],
        approvals: Arc::new(crate::store::FileApprovals::new(nowhere)),
        grants: Arc::new(InMemoryGrants::new(audit.clone())),
        access: Arc::new(InMemoryAccess::new(audit.clone())),
        audit,
        memory: Arc::new(crate::store::FileMemory::new(files)),
        search: Arc::new(crate::store::FileSearch::new(files)),
        tasks: Arc::new(no_tasks()),
        models: Arc::new(no_models(files)),
        spending: Arc::new(crate::ports::NoMeter),
        thread_marks: Arc::new(crate::store::FileNotes::new(files, &"web".parse().unwrap())),
        rooms: None,
        files: Arc::new(AttachmentFiles::new(files)),
        store,
        enrich: Arc::default(),
        speech: None,
        ids: Arc::new(CountedIds::default()),
        healths: AdapterHealths::default(),
        recovered,
        metrics: Arc::new(Metrics::default()),
        changes: crate::ports::Changes::default(),
        sandbox: watch::channel(None).1,
    }
}

fn no_models(files: &std::path::Path) -> crate::threads::ThreadModels {
    let model = crate::threads::ThreadModel {
        model: crate::model_setup::model_of(&crate::config::ModelSettings {
            provider: crate::config::Provider::Offline,
            context_tokens: 1000,
            max_steps: 1,
            fallbacks: Vec::new(),
            helper: None,
            named: BTreeMap::new(),
            choosers: crate::domain::ModelChoosers::Owners,
        }),
        context_tokens: 1000,
        deadline: Duration::from_secs(1),
    };
    let notes = Arc::new(crate::store::FileNotes::new(files, &"models".parse().unwrap()));
    crate::threads::ThreadModels::new(model, BTreeMap::new(), Default::default(), notes)
}

/// Settings that are in no file.
#[derive(Debug)]
struct FixedConfiguration;

impl crate::ports::Configuration for FixedConfiguration {
    fn state(&self) -> crate::ports::ConfigurationState {
        crate::ports::ConfigurationState::default()
    }

    fn model(&self) -> String {
        "offline".to_owned()
    }

    fn keys(
        &self,
    ) -> BoxFuture<'_, Result<crate::ports::ConfigurationKeys, crate::ports::ConfigurationError>> {
        Box::pin(async { Ok(crate::ports::ConfigurationKeys::default()) })
    }

    fn change(
        &self,
        changes: Vec<crate::ports::KeyChange>,
    ) -> BoxFuture<'_, Result<crate::ports::ConfigurationChanged, crate::ports::ConfigurationError>> {
        let key = changes.into_iter().next().map(|change| change.key).unwrap_or_default();
        Box::pin(async { Err(crate::ports::ConfigurationError::NotHere(key)) })
    }
}

fn no_tasks() -> crate::tasks::TaskBook {
    crate::tasks::TaskBook::new(
        Arc::new(crate::store::memory::InMemoryTasks::default()),
        Arc::new(crate::store::memory::InMemoryNotes::default()),
        Arc::new(ManualClock::default()),
        jiff::tz::TimeZone::UTC,
    )
}

pub(super) fn io(threads: ThreadsHandle) -> AdapterIo {
    AdapterIo { threads, health: HealthReporter::new().0, clock: Arc::new(ManualClock::default()) }
}

pub(super) fn request(method: &str, path: &str) -> http::request::Builder {
    HttpRequest::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:7717")
        .header("authorization", format!("Bearer {TOKEN}"))
}

pub(super) fn get(path: &str) -> HttpRequest<Body> {
    request("GET", path).body(Body::empty()).unwrap()
}

pub(super) fn post(path: &str, body: Value) -> HttpRequest<Body> {
    let builder = request("POST", path).header("content-type", "application/json");
    builder.body(Body::from(body.to_string())).unwrap()
}

pub(super) async fn text(response: Response<Body>) -> (StatusCode, String) {
    let status = response.status();
    (status, Reader::new(response).rest().await)
}

/// The message of a refusal, which must have the shape of all refusals.
pub(super) async fn refusal(response: Response<Body>) -> (StatusCode, String) {
    assert_eq!(response.headers().get("content-type").unwrap(), "application/json");
    let (status, body) = json(response).await;
    assert!(body["error"]["code"].as_str().is_some_and(|code| !code.is_empty()), "{body}");
    (status, body["error"]["message"].as_str().unwrap().to_owned())
}

pub(super) async fn json(response: Response<Body>) -> (StatusCode, Value) {
    let (status, body) = text(response).await;
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

/// A message of the run `run_1` in `thread`.
pub(super) fn message(
    thread: &str,
    id: &str,
    role: Role,
    status: Option<RunStatus>,
    parts: Vec<Part>,
) -> UiMessage {
    let thread: ThreadId = thread.parse().unwrap();
    let metadata = Metadata {
        platform: thread.platform().as_str().to_owned(),
        thread_id: thread,
        author_id: None,
        author_name: None,
        message_id: None,
        timestamp: NOW,
        correlation_id: "run_1".parse().unwrap(),
        status,
        command: false,
        context: false,
        checkpoint: false,
        extra: serde_json::Map::new(),
    };
    UiMessage { id: id.parse().unwrap(), role, metadata, parts }
}

pub(super) fn user(thread: &str, id: &str, words: &str) -> UiMessage {
    message(thread, id, Role::User, None, vec![Part::Text(TextPart::plain(words))])
}

pub(super) fn outcome(status: RunStatus, messages: Vec<UiMessage>) -> RunOutcome {
    RunOutcome {
        approvals: Vec::new(),
        status: Some(status),
        messages: messages.into_iter().map(Arc::new).collect(),
        error: None,
        correlation: Some("run_1".parse().unwrap()),
    }
}

/// A hook that returns the request's body, if the caller sends its secret.
#[derive(Debug)]
struct EchoHook;

impl Hook for EchoHook {
    fn path(&self) -> &str {
        "/hooks/bell"
    }

    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer> {
        let known = request.headers.get("x-word").is_some_and(|word| word == "open");
        let answer = HookAnswer { status: 200, body: request.body };
        Box::pin(async move { if known { answer } else { HookAnswer::of(401) } })
    }
}
