//! Pages of other origins: which may call the API, and what their browsers are told.

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};

use super::test_server::{TOKEN, TestServer, request};

const APP: &str = "https://app.example";

fn preflight(path: &str, origin: &str) -> Request<Body> {
    Request::options(path)
        .header("host", "127.0.0.1:7717")
        .header("origin", origin)
        .header("sec-fetch-site", "cross-site")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type")
        .body(Body::empty())
        .unwrap()
}

fn from(origin: &str, path: &str, token: Option<&str>) -> Request<Body> {
    let request = Request::get(path).header("host", "127.0.0.1:7717").header("origin", origin);
    let request = request.header("sec-fetch-site", "cross-site");
    let request = match token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    request.body(Body::empty()).unwrap()
}

fn with_app() -> TestServer {
    TestServer::with(|options| options.allowed_origins = vec![APP.to_owned()]).0
}

fn word<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_call_with_the_token() {
    let stage = with_app();
    let permission = stage.send(preflight("/api/execute", APP)).await;
    assert_eq!(permission.status(), StatusCode::NO_CONTENT);
    let headers = permission.headers();
    assert_eq!(word(headers, "access-control-allow-origin"), Some(APP));
    assert_eq!(word(headers, "access-control-allow-methods"), Some("GET, POST, PUT, PATCH, DELETE"));
    assert!(word(headers, "access-control-allow-headers").unwrap().contains("authorization"));
    assert_eq!(word(headers, "vary"), Some("origin"));
    // The status of a call, and whether the page may read it: refusals as well.
    for (token, status) in [(Some(TOKEN), 200), (None, 401), (Some("wrong"), 401)] {
        let answer = stage.send(from(APP, "/api/info", token)).await;
        assert_eq!(answer.status().as_u16(), status, "{token:?}");
        assert_eq!(word(answer.headers(), "access-control-allow-origin"), Some(APP), "{token:?}");
        assert_eq!(word(answer.headers(), "access-control-allow-credentials"), None, "{token:?}");
    }
    let missing = stage.send(from(APP, "/api/nowhere", Some(TOKEN))).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert_eq!(word(missing.headers(), "access-control-allow-origin"), Some(APP));
}

#[tokio::test]
async fn other_origins_are_refused_with_the_token_as_well() {
    let stage = with_app();
    for origin in ["http://app.example", "https://app.example:444", "https://evil.example", "null", "*"] {
        let answer = stage.send(from(origin, "/api/info", Some(TOKEN))).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{origin}");
        let permission = stage.send(preflight("/api/execute", origin)).await;
        assert_eq!(permission.status(), StatusCode::FORBIDDEN, "{origin}");
        for headers in [answer.headers(), permission.headers()] {
            assert_eq!(word(headers, "access-control-allow-origin"), None, "{origin}");
        }
    }
    // Two origins name no page.
    let both = request("GET", "/api/info").header("origin", APP).header("origin", APP);
    assert_eq!(stage.send(both.body(Body::empty()).unwrap()).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_console_the_login_and_signed_links_are_of_the_own_origin_only() {
    let stage = with_app();
    let login = Request::post("/api/login")
        .header("host", "127.0.0.1:7717")
        .header("origin", APP)
        .header("content-type", "application/json")
        .body(Body::from(format!("{{\"token\":\"{TOKEN}\"}}")))
        .unwrap();
    let login = stage.send(login).await;
    assert_eq!(login.status(), StatusCode::FORBIDDEN);
    let link = stage.send(from(APP, "/files/web:chat:1/a.png?expires=1&signature=x", None)).await;
    assert_eq!(link.status(), StatusCode::FORBIDDEN);
    let page = stage.send(from(APP, "/index.html", None)).await;
    for answer in [&login, &link, &page] {
        assert_eq!(word(answer.headers(), "access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn without_configuration_nothing_is_shared() {
    let (stage, _threads) = TestServer::new();
    let answer = stage.send(from(APP, "/api/info", Some(TOKEN))).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(stage.send(preflight("/api/info", APP)).await.status(), StatusCode::FORBIDDEN);
    let own = stage.send(request("GET", "/api/info").body(Body::empty()).unwrap()).await;
    assert!(!own.headers().keys().any(|name| name.as_str().starts_with("access-control-")));
    assert_eq!(word(own.headers(), "vary"), None);
}
