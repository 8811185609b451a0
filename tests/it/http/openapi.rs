//! Responses of a real daemon, with real data, against the document that it serves.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, TOKEN};
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::json_schema::{mistakes, operation, response_mistakes};

/// Operations that must have succeeded in the test.
const EXPECTED: &[&str] = &[
    "POST /api/execute",
    "POST /api/approvals/{id}",
    "DELETE /api/grants/{id}",
    "POST /api/memory",
    "GET /api/memory/search",
    "PUT /api/tasks/{id}",
    "DELETE /api/tasks/{id}",
    "POST /api/threads/{id}/branch",
    "DELETE /api/threads/{id}",
    "POST /api/login",
];

/// A caller that checks everything it gets.
struct Checked<'a> {
    daemon: &'a Daemon,
    document: Value,
    /// The operations that gave something else than an error.
    succeeded: Vec<String>,
}

impl<'a> Checked<'a> {
    async fn new(daemon: &'a Daemon) -> Self {
        Self { daemon, document: daemon.get_json("/api/openapi.json").await, succeeded: Vec::new() }
    }

    async fn call(&mut self, method: &str, path: &str, body: Value) -> Value {
        let (known, described) = operation(&self.document, method, path).expect(path);
        if !body.is_null() {
            let schema = &described["requestBody"]["content"]["application/json"]["schema"];
            assert_eq!(
                mistakes(&self.document, schema, &body),
                Vec::<String>::new(),
                "{method} {known}: {body}"
            );
        }
        let request =
            self.daemon.http.request(method.parse().unwrap(), format!("{}{path}", self.daemon.base));
        let request = request.bearer_auth(TOKEN);
        let request = if body.is_null() { request } else { request.json(&body) };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let media_type =
            response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        let body = response.bytes().await.unwrap();
        let found =
            response_mistakes(&self.document, described, status, &media_type.unwrap_or_default(), &body);
        let shown = String::from_utf8_lossy(&body);
        assert!(found.is_empty(), "{method} {known}: {found:?} in {shown}");
        if status < 400 {
            self.succeeded.push(format!("{method} {known}"));
        }
        serde_json::from_slice(&body).unwrap_or_default()
    }

    async fn get(&mut self, path: &str) -> Value {
        self.call("GET", path, Value::Null).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_response_of_a_busy_day_fits_the_document() {
    let model = FakeModel::start([
        Reply::calls([("exec_shell", json!({ "command": "touch made.txt" }))]),
        Reply::text("Made."),
        Reply::text("Again."),
    ])
    .await;
    let project = Project::with_model(&model.url(), json!({ "memory": { "auto": "off" } }));
    project.write(".ship/tasks/morning.md", "---\nschedule: \"0 9 * * *\"\n---\nSay hello.\n");
    let daemon = project.start().await;
    let mut api = Checked::new(&daemon).await;

    let asked = api
        .call("POST", "/api/execute", json!({ "instructions": "make it", "chatId": "a", "messageId": "m1" }))
        .await;
    assert_eq!(asked["status"], "awaiting-approval", "{asked}");
    let thread = "/api/threads/api:chat:a";
    api.get("/api/approvals?state=pending&limit=1").await;
    let decision = json!({ "decision": "approve", "scope": "thread", "reason": "fine" });
    api.call("POST", "/api/approvals/A1", decision.clone()).await;
    daemon.until_state("api:chat:a", "idle").await;
    api.call("POST", "/api/approvals/A1", decision).await;
    api.call("POST", "/api/execute", json!({ "instructions": "make it", "chatId": "a", "messageId": "m1" }))
        .await;
    api.call("POST", &format!("{thread}/regenerate"), Value::Null).await;
    daemon.until_state("api:chat:a", "idle").await;
    api.call("PATCH", thread, json!({ "title": "Files", "pinned": true })).await;
    let messages = api.get(&format!("{thread}/messages?limit=50")).await;
    let last = messages["messages"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    api.call("POST", &format!("{thread}/branch"), json!({ "before": last })).await;
    api.get("/api/threads?q=made&limit=1").await;
    api.get("/api/threads").await;
    let grants = api.get("/api/grants").await;
    assert_eq!(grants["grants"].as_array().map(Vec::len), Some(1), "{grants}");
    api.call("DELETE", "/api/grants/G1", Value::Null).await;

    let empty = api.get("/api/memory?scope=project").await;
    let edit = json!({ "scope": "project", "action": "edit", "text": "- Ann decides.\n", "digest": empty["digest"] });
    api.call("POST", "/api/memory", edit).await;
    for path in [
        "/api/memory",
        "/api/memory?scope=project",
        "/api/memory/ledger?limit=10",
        "/api/memory/checkpoints",
        "/api/memory/search?q=Ann",
        "/api/access",
        "/api/agents",
        "/api/info",
        "/api/tasks",
        "/api/tasks/morning",
        "/metrics",
        "/healthz",
        "/readyz",
        "/api/threads/web:chat:none/messages",
        "/api/tasks/none",
    ] {
        api.get(path).await;
    }
    api.call("POST", "/api/access/invite", json!({ "role": "guest" })).await;
    api.call("POST", "/api/access/approve", json!({ "code": "ABCD2345" })).await;
    let file = api.get("/api/tasks/morning").await["file"].as_str().unwrap().to_owned();
    let changed = file.replace("hello", "good morning");
    api.call("POST", "/api/tasks/check", json!({ "file": changed })).await;
    api.call("PUT", "/api/tasks/morning", json!({ "file": changed, "before": file })).await;
    api.call("POST", "/api/tasks/morning/pause", Value::Null).await;
    api.call("POST", "/api/tasks/morning/resume", Value::Null).await;
    api.call("DELETE", "/api/tasks/morning", json!({ "before": changed })).await;
    api.call("POST", "/api/session", Value::Null).await;
    let code = api.call("POST", "/api/login-code", Value::Null).await["code"].clone();
    api.call("POST", "/api/login", json!({ "token": code })).await;
    api.call("POST", &format!("{thread}/stop"), Value::Null).await;
    api.call("DELETE", thread, Value::Null).await;

    for expected in EXPECTED {
        assert!(api.succeeded.iter().any(|done| done == *expected), "{expected} gave nothing");
    }
}
