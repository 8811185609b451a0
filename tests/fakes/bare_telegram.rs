//! A minimal Bot API: three calls and no state. It does not long-poll, uses large ids where the protocol allows them,
//! and answers unknown calls in a configurable way.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::daemon::PATIENCE;

pub(crate) const TOKEN: &str = "42:bare";

/// The response to an unknown call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unknown {
    /// 404, as the real server.
    NotFound,
    /// 404 of a web framework.
    NoRoute,
    /// 501 and a page.
    NotImplemented,
    /// 400 without a reason.
    BadRequest,
    /// 400 and a page.
    BadPage,
    /// 200 and nothing.
    Empty,
    /// `true` for everything.
    Yes,
}

#[derive(Debug)]
struct UpdateQueue {
    unknown: Unknown,
    known: Vec<&'static str>,
    updates: Vec<Value>,
    /// The bodies of calls, by name.
    calls: Vec<(String, Value)>,
    next: i64,
}

/// The server. It stops when dropped.
#[derive(Debug)]
pub(crate) struct BareTelegram {
    address: SocketAddr,
    queue: Arc<Mutex<UpdateQueue>>,
    _serving: JoinSet<()>,
}

impl BareTelegram {
    /// A server with these calls beside `getMe`, `getUpdates` and `sendMessage`.
    pub(crate) async fn start(unknown: Unknown, more: &[&'static str]) -> Self {
        let known = ["getMe", "getUpdates", "sendMessage"].iter().chain(more).copied().collect();
        // Beyond what fits into 32 bits.
        let queue =
            UpdateQueue { unknown, known, updates: Vec::new(), calls: Vec::new(), next: 5_000_000_000 };
        let queue = Arc::new(Mutex::new(queue));
        let router = Router::new().fallback(answer).with_state(queue.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, queue, _serving: serving }
    }

    /// The base URL for a bot.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A person writes, with only the required fields. Returns the message id.
    pub(crate) fn say(&self, chat: i64, user: i64, text: &str) -> i64 {
        let kind = if chat > 0 { "private" } else { "supergroup" };
        self.update(|id| {
            json!({ "update_id": id, "message": { "message_id": id, "chat": { "id": chat, "type": kind },
                "from": { "id": user, "is_bot": false, "first_name": "Ann" }, "text": text } })
        })
    }

    /// A person presses a button; the update has no message.
    pub(crate) fn press(&self, user: i64, data: &str) {
        self.update(|id| {
            json!({ "update_id": id, "callback_query": { "id": id.to_string(), "chat_instance": "1",
                "from": { "id": user, "is_bot": false, "first_name": "Ann" }, "data": data } })
        });
    }

    /// Adds an update, newest first.
    pub(crate) fn update(&self, make: impl FnOnce(i64) -> Value) -> i64 {
        let mut queue = self.queue.lock().unwrap();
        queue.next += 1;
        let id = queue.next;
        queue.updates.insert(0, make(id));
        id
    }

    /// The bodies of all calls of this name.
    pub(crate) fn calls(&self, method: &str) -> Vec<Value> {
        let queue = self.queue.lock().unwrap();
        queue.calls.iter().filter(|(name, _)| name == method).map(|(_, body)| body.clone()).collect()
    }

    /// The texts sent to a chat.
    pub(crate) fn sent(&self, chat: i64) -> Vec<String> {
        let sent = self.calls("sendMessage").into_iter().filter(|body| body["chat_id"] == chat);
        sent.map(|body| body["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until a condition holds.
    pub(crate) async fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !is_so(self) {
            let late = tokio::time::Instant::now() > deadline;
            assert!(!late, "waited in vain for {what}; sent: {:#?}", self.calls("sendMessage"));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn answer(State(queue): State<Arc<Mutex<UpdateQueue>>>, uri: Uri, body: Bytes) -> Response {
    let Some(method) = uri.path().strip_prefix(&format!("/bot{TOKEN}/")) else {
        return refused(401, "Unauthorized");
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut queue = queue.lock().unwrap();
    if method != "getUpdates" {
        queue.calls.push((method.to_owned(), body.clone()));
    }
    if !queue.known.contains(&method) {
        return match queue.unknown {
            Unknown::NotFound => refused(404, "Not Found"),
            Unknown::NoRoute => {
                (StatusCode::NOT_FOUND, axum::Json(json!({ "detail": "Not Found" }))).into_response()
            }
            Unknown::NotImplemented => (StatusCode::NOT_IMPLEMENTED, Html("<h1>501</h1>")).into_response(),
            Unknown::BadRequest => refused(400, "Bad Request"),
            Unknown::BadPage => (StatusCode::BAD_REQUEST, Html("<h1>400</h1>")).into_response(),
            Unknown::Empty => StatusCode::OK.into_response(),
            Unknown::Yes => done(json!(true)),
        };
    }
    match method {
        "getMe" => {
            done(json!({ "id": 42, "is_bot": true, "first_name": "Ship", "username": "ship_test_bot" }))
        }
        "getUpdates" => {
            let from = body["offset"].as_i64().unwrap_or_default();
            queue.updates.retain(|update| update["update_id"].as_i64().is_none_or(|id| id >= from));
            done(json!(queue.updates))
        }
        "sendMessage" => {
            queue.next += 1;
            done(json!({ "message_id": queue.next, "chat": { "id": body["chat_id"] } }))
        }
        _ => done(json!(true)),
    }
}

fn done(result: Value) -> Response {
    axum::Json(json!({ "ok": true, "result": result })).into_response()
}

fn refused(code: u16, words: &str) -> Response {
    let body = json!({ "ok": false, "error_code": code, "description": words });
    (StatusCode::from_u16(code).unwrap(), axum::Json(body)).into_response()
}
