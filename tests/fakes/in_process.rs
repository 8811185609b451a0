//! A whole daemon inside the test, with a manual clock: real files, a real HTTP client, a scripted server.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use shipagent::adapters::builtin;
use shipagent::app::App;
use shipagent::config::{Env, Settings};
use shipagent::domain::{
    Author, AuthorRole, ChatKind, CommandInvocation, IngressEvent, IngressKind, MessageId, Said, ThreadId,
    Timestamp,
};
use shipagent::environment::{Environment, ShellEnvironment};
use shipagent::ports::{Acceptance, Clock, RunOutcome, ThreadStore};
use shipagent::store::State;
use shipagent::telemetry::Redactor;

use super::daemon::{PATIENCE, Project};

/// 2026-11-18, 20:00 UTC.
const EVENING: i64 = 1_795_032_000_000;

/// A clock that the test advances.
#[derive(Debug)]
pub(crate) struct HandClock {
    millis: AtomicI64,
    /// Since when it runs by itself as well.
    runs: Option<Instant>,
}

impl HandClock {
    pub(crate) fn evening() -> Arc<Self> {
        Arc::new(Self { millis: AtomicI64::new(EVENING), runs: None })
    }

    /// From the real time on, running like a real clock.
    pub(crate) fn running() -> Arc<Self> {
        let now = jiff::Timestamp::now().as_millisecond();
        Arc::new(Self { millis: AtomicI64::new(now), runs: Some(Instant::now()) })
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.millis.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        let run = self.runs.map_or(0, |since| i64::try_from(since.elapsed().as_millis()).unwrap());
        Timestamp::from_millis(self.millis.load(Ordering::SeqCst) + run)
    }
}

#[derive(Debug)]
pub(crate) struct InProcess {
    app: App,
    store: Arc<dyn ThreadStore>,
    clock: Arc<HandClock>,
    messages: AtomicU64,
}

impl InProcess {
    /// Starts on the project.
    pub(crate) fn start(project: &Project, clock: &Arc<HandClock>) -> Self {
        shipagent::http_client::install_tls();
        let settings = Settings::load(project.path(), &Env::default(), &builtin()).unwrap();
        let state = State::files(&settings.state).unwrap();
        let store = state.threads.clone();
        let shell = ShellEnvironment { environment: Vec::new(), redactor: Redactor::new([""; 0]).unwrap() };
        let world = Environment { clock: clock.clone(), ..Environment::real(&settings.model, shell) };
        let app = App::start(&settings, state, world, None).unwrap();
        let messages = AtomicU64::new(u64::try_from(clock.now().as_millis()).unwrap());
        Self { app, store, clock: clock.clone(), messages }
    }

    pub(crate) fn thread(chat: &str) -> ThreadId {
        format!("web:chat:{chat}").parse().unwrap()
    }

    /// Submits a message without waiting for its answer.
    pub(crate) async fn submit(&self, chat: &str, text: &str) -> MessageId {
        let number = self.messages.fetch_add(1, Ordering::SeqCst);
        let message: MessageId = format!("m{number}").parse().unwrap();
        let kind = match CommandInvocation::parse(text) {
            Some(order) => IngressKind::Command(order),
            None => IngressKind::Said(Said { text: text.to_owned(), ..Said::default() }),
        };
        self.deliver(chat, message, kind).await
    }

    pub(crate) async fn deliver(&self, chat: &str, message: MessageId, kind: IngressKind) -> MessageId {
        let event = IngressEvent {
            thread: Self::thread(chat),
            author: Author {
                id: "web:user:ann".parse().unwrap(),
                name: Some("Ann".to_owned()),
                role: AuthorRole::Person,
            },
            platform_message: message.as_str().to_owned(),
            message: message.clone(),
            at: self.clock.now(),
            chat: ChatKind::Direct,
            kind,
        };
        self.take_in(event).await
    }

    /// Submits any event.
    pub(crate) async fn take_in(&self, event: IngressEvent) -> MessageId {
        let message = event.message.clone();
        let accepted = self.app.threads.deliver(event).await;
        assert!(matches!(accepted, Acceptance::Accepted { .. }), "{accepted:?}");
        message
    }

    /// Submits a message of anybody in any thread, waits for the end of the turn and returns the answer.
    pub(crate) async fn say_as(&self, author: &str, chat: ChatKind, thread: &str, text: &str) -> String {
        let number = self.messages.fetch_add(1, Ordering::SeqCst);
        let message: MessageId = format!("m{number}").parse().unwrap();
        let thread: ThreadId = thread.parse().unwrap();
        let kind = match CommandInvocation::parse(text) {
            Some(order) => IngressKind::Command(order),
            None => IngressKind::Said(Said { text: text.to_owned(), ..Said::default() }),
        };
        let event = IngressEvent {
            thread: thread.clone(),
            author: Author { id: author.parse().unwrap(), name: None, role: AuthorRole::Person },
            platform_message: message.as_str().to_owned(),
            message: message.clone(),
            at: self.clock.now(),
            chat,
            kind,
        };
        let accepted = self.app.threads.deliver(event).await;
        assert!(matches!(accepted, Acceptance::Accepted { .. }), "{accepted:?}");
        let ended = self.app.threads.outcome(thread, message);
        let outcome = tokio::time::timeout(PATIENCE, ended).await.expect("the turn does not end").unwrap();
        answer_in(&outcome)
    }

    /// How the run of a message ended.
    pub(crate) async fn outcome(&self, chat: &str, message: MessageId) -> RunOutcome {
        self.outcome_in(Self::thread(chat), message).await
    }

    /// The same, in any thread.
    pub(crate) async fn outcome_in(&self, thread: ThreadId, message: MessageId) -> RunOutcome {
        let ended = self.app.threads.outcome(thread, message);
        tokio::time::timeout(PATIENCE, ended).await.expect("the turn does not end").unwrap()
    }

    /// Sends a message, waits for the end of the turn and returns the answer.
    pub(crate) async fn say(&self, chat: &str, text: &str) -> String {
        let message = self.submit(chat, text).await;
        let outcome = self.outcome(chat, message).await;
        answer_in(&outcome)
    }

    pub(crate) async fn stop(self) {
        self.app.stop(Duration::from_secs(10)).await;
        self.store.close().await;
    }
}

/// The answer of a turn, or the reply to a command.
fn answer_in(outcome: &RunOutcome) -> String {
    let last = outcome.messages.last().unwrap_or_else(|| panic!("no answer: {outcome:?}"));
    match serde_json::to_value(&last.parts).unwrap()[0]["data"]["reply"].clone() {
        Value::String(reply) => reply,
        _ => last.final_text(),
    }
}
