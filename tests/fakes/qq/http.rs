//! The HTTP side: tokens, messages, uploads, interactions, files.

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::rules::{Refusal, Upload};
use super::{APP_ID, SECRET, Shared};

pub(super) async fn serve(listener: TcpListener, shared: Shared) {
    let app = Router::new()
        .route("/app/getAppAccessToken", post(token))
        .route("/gateway", get(plain_gateway))
        .route("/gateway/bot", get(gateway))
        .route("/users/@me", get(me))
        .route("/v2/{scene}/{chat}/messages", post(message_v2))
        .route("/v2/{scene}/{chat}/files", post(upload))
        .route("/{scene}/{chat}/messages", post(message))
        .route("/interactions/{id}", put(interaction))
        .route("/guilds/{guild}/members/{user}", get(member))
        .route("/files/{name}", get(file))
        .layer(DefaultBodyLimit::max(64 << 20))
        .with_state(shared);
    axum::serve(listener, app).await.unwrap();
}

fn refuse((status, code, message): Refusal) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, Json(json!({ "code": code, "message": message, "trace_id": "t" }))).into_response()
}

const BAD_TOKEN: Refusal = (401, 11_244, "token not exist or expire");

fn authorized(shared: &Shared, headers: &HeaderMap) -> bool {
    let header = headers.get("authorization").and_then(|value| value.to_str().ok());
    shared.look(|rules| rules.is_authorized(header))
}

async fn token(State(shared): State<Shared>, Json(body): Json<Value>) -> Json<Value> {
    if body["appId"] != APP_ID || body["clientSecret"] != SECRET {
        return Json(json!({ "code": 100_016, "message": "invalid appid or secret" }));
    }
    Json(shared.with(super::rules::Rules::hand_out_token))
}

async fn gateway(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if !authorized(&shared, &headers) {
        return refuse(BAD_TOKEN);
    }
    let limit = json!({ "total": 1000, "remaining": 998, "reset_after": 1, "max_concurrency": 1 });
    let url = shared.look(|rules| rules.gateway.clone());
    Json(json!({ "url": url, "shards": 1, "session_start_limit": limit })).into_response()
}

async fn plain_gateway(state: State<Shared>, headers: HeaderMap) -> Response {
    if state.look(|rules| rules.minimal) {
        return (StatusCode::NOT_FOUND, "404 page not found").into_response();
    }
    gateway(state, headers).await
}

async fn me(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if !authorized(&shared, &headers) {
        return refuse(BAD_TOKEN);
    }
    Json(json!({ "id": "900", "username": "shipbot" })).into_response()
}

async fn message_v2(
    state: State<Shared>,
    Path((scene, chat)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    message(state, Path((scene, chat)), headers, body).await
}

async fn message(
    State(shared): State<Shared>,
    Path((scene, chat)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !authorized(&shared, &headers) {
        return refuse(BAD_TOKEN);
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    match shared.with(|rules| rules.post(&scene, &chat, body)) {
        Ok((_, true)) => {
            // The response is lost; the bot cannot know whether the message was sent.
            (StatusCode::BAD_GATEWAY, "").into_response()
        }
        Ok((answer, false)) => Json(answer).into_response(),
        Err(refusal) => refuse(refusal),
    }
}

async fn upload(
    State(shared): State<Shared>,
    Path((scene, chat)): Path<(String, String)>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    if !authorized(&shared, &headers) {
        return refuse(BAD_TOKEN);
    }
    let bytes = BASE64_STANDARD.decode(body["file_data"].as_str().unwrap()).unwrap();
    let answer = shared.with(|rules| {
        let info = format!("info-{}", rules.number());
        rules.uploads.push(Upload {
            path: format!("{scene}/{chat}"),
            file_type: body["file_type"].as_u64().unwrap(),
            name: body["file_name"].as_str().unwrap_or_default().to_owned(),
            bytes,
            info: info.clone(),
        });
        json!({ "file_uuid": "u", "file_info": info, "ttl": 600 })
    });
    Json(answer).into_response()
}

async fn interaction(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    if !authorized(&shared, &headers) {
        return refuse(BAD_TOKEN);
    }
    shared.with(|rules| rules.acknowledged.push((id, body["code"].as_u64().unwrap())));
    Json(json!({})).into_response()
}

async fn member(
    State(shared): State<Shared>,
    Path((_, user)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    if !authorized(&shared, &headers) {
        return refuse(BAD_TOKEN);
    }
    match shared.look(|rules| rules.roles.get(&user).cloned()) {
        Some(roles) => Json(json!({ "user": { "id": user }, "nick": "", "roles": roles })).into_response(),
        None => refuse((404, 50_001, "no such member")),
    }
}

async fn file(State(shared): State<Shared>, Path(name): Path<String>) -> Response {
    let mut changes = shared.changed.subscribe();
    while shared.look(|rules| rules.holds_files) {
        changes.changed().await.unwrap();
    }
    match shared.look(|rules| rules.files.get(&name).cloned()) {
        Some(bytes) => bytes.into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
