//! Authentication and host checks.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::json;

use super::test_server::{TOKEN, TestServer, get, post, refusal, request, text};
use crate::adapters::web::page::{SCRIPT_PATH, STYLE_PATH};

const OPEN: [&str; 5] = ["/", SCRIPT_PATH, STYLE_PATH, "/healthz", "/readyz"];
const GUARDED: [(&str, &str); 26] = [
    ("POST", "/api/execute"),
    ("POST", "/api/chat"),
    ("GET", "/api/chat/1/stream"),
    ("GET", "/api/threads"),
    ("GET", "/api/threads/web:chat:1/messages"),
    ("POST", "/api/threads/web:chat:1/messages"),
    ("GET", "/api/threads/web:chat:1/events"),
    ("POST", "/api/threads/web:chat:1/stop"),
    ("GET", "/api/events"),
    ("GET", "/api/approvals"),
    ("POST", "/api/approvals/A1"),
    ("GET", "/api/files/web:chat:1/a.png"),
    ("POST", "/api/files/web:chat:1/a.png/link"),
    ("POST", "/api/session"),
    ("GET", "/api/info"),
    ("GET", "/api/memory"),
    ("POST", "/api/memory"),
    ("GET", "/api/memory/ledger"),
    ("GET", "/api/memory/search"),
    ("GET", "/api/onboarding"),
    ("POST", "/api/onboarding"),
    ("POST", "/api/onboarding/model"),
    ("POST", "/api/onboarding/platform"),
    ("GET", "/api/nowhere"),
    ("GET", "/api/login/x"),
    ("GET", "/metrics"),
];

fn bare(method: &str, path: &str) -> http::request::Builder {
    Request::builder().method(method).uri(path).header("host", "localhost:7717")
}

async fn status(stage: &TestServer, request: http::request::Builder) -> StatusCode {
    stage.send(request.body(Body::empty()).unwrap()).await.status()
}

#[tokio::test]
async fn everything_under_api_needs_the_token() {
    let (stage, mut threads) = TestServer::new();
    for (method, path) in GUARDED {
        assert_eq!(status(&stage, bare(method, path)).await, 401, "{method} {path}");
        // A server of its own: wrong tokens are counted.
        let (fresh, _threads) = TestServer::new();
        let wrong = bare(method, path).header("authorization", "Bearer s3cre");
        assert_eq!(status(&fresh, wrong).await, 401, "{method} {path}");
        let in_query = bare(method, &format!("{path}?token={TOKEN}"));
        assert_eq!(status(&stage, in_query).await, 401, "{method} {path}");
        let cookie = bare(method, path).header("cookie", format!("shipagent={TOKEN}"));
        assert_eq!(status(&stage, cookie).await, 401, "{method} {path}");
    }
    assert!(threads.nobody_came());
}

#[tokio::test]
async fn foreign_pages_and_foreign_names_are_refused_even_with_the_token() {
    let (stage, mut threads) = TestServer::new();
    let beside = [("POST", "/api/login"), ("GET", "/files/web:chat:1/a.png")];
    for (method, path) in GUARDED.into_iter().chain(beside) {
        for (name, value) in
            [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
        {
            let foreign = request(method, path).header(name, value);
            assert_eq!(status(&stage, foreign).await, 403, "{method} {path} {name}: {value}");
        }
        let rebound = Request::builder().method(method).uri(path).header("host", "evil.example:7717");
        let rebound = rebound.header("authorization", format!("Bearer {TOKEN}"));
        assert_eq!(status(&stage, rebound).await, 403, "{method} {path}");
    }
    assert_eq!(status(&stage, Request::get("/").header("host", "evil.example")).await, 403);
    assert!(threads.nobody_came());
}

#[tokio::test]
async fn the_page_and_the_probes_are_open_and_unknown_pages_are_not_found() {
    let (stage, _threads) = TestServer::new();
    for path in OPEN {
        assert_ne!(status(&stage, bare("GET", path)).await, 401, "{path}");
    }
    for path in ["/nowhere", "/page/index.html", "/../Cargo.toml", "/api"] {
        let status = status(&stage, bare("GET", path)).await;
        assert!(status == 404 || (status == 401 && path == "/api"), "{path}: {status}");
    }
    assert_eq!(stage.get("/api/nowhere").await.status(), 404);
    assert_eq!(status(&stage, Request::get("/healthz").header("host", "10.0.0.9:7717")).await, 200);
}

#[tokio::test]
async fn every_answer_tells_browsers_what_they_must_not_do() {
    let (stage, _threads) = TestServer::new();
    for path in ["/", SCRIPT_PATH, "/api/info", "/api/nowhere", "/nowhere", "/healthz"] {
        let response = stage.get(path).await;
        let header =
            |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let policy = header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; worker-src 'self';"),
            "{path}: {policy}"
        );
        assert!(policy.ends_with("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        assert_eq!(header("referrer-policy").as_deref(), Some("no-referrer"), "{path}");
        assert_eq!(header("cross-origin-opener-policy").as_deref(), Some("same-origin"), "{path}");
        assert_eq!(header("cross-origin-resource-policy").as_deref(), Some("same-origin"), "{path}");
        assert_eq!(header("access-control-allow-origin"), None, "{path}");
        assert_eq!(header("set-cookie"), None, "{path}");
    }
    assert_eq!(stage.get("/api/info").await.headers().get("cache-control").unwrap(), "no-store");
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_refused_with_its_reason() {
    let (stage, mut threads) = TestServer::new();
    let with = |body: String| {
        request("POST", "/api/execute")
            .header("content-type", "application/json")
            .body(Body::from(body))
            .unwrap()
    };
    let huge = json!({ "instructions": "x".repeat(1024 * 1024) }).to_string();
    for (body, expected, words) in [
        (huge, 413, "too large"),
        ("{".to_owned(), 400, "line 1"),
        ("{}".to_owned(), 400, "missing field `instructions`"),
        (r#"{"instructions":7}"#.to_owned(), 400, "expected a string"),
        (r#"{"instructions":"  "}"#.to_owned(), 400, "must not be empty"),
    ] {
        let (status, text) = refusal(stage.send(with(body)).await).await;
        assert!(status == expected && text.contains(words), "{status} {text}");
    }
    let form = request("POST", "/api/execute").body(Body::from("{}")).unwrap();
    assert_eq!(stage.send(form).await.status(), 415);
    let chat = post(
        "/api/chat",
        json!({ "id": "1", "messages": [
            { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "x".repeat(1024 * 1024) }] }
        ]}),
    );
    let refused = stage.send(chat).await;
    assert_eq!(refused.status(), 413);
    assert_eq!(refused.headers()["connection"], "close", "what was not read cannot be followed by anything");
    assert!(threads.nobody_came());
}

#[tokio::test]
async fn a_long_history_does_not_keep_a_short_message_out() {
    let (stage, mut threads) = TestServer::new();
    let said = |id: &str, words: String| json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": words }] });
    let history: Vec<_> =
        (0..3).map(|_| said("old", "x".repeat(1024 * 1024))).chain([said("m1", "hi".to_owned())]).collect();
    let body = json!({ "id": "1", "messages": history });
    let (response, _front) = tokio::join!(stage.post("/api/chat", body), async {
        let front = threads.is_watched(crate::ports::ThreadView::default()).await;
        threads.accepts().await;
        front
    });
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_panic_costs_one_request_only() {
    let (stage, _threads) = TestServer::new();
    let store = std::sync::Arc::clone(&stage.store);
    let poison = std::thread::spawn(move || {
        let _held = store.threads.lock().unwrap();
        panic!("while the lock is held, so that the store panics from now on");
    });
    assert!(poison.join().is_err());
    assert_eq!(stage.get("/api/threads/web:chat:1/messages").await.status(), 500);
    assert_eq!(stage.get("/api/info").await.status(), 200);
}

#[tokio::test]
async fn ids_that_are_none_are_refused() {
    let (stage, mut threads) = TestServer::new();
    for id in ["..%2F..%2Fetc", "web", "web:chat:", "%2Fetc%2Fpasswd", "web:room:1", "..:chat:1", "%00"] {
        for path in ["messages", "events"] {
            let response = stage.send(get(&format!("/api/threads/{id}/{path}"))).await;
            assert_eq!(response.status(), 400, "{id}/{path}");
        }
        assert_eq!(
            stage
                .post(&format!("/api/threads/{id}/messages"), json!({"id": "1", "text": "x"}))
                .await
                .status(),
            400
        );
        assert_eq!(stage.get(&format!("/api/files/{id}/a.png")).await.status(), 400, "{id}");
    }
    assert!(threads.nobody_came());
}

#[tokio::test]
async fn a_hook_is_called_by_any_name_without_the_token_and_checks_for_itself() {
    let (stage, mut threads) = TestServer::new();
    let call = |word: &str, body: &'static str| {
        let request = Request::builder().method("POST").uri("/hooks/bell").header("host", "bot.example.org");
        request.header("x-word", word).body(Body::from(body)).unwrap()
    };
    let answer = stage.send(call("open", "{\"a\":1}")).await;
    assert_eq!(text(answer).await, (StatusCode::OK, "{\"a\":1}".to_owned()));
    assert_eq!(stage.send(call("closed", "{}")).await.status(), 401);
    let large = stage.send(call("open", "x".repeat(2 << 20).leak())).await;
    assert_eq!(large.status(), 413);
    assert_eq!(status(&stage, bare("GET", "/hooks/bell")).await, 405);
    assert_eq!(status(&stage, bare("POST", "/hooks/other")).await, 404);
    assert!(threads.nobody_came());
}
