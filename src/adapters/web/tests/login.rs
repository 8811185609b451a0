//! Logging in, the limit on failed logins, and signed links.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use serde_json::{Value, json};

use super::test_server::{TOKEN, TestServer, json as read, request, text};
use crate::adapters::web::limiter::Peer;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const LONG_TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A request without a credential, from a client at this address.
fn from(peer: &str, method: &str, path: &str) -> http::request::Builder {
    let peer = Peer(peer.parse::<IpAddr>().unwrap());
    Request::builder().method(method).uri(path).header("host", "127.0.0.1:7717").extension(peer)
}

async fn login(stage: &TestServer, peer: &str, token: &str) -> Response<Body> {
    let builder = from(peer, "POST", "/api/login").header("content-type", "application/json");
    stage.send(builder.body(Body::from(json!({ "token": token }).to_string())).unwrap()).await
}

async fn info(stage: &TestServer, peer: &str, credential: &str) -> Response<Body> {
    let builder = from(peer, "GET", "/api/info").header("authorization", format!("Bearer {credential}"));
    stage.send(builder.body(Body::empty()).unwrap()).await
}

async fn session(stage: &TestServer) -> String {
    let (status, answer) = read(login(stage, "127.0.0.1", TOKEN).await).await;
    assert_eq!(status, 200, "{answer}");
    answer["session"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_login_gives_a_session_that_opens_the_api_for_thirty_days() {
    let (stage, _threads) = TestServer::new();
    let response = login(&stage, "127.0.0.1", TOKEN).await;
    assert_eq!(response.headers().get("cache-control").unwrap(), "no-store");
    assert!(!response.headers().contains_key("set-cookie"));
    let (status, answer) = read(response).await;
    assert_eq!(status, 200);
    assert_eq!(answer["expiresAt"], "2026-01-31T00:00:00Z");
    let session = answer["session"].as_str().unwrap();
    assert!(!session.contains(TOKEN));
    assert_eq!(info(&stage, "127.0.0.1", session).await.status(), 200);
    stage.clock.advance(DAY * 30 - Duration::from_millis(1));
    assert_eq!(info(&stage, "127.0.0.1", session).await.status(), 200);
    stage.clock.advance(Duration::from_millis(1));
    let expired = info(&stage, "127.0.0.1", session).await;
    assert_eq!(expired.status(), 401);
    let challenge = expired.headers().get("www-authenticate").unwrap().to_str().unwrap();
    assert_eq!(challenge, format!("Bearer realm=\"{}\"", answer["project"].as_str().unwrap()));
}

#[tokio::test]
async fn a_session_is_renewed_by_itself_and_ends_with_the_token() {
    let (stage, _threads) = TestServer::new();
    let first = session(&stage).await;
    stage.clock.advance(DAY * 29);
    let renew = from("127.0.0.1", "POST", "/api/session").header("authorization", format!("Bearer {first}"));
    let (status, renewed) = read(stage.send(renew.body(Body::empty()).unwrap()).await).await;
    assert_eq!(status, 200);
    let renewed = renewed["session"].as_str().unwrap();
    stage.clock.advance(DAY * 29);
    assert_eq!(info(&stage, "127.0.0.1", &first).await.status(), 401);
    assert_eq!(info(&stage, "127.0.0.1", renewed).await.status(), 200);
    let (restarted, _threads) = TestServer::new();
    restarted.clock.advance(DAY * 58);
    assert_eq!(info(&restarted, "127.0.0.1", renewed).await.status(), 200);
    let (other, _threads) = TestServer::with_token("other");
    other.clock.advance(DAY * 58);
    assert_eq!(info(&other, "127.0.0.1", renewed).await.status(), 401);
}

#[tokio::test]
async fn without_a_token_there_is_no_login() {
    let (stage, _threads) = TestServer::with_token("");
    assert_eq!(login(&stage, "127.0.0.1", "").await.status(), 401);
    assert_eq!(info(&stage, "127.0.0.1", "x").await.status(), 401);
}

#[tokio::test]
async fn a_token_in_the_query_is_ignored() {
    let (stage, _threads) = TestServer::new();
    let page = from("127.0.0.1", "GET", &format!("/?token={TOKEN}")).body(Body::empty()).unwrap();
    let page = stage.send(page).await;
    assert_eq!(page.status(), 200);
    assert!(!page.headers().contains_key("set-cookie"));
}

#[tokio::test]
async fn the_page_moves_from_localhost_to_the_bound_address() {
    let (stage, _threads) = TestServer::new();
    for path in ["/", "/index.html"] {
        let page = Request::get(path).header("host", "localhost:7717").body(Body::empty()).unwrap();
        let page = stage.send(page).await;
        assert_eq!(page.status(), 307, "{path}");
        assert_eq!(page.headers().get("location").unwrap(), "http://127.0.0.1:7717/", "{path}");
        assert_eq!(page.headers().get("cache-control").unwrap(), "no-store", "{path}");
    }
}

#[tokio::test]
async fn a_session_reaches_the_approvals_as_the_token_does() {
    let (stage, _threads) = TestServer::new();
    for credential in [session(&stage).await, TOKEN.to_owned()] {
        let decide = from("127.0.0.1", "POST", "/api/approvals/none")
            .header("authorization", format!("Bearer {credential}"))
            .header("content-type", "application/json");
        let decide = decide.body(Body::from(r#"{"decision":"approve"}"#)).unwrap();
        assert_eq!(stage.send(decide).await.status(), 404);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_logins_and_wrong_bearers_of_one_address_are_counted_together() {
    let (stage, _threads) = TestServer::with_token(LONG_TOKEN);
    for _ in 0..5 {
        assert_eq!(login(&stage, "192.0.2.1", "guess").await.status(), 401);
        assert_eq!(info(&stage, "192.0.2.1", "guess").await.status(), 401);
    }
    for limited in [login(&stage, "192.0.2.1", "guess").await, info(&stage, "192.0.2.1", "guess").await] {
        assert_eq!(limited.status(), 429);
        assert_eq!(limited.headers().get("retry-after").unwrap(), "60");
        assert!(
            limited.headers().contains_key("www-authenticate"),
            "the credential was looked at and is wrong"
        );
    }
    assert_eq!(info(&stage, "192.0.2.2", "guess").await.status(), 401, "another address is not limited");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(info(&stage, "192.0.2.1", "guess").await.status(), 401);
}

#[tokio::test(start_paused = true)]
async fn a_long_token_is_accepted_from_a_limited_address() {
    let (stage, _threads) = TestServer::with_token(LONG_TOKEN);
    for _ in 0..20 {
        info(&stage, "127.0.0.1", "guess").await;
    }
    assert_eq!(info(&stage, "127.0.0.1", "guess").await.status(), 429);
    let (status, answer) = read(login(&stage, "127.0.0.1", LONG_TOKEN).await).await;
    assert_eq!(status, 200, "a local process cannot lock out the operator");
    assert_eq!(info(&stage, "127.0.0.1", answer["session"].as_str().unwrap()).await.status(), 200);
    assert_eq!(info(&stage, "127.0.0.1", LONG_TOKEN).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_short_token_is_not_looked_at_from_a_limited_address() {
    // Otherwise the limit would only change the response to wrong guesses, and the right one would still be found.
    let (stage, _threads) = TestServer::new();
    let session = session(&stage).await;
    for _ in 0..10 {
        info(&stage, "192.0.2.1", "guess").await;
    }
    for credential in [TOKEN, session.as_str()] {
        let limited = info(&stage, "192.0.2.1", credential).await;
        assert_eq!(limited.status(), 429);
        assert!(!limited.headers().contains_key("www-authenticate"), "the page must not drop its login");
        assert_eq!(info(&stage, "192.0.2.2", credential).await.status(), 200, "elsewhere it works");
    }
    assert_eq!(login(&stage, "192.0.2.1", TOKEN).await.status(), 429);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(info(&stage, "192.0.2.1", TOKEN).await.status(), 200);
}

#[tokio::test]
async fn requests_without_a_credential_and_expired_sessions_are_not_counted() {
    let (stage, _threads) = TestServer::new();
    let session = session(&stage).await;
    stage.clock.advance(DAY * 31);
    for _ in 0..30 {
        assert_eq!(info(&stage, "127.0.0.1", &session).await.status(), 401);
        let nothing = from("127.0.0.1", "GET", "/api/info").body(Body::empty()).unwrap();
        assert_eq!(stage.send(nothing).await.status(), 401);
    }
    assert_eq!(info(&stage, "127.0.0.1", TOKEN).await.status(), 200);
}

fn put(stage: &TestServer, thread: &str, name: &str) {
    let folder = stage.files.path().join("files").join(thread.replace(':', "%3A"));
    std::fs::create_dir_all(&folder).unwrap();
    std::io::Write::write_all(&mut std::fs::File::create(folder.join(name)).unwrap(), b"bytes").unwrap();
}

async fn link(stage: &TestServer, path: &str) -> String {
    let sign = request("POST", path).body(Body::empty()).unwrap();
    let (status, answer) = read(stage.send(sign).await).await;
    assert_eq!(status, 200, "{answer}");
    answer["url"].as_str().unwrap().to_owned()
}

async fn follow(stage: &TestServer, url: &str) -> Response<Body> {
    stage.send(from("192.0.2.7", "GET", url).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_signed_link_downloads_one_file_for_a_minute() {
    let (stage, _threads) = TestServer::new();
    for (thread, name) in [("web:chat:1", "a.png"), ("web:chat:1", "b.png"), ("web:chat:2", "a.png")] {
        put(&stage, thread, name);
    }
    let url = link(&stage, "/api/files/web%3Achat%3A1/a%2Epng/link").await;
    assert!(url.starts_with("/files/web%3Achat%3A1/a%2Epng?expires="), "{url}");
    let response = follow(&stage, &url).await;
    let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(header("content-disposition"), "attachment; filename*=UTF-8''a%2Epng");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("cache-control"), "no-store");
    assert_eq!(header("content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(text(response).await, (http::StatusCode::OK, "bytes".to_owned()));

    let other = |from: &str, to: &str| url.replacen(from, to, 1);
    for wrong in [
        other("a%2Epng", "b%2Epng"),
        other("chat%3A1", "chat%3A2"),
        other("expires=", "expires=1"),
        other("signature=", "signature=0"),
        url.split_once('&').unwrap().0.to_owned(),
        url.split_once('?').unwrap().0.to_owned(),
    ] {
        assert_eq!(follow(&stage, &wrong).await.status(), 403, "{wrong}");
    }
    let post = from("192.0.2.7", "POST", &url).body(Body::empty()).unwrap();
    assert_eq!(stage.send(post).await.status(), 405);
    let api = other("/files/", "/api/files/");
    assert_eq!(follow(&stage, &api).await.status(), 401, "a link opens nothing else");

    stage.clock.advance(Duration::from_millis(59_999));
    assert_eq!(follow(&stage, &url).await.status(), 200);
    stage.clock.advance(Duration::from_millis(1));
    assert_eq!(follow(&stage, &url).await.status(), 403);
}

#[tokio::test]
async fn a_link_is_made_only_for_a_file_that_exists() {
    let (stage, _threads) = TestServer::new();
    put(&stage, "web:chat:1", "a.png");
    for (path, expected) in [
        ("/api/files/web:chat:1/none.png/link", 404),
        ("/api/files/web:chat:1/..%2Fsecret/link", 400),
        ("/api/files/web/a.png/link", 400),
    ] {
        let sign = request("POST", path).body(Body::empty()).unwrap();
        assert_eq!(stage.send(sign).await.status(), expected, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_links_count_as_failed_logins_and_expired_ones_do_not() {
    let (stage, _threads) = TestServer::with_token(LONG_TOKEN);
    put(&stage, "web:chat:1", "a.png");
    let sign = from("127.0.0.1", "POST", "/api/files/web:chat:1/a.png/link");
    let sign = sign.header("authorization", format!("Bearer {LONG_TOKEN}")).body(Body::empty()).unwrap();
    let (_, answer): (_, Value) = read(stage.send(sign).await).await;
    let url = answer["url"].as_str().unwrap();
    stage.clock.advance(Duration::from_secs(60));
    for _ in 0..30 {
        assert_eq!(follow(&stage, url).await.status(), 403);
    }
    for _ in 0..10 {
        assert_eq!(follow(&stage, "/files/web:chat:1/a.png?expires=1&signature=0").await.status(), 403);
    }
    assert_eq!(follow(&stage, "/files/web:chat:1/a.png?expires=1&signature=0").await.status(), 429);
    assert_eq!(info(&stage, "192.0.2.7", "guess").await.status(), 429);
}
