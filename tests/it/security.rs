//! Who may come in over HTTP, and with what.

use reqwest::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN, SET_COOKIE};
use serde_json::json;

use crate::support::daemon::{Project, TOKEN};

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
    // The server may hang up before it has read it all.
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
async fn the_console_logs_in_with_a_cookie_that_scripts_cannot_read() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let daemon = project.start().await;
    let login = |token: &str| {
        let body = json!({ "token": token }).to_string();
        daemon
            .http
            .post(format!("{}/api/login", daemon.base))
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .send()
    };
    assert_eq!(login("wrong").await.unwrap().status(), 401);
    let answer = login(TOKEN).await.unwrap();
    assert_eq!(answer.status(), 204);
    let cookie = answer.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap().to_owned();
    let threads =
        daemon.http.get(format!("{}/api/threads", daemon.base)).header(COOKIE, pair).send().await.unwrap();
    assert_eq!(threads.status(), 200);
    let page = daemon.http.get(&daemon.base).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.headers()["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
}
