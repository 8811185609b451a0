//! The format of all error responses.

use axum::body::Body;
use axum::http::Request;
use axum::routing::get as route;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::test_server::{TestServer, get, json as read, request, text};

async fn error_of(stage: &TestServer, request: Request<Body>) -> (u16, Value) {
    let response = stage.send(request).await;
    assert_eq!(response.headers().get("content-type").unwrap(), "application/json");
    let (status, mut body) = read(response).await;
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    (status.as_u16(), body["error"].take())
}

#[tokio::test]
async fn every_refusal_is_json_with_a_code_and_a_message() {
    let (stage, _threads) = TestServer::new();
    let bare = |path: &str| Request::get(path).header("host", "127.0.0.1:7717").body(Body::empty()).unwrap();
    let body = |path: &str, body: &str| {
        let request = request("POST", path).header("content-type", "application/json");
        request.body(Body::from(body.to_owned())).unwrap()
    };
    let elsewhere = Request::get("/").header("host", "example.org").body(Body::empty()).unwrap();
    let foreign = request("GET", "/api/info").header("origin", "http://example.org").body(Body::empty());
    let form = request("POST", "/api/execute").body(Body::from("{}")).unwrap();
    for (request, status, code) in [
        (bare("/nowhere"), 404, "not-found"),
        (get("/api/nowhere"), 404, "not-found"),
        (request("DELETE", "/api/info").body(Body::empty()).unwrap(), 405, "method-not-allowed"),
        (request("PUT", "/").body(Body::empty()).unwrap(), 405, "method-not-allowed"),
        (bare("/api/info"), 401, "unauthorized"),
        (elsewhere, 403, "forbidden"),
        (foreign.unwrap(), 403, "forbidden"),
        (body("/api/execute", "{"), 400, "bad-json"),
        (body("/api/execute", "[]"), 400, "bad-json"),
        (form, 415, "unsupported-media-type"),
        (body("/api/execute", &" ".repeat(2 * 1024 * 1024)), 413, "body-too-large"),
        (body("/api/login", "{\"token\":\"wrong\"}"), 401, "unauthorized"),
        (get("/api/threads/%FF/messages"), 400, "bad-request"),
        (get("/api/threads?limit=many"), 400, "bad-request"),
        (get("/api/threads?before=yesterday"), 400, "bad-request"),
        (get("/api/approvals?limit=many"), 400, "bad-request"),
        (get("/api/approvals?state=open"), 400, "bad-request"),
        (get("/files/web:chat:1/a.png?expires=1&signature=x"), 403, "forbidden"),
    ] {
        let asked = format!("{} {}", request.method(), request.uri());
        let (got, error) = error_of(&stage, request).await;
        assert_eq!((got, error["code"].as_str().unwrap()), (status, code), "{asked}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{asked}: {error}");
    }
}

#[tokio::test]
async fn a_method_that_an_address_does_not_know_is_answered_with_those_it_knows() {
    let (stage, _threads) = TestServer::new();
    let response = stage.send(request("DELETE", "/api/info").body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers().get("allow").unwrap(), "GET,HEAD");
    assert_eq!(read(response).await.1["error"]["hint"], "the header `Allow` names those it knows");
}

#[tokio::test]
async fn an_unknown_query_key_is_refused_with_the_known_ones() {
    let (stage, mut threads) = TestServer::new();
    for (path, message, hint) in [
        (
            "/api/threads?limt=2",
            "unknown query key `limt`",
            "known keys: q, limit, before, state, platform, person, since, until",
        ),
        (
            "/api/threads/web:chat:1/messages?after=x",
            "unknown query key `after`",
            "known keys: limit, before",
        ),
        ("/api/approvals?State=pending", "unknown query key `State`", "known keys: state, limit, before"),
        ("/api/events?id=1", "unknown query key `id`", "known keys: thread"),
        ("/api/info?verbose", "unknown query key `verbose`", "this address reads no query"),
        ("/api/grants?limit=1", "unknown query key `limit`", "this address reads no query"),
    ] {
        let (status, error) = error_of(&stage, get(path)).await;
        let expected = json!({ "code": "unknown-query-key", "message": message, "hint": hint });
        assert_eq!((status, error), (400, expected), "{path}");
    }
    let (status, error) = error_of(&stage, get("/api/threads?limit=1&limit=2")).await;
    assert_eq!((status, &error["code"]), (400, &json!("bad-query")));
    assert!(threads.nobody_came());
    // An unknown route is a 404.
    assert_eq!(error_of(&stage, get("/api/nowhere?x=1")).await.0, 404);
}

#[tokio::test]
async fn a_handler_that_panics_is_answered_in_the_same_shape() {
    async fn broken() -> &'static str {
        panic!("broken")
    }
    let layer =
        tower_http::catch_panic::CatchPanicLayer::custom(crate::adapters::web::request_checks::panicked);
    let router = axum::Router::new().route("/", route(broken)).layer(layer);
    let response = router.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
    let (status, body) = text(response).await;
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status.as_u16(), &error["error"]["code"]), (500, &json!("internal")));
    assert!(!body.contains("broken"), "what went wrong is for the log");
}
