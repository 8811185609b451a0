//! The console's files, the probes and `/api/info`.

use serde_json::json;

use super::test_server::{TestServer, json as read, request, text};
use crate::adapters::web::page::{CHUNKS, SCRIPT_PATH, STYLE_PATH};

#[tokio::test]
async fn the_page_is_served_and_revalidated_by_its_tag() {
    let (stage, _threads) = TestServer::new();
    let page = stage.get("/").await;
    assert_eq!(page.headers().get("content-type").unwrap(), "text/html; charset=utf-8");
    assert_eq!(page.headers().get("cache-control").unwrap(), "no-cache");
    let tag = page.headers().get("etag").unwrap().clone();
    assert!(text(page).await.1.contains("<html"));
    let again = request("GET", "/index.html").header("if-none-match", tag).body("".into()).unwrap();
    assert_eq!(text(stage.send(again).await).await, (http::StatusCode::NOT_MODIFIED, String::new()));
    let other = request("GET", "/").header("if-none-match", "W/\"other\"").body("".into()).unwrap();
    assert_eq!(stage.send(other).await.status(), 200);
}

#[tokio::test]
async fn script_and_style_have_a_name_of_their_content_and_are_kept_for_ever() {
    let (stage, _threads) = TestServer::new();
    let page = text(stage.get("/").await).await.1;
    for (path, media_type) in
        [(SCRIPT_PATH, "text/javascript; charset=utf-8"), (STYLE_PATH, "text/css; charset=utf-8")]
    {
        assert_eq!(page.matches(path).count(), 1, "{path}");
        let asset = stage.get(path).await;
        assert_eq!(asset.headers().get("content-type").unwrap(), media_type);
        assert_eq!(asset.headers().get("cache-control").unwrap(), "public, max-age=31536000, immutable");
    }
    let loaded = page.matches("<script").count() + page.matches("rel=\"stylesheet\"").count();
    assert_eq!(loaded, 2, "nothing else is loaded");
    assert_eq!(stage.get("/app.js").await.status(), 404);
}

#[tokio::test]
async fn what_the_first_load_fetches_is_small_and_the_rest_comes_in_chunks() {
    let (stage, _threads) = TestServer::new();
    let mut bytes = 0;
    for path in ["/", SCRIPT_PATH, STYLE_PATH] {
        let packed = request("GET", path).header("accept-encoding", "gzip").body("".into()).unwrap();
        let body = stage.send(packed).await.into_body();
        bytes += axum::body::to_bytes(body, usize::MAX).await.unwrap().len();
    }
    assert!(bytes <= 150 << 10, "{bytes} bytes are fetched before the page shows anything");
    let script = text(stage.get(SCRIPT_PATH).await).await.1;
    assert_eq!(CHUNKS.len(), 3);
    for (path, chunk) in CHUNKS {
        assert!(script.contains(path), "{path} is loaded by the script");
        let served = stage.get(path).await;
        assert_eq!(served.headers().get("cache-control").unwrap(), "public, max-age=31536000, immutable");
        assert_eq!(served.headers().get("content-type").unwrap(), "text/javascript; charset=utf-8");
        assert_eq!(text(served).await.1, *chunk);
    }
    let worker = stage.get("/notices.js").await;
    assert_eq!(worker.headers().get("cache-control").unwrap(), "no-cache");
}

#[tokio::test]
async fn files_are_packed_for_whoever_can_unpack_them() {
    let (stage, _threads) = TestServer::new();
    let packed = request("GET", SCRIPT_PATH).header("accept-encoding", "gzip").body("".into()).unwrap();
    assert_eq!(stage.send(packed).await.headers().get("content-encoding").unwrap(), "gzip");
    assert!(!stage.get(SCRIPT_PATH).await.headers().contains_key("content-encoding"));
    let api = request("GET", "/api/info").header("accept-encoding", "gzip").body("".into()).unwrap();
    assert!(!stage.send(api).await.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn ready_means_recovered_and_every_adapter_past_its_first_check() {
    let (stage, _threads) = TestServer::new();
    let healths = stage.web.parts.healths.clone();
    let web: crate::domain::Platform = "web".parse().unwrap();
    healths.expect(web.clone(), None);
    assert_eq!(text(stage.get("/readyz").await).await, (503.try_into().unwrap(), "starting\n".to_owned()));
    healths.set_sign(&web, super::test_server::NOW);
    assert_eq!(stage.get("/readyz").await.status(), 503);
    stage.recovered.send_replace(true);
    assert_eq!(text(stage.get("/readyz").await).await, (200.try_into().unwrap(), "ready\n".to_owned()));
    assert_eq!(text(stage.get("/healthz").await).await, (200.try_into().unwrap(), "ok\n".to_owned()));
}

#[tokio::test]
async fn the_daemon_tells_who_it_is_and_how_it_fares() {
    let (stage, _threads) = TestServer::new();
    stage.web.parts.healths.expect("web".parse().unwrap(), None);
    stage.web.parts.metrics.tool_calls.add(7);
    let expected = json!({
        "name": "my-agent",
        "version": "0.1.0",
        "language": "auto",
        "model": { "provider": "offline", "name": "offline", "selectable": false },
        "configuration": { "restart": [], "problems": [] },
        "adapters": [{ "name": "web", "state": "starting", "detail": null }],
        "onboarding": null,
        "sandbox": null,
        "voice": { "listens": false, "speaks": false },
    });
    assert_eq!(read(stage.get("/api/info").await).await.1, expected);
    let (_, numbers) = text(stage.get("/metrics").await).await;
    assert!(numbers.contains("shipagent_tool_calls_total 7\n"), "{numbers}");
    assert!(numbers.contains("shipagent_adapter_up{adapter=\"web\"} 0\n"), "{numbers}");
}
