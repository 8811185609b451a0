//! The server: a port that stays open while bots come and go, and the interface for tests.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, Response};
use futures_util::{StreamExt as _, stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout_at;

use super::super::daemon::PATIENCE;
use super::account::{Account, User};
use super::answer::Refusal;
use super::calls::{self, Reply, Reset};
use super::fault::{Fault, Plan};
use super::flood::{Flood, Rate};
use super::log::{Deed, ResponseSent};
use super::people::Chat;
use super::request::Params;
use super::room::{Kind, Room};
use super::webhook;
use super::world::{Environment, Shared};

/// The server. It stops when dropped.
#[derive(Debug)]
pub(crate) struct FakeTelegram {
    address: SocketAddr,
    shared: Shared,
    _serving: JoinSet<()>,
}

impl FakeTelegram {
    /// A server for an ordinary bot.
    pub(crate) async fn start() -> Self {
        Self::for_bot(Account::default()).await
    }

    /// A server for this bot.
    pub(crate) async fn for_bot(account: Account) -> Self {
        // Deliveries to a webhook need it, even over plain HTTP.
        shipagent::http_client::install_tls();
        let shared = Shared::new(account);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, shared.clone()));
        serving.spawn(webhook::deliver(shared.clone()));
        Self { address, shared, _serving: serving }
    }

    /// The base URL for a bot.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn token(&self) -> String {
        self.read(|world| world.account.token.clone())
    }

    pub(crate) fn user(&self, id: i64, name: &str) -> User {
        User::new(id, name)
    }

    /// The chat between a person and the bot, which the person has started.
    pub(crate) fn private(&self, user: &User) -> Chat {
        let id = self.shared.change(|world| world.private_room(user).id);
        Chat::new(self.shared.clone(), id)
    }

    /// A group with the bot in it. Its id determines its kind: `-100…` is a supergroup.
    pub(crate) fn group(&self, id: i64) -> Chat {
        assert!(id < 0, "a group has a number below zero");
        let kind = if id <= -1_000_000_000_000 { Kind::Supergroup } else { Kind::Group };
        self.chat(id, kind)
    }

    /// A channel the bot is in.
    pub(crate) fn channel(&self, id: i64) -> Chat {
        self.chat(id, Kind::Channel)
    }

    fn chat(&self, id: i64, kind: Kind) -> Chat {
        let title = format!("{} {id}", kind.name());
        self.shared.change(|world| {
            world.rooms.entry(id).or_insert_with(|| Room::new(id, kind, &title));
        });
        Chat::new(self.shared.clone(), id)
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Environment) -> T) -> T {
        self.shared.read(read)
    }

    /// Changes the features of the bot's account and server.
    pub(crate) fn reconfigure(&self, change: impl FnOnce(&mut Account)) {
        self.shared.change(|world| change(&mut world.account));
    }

    /// Waits until a condition holds. On a time-out the log is printed.
    pub(crate) async fn wait_for(&self, so: impl Fn(&Environment) -> bool) {
        self.wait_within(PATIENCE, so).await;
    }

    /// The same, with a shorter time-out.
    pub(crate) async fn wait_within(&self, patience: Duration, so: impl Fn(&Environment) -> bool) {
        let deadline = tokio::time::Instant::now() + patience;
        let mut bell = self.shared.listen();
        loop {
            bell.borrow_and_update();
            if self.read(&so) {
                return;
            }
            if timeout_at(deadline, bell.changed()).await.is_err() {
                let told = self.read(Environment::tell);
                panic!("waited {patience:?} for what did not come; this came:\n{told}");
            }
        }
    }

    pub(crate) fn plan(&self, plan: Plan) {
        self.shared.change(|world| world.troubles.plan(plan));
    }

    /// Removes all scheduled failures.
    pub(crate) fn clear_troubles(&self) {
        self.shared.change(|world| world.troubles.clear());
    }

    /// Enables rate limits.
    pub(crate) fn limit(&self, per_chat: Rate, overall: Rate) {
        self.shared.change(|world| world.flood = Some(Flood::new(per_chat, overall, Instant::now())));
    }

    /// Sends an update again.
    pub(crate) fn redeliver(&self, update: i64) {
        self.shared.change(|world| world.updates.again(update));
    }

    /// Adds any update; it gets an id unless it has one.
    pub(crate) fn raw_update(&self, update: Value) -> i64 {
        self.shared.change(|world| world.updates.push_raw(update))
    }
}

async fn accept(listener: TcpListener, shared: Shared) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        // A small response must not wait for the acknowledgement of the one before.
        stream.set_nodelay(true).unwrap();
        connections.spawn(converse(stream, shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection until it ends. Where a failure requires it, it ends with a reset.
async fn converse(stream: TcpStream, shared: Shared) {
    let service = service_fn(move |request| Box::pin(respond(shared.clone(), request)));
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let ended = poll_fn(|cx| connection.poll_without_shutdown(cx)).await;
    let stream = connection.into_parts().io.into_inner();
    // Only after the flush: a reset would discard what the bot has not read yet.
    if ended.is_err_and(|error| error.source().is_some_and(|source| source.is::<Reset>())) {
        drop(stream.set_zero_linger());
    }
}

impl std::fmt::Display for Reset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("reset on purpose")
    }
}

impl std::error::Error for Reset {}

async fn respond(shared: Shared, request: Request<Incoming>) -> Result<Response<Body>, Reset> {
    let (head, body) = request.into_parts();
    let body = to_bytes(Body::new(body), usize::MAX).await.map_err(|_| Reset)?;
    let (file, path) = match head.uri.path().strip_prefix("/file/bot") {
        Some(path) => (true, path),
        None => (false, head.uri.path().strip_prefix("/bot").unwrap_or_default()),
    };
    let (token, rest) = path.split_once('/').unwrap_or((path, ""));
    if let Err(refusal) = shared.read(|world| admit(world, token)) {
        shared.change(|world| {
            world.note(&rest.to_ascii_lowercase(), None, Deed::Refused(refusal.clone()), ResponseSent::Yes);
        });
        return Ok(json(refusal.code, &refusal.body()));
    }
    if file {
        return download(&shared, rest).await;
    }
    let method = rest.trim_end_matches('/').to_ascii_lowercase();
    let params = match Params::read(head.uri.query().unwrap_or_default(), &head.headers, &body) {
        Ok(params) => params,
        Err(refusal) => return Ok(json(refusal.code, &refusal.body())),
    };
    if method == "getupdates" {
        return calls::perform(&shared, &method, &params).await.map(written);
    }
    // The server finishes a call even if the client disconnects.
    let calls = shared.calls.clone();
    let done = calls.spawn(async move { calls::perform(&shared, &method, &params).await });
    done.await.map_err(|_| Reset)?.map(written)
}

/// Checks a token: a malformed one gets a 404.
fn admit(world: &Environment, token: &str) -> Result<(), Refusal> {
    let well_formed = token.split_once(':').is_some_and(|(id, secret)| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        id.parse::<u64>().is_ok() && !secret.is_empty() && secret.chars().all(fits)
    });
    match () {
        () if token == world.account.token => Ok(()),
        () if well_formed => Err(Refusal::new(401, "Unauthorized")),
        () => Err(Refusal::not_found()),
    }
}

fn written(reply: Reply) -> Response<Body> {
    match reply {
        Reply::Json(status, body) => json(status, &body),
        Reply::Half(status, body) => {
            let mut text = body.to_string().into_bytes();
            text.truncate(text.len() / 2);
            answer(status, "application/json", Body::from(text))
        }
        Reply::BadGateway => {
            let page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
            answer(502, "text/html", Body::from(page))
        }
    }
}

fn json(status: u16, body: &Value) -> Response<Body> {
    answer(status, "application/json", Body::from(body.to_string()))
}

fn answer(status: u16, content_type: &str, body: Body) -> Response<Body> {
    Response::builder().status(status).header("content-type", content_type).body(body).unwrap()
}

async fn download(shared: &Shared, path: &str) -> Result<Response<Body>, Reset> {
    let trouble = shared.change(|world| world.troubles.meet("download", None));
    if let Some(instead) = calls::before(shared, "download", None, trouble.as_ref()).await {
        return instead.map(written);
    }
    let found = shared.read(|world| world.files.values().find(|file| file.path == path).cloned());
    let Some(file) = found else {
        let refusal = Refusal::not_found();
        return Ok(json(404, &refusal.body()));
    };
    let bytes = Bytes::from(file.bytes);
    let deed = Deed::Fetched { path: path.to_owned(), bytes: bytes.len() };
    shared.change(|world| world.note("download", None, deed, ResponseSent::Yes));
    match trouble {
        Some(Fault::ResetAfter) => Err(Reset),
        Some(Fault::Truncated) => {
            let half = stream::iter([Ok(bytes.slice(..bytes.len() / 2))]);
            let cut = stream::once(async {
                // The earlier data is sent before the connection is cut.
                yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            Ok(answer(200, "application/octet-stream", Body::from_stream(half.chain(cut))))
        }
        Some(Fault::Slow { piece, pause }) => {
            Ok(answer(200, "application/octet-stream", slow(bytes, piece, pause)))
        }
        _ => Ok(answer(200, "application/octet-stream", Body::from(bytes))),
    }
}

fn slow(bytes: Bytes, piece: usize, pause: Duration) -> Body {
    Body::from_stream(stream::unfold(bytes, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(pause).await;
        let next = rest.split_to(piece.clamp(1, rest.len()));
        Some((Ok::<_, Infallible>(next), rest))
    }))
}
