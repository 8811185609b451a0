//! The console's files, inside the binary: a page, one script, one stylesheet, and chunks that the script loads when they are
//! first needed. The build script makes them of the folder `page`.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tower_http::compression::CompressionLayer;

use super::server::Web;
use crate::domain::short_digest;

const HTML: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.html"));
const SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.js"));
const STYLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.css"));

/// Where each chunk is, and its text.
pub(super) const CHUNKS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/page_chunks.rs"));

/// The service worker that shows notices. Its address stays the same, as that of the page does.
const NOTICES: &str = include_str!("page/notices.js");

const MANIFEST: &str = include_str!("page/manifest.webmanifest");

/// Where the script and the stylesheet are. The names change with the content, so browsers may keep them for ever.
pub(super) const SCRIPT_PATH: &str = concat!("/assets/", env!("PAGE_SCRIPT"));
pub(super) const STYLE_PATH: &str = concat!("/assets/", env!("PAGE_STYLE"));

const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The routes of the console's files. They hold no secret, so they need no credential.
pub(super) fn routes() -> Router<Arc<Web>> {
    let script = "text/javascript; charset=utf-8";
    let chunks = CHUNKS.iter().fold(Router::new(), |router, (path, text)| {
        router.route(path, get(async move || asset(script, text.as_bytes())))
    });
    chunks
        .route("/", get(index))
        .route("/index.html", get(index))
        .route("/manifest.webmanifest", get(async || manifest()))
        .route("/notices.js", get(async || notices()))
        .route(SCRIPT_PATH, get(async move || asset(script, SCRIPT)))
        .route(STYLE_PATH, get(async || asset("text/css; charset=utf-8", STYLE)))
        .layer(CompressionLayer::new())
}

/// What a browser needs to know to install the console as an app.
fn manifest() -> Response {
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400")),
        (header::CONTENT_TYPE, HeaderValue::from_static("application/manifest+json")),
    ];
    (headers, MANIFEST).into_response()
}

fn notices() -> Response {
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8")),
    ];
    (headers, NOTICES).into_response()
}

fn asset(media_type: &'static str, bytes: &'static [u8]) -> Response {
    let media_type = HeaderValue::from_static(media_type);
    ([(header::CACHE_CONTROL, FOR_EVER), (header::CONTENT_TYPE, media_type)], bytes).into_response()
}

/// The page itself. A request for `localhost` is sent on to the bound address; the browser keeps the fragment.
async fn index(State(web): State<Arc<Web>>, headers: HeaderMap) -> Response {
    if let Some(address) = web.hosts.instead_of_localhost(&headers) {
        let headers = [(header::LOCATION, address), (header::CACHE_CONTROL, "no-store".to_owned())];
        return (StatusCode::TEMPORARY_REDIRECT, headers).into_response();
    }
    page(&headers)
}

/// The address of the page outlives its content, so browsers ask each time whether it is still the same.
fn page(request: &HeaderMap) -> Response {
    let tag = format!("W/\"{}\"", short_digest(HTML, 10));
    let same = request
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|known| known.to_str().unwrap_or_default().split(',').any(|known| known.trim() == tag));
    let headers = [
        (header::ETAG, HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("W/\"page\""))),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
    ];
    if same { (StatusCode::NOT_MODIFIED, headers).into_response() } else { (headers, HTML).into_response() }
}
