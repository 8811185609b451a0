//! `GET /api/openapi.json`: the table of operations as an OpenAPI 3.1 document.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};

use super::operation::{Access, Content, Operation, Shape};
use super::problem::ProblemBody;
use super::routes::operations;

/// The document does not change while the process lives.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| document(&operations()).to_string().into());

pub(super) async fn serve() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], DOCUMENT.clone())
}

/// The document of these operations.
pub(super) fn document(operations: &[Operation]) -> Value {
    let mut schemas = Map::new();
    let problem = reference(&mut schemas, Shape::of::<ProblemBody>(), Shape::answer);
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let described = described(operation, &mut schemas);
        let methods = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = methods.as_object_mut() {
            methods.insert(operation.method.as_str().to_lowercase(), described);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "shipagent",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The HTTP API of a project's agent. A client sends the token of the project with every request.",
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "servers": [{ "url": "http://127.0.0.1:7717" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "The request was refused or failed.",
                    "content": { "application/json": { "schema": problem } },
                },
            },
        },
    })
}

fn described(operation: &Operation, schemas: &mut Map<String, Value>) -> Value {
    let mut described = Map::new();
    let mut add = |key: &str, value: Value| described.insert(key.to_owned(), value);
    add("operationId", operation_id(operation).into());
    add("summary", operation.about.into());
    add("tags", json!([tag(operation.path)]));
    if operation.access != Access::Credential {
        add("security", json!([]));
    }
    add("parameters", parameters(operation).into());
    if let Some(body) = operation.body {
        let schema = reference(schemas, body, Shape::request);
        let body = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        add("requestBody", body);
    }
    add("responses", responses(operation, schemas));
    described.into()
}

fn responses(operation: &Operation, schemas: &mut Map<String, Value>) -> Value {
    let status = operation.status.to_string();
    let content = match operation.content {
        Content::Empty => None,
        Content::Json(shape) => {
            let schema = reference(schemas, shape, Shape::answer);
            Some(json!({ "application/json": { "schema": schema } }))
        }
        Content::Events => Some(json!({ "text/event-stream": { "schema": { "type": "string" } } })),
        Content::File => Some(json!({ "application/octet-stream": {} })),
        Content::Text => Some(json!({ "text/plain": { "schema": { "type": "string" } } })),
    };
    let mut responses = Map::new();
    let success = match content {
        Some(content) => json!({ "description": "Done.", "content": content }),
        None => json!({ "description": "Done; no body." }),
    };
    responses.insert(status, success);
    if operation.may_be_empty {
        responses.insert("204".to_owned(), json!({ "description": "There is nothing." }));
    }
    let failure = match operation.access {
        Access::Open => json!({ "description": "It is not so.", "content": { "text/plain": {} } }),
        Access::Credential | Access::OwnProof => json!({ "$ref": "#/components/responses/Problem" }),
    };
    responses.insert("default".to_owned(), failure);
    responses.into()
}

/// The parameters in the path, in the query and in headers.
fn parameters(operation: &Operation) -> Vec<Value> {
    let named = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = named
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(query) = operation.query.map(Shape::request) {
        let required = query.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = query.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            parameters.push(json!({
                "name": name,
                "in": "query",
                "required": required.iter().any(|key| key == name),
                "schema": schema,
            }));
        }
    }
    if operation.idempotent {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "The same key does nothing twice.",
            "schema": { "type": "string" },
        }));
    }
    parameters
}

/// Adds a type to the named schemas.
fn reference(schemas: &mut Map<String, Value>, shape: Shape, schema: fn(Shape) -> Value) -> Value {
    let name = (shape.name)().into_owned();
    let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
    schemas.entry(name).or_insert_with(|| schema(shape));
    reference
}

/// A unique name such as `getThreadsIdMessages`, or `getRootMetrics` outside of `/api`.
fn operation_id(operation: &Operation) -> String {
    let method = operation.method.as_str().to_lowercase();
    let (mut id, path) = match operation.path.strip_prefix("/api") {
        Some(path) => (method, path),
        None => (format!("{method}Root"), operation.path),
    };
    let words = path.split(|c: char| !c.is_ascii_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        id.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        id.extend(letters);
    }
    id
}

/// The first word of a path.
fn tag(path: &str) -> &str {
    path.trim_start_matches("/api").split('/').find(|part| !part.is_empty()).unwrap_or("service")
}
