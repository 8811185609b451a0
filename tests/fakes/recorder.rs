//! A proxy in front of a fake platform that records the calls which show something to people.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Calls that show nothing.
const SILENT: [&str; 13] = [
    "getupdates",
    "getme",
    "deletewebhook",
    "setmycommands",
    "sendchataction",
    "setmessagereaction",
    "tenant_access_token",
    "getappaccesstoken",
    "/callback/ws/endpoint",
    "/bot/v3/info",
    "/gateway",
    "/users/@me",
    "/reactions",
];

/// The proxy. It stops when dropped.
#[derive(Debug)]
pub(crate) struct Recorder {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: String,
    http: reqwest::Client,
    calls: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
}

impl Recorder {
    /// In front of the server at this address.
    pub(crate) async fn start(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        shipagent::http_client::install_tls();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let upstream = upstream.trim_end_matches('/').to_owned();
        let (calls, count) = (Mutex::default(), watch::Sender::new(0));
        let shared = Arc::new(Shared { upstream, http, calls, count });
        let router =
            Router::new().fallback(pass).layer(DefaultBodyLimit::disable()).with_state(shared.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, _serving: serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many calls were recorded.
    pub(crate) fn count(&self) -> usize {
        *self.shared.count.borrow()
    }

    /// Waits for more calls than these.
    pub(crate) async fn more_than(&self, count: usize) {
        let mut counts = self.shared.count.subscribe();
        counts.wait_for(|now| *now > count).await.unwrap();
    }

    /// The calls since the last look.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut *self.shared.calls.lock().unwrap()).join("\n")
    }
}

async fn pass(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let lower = path.to_lowercase();
    if !SILENT.iter().any(|silent| lower.contains(silent)) {
        let told = told(&method, path, &headers, &body);
        shared.calls.lock().unwrap().push(told);
        shared.count.send_modify(|count| *count += 1);
    }
    let mut request = shared.http.request(method, format!("{}{path}", shared.upstream));
    for (name, value) in
        headers.iter().filter(|(name, _)| !matches!(name.as_str(), "host" | "content-length"))
    {
        request = request.header(name, value);
    }
    let answer = request.body(body).send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        if !matches!(name.as_str(), "transfer-encoding" | "content-length" | "connection") {
            response = response.header(name, value);
        }
    }
    response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
}

/// A call without what differs from run to run.
fn told(method: &Method, path: &str, headers: &HeaderMap, body: &[u8]) -> String {
    let path = match path.strip_prefix("/bot") {
        Some(rest) if rest.contains(':') => rest.split_once('/').map_or(path, |(_, call)| call),
        _ => path,
    };
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    let body = match (serde_json::from_slice::<Value>(body), kind.split_once("boundary=")) {
        (Ok(mut value), _) => {
            if let Some(object) = value.as_object_mut() {
                object.remove("sequence");
            }
            serde_json::to_string_pretty(&value).unwrap()
        }
        (Err(_), Some((_, boundary))) => {
            text.replace(boundary.trim_matches('"'), "BOUNDARY").replace('\r', "")
        }
        (Err(_), None) => text.into_owned(),
    };
    format!("{method} {path}\n{body}\n")
}
