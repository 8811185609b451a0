//! A model that answers at once, or after a while, with the names of everything it was asked since its last answer.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response;
use axum::serve::ListenerExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const WORDS: &str =
    "and this is about what people get in answer to a small question, streamed word by word as models do.";

/// The server. It ends with this value.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) url: String,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    pause: Duration,
    /// How long each answer took.
    took: Mutex<Vec<Duration>>,
}

#[derive(Deserialize)]
struct Prompt {
    messages: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
    #[serde(default)]
    content: Value,
}

impl Model {
    /// A model that thinks for so long.
    pub(crate) async fn start(pause: Duration) -> Self {
        let shared = Arc::new(Shared { pause, took: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router =
            Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(shared.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, _serving: serving }
    }

    /// What the answers took since this was last asked, all together; and how many there were.
    pub(crate) fn took(&self) -> (Duration, usize) {
        let took = std::mem::take(&mut *self.shared.took.lock().unwrap());
        (took.iter().sum(), took.len())
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let begun = Instant::now();
    if !shared.pause.is_zero() {
        tokio::time::sleep(shared.pause).await;
    }
    let prompt: Prompt = serde_json::from_slice(&body).unwrap();
    let text = format!("{} {WORDS}", asked(&prompt).join(" "));
    let answer = stream(&text);
    shared.took.lock().unwrap().push(begun.elapsed());
    Response::builder().header("content-type", "text/event-stream").body(Body::from(answer)).unwrap()
}

/// The first words of what was said since the last answer.
fn asked(prompt: &Prompt) -> Vec<String> {
    let newest = prompt.messages.iter().rev().take_while(|said| said.role != "assistant");
    let texts = newest.filter(|said| said.role == "user").map(|said| said.content.to_string());
    let names = texts.flat_map(|text| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').map(str::to_owned);
        words.filter(|word| word.starts_with("question-")).collect::<Vec<_>>()
    });
    names.collect()
}

/// The events of an answer, a word each.
fn stream(text: &str) -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let event = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "fake", "choices": [choice] });
        format!("data: {event}\n\n")
    };
    let mut events = chunk(json!({ "role": "assistant", "content": "" }), Value::Null);
    events.extend(text.split_inclusive(' ').map(|word| chunk(json!({ "content": word }), Value::Null)));
    events + &chunk(json!({}), json!("stop")) + "data: [DONE]\n\n"
}
