//! The document of the API, against the router and against the types. Every response of every test in this folder is
//! checked against it as well, in `TestServer::send`.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::json_schema::mistakes;
use super::test_server::{TestServer, get, json as read, request};
use crate::adapters::web::openapi::document;
use crate::adapters::web::operation::{Access, Content, Shape};
use crate::adapters::web::routes::operations;

fn example(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { "x1" } else { part }).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn the_router_serves_the_documented_methods_and_no_others() {
    let (stage, _threads) = TestServer::new();
    let document = document(&operations());
    for (path, methods) in document["paths"].as_object().unwrap() {
        let mut known: BTreeSet<String> =
            methods.as_object().unwrap().keys().map(|m| m.to_uppercase()).collect();
        if known.contains("GET") {
            known.insert("HEAD".to_owned());
        }
        let unknown = request("PROPFIND", &example(path)).body(Body::empty()).unwrap();
        let answer = stage.send(unknown).await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        let allowed = answer.headers().get("allow").unwrap().to_str().unwrap();
        assert_eq!(allowed.split(',').map(str::to_owned).collect::<BTreeSet<_>>(), known, "{path}");
    }
}

#[tokio::test]
async fn every_operation_needs_what_the_document_says() {
    let (stage, _threads) = TestServer::new();
    for operation in operations() {
        let bare = http::Request::builder()
            .method(&operation.method)
            .uri(example(operation.path))
            .header("host", "127.0.0.1:7717");
        let status = stage.send(bare.body(Body::empty()).unwrap()).await.status();
        let asks = status == StatusCode::UNAUTHORIZED;
        assert_eq!(
            asks,
            operation.access == Access::Credential,
            "{} {}: {status}",
            operation.method,
            operation.path
        );
        let unknown = request(operation.method.as_str(), &format!("{}?surprise=1", example(operation.path)));
        let refused =
            stage.send(unknown.body(Body::empty()).unwrap()).await.status() == StatusCode::BAD_REQUEST;
        assert_eq!(refused, operation.access != Access::Open, "{} {}", operation.method, operation.path);
    }
}

#[test]
fn the_document_is_sound() {
    let operations = operations();
    let document = document(&operations);
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = BTreeSet::new();
    for operation in &operations {
        let described = &document["paths"][operation.path][operation.method.as_str().to_lowercase()];
        assert!(described["summary"].as_str().is_some_and(|summary| summary.ends_with('.')), "{operation:?}");
        assert!(ids.insert(described["operationId"].to_string()), "{operation:?}");
        let answer = match operation.content {
            Content::Json(shape) => Some((shape, shape.answer())),
            _ => None,
        };
        let body = operation.body.map(|shape| (shape, shape.request()));
        // A name stands for one schema.
        for (shape, schema) in answer.into_iter().chain(body) {
            assert_eq!(document["components"]["schemas"][(shape.name)().as_ref()], schema, "{operation:?}");
        }
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > operations.len());
    for reference in references {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_document_is_served_to_callers_with_a_credential() {
    let (stage, _threads) = TestServer::new();
    let (status, served) = read(stage.get("/api/openapi.json").await).await;
    assert_eq!((status, served), (StatusCode::OK, document(&operations())));
    let bare = http::Request::get("/api/openapi.json").header("host", "127.0.0.1:7717");
    assert_eq!(stage.send(bare.body(Body::empty()).unwrap()).await.status(), StatusCode::UNAUTHORIZED);
}

#[test]
fn requests_of_the_manual_fit_their_schemas() {
    let document = document(&operations());
    for (name, body) in [
        (
            "ExecuteRequest",
            json!({ "instructions": "read: Agent.md", "messageId": "demo-1", "timeoutMs": 1000 }),
        ),
        ("DecisionBody", json!({ "decision": "approve", "scope": "thread", "reason": "fine" })),
        ("DecisionBody", json!({ "decision": "approve", "scope": { "type": "minutes", "minutes": 10 } })),
        ("MarkRequest", json!({ "title": null, "pinned": true, "archived": false })),
        (
            "SayRequest",
            json!({ "id": "my-1", "text": "hi", "files": [{ "mediaType": "image/png", "url": "data:," }] }),
        ),
        ("TaskFileBody", json!({ "file": "---\n", "before": null })),
        ("ChatRequest", json!({ "id": "a", "messages": [], "trigger": "submit-message" })),
    ] {
        let schema = &document["components"]["schemas"][name];
        assert!(schema.is_object(), "{name}");
        assert_eq!(mistakes(&document, schema, &body), Vec::<String>::new(), "{name}");
    }
    let keys = operations().into_iter().find(|operation| operation.path == "/api/threads").unwrap().query;
    assert_eq!(
        keys.map(Shape::keys).unwrap(),
        ["q", "limit", "before", "state", "platform", "person", "since", "until"]
    );
}

#[tokio::test]
async fn approvals_are_paged_by_their_numbers() {
    let (stage, _threads) = TestServer::new();
    let (status, page) = read(stage.send(get("/api/approvals?limit=2&before=A9")).await).await;
    assert_eq!((status, page), (StatusCode::OK, json!({ "approvals": [] })));
    let (status, _) = read(stage.send(get("/api/approvals?before=yesterday")).await).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[test]
fn the_checker_of_schemas_finds_mistakes() {
    let document = json!({ "components": { "schemas": { "A": {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": { "type": "string" },
            "at": { "type": ["integer", "null"], "minimum": 1 },
            "kind": { "enum": ["a", "b"] },
            "all": { "type": "array", "items": { "oneOf": [{ "const": 1 }, { "const": 2 }] } },
            "free": { "type": "object", "additionalProperties": true },
        },
    } } } });
    let schema = json!({ "$ref": "#/components/schemas/A" });
    for (value, right) in [
        (json!({ "id": "x" }), true),
        (json!({ "id": "x", "at": null, "kind": "b", "all": [1, 2], "free": { "x": 1 } }), true),
        (json!({}), false),
        (json!([]), false),
        (json!({ "id": 1 }), false),
        (json!({ "id": "x", "at": 0 }), false),
        (json!({ "id": "x", "at": 1.5 }), false),
        (json!({ "id": "x", "kind": "c" }), false),
        (json!({ "id": "x", "all": [3] }), false),
        (json!({ "id": "x", "other": 1 }), false),
    ] {
        assert_eq!(mistakes(&document, &schema, &value).is_empty(), right, "{value}");
    }
    assert!(!mistakes(&document, &json!({ "$ref": "#/nowhere" }), &json!(1)).is_empty());
    assert!(
        !mistakes(&document, &json!({ "pattern": "x" }), &json!("x")).is_empty(),
        "an unknown keyword is no free pass"
    );
}
