//! A Bot API server that is as quick as it can be, so that what is measured is the bot: it gives updates a hundred at a
//! time, takes what the bot sends, and notes when.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use axum::serve::ListenerExt as _;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

pub(crate) const TOKEN: &str = "4242:benchmark-token";

/// A message's name: its words are the first of its text, and an answer to it has them too.
pub(crate) type Name = String;

/// The server. It ends with this value.
#[derive(Debug)]
pub(crate) struct BotApi {
    pub(crate) url: String,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    world: Mutex<Environment>,
    /// Rings when there is something to be fetched.
    posted: Notify,
    /// How many messages the bot has sent.
    sent: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Environment {
    first_poll: Option<Instant>,
    /// Numbers, names and the JSON of what the bot has not confirmed.
    pending: VecDeque<(i64, Name, String)>,
    posted: i64,
    /// When each message was first given to the bot.
    given: HashMap<Name, Instant>,
    sent: Vec<Sent>,
}

/// A message of the bot's.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) chat: i64,
    pub(crate) text: String,
}

/// The parameters that matter here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Params {
    offset: i64,
    limit: Option<usize>,
    timeout: u64,
    chat_id: i64,
    text: String,
}

impl BotApi {
    pub(crate) async fn start() -> Self {
        let shared = Shared { world: Mutex::default(), posted: Notify::new(), sent: watch::Sender::new(0) };
        let shared = Arc::new(shared);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, _serving: serving }
    }

    /// Posts messages, each by its chat, which is also its author, and its name.
    pub(crate) fn post(&self, messages: impl IntoIterator<Item = (i64, Name)>) {
        self.shared.change(|world| {
            for (chat, name) in messages {
                world.posted += 1;
                let update = update(world.posted, chat, &name);
                world.pending.push_back((world.posted, name, update));
            }
        });
        self.shared.posted.notify_waiters();
    }

    /// When updates were first asked for. Waits for it.
    pub(crate) async fn first_poll(&self) -> Instant {
        loop {
            if let Some(at) = self.shared.change(|world| world.first_poll) {
                return at;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    /// Forgets that it was ever asked.
    pub(crate) fn forget_polls(&self) {
        self.shared.change(|world| world.first_poll = None);
    }

    /// When a message was given to the bot.
    pub(crate) fn given(&self, name: &str) -> Instant {
        self.shared.change(|world| world.given.get(name).copied()).unwrap()
    }

    /// Everything the bot sent from the one of this number on.
    pub(crate) fn sent_since(&self, number: usize) -> Vec<Sent> {
        self.shared.change(|world| world.sent.iter().skip(number).cloned().collect())
    }

    /// How many messages the bot has sent, and the next moment that changes.
    pub(crate) fn sent(&self) -> watch::Receiver<usize> {
        self.shared.sent.subscribe()
    }
}

impl Shared {
    fn change<T>(&self, change: impl FnOnce(&mut Environment) -> T) -> T {
        change(&mut self.world.lock().unwrap())
    }
}

fn update(number: i64, chat: i64, name: &str) -> String {
    let text = format!("{name} is what I would like to know");
    json!({
        "update_id": number,
        "message": {
            "message_id": number,
            "date": 1_780_000_000,
            "chat": { "id": chat, "type": "private", "first_name": "Somebody" },
            "from": { "id": chat, "is_bot": false, "first_name": "Somebody", "language_code": "en" },
            "text": text,
        },
    })
    .to_string()
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, body: Bytes) -> Response {
    let at = Instant::now();
    let method = uri.path().rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let params = || serde_json::from_slice::<Params>(&body).unwrap_or_default();
    let result = match method.as_str() {
        "getupdates" => updates(&shared, &params()).await,
        "sendmessage" => sent(&shared, at, params()),
        "getme" => json!({
            "id": 4242, "is_bot": true, "first_name": "Bench", "username": "bench_bot", "can_join_groups": true,
            "can_read_all_group_messages": false, "supports_inline_queries": false,
            "can_connect_to_business": false, "has_main_web_app": false,
        })
        .to_string(),
        _ => "true".to_owned(),
    };
    let answer = format!(r#"{{"ok":true,"result":{result}}}"#);
    Response::builder().header("content-type", "application/json").body(Body::from(answer)).unwrap()
}

async fn updates(shared: &Shared, params: &Params) -> String {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(params.timeout);
    shared.change(|world| {
        world.first_poll.get_or_insert_with(Instant::now);
        while world.pending.front().is_some_and(|(number, ..)| *number < params.offset) {
            world.pending.pop_front();
        }
    });
    loop {
        let mut posted = std::pin::pin!(shared.posted.notified());
        posted.as_mut().enable();
        let batch = shared.change(|world| {
            let limit = params.limit.unwrap_or(100).min(100);
            let batch: Vec<_> = world.pending.iter().take(limit).cloned().collect();
            let now = Instant::now();
            for (_, name, _) in &batch {
                world.given.entry(name.clone()).or_insert(now);
            }
            batch
        });
        let late = || tokio::time::timeout_at(deadline, posted);
        if !batch.is_empty() || late().await.is_err() {
            let updates: Vec<String> = batch.into_iter().map(|(.., update)| update).collect();
            return format!("[{}]", updates.join(","));
        }
    }
}

fn sent(shared: &Shared, at: Instant, params: Params) -> String {
    let Params { chat_id: chat, text, .. } = params;
    let number = shared.change(|world| {
        world.sent.push(Sent { at, chat, text: text.clone() });
        // Numbers of messages are the chat's own, and greater than those of what they answer.
        world.posted.max(1) * 1000 + i64::try_from(world.sent.len()).unwrap()
    });
    shared.sent.send_modify(|count| *count += 1);
    json!({
        "message_id": number,
        "date": 1_780_000_000,
        "chat": { "id": chat, "type": "private", "first_name": "Somebody" },
        "from": { "id": 4242, "is_bot": true, "first_name": "Bench", "username": "bench_bot" },
        "text": text,
    })
    .to_string()
}
