//! A scripted OpenAI-compatible server: a real HTTP server on the loopback with scripted replies.
//!
//! ```ignore
//! let fake = FakeModel::start([Reply::status(500, "oops"), Reply::text("hello")]).await;
//! // … talk to fake.url() …
//! assert_eq!(fake.requests().len(), 2);
//! ```

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::serve::ListenerExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use shipagent::uimessage::words_in;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};

/// The server. It stops when dropped.
#[derive(Debug)]
pub(crate) struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) path: String,
    /// Its `authorization` header.
    pub(crate) authorization: Option<String>,
    /// `null` where the body was no JSON.
    pub(crate) body: Value,
    /// The body, byte for byte.
    pub(crate) raw: Bytes,
}

impl Seen {
    /// The text of the last message of a person; of one with files, its own text.
    pub(crate) fn last_user_text(&self) -> &str {
        self.user_texts().next_back().unwrap_or_default()
    }

    /// What people wrote since the last answer: messages that wait together are answered together.
    pub(crate) fn unanswered_texts(&self) -> String {
        let messages = self.messages();
        let answered = messages.iter().rposition(|message| message["role"] == "assistant");
        let new = messages.get(answered.map_or(0, |at| at + 1)..).unwrap_or_default();
        new.iter().filter(|message| is_by_person(message)).map(words_of).collect::<Vec<_>>().join(" ")
    }

    fn user_texts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.messages().iter().filter(|message| is_by_person(message)).map(words_of)
    }

    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Whether a message of a request is a person's: facts about the present have the same role.
fn is_by_person(message: &Value) -> bool {
    let is_fact = message["name"] == "facts"
        || ["[Today is ", "[Others here", "[Still to be answered"]
            .iter()
            .any(|start| words_of(message).starts_with(start));
    message["role"] == "user" && !is_fact
}

/// The text of a message, in either form, and in a group without its envelope.
pub(crate) fn words_of(message: &Value) -> &str {
    let content = &message["content"];
    // Descriptions of files come first.
    let last =
        || content.as_array().and_then(|parts| parts.iter().rev().find_map(|part| part["text"].as_str()));
    words_in(content.as_str().or_else(last).unwrap_or_default())
}

/// The script of replies.
pub(crate) enum Script {
    /// Each reply once, in order; a further request gets a 500 that says so.
    Queue(VecDeque<Reply>),
    /// The same reply to every request.
    Always(Reply),
    /// Computed from the request.
    Compute(Box<dyn FnMut(&Seen) -> Reply + Send>),
}

impl Script {
    /// Computes each reply from its request.
    pub(crate) fn compute(reply: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        Self::Compute(Box::new(reply))
    }

    fn next(&mut self, seen: &Seen) -> Reply {
        match self {
            Self::Queue(replies) => {
                replies.pop_front().unwrap_or_else(|| Reply::status(500, "the script has no more replies"))
            }
            Self::Always(reply) => reply.clone(),
            Self::Compute(reply) => reply(seen),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(replies) => f.debug_tuple("Queue").field(replies).finish(),
            Self::Always(reply) => f.debug_tuple("Always").field(reply).finish(),
            Self::Compute(_) => f.write_str("Compute"),
        }
    }
}

impl<const N: usize> From<[Reply; N]> for Script {
    fn from(replies: [Reply; N]) -> Self {
        Self::Queue(replies.into())
    }
}

impl From<Vec<Reply>> for Script {
    fn from(replies: Vec<Reply>) -> Self {
        Self::Queue(replies.into())
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Self {
        Self::Always(reply)
    }
}

/// A gate that a reply waits at until a test opens it. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Latch(Arc<watch::Sender<bool>>);

impl Latch {
    /// A closed gate.
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Lets all replies pass, now and later.
    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }

    /// Waits until something waits at it.
    pub(crate) async fn until_reached(&self) {
        while self.0.receiver_count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until it is open.
    pub(crate) async fn pass(&self) {
        let mut state = self.0.subscribe();
        drop(state.wait_for(|open| *open).await);
    }
}

/// One reply: the steps before the status line, and then the body piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    before: Vec<Step>,
    body: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Bytes(Vec<u8>),
    Wait(Duration),
    Latch(Latch),
    /// No further data; the connection stays open.
    Hang,
    /// The connection breaks.
    Cut,
}

impl Reply {
    /// A streamed answer, word by word.
    pub(crate) fn text(text: &str) -> Self {
        Self::pieces(text.split_inclusive(' '))
    }

    /// A streamed answer in these pieces.
    pub(crate) fn pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let deltas = pieces.into_iter().map(|piece| json!({ "content": piece }));
        Self::deltas(deltas, "stop")
    }

    /// Tool calls, each by its name and arguments, with the arguments in two pieces.
    pub(crate) fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let mut deltas = Vec::new();
        for (index, (name, arguments)) in calls.into_iter().enumerate() {
            let arguments = arguments.to_string();
            let middle = arguments.char_indices().nth(arguments.chars().count() / 2).map_or(0, |(at, _)| at);
            let (head, tail) = arguments.split_at(middle);
            let id = format!("call_{name}_{index}");
            let function = json!({ "name": name, "arguments": "" });
            deltas.push(json!({ "tool_calls": [
                { "index": index, "id": id, "type": "function", "function": function }] }));
            for piece in [head, tail] {
                deltas
                    .push(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }));
            }
        }
        Self::deltas(deltas, "tool_calls")
    }

    /// These deltas in an otherwise ordinary stream: role first, then a finish reason, usage and the end mark.
    pub(crate) fn deltas(deltas: impl IntoIterator<Item = Value>, finish: &str) -> Self {
        let chunk = |choices: Value| {
            json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
                "choices": choices })
        };
        let choice =
            |delta: Value, finish: Value| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        let role = json!({ "role": "assistant", "content": "" });
        let mut events = vec![chunk(choice(role, Value::Null))];
        events.extend(deltas.into_iter().map(|delta| chunk(choice(delta, Value::Null))));
        events.push(chunk(choice(json!({}), json!(finish))));
        let mut usage = chunk(json!([]));
        usage["usage"] = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 });
        events.push(usage);
        Self::events(events).done()
    }

    /// With another usage.
    #[must_use]
    pub(crate) fn costing(mut self, usage: Value) -> Self {
        let plain = br#""usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}"#;
        for step in &mut self.body {
            if let Step::Bytes(bytes) = step
                && let Some(at) = bytes.windows(plain.len()).position(|part| part == plain)
            {
                bytes.splice(at..at + plain.len(), format!("\"usage\":{usage}").into_bytes());
            }
        }
        self
    }

    /// A stream of only these events.
    pub(crate) fn events(events: impl IntoIterator<Item = Value>) -> Self {
        let body = events.into_iter().map(|event| Step::Bytes(format!("data: {event}\n\n").into_bytes()));
        Self { body: body.collect(), ..Self::raw("text/event-stream", "") }
    }

    /// A whole answer in one JSON document.
    pub(crate) fn json(document: &Value) -> Self {
        Self::raw("application/json", document.to_string())
    }

    /// A status with a body.
    pub(crate) fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, ..Self::raw("application/json", body) }
    }

    /// Any bytes, with status 200.
    pub(crate) fn raw(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status: 200, headers, before: Vec::new(), body: vec![Step::Bytes(body.into())] }
    }

    /// No answer, until the client disconnects.
    pub(crate) fn hang() -> Self {
        Self { before: vec![Step::Hang], ..Self::raw("text/plain", "") }
    }

    /// With a further header.
    #[must_use]
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// After this delay.
    #[must_use]
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        self.before.push(Step::Wait(wait));
        self
    }

    /// After the gate was opened.
    #[must_use]
    pub(crate) fn behind(mut self, gate: &Latch) -> Self {
        self.before.push(Step::Latch(gate.clone()));
        self
    }

    /// With this delay before each piece of the body.
    #[must_use]
    pub(crate) fn paced(mut self, pace: Duration) -> Self {
        self.body = self.body.into_iter().flat_map(|step| [Step::Wait(pace), step]).collect();
        self
    }

    /// The first `pieces` of the body, and the rest after the gate was opened.
    #[must_use]
    pub(crate) fn gated_after(mut self, pieces: usize, gate: &Latch) -> Self {
        self.body.insert(pieces.min(self.body.len()), Step::Latch(gate.clone()));
        self
    }

    /// The first `pieces` of the body, and then no further data, with the connection open.
    #[must_use]
    pub(crate) fn hang_after(self, pieces: usize) -> Self {
        self.only(pieces, Some(Step::Hang))
    }

    /// The first `pieces` of the body, and then the connection breaks.
    #[must_use]
    pub(crate) fn cut_after(self, pieces: usize) -> Self {
        self.only(pieces, Some(Step::Cut))
    }

    /// The first `pieces` of the body, and then a clean end.
    #[must_use]
    pub(crate) fn end_after(self, pieces: usize) -> Self {
        self.only(pieces, None)
    }

    /// With the mark that ends a stream.
    #[must_use]
    pub(crate) fn done(mut self) -> Self {
        self.body.push(Step::Bytes(b"data: [DONE]\n\n".to_vec()));
        self
    }

    fn only(mut self, pieces: usize, then: Option<Step>) -> Self {
        self.body.truncate(pieces);
        self.body.extend(then);
        self
    }

    async fn play(self, open: Open) -> Response {
        for step in self.before {
            // Before the status only a wait can be interrupted.
            drop(step.play().await);
        }
        let body = stream::unfold((self.body.into_iter(), open), |(mut steps, open)| async move {
            loop {
                match steps.next()?.play().await {
                    Ok(None) => {}
                    Ok(Some(bytes)) => return Some((Ok(bytes), (steps, open))),
                    Err(error) => return Some((Err(error), (steps, open))),
                }
            }
        });
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        response.body(Body::from_stream(body)).unwrap()
    }
}

impl Step {
    async fn play(self) -> Result<Option<Bytes>, std::io::Error> {
        match self {
            Self::Bytes(bytes) => return Ok(Some(bytes.into())),
            Self::Wait(wait) => tokio::time::sleep(wait).await,
            Self::Latch(gate) => gate.pass().await,
            Self::Hang => std::future::pending().await,
            Self::Cut => {
                // The earlier data is sent before the connection is cut.
                yield_now().await;
                return Err(std::io::Error::other("cut"));
            }
        }
        Ok(None)
    }
}

#[derive(Debug)]
struct Shared {
    script: Mutex<Script>,
    seen: Mutex<Vec<Seen>>,
    records: bool,
    count: watch::Sender<usize>,
    open: watch::Sender<usize>,
}

/// Counts an answer as open while it exists.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: Arc<Shared>) -> Self {
        shared.open.send_modify(|open| *open += 1);
        Self(shared)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

impl FakeModel {
    /// Starts a server that follows the script.
    pub(crate) async fn start(script: impl Into<Script>) -> Self {
        Self::serve(script.into(), true).await
    }

    /// A server that records no requests, for runs of many thousands.
    pub(crate) async fn unrecorded(script: impl Into<Script>) -> Self {
        Self::serve(script.into(), false).await
    }

    async fn serve(script: Script, records: bool) -> Self {
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            seen: Mutex::default(),
            records,
            count: watch::Sender::new(0),
            open: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router =
            Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(shared.clone());
        // Without TCP_NODELAY a piece that waits for an acknowledgement would be 40 ms late.
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, _serving: serving }
    }

    /// The base URL for a client.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Waits for this number of requests.
    pub(crate) async fn wait_for_requests(&self, count: usize) {
        self.shared.count.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }

    /// Waits until no answer is in progress: each was sent, or its client disconnected.
    pub(crate) async fn wait_until_idle(&self) {
        self.wait_for_answers(|under_way| under_way == 0).await;
    }

    /// Waits until the number of answers in progress is as wanted.
    pub(crate) async fn wait_for_answers(&self, enough: impl Fn(usize) -> bool) {
        self.shared.open.subscribe().wait_for(|open| enough(*open)).await.unwrap();
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Infallible> {
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let open = Open::new(shared.clone());
    let raw = body.clone();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let seen = Seen { path: uri.path().to_owned(), authorization, body, raw };
    let reply = shared.script.lock().unwrap().next(&seen);
    if shared.records {
        shared.seen.lock().unwrap().push(seen);
    }
    shared.count.send_modify(|count| *count += 1);
    Ok(reply.play(open).await)
}
