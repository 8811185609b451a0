//! What stands in the ledger and in the messages after calls that ended in every way.

use serde_json::{Value, json};

use super::{ledger, settled, with_deep};
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::voice::FakeSpeech;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_is_reserved_and_settled_and_the_message_has_the_sum() {
    let usage = |input: u64, output: u64| {
        json!({ "prompt_tokens": input, "completion_tokens": output,
            "prompt_tokens_details": { "cached_tokens": 4 }, "cost": 0.25 })
    };
    let model = FakeModel::start([
        Reply::calls([("current_time", json!({}))]).costing(usage(10, 3)),
        Reply::text("It is late.").costing(usage(20, 5)),
    ])
    .await;
    let project = with_deep(&model.url(), json!({}));
    let daemon = project.start().await;
    let answer =
        daemon.execute(json!({ "instructions": "what time?", "chatId": "a", "userId": "ann" })).await;
    assert_eq!(answer["output"], "It is late.");
    let lines = ledger(&project);
    let order: Vec<_> = lines.iter().map(|line| line["t"].as_str().unwrap_or_default()).collect();
    assert_eq!(order, ["reserve", "settle", "reserve", "settle"]);
    assert_eq!(lines[0]["id"], lines[1]["id"]);
    for (line, (step, input, output)) in [(&lines[1], (1, 10, 3)), (&lines[3], (2, 20, 5))] {
        let expected = json!({ "threadId": "api:chat:a", "turnId": answer["correlationId"], "step": step,
            "authorId": "api:user:ann", "purpose": "turn", "model": "fake", "in": input, "inCached": 4,
            "out": output, "cost": 250_000, "source": "gateway-cost" });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(line[key], *value, "{key}: {line}");
        }
    }
    let text = serde_json::to_string(&lines).unwrap();
    assert!(!text.contains("late") && !text.contains("what time"), "the ledger has no words: {text}");
    let page = daemon.get_json("/api/threads/api:chat:a/messages").await;
    let sum = json!({ "in": 30, "out": 8, "cached": 8, "cost": 500_000 });
    assert_eq!(page["messages"][1]["metadata"]["usage"], sum);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_cut_is_counted_as_estimated_and_its_retry_is_an_entry_of_its_own() {
    let long = "word ".repeat(40);
    let model = FakeModel::start([Reply::text(&long).cut_after(30), Reply::text("whole")]).await;
    let project = with_deep(&model.url(), json!({}));
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "go", "chatId": "a" })).await;
    assert_eq!(answer["output"], "whole");
    let lines = settled(&project);
    let sources: Vec<_> = lines.iter().map(|line| line["source"].as_str().unwrap_or_default()).collect();
    assert_eq!(sources, ["estimated", "reported"]);
    let received = lines[0]["out"].as_u64().unwrap();
    assert!((15..=60).contains(&received), "about 28 words were received: {received}");
    assert!(lines[0]["in"].as_u64().unwrap() > 10, "the prompt counts: {}", lines[0]);
    assert_eq!(lines[0]["error"], "network");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_answer_and_a_server_without_usage_are_estimated_and_a_refusal_costs_nothing() {
    let plain = |text: &str| {
        let chunk = |delta: Value, finish: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        Reply::events([chunk(json!({ "content": text }), Value::Null), chunk(json!({}), json!("stop"))])
            .done()
    };
    let model = FakeModel::start([
        plain("no usage here"),
        Reply::status(400, r#"{"error":{"message":"no such parameter: frobnicate"}}"#),
        Reply::text(&"word ".repeat(40)).hang_after(30),
    ])
    .await;
    let project = with_deep(&model.url(), json!({ "llm": { "timeoutSecs": 600 } }));
    let daemon = project.start().await;
    let say = async |words: &str| daemon.execute(json!({ "instructions": words, "chatId": "a" })).await;
    assert_eq!(say("one").await["output"], "no usage here");
    assert_eq!(say("two").await["status"], "failed");
    let body = json!({ "id": "m3", "text": "three" });
    daemon.post("/api/threads/api:chat:a/messages", &body).send().await.unwrap();
    daemon
        .until("the half answer", async |daemon| {
            let stream = daemon.get("/api/threads?state=running").send().await.unwrap().text().await.unwrap();
            model.requests().len() == 3 && stream.contains("api:chat:a")
        })
        .await;
    daemon.post("/api/threads/api:chat:a/stop", &json!({})).send().await.unwrap();
    daemon.until("the last line", async |_| settled(&project).len() == 3).await;
    let lines = settled(&project);
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line["source"].as_str().unwrap(), line["in"].as_u64().unwrap() > 0))
        .collect();
    assert_eq!(told[0], ("estimated", true));
    assert_eq!(told[1], ("reported", false), "a refused request is not billed");
    assert!(["estimated", "uncertain"].contains(&told[2].0) && told[2].1, "{}", lines[2]);
}

/// A second of silence.
fn recording() -> String {
    use base64::Engine as _;
    let mut wav =
        b"RIFF\x24\x7d\x00\x00WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\x7d\0\0"
            .to_vec();
    wav.resize(44 + 32_000, 0);
    format!("data:audio/wav;base64,{}", base64::prelude::BASE64_STANDARD.encode(wav))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn speech_that_becomes_text_is_counted_by_its_length() {
    let speech = FakeSpeech::hearing("how late is it").await;
    let model = FakeModel::start([Reply::text("late")]).await;
    let stt = json!({ "provider": "openai", "baseUrl": speech.url(), "model": "tiny" });
    let project = with_deep(&model.url(), json!({ "voice": { "stt": stt } }));
    let daemon = project.start().await;
    let file = json!({ "mediaType": "audio/wav", "url": recording(), "filename": "ask.wav" });
    let body =
        json!({ "instructions": "", "files": [file], "chatId": "a", "userId": "ann", "messageId": "m" });
    assert_eq!(daemon.execute(body).await["output"], "late");
    let lines = settled(&project);
    let heard = lines.iter().find(|line| line["purpose"] == "stt").unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!((&heard["model"], &heard["soundMs"]), (&json!("tiny"), &json!(1_000)));
    assert_eq!((&heard["threadId"], &heard["authorId"]), (&json!("api:chat:a"), &json!("api:user:ann")));
    assert_eq!(heard["cost"], 0, "a server on this machine costs nothing");
}
