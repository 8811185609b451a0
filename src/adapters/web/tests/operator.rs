//! The configuration, Agent.md, the log and the audit trail over HTTP.

use serde_json::json;

use super::test_server::{TestServer, json as read, request};
use crate::domain::Timestamp;
use crate::ports::{Audit as _, AuditEvent, AuditLine, AuditOutcome};

fn put(path: &str, body: &serde_json::Value) -> http::Request<axum::body::Body> {
    request("PUT", path).header("content-type", "application/json").body(body.to_string().into()).unwrap()
}

#[tokio::test]
async fn a_text_of_agent_md_is_replaced_restored_and_audited() {
    let (stage, _threads) = TestServer::new();
    let (status, written) =
        read(stage.send(put("/api/instructions", &json!({ "text": "one", "before": "" }))).await).await;
    assert_eq!((status.as_u16(), &written["text"]), (200, &json!("one")));
    let (_, written) =
        read(stage.send(put("/api/instructions", &json!({ "text": "two", "before": "one" }))).await).await;
    let id = written["versions"][0]["id"].as_str().unwrap().to_owned();
    let (_, old) = read(stage.get(&format!("/api/instructions/{id}")).await).await;
    assert_eq!(old, json!({ "text": "one" }));
    let long = "x".repeat(300_000);
    for (text, before, status) in [("three", "one", 409), (" ", "two", 422), (long.as_str(), "two", 413)] {
        let answer = stage.send(put("/api/instructions", &json!({ "text": text, "before": before }))).await;
        assert_eq!(answer.status(), status);
    }
    assert_eq!(stage.get("/api/instructions/v0").await.status(), 404);
    let (_, audit) = read(stage.get("/api/audit?event=instructions").await).await;
    assert_eq!(audit["lines"].as_array().unwrap().len(), 2);
    assert_eq!(audit["lines"][0]["author"], "web:user:operator");
}

#[tokio::test]
async fn the_audit_trail_is_filtered_and_paged() {
    let (stage, _threads) = TestServer::new();
    for number in 0..5 {
        let outcome = if number == 2 { AuditOutcome::Denied } else { AuditOutcome::Approved };
        stage.audit.record(AuditLine {
            outcome: Some(outcome),
            tool: Some("exec_shell".to_owned()),
            reason: Some(number.to_string()),
            ..AuditLine::new(AuditEvent::Decision, Timestamp::from_millis(number * 1000))
        });
    }
    let reasons = async |query: &str| {
        let (_, page) = read(stage.get(&format!("/api/audit?{query}")).await).await;
        let lines = page["lines"].as_array().unwrap();
        let reasons: Vec<String> =
            lines.iter().map(|line| line["reason"].as_str().unwrap().to_owned()).collect();
        (reasons.join(" "), page["more"] == true)
    };
    assert_eq!(reasons("limit=2").await, ("4 3".to_owned(), true));
    assert_eq!(reasons("limit=2&skip=4").await, ("0".to_owned(), false));
    assert_eq!(reasons("outcome=denied").await, ("2".to_owned(), false));
    assert_eq!(reasons("tool=write_file").await, (String::new(), false));
    assert_eq!(reasons("since=1970-01-01T00:00:03Z").await, ("4 3".to_owned(), false));
    for bad in
        ["audit?limit=0", "audit?since=yesterday", "audit?who=me", "logs?level=loud", "logs?limit=9999"]
    {
        let answer = stage.get(&format!("/api/{bad}")).await;
        assert_eq!(answer.status(), 400, "{bad}");
        let (_, problem) = read(answer).await;
        assert!(problem["error"]["hint"].is_string() || bad.contains("limit"), "{problem}");
    }
    assert_eq!(read(stage.get("/api/logs").await).await.1, json!({ "lines": [], "next": null }));
}

#[tokio::test]
async fn keys_of_the_machine_are_not_changed_over_http() {
    let (stage, _threads) = TestServer::new();
    let body = json!({ "changes": [{ "key": "adapters.web.listen", "value": "0.0.0.0:1" }] });
    let change = request("PATCH", "/api/config").header("content-type", "application/json");
    let (status, problem) = read(stage.send(change.body(body.to_string().into()).unwrap()).await).await;
    assert_eq!((status.as_u16(), &problem["error"]["code"]), (403, &json!("not-editable")));
    let hint = problem["error"]["hint"].as_str().unwrap();
    assert_eq!(hint, "run `shipagent config set adapters.web.listen …` on the machine");
}
