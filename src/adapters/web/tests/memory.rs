//! Memory over HTTP.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::test_server::{TestServer, json};

async fn get(server: &TestServer, path: &str) -> (StatusCode, Value) {
    json(server.get(path).await).await
}

async fn change(server: &TestServer, body: Value) -> (StatusCode, Value) {
    json(server.post("/api/memory", body).await).await
}

#[tokio::test]
async fn memory_is_read_changed_on_what_was_read_forgotten_and_undone() {
    let (server, _threads) = TestServer::new();
    assert_eq!(get(&server, "/api/memory").await.1["scopes"], json!([]));
    let (_, empty) = get(&server, "/api/memory?scope=telegram:user:7").await;
    assert_eq!((empty["text"].as_str(), empty["mostTokens"].as_u64()), (Some(""), Some(2000)));
    let edit = |digest: &Value, text: &str| json!({ "scope": "telegram:user:7", "action": "edit", "text": text, "digest": digest });
    let (status, done) = change(&server, edit(&empty["digest"], "- likes tea\n- plays chess\n")).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    let (status, refused) = change(&server, edit(&empty["digest"], "- mine\n")).await;
    assert_eq!((status, refused["error"]["code"].as_str()), (StatusCode::CONFLICT, Some("changed")));
    assert_eq!(get(&server, "/api/memory").await.1["scopes"], json!(["telegram:user:7"]));
    let (_, now) = get(&server, "/api/memory?scope=telegram:user:7").await;
    assert_eq!(now["digest"], done["digest"]);
    let found = json(server.get("/api/memory/search?q=chess&scope=telegram:user:7").await).await.1;
    assert!(found["results"][0]["text"].as_str().unwrap().contains("chess"), "{found}");
    let forget = json!({ "scope": "telegram:user:7", "action": "forget", "id": now["items"][0]["id"] });
    assert_eq!(change(&server, forget.clone()).await.0, StatusCode::OK);
    assert_eq!(change(&server, forget).await.0, StatusCode::NOT_FOUND);
    let (_, now) = get(&server, "/api/memory?scope=telegram:user:7").await;
    assert_eq!(now["text"], "- plays chess\n");
    change(&server, edit(&now["digest"], "- plays go\n")).await;
    let (_, undone) = change(&server, json!({ "scope": "telegram:user:7", "action": "undo" })).await;
    assert_eq!(undone["digest"], now["digest"], "{undone}");
    let (_, ledger) = get(&server, "/api/memory/ledger?scope=telegram:user:7&limit=2").await;
    assert_eq!((ledger["lines"].as_array().unwrap().len(), &ledger["hasMore"]), (2, &json!(true)));
    assert_eq!(ledger["lines"][0]["by"], "web:user:operator");
    assert!(!ledger.to_string().contains("tea"));
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused_in_words() {
    let (server, _threads) = TestServer::new();
    for path in
        ["/api/memory?scope=everybody", "/api/memory/ledger?scope=x", "/api/memory/search?q=a&scope=x"]
    {
        let (status, told) = get(&server, path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(told["error"]["code"], "unknown-scope", "{told}");
    }
    assert_eq!(get(&server, "/api/memory/search?q=").await.0, StatusCode::BAD_REQUEST);
    for body in [
        json!({ "scope": "project", "action": "edit" }),
        json!({ "scope": "project", "action": "forget" }),
        json!({ "scope": "project", "action": "burn" }),
    ] {
        assert_eq!(change(&server, body).await.0, StatusCode::BAD_REQUEST);
    }
    let undo = change(&server, json!({ "scope": "project", "action": "undo" })).await;
    assert_eq!(undo.0, StatusCode::CONFLICT);
    let long = json!({ "scope": "project", "action": "edit", "text": "long ".repeat(4000) });
    let (status, told) = change(&server, long).await;
    assert_eq!((status, told["error"]["code"].as_str()), (StatusCode::PAYLOAD_TOO_LARGE, Some("too-large")));
}
