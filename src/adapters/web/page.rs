//! The console's files, embedded in the binary. One table lists them all.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tower_http::compression::CompressionLayer;

use super::credentials::{hex, sha256};
use super::server::Web;

#[derive(Clone, Copy, Debug)]
struct Asset {
    name: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

macro_rules! assets {
    ($($name:literal: $media_type:ident),* $(,)?) => {
        &[$(Asset { name: $name, media_type: $media_type, bytes: include_bytes!(concat!("page/", $name)) }),*]
    };
}

/// Every file of the folder `page`; each is served under its name, the first one at the root.
const ASSETS: &[Asset] = assets![
    "index.html": HTML,
    "app.css": CSS,
    "access.css": CSS,
    "chat.css": CSS,
    "inbox.css": CSS,
    "panel.css": CSS,
    "access.js": JS,
    "access-rows.js": JS,
    "access-view.js": JS,
    "answer-view.js": JS,
    "api.js": JS,
    "app.js": JS,
    "composer.js": JS,
    "controls.js": JS,
    "dom.js": JS,
    "file-view.js": JS,
    "grants.js": JS,
    "inbox.js": JS,
    "inbox-view.js": JS,
    "login.js": JS,
    "markdown.js": JS,
    "md-blocks.js": JS,
    "md-inline.js": JS,
    "message-view.js": JS,
    "panel.js": JS,
    "reducer.js": JS,
    "session.js": JS,
    "source.js": JS,
    "sse.js": JS,
    "store.js": JS,
    "stream.js": JS,
    "strings-access.js": JS,
    "strings-approvals.js": JS,
    "strings.js": JS,
    "theme.js": JS,
    "thread.js": JS,
    "threads-view.js": JS,
    "tool-view.js": JS,
    "view.js": JS,
];

/// The routes of the console's files. They hold no secret, so they need no credential.
pub(super) fn routes() -> Router<Arc<Web>> {
    let mut routes = Router::new();
    for asset in ASSETS {
        // The URL of a file stays the same when its content changes, so browsers revalidate it each time.
        let tag = format!("W/\"{}\"", hex(sha256(asset.bytes).as_ref()).get(..20).unwrap_or_default());
        let Ok(tag) = HeaderValue::from_str(&tag) else { continue };
        if asset.media_type == HTML {
            let serve = move |web, headers| index(*asset, tag.clone(), web, headers);
            routes = routes.route("/", get(serve.clone())).route(&format!("/{}", asset.name), get(serve));
            continue;
        }
        let serve = move |headers: HeaderMap| {
            let response = file(*asset, &tag, &headers);
            async move { response }
        };
        routes = routes.route(&format!("/{}", asset.name), get(serve));
    }
    routes.layer(CompressionLayer::new())
}

/// The page itself. A request for `localhost` is redirected to the bound address; the browser keeps the fragment.
async fn index(asset: Asset, tag: HeaderValue, State(web): State<Arc<Web>>, headers: HeaderMap) -> Response {
    let Some(address) = web.hosts.instead_of_localhost(&headers) else { return file(asset, &tag, &headers) };
    let headers = [(header::LOCATION, address), (header::CACHE_CONTROL, "no-store".to_owned())];
    (StatusCode::TEMPORARY_REDIRECT, headers).into_response()
}

fn file(asset: Asset, tag: &HeaderValue, request: &HeaderMap) -> Response {
    let same = request.get_all(header::IF_NONE_MATCH).iter().any(|known| {
        known.to_str().unwrap_or_default().split(',').any(|known| known.trim().as_bytes() == tag.as_bytes())
    });
    let headers = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type)),
    ];
    if same {
        (StatusCode::NOT_MODIFIED, headers).into_response()
    } else {
        (headers, asset.bytes).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_names_every_file_of_the_page() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/adapters/web/page");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let table: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(table, files);
    }

    #[test]
    fn every_file_has_the_type_its_name_promises() {
        for asset in ASSETS {
            let promised = match asset.name.rsplit_once('.').unwrap().1 {
                "html" => HTML,
                "css" => CSS,
                "js" => JS,
                other => panic!("no media type for .{other}"),
            };
            assert_eq!(asset.media_type, promised, "{}", asset.name);
        }
    }
}
