//! No model reads secrets, and no answer shows them, not even for a moment.

use serde_json::{Value, json};

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply};

/// The key that every project with a model has.
const KEY: &str = "sk-test-canary-123456";

/// The text of an answer, assembled from the stream.
fn streamed(body: &str) -> String {
    let chunks = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    chunks
        .filter(|chunk| chunk["type"] == "text-delta")
        .map(|chunk| chunk["delta"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_prompt_and_no_answer_holds_a_secret() {
    let model = FakeModel::start([Reply::pieces([
        "The key is sk-te",
        "st-canary-",
        "123456, 密钥是sk-test-can",
        "ary-123456。",
    ])])
    .await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 } }));
    project.write("Agent.md", &format!("You know that the key is {KEY}.\n"));
    let daemon = project.start().await;
    let message = json!({
        "id": "q1", "role": "user", "parts": [{ "type": "text", "text": format!("Is the key {KEY}?") }],
    });
    let chat = json!({ "id": "c", "trigger": "submit-message", "messages": [message] });
    let body = daemon.post("/api/chat", &chat).send().await.unwrap().text().await.unwrap();
    assert_eq!(streamed(&body), "The key is [redacted], 密钥是[redacted]。", "{body}");

    let messages = daemon.get_json("/api/threads/web:chat:c/messages").await;
    let [question, answer] = messages["messages"].as_array().unwrap().as_slice() else {
        panic!("{messages}")
    };
    assert!(question.to_string().contains(KEY), "a person's own words stay as they are");
    assert!(!answer.to_string().contains("canary"), "{answer}");
    let asked = model.requests().remove(0);
    assert!(!asked.body.to_string().contains("canary"), "{}", asked.body);
    assert_eq!(asked.body.to_string().matches("[redacted]").count(), 2, "{}", asked.body);
    assert!(asked.authorization.unwrap().contains(KEY), "the server itself gets its key");
}
