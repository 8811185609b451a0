//! The platform as a server: HTTP on one port, the websocket on another.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::api::{Call, answer};
use super::world::Environment;
use super::{APP_ID, APP_SECRET, socket};
use crate::fakes::daemon::PATIENCE;

/// The platform. It stops when dropped.
#[derive(Debug)]
pub(crate) struct Feishu {
    address: SocketAddr,
    pub(super) shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

#[derive(Debug)]
pub(super) struct Shared {
    world: Mutex<Environment>,
    changed: watch::Sender<u64>,
    socket: SocketAddr,
}

impl Shared {
    /// Read access to the state.
    pub(super) fn look(&self) -> MutexGuard<'_, Environment> {
        self.world.lock().unwrap()
    }

    /// Changes the state and notifies watchers.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Environment) -> T) -> T {
        let result = change(&mut self.world.lock().unwrap());
        self.changed.send_modify(|count| *count += 1);
        result
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

impl Feishu {
    pub(crate) async fn start() -> Self {
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ws = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = http.local_addr().unwrap();
        let shared = Arc::new(Shared {
            world: Mutex::default(),
            changed: watch::Sender::new(0),
            socket: ws.local_addr().unwrap(),
        });
        let router =
            Router::new().fallback(serve).layer(DefaultBodyLimit::disable()).with_state(shared.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(http, router).await.unwrap() });
        serving.spawn(socket::listen(ws, shared.clone()));
        Self { address, shared, _serving: serving }
    }

    /// The address of the open platform.
    pub(crate) fn domain(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The section of `ship.json` for this platform, with these further keys.
    pub(crate) fn section(&self, extra: Value) -> Value {
        let mut section = json!({
            "appId": APP_ID, "appSecret": APP_SECRET, "domain": self.domain(),
            "allowedUsers": ["ou_ada"], "allowedChats": ["oc_group"],
        });
        crate::fakes::daemon::merge(&mut section, extra);
        json!({ "adapters": { "feishu": section } })
    }

    /// Changes the platform's state and behaviour.
    pub(crate) fn tune(&self, change: impl FnOnce(&mut Environment)) {
        self.shared.change(change);
    }

    /// Numbers messages from here on, so that two platforms do not use the same ids.
    pub(crate) fn count_from(&self, serial: u64) {
        self.shared.change(|world| world.serial = serial);
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Environment) -> T) -> T {
        look(&self.shared.look())
    }

    /// Waits until `look` finds something.
    pub(crate) async fn wait_for<T>(&self, what: &str, look: impl Fn(&Environment) -> Option<T>) -> T {
        let mut changes = self.shared.watch();
        let waited = tokio::time::timeout(PATIENCE, async {
            loop {
                let found = look(&self.shared.look());
                if let Some(found) = found {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        });
        match waited.await {
            Ok(found) => found,
            Err(_) => {
                let world = self.shared.look();
                let said: Vec<_> =
                    world.posted.iter().map(|posted| (posted.kind.clone(), world.words(posted))).collect();
                panic!("waited in vain for {what}; said {said:#?}; acks {:?}", world.acks)
            }
        }
    }

    /// Waits until the app has sent exactly this text to a chat.
    pub(crate) async fn wait_for_words(&self, chat: &str, words: &str) {
        self.wait_for(words, |world| world.said(chat).iter().any(|said| said == words).then_some(())).await;
    }
}

async fn serve(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Infallible> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let query = uri.query().unwrap_or_default();
    let url = reqwest::Url::parse(&format!("http://x/?{query}")).unwrap();
    let call = Call {
        method: method.to_string(),
        path: uri.path().to_owned(),
        query: url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned())).collect(),
        token: header("authorization").map(|value| value.trim_start_matches("Bearer ").to_owned()),
        content_type: header("content-type").unwrap_or_default(),
        body: body.to_vec(),
    };
    if call.path.contains("/resources/") {
        let mut changes = shared.watch();
        while shared.look().mood.holds_files {
            changes.changed().await.unwrap();
        }
    }
    if call.method == "GET" && call.path == "/open-apis/im/v1/messages" {
        let mut changes = shared.watch();
        while shared.look().mood.history.holds {
            changes.changed().await.unwrap();
        }
    }
    let socket = shared.socket.to_string();
    let answer = shared.change(|world| answer(world, &call, &socket));
    let mut response = Response::builder().status(answer.status).header("x-tt-logid", "log1");
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Body::from(answer.body)).unwrap())
}
