//! The fixture: a router, threads that the test answers, and a store in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request as HttpRequest, Response};
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

pub(super) use super::fake_threads::{FakeStore, Front, Threads};
pub(super) use super::http_messages::{
    Reader, get, json, message, outcome, post, refusal, request, text, user,
};
use super::json_schema::{operation, response_mistakes};
use crate::adapters::AdapterHealths;
use crate::adapters::web::openapi::document;
use crate::adapters::web::routes::operations;
use crate::adapters::web::server::{Web, router};
use crate::adapters::web::{WebOptions, WebParts};
use crate::domain::Timestamp;
use crate::metrics::Metrics;
use crate::ports::{
    AdapterIo, BoxFuture, Clock, HealthReporter, Hook, HookAnswer, HookRequest, Ids, ThreadsHandle,
};
use crate::store::AttachmentFiles;
use crate::store::memory::{InMemoryAccess, InMemoryAudit, InMemoryGrants};

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
        thread_marks: Arc::new(crate::ports::ThreadMarks::new(Arc::new(crate::store::FileNotes::new(
            files,
            &"web".parse().unwrap(),
        )))),
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
            titles: false,
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
