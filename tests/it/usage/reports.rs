//! The same numbers in the chat, on the command line, over HTTP and for Prometheus.

use serde_json::{Value, json};

use super::with_deep;
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::telegram::server::FakeTelegram;

/// The rows of the only report of an answer: key and cost.
fn rows(report: &Value) -> Vec<(String, u64)> {
    let rows = report["reports"][0]["rows"].as_array().unwrap();
    rows.iter()
        .map(|row| (row["key"].as_str().unwrap().to_owned(), row["costMicros"].as_u64().unwrap()))
        .collect()
}

fn costing(seen: &Seen) -> Reply {
    let cost = if seen.body["model"] == "fake-deep" { 1.5 } else { 0.25 };
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
        "prompt_tokens_details": { "cached_tokens": 400 }, "cost": cost });
    Reply::text("ok").costing(usage)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_http_chat_and_prometheus_tell_the_same() {
    let model = FakeModel::start(Script::compute(costing)).await;
    let project = with_deep(&model.url(), json!({ "owners": ["api:user:ann"], "timezone": "Asia/Shanghai" }));
    let daemon = project.start().await;
    let say = async |chat: &str, user: &str, words: &str| {
        let body = json!({ "instructions": words, "chatId": chat, "userId": user });
        daemon.execute(body).await["output"].as_str().unwrap_or_default().to_owned()
    };
    let empty = say("a", "ann", "/status").await;
    assert!(!empty.contains("Spent"), "{empty}");
    say("a", "ann", "one").await;
    say("b", "bob", "/usage").await;
    say("b", "bob", "two").await;
    say("a", "ann", "/model deep").await;
    say("a", "ann", "three").await;

    let told = say("a", "ann", "/usage").await;
    assert!(
        told.contains("**Today:** 2.00 USD · 3 calls · 3000 tokens in, 300 out · 40% from the cache"),
        "{told}"
    );
    assert!(told.contains("**This conversation:** 1.75 USD today, 1.75 USD this month"), "{told}");
    assert!(told.contains("- fake-deep: 1.50 USD · 1 call"), "{told}");
    let theirs = say("b", "bob", "/usage").await;
    assert!(theirs.contains("0.25 USD today") && !theirs.contains("2.00"), "{theirs}");
    let status = say("a", "ann", "/status").await;
    assert!(status.contains("Model: fake-deep"), "{status}");
    assert!(status.contains("Spent today: 2.00 USD · this conversation: 1.75 USD"), "{status}");

    for (by, expected) in [
        ("model", vec![("fake-deep".to_owned(), 1_500_000), ("fake".to_owned(), 500_000)]),
        ("thread", vec![("api:chat:a".to_owned(), 1_750_000), ("api:chat:b".to_owned(), 250_000)]),
        ("person", vec![("api:user:ann".to_owned(), 1_750_000), ("api:user:bob".to_owned(), 250_000)]),
        ("purpose", vec![("turn".to_owned(), 2_000_000)]),
        ("task", vec![(String::new(), 2_000_000)]),
    ] {
        let over_http = daemon.get_json(&format!("/api/usage?by={by}")).await;
        assert_eq!(rows(&over_http), expected, "{by}");
        let printed = project.run(&["usage", "--by", by, "--json"]);
        assert_eq!(rows(&serde_json::from_str(&printed.stdout).unwrap()), expected, "{printed:?}");
    }
    let all = daemon.get_json("/api/usage?by=day,month,thread").await;
    assert_eq!(all["timezone"], "Asia/Shanghai");
    assert_eq!(all["reports"].as_array().unwrap().len(), 3);
    assert_eq!(all["reports"][2]["rows"][0]["title"], "one");
    for wrong in ["by=hour", "since=yesterday", "by=day&until=soon"] {
        assert_eq!(daemon.get(&format!("/api/usage?{wrong}")).send().await.unwrap().status(), 400, "{wrong}");
    }
    let metrics = daemon.get("/metrics").send().await.unwrap().text().await.unwrap();
    for sample in [
        r#"shipagent_llm_tokens_total{model="fake",kind="cached"} 800"#,
        r#"shipagent_llm_cost_microusd_total{model="fake-deep",purpose="turn"} 1500000"#,
        r#"shipagent_llm_calls_total{model="fake"} 2"#,
    ] {
        assert!(metrics.contains(sample), "{sample}: {metrics}");
    }

    let csv = project.run(&["usage", "--by", "thread", "--csv"]);
    assert!(
        csv.stdout.contains("\napi:chat:a,2,0,2000,800,0,200,0,0.000,0,1.750000,0.000000,0,0,0\n"),
        "{csv:?}"
    );
    let beside = project.run(&["usage", "--by", "thread"]);
    assert!(beside.stdout.contains("total") && beside.stdout.contains("2.00 USD"), "{beside:?}");
    assert!(daemon.stop().await.success());
    assert_eq!(
        project.run(&["usage", "--by", "thread"]).stdout.lines().skip(1).collect::<Vec<_>>(),
        beside.stdout.lines().skip(1).collect::<Vec<_>>(),
        "the same without a daemon"
    );
    assert_eq!(project.run(&["usage", "--by", "hour"]).code, Some(2));
    assert_eq!(project.run(&["usage", "--since", "soon"]).code, Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_footer_tells_people_what_an_answer_used_and_never_the_model() {
    let telegram = FakeTelegram::start().await;
    let model = FakeModel::start(Script::compute(costing)).await;
    let section = json!({ "botToken": telegram.token(), "apiUrl": telegram.url(), "allowedUsers": [7] });
    let extra = json!({ "budget": { "footer": "cost" }, "adapters": { "telegram": section } });
    let project = with_deep(&model.url(), extra);
    let ann = telegram.user(7, "Ann");
    let chat = telegram.private(&ann);
    let _daemon = project.start().await;
    for count in [1, 2] {
        chat.say(&ann, "hello");
        telegram.wait_for(|world| world.bot_texts(7).len() == count).await;
    }
    let said = telegram.read(|world| world.bot_texts(7));
    assert!(said.iter().all(|text| text == "ok\n\n0.25 USD"), "{said:?}");
    assert!(!model.requests()[1].body["messages"].to_string().contains("USD"), "the model sees no footer");
}

/// A ledger of so many calls within the last day.
pub(crate) fn seed(project: &Project, calls: usize) {
    let now = jiff::Timestamp::now();
    let mut months: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    for call in 0..calls {
        let ago = i64::try_from((calls - call) % 1_000).unwrap();
        let at = now.checked_sub(jiff::SignedDuration::from_secs(ago)).unwrap().to_string();
        let line = json!({ "t": "settle", "id": format!("c{call}"), "at": at,
            "threadId": format!("web:chat:{}", call % 50), "turnId": format!("t{call}"), "step": 1,
            "authorId": format!("web:user:{}", call % 7), "purpose": "turn", "provider": "example.org",
            "model": format!("model-{}", call % 3), "in": 1000, "inCached": 500, "out": 100, "cost": 10,
            "price": { "input": 1, "cachedInput": 1, "cacheWrite": 1, "output": 1 }, "source": "reported", "ms": 5 });
        let month = at.chars().take(7).collect();
        let text = months.entry(month).or_default();
        text.push_str(&line.to_string());
        text.push('\n');
    }
    for (month, text) in months {
        project.write(&format!(".ship/logs/usage-{month}.jsonl"), &text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_calls_are_summed_up_everywhere() {
    let calls = 100_000;
    let project = Project::new(json!({ "llm": { "provider": "offline" }, "language": "en",
        "owners": ["api:user:ann"] }));
    seed(&project, calls);
    let begun = std::time::Instant::now();
    let printed = project.run(&["usage", "--by", "model,person", "--json"]);
    eprintln!("usage of {calls} calls on the command line: {:?}", begun.elapsed());
    let report: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(report["reports"][1]["total"]["calls"], calls);
    assert_eq!(report["reports"][0]["rows"].as_array().unwrap().len(), 3);
    for start in ["from the ledger", "from the saved sums"] {
        let begun = std::time::Instant::now();
        let daemon = project.start().await;
        eprintln!("ready {start}: {:?}", begun.elapsed());
        let begun = std::time::Instant::now();
        let told = daemon.execute(json!({ "instructions": "/usage", "chatId": "a", "userId": "ann" })).await;
        eprintln!("/usage {start}: {:?}", begun.elapsed());
        assert!(told["output"].as_str().unwrap().contains("100000 calls"), "{told}");
        assert!(daemon.stop().await.success());
    }
}
