//! HTTP authentication.

use reqwest::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN, RETRY_AFTER, SET_COOKIE};
use serde_json::{Value, json};

use crate::fakes::daemon::{Project, TOKEN};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_refused() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let daemon = project.start().await;
    let url = |path: &str| format!("{}{path}", daemon.base);
    let execute = json!({ "instructions": "hello" }).to_string();
    let post = || {
        daemon.http.post(url("/api/execute")).header(CONTENT_TYPE, "application/json").body(execute.clone())
    };

    let status = async |request: reqwest::RequestBuilder| request.send().await.unwrap().status().as_u16();
    assert_eq!(status(post()).await, 401, "no token");
    assert_eq!(status(post().bearer_auth("wrong")).await, 401, "wrong token");
    assert_eq!(status(post().bearer_auth("")).await, 401, "empty token");
    assert_eq!(status(post().header(COOKIE, "shipagent=wrong")).await, 401, "wrong cookie");
    let foreign = status(post().bearer_auth(TOKEN).header(ORIGIN, "https://evil.example")).await;
    assert_eq!(foreign, 403, "foreign origin");
    let rebound = status(post().bearer_auth(TOKEN).header(HOST, "evil.example")).await;
    assert!([400, 403, 421].contains(&rebound), "foreign host: {rebound}");
    let own = daemon.base.clone();
    assert_eq!(status(post().bearer_auth(TOKEN).header(ORIGIN, own)).await, 200, "own origin");

    let huge = json!({ "instructions": "x".repeat(3 << 20) }).to_string();
    let huge = daemon
        .http
        .post(url("/api/execute"))
        .bearer_auth(TOKEN)
        .header(CONTENT_TYPE, "application/json")
        .body(huge);
    // The server may close the connection before it has read everything.
    let refused = huge.send().await.map(|answer| answer.status().as_u16());
    assert!(refused.as_ref().map_or(true, |status| *status == 413), "{refused:?}");

    for id in ["..%2F..%2Fetc%2Fpasswd", "web:chat:", "%00", "web%3Aroom%3A1"] {
        for tail in ["messages", "events"] {
            let path = format!("/api/threads/{id}/{tail}");
            assert_eq!(status(daemon.get(&path)).await, 400, "{path}");
        }
    }
    for path in [
        "/api/files/web:chat:x/..%2F..%2Frun%2Ftoken",
        "/api/files/..%2Frun/token",
        "/../../etc/passwd",
        "/nowhere",
    ] {
        let refused = status(daemon.get(path)).await;
        assert!([400, 404].contains(&refused), "{path}: {refused}");
    }
    for path in ["/api/threads", "/api/approvals", "/metrics", "/api/info"] {
        assert_eq!(status(daemon.http.get(url(path))).await, 401, "{path}");
        assert_eq!(status(daemon.get(path)).await, 200, "{path}");
    }
    for path in ["/healthz", "/readyz"] {
        let answer = daemon.http.get(url(path)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert!(answer.text().await.unwrap().len() < 20, "{path} says no more than its status");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_gives_a_session_and_no_response_sets_a_cookie() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let daemon = project.start().await;
    let login = |token: &str| {
        let body = json!({ "token": token }).to_string();
        let url = format!("{}/api/login", daemon.base);
        daemon.http.post(url).header(CONTENT_TYPE, "application/json").body(body).send()
    };
    assert_eq!(login("wrong").await.unwrap().status(), 401);
    let answer = login(TOKEN).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(!answer.headers().contains_key(SET_COOKIE));
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    let session = answer["session"].as_str().unwrap();
    assert!(!session.contains(TOKEN));
    let page = daemon.http.get(&daemon.base).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.headers()["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));

    for path in [
        "/",
        "/?token=x",
        "/assets/none.js",
        "/api/info",
        "/api/threads",
        "/api/approvals",
        "/metrics",
        "/healthz",
    ] {
        let url = format!("{}{path}", daemon.base);
        for request in [
            daemon.http.get(&url),
            daemon.http.get(&url).bearer_auth(session),
            daemon.http.get(&url).bearer_auth(TOKEN),
        ] {
            let answer = request.send().await.unwrap();
            assert!(!answer.headers().contains_key(SET_COOKIE), "{path}: {answer:?}");
        }
    }
    for cookie in [format!("shipagent={session}"), format!("shipagent={TOKEN}"), format!("session={session}")]
    {
        let threads = daemon.http.get(format!("{}/api/threads", daemon.base)).header(COOKIE, &cookie).send();
        assert_eq!(threads.await.unwrap().status(), 401, "{cookie}");
    }
    // The session outlives the process and has the same rights as the token.
    project.keep_address(&daemon);
    daemon.kill();
    let daemon = project.start().await;
    let threads = daemon.http.get(format!("{}/api/threads", daemon.base)).bearer_auth(session).send();
    assert_eq!(threads.await.unwrap().status(), 200);
}

/// An unguessable token, like those that the daemon creates.
const LONG_TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_tokens_are_limited_per_client_address_and_the_right_one_is_not() {
    let web = json!({ "listen": "127.0.0.1:0", "token": LONG_TOKEN });
    let project = Project::new(json!({ "llm": { "provider": "offline" }, "adapters": { "web": web } }));
    let daemon = project.start().await;
    let ask = async |token: &str, forwarded: Option<&str>| {
        let mut request = daemon.http.get(format!("{}/api/info", daemon.base)).bearer_auth(token);
        if let Some(client) = forwarded {
            request = request.header("x-forwarded-for", client);
        }
        request.send().await.unwrap()
    };
    for _ in 0..10 {
        assert_eq!(ask("wrong", Some("192.0.2.1")).await.status(), 401);
    }
    let limited = ask("wrong", Some("192.0.2.1")).await;
    assert_eq!(limited.status(), 429);
    assert!(limited.headers().contains_key(RETRY_AFTER));
    assert_eq!(ask("wrong", Some("192.0.2.2")).await.status(), 401, "another client of the proxy");
    assert_eq!(ask("wrong", None).await.status(), 401, "a client of this machine");
    let forged = async |at: u8| ask("wrong", Some(&format!("198.51.100.{at}"))).await.status().as_u16();
    let mut last = 0;
    for at in 0..100 {
        last = forged(at).await;
    }
    assert_eq!(last, 429, "a local process that forges the header is limited as well");
    assert_eq!(ask(LONG_TOKEN, None).await.status(), 200);
    assert_eq!(ask(LONG_TOKEN, Some("192.0.2.1")).await.status(), 200);
}
