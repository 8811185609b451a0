//! A web server on another port of the same host, as an agent starts one for a preview. It serves one page, sets a cookie,
//! and records everything it receives.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::response::IntoResponse;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The cookie that the server sets, to check that it does not affect the console.
pub(crate) const OWN_COOKIE: &str = "shipagent=of-the-dev-server";

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Recorded {
    /// Every byte of the request, as text.
    pub(crate) fn text(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        format!("{} {}\n{:?}\n{body}", self.method, self.uri, self.headers)
    }
}

#[derive(Debug)]
struct Shared {
    page: String,
    recorded: Mutex<Vec<Recorded>>,
}

/// The server. It stops when dropped.
#[derive(Debug)]
pub(crate) struct DevServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

impl DevServer {
    /// Serves this page under every path.
    pub(crate) async fn start(page: &str) -> Self {
        let shared = Arc::new(Shared { page: page.to_owned(), recorded: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, _serving: serving }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn recorded(&self) -> Vec<Recorded> {
        self.shared.recorded.lock().unwrap().clone()
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    shared.recorded.lock().unwrap().push(Recorded { method, uri, headers, body });
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::SET_COOKIE, "shipagent=of-the-dev-server; Path=/"),
        // Allows requests of any page, with all headers.
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*, authorization"),
    ];
    (headers, shared.page.clone())
}
