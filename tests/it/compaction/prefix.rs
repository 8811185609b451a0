//! Of two successive prompts the first is a prefix of the second, byte for byte, up to the newest message.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::learning::scene::{is_distil, until};

/// What a provider would read: tools and messages, in the order in which they are cached. The tools come before the
/// messages, at any position in the body.
fn prompt_bytes(seen: &Seen) -> Vec<u8> {
    let messages = raw_messages(seen);
    let tools = seen.body["tools"].to_string().into_bytes();
    [tools, messages].concat()
}

/// The list of messages as in the request, without its closing bracket.
fn raw_messages(seen: &Seen) -> Vec<u8> {
    let whole = seen.raw.as_ref();
    let start = whole.windows(12).position(|part| part == b"\"messages\":[").expect("messages") + 12;
    let length = seen.body["messages"].to_string().len() - 2;
    whole[start..start + length].to_vec()
}

fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// One turn in four reads a file before it answers. The server caches whole prompts, as providers do.
fn script() -> Script {
    let mut cache: Vec<Vec<u8>> = Vec::new();
    let mut turn = 0;
    Script::compute(move |seen| {
        if is_distil(seen) {
            return Reply::text("{}");
        }
        let prompt = prompt_bytes(seen);
        let cached = cache.iter().map(|known| common(known, &prompt)).max().unwrap_or(0);
        let usage = json!({
            "prompt_tokens": prompt.len(), "completion_tokens": 7,
            "prompt_tokens_details": { "cached_tokens": cached },
        });
        cache.push(prompt);
        let last = seen.body["messages"].as_array().unwrap().last().unwrap().clone();
        if last["role"] == "user" {
            turn += 1;
            if turn == 13 {
                let note = json!({ "scope": "project", "action": "add", "text": "- ships on Fridays" });
                return Reply::calls([("memory_upsert", note)]).costing(usage);
            }
            if turn % 4 == 0 {
                return Reply::calls([("read_file", json!({ "path": "notes.txt" }))]).costing(usage);
            }
        }
        Reply::text(&format!("Answer number {turn}, with a few more words in it.")).costing(usage)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_turns_share_their_prefix_across_midnight_and_a_memory_write() {
    let model = FakeModel::start(script()).await;
    let config = json!({
        "permissions": { "memory_upsert": { "mode": "allow" } },
        "queue": { "mergeMs": 0 },
        "memory": { "distilEvery": 10 },
    });
    let project = Project::with_model(&model.url(), config);
    project.write("notes.txt", &"a line of the notes\n".repeat(40));
    project.write(".ship/memory/project.md", "- the staging host is `blue-7`\n");
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    for turn in 0..40 {
        // 40 turns of 15 minutes: the conversation continues over midnight.
        clock.advance(Duration::from_secs(15 * 60));
        let answer = daemon.say("p", &format!("Question number {turn}: what about the staging host?")).await;
        assert!(answer.starts_with("Answer number"), "{answer}");
    }
    let written = std::fs::read_to_string(project.path().join(".ship/memory/project.md")).unwrap();
    assert!(written.contains("ships on Fridays"), "{written}");
    // A person who speaks ends a distil; now the thread is idle.
    until("a distil", || model.requests().iter().any(is_distil)).await;
    daemon.stop().await;

    // The conversation is distilled in between, which is no part of it.
    let (distils, requests): (Vec<Seen>, Vec<Seen>) = model.requests().into_iter().partition(is_distil);
    assert!(!distils.is_empty(), "distilling is on");
    let days = requests.last().unwrap().body["messages"].to_string().matches("[Today is 2026-11-19").count();
    assert_eq!(days, 1, "the new day is told once");
    println!("| call | messages | prompt bytes | shared with the call before | cached share |");
    println!("|---|---|---|---|---|");
    let (mut total, mut cached) = (0, 0);
    for (number, pair) in requests.windows(2).enumerate() {
        let (before, after) = (raw_messages(&pair[0]), raw_messages(&pair[1]));
        assert!(after.starts_with(&before), "call {} is not a prefix of the next", number + 1);
        assert_eq!(pair[0].body["tools"], pair[1].body["tools"], "tools change at call {}", number + 2);
        let (whole, shared) =
            (prompt_bytes(&pair[1]), common(&prompt_bytes(&pair[0]), &prompt_bytes(&pair[1])));
        total += whole.len();
        cached += shared;
        if number % 6 == 0 || number + 2 == requests.len() {
            let messages = pair[1].body["messages"].as_array().unwrap().len();
            let share = shared * 100 / whole.len();
            println!("| {} | {messages} | {} | {shared} | {share} % |", number + 2, whole.len());
        }
    }
    let share = cached * 100 / total;
    println!("cached share of all input after the first call: {share} %");
    assert!(share >= 80, "{share} %");
    usage_is_kept(&project);
}

/// Each answer has the number of input tokens from the cache.
fn usage_is_kept(project: &Project) {
    let thread = std::fs::read_to_string(project.thread_file("web:chat:p")).unwrap();
    let last: Value = serde_json::from_str(thread.lines().last().unwrap()).unwrap();
    let usage = &last["metadata"]["usage"];
    let (input, cached) = (usage["in"].as_u64().unwrap(), usage["cached"].as_u64().unwrap());
    assert!(cached * 10 > input * 8 && cached < input, "{usage}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_read_anew_for_a_new_conversation_and_after_a_long_silence() {
    let model = FakeModel::start(Reply::text("Yes.")).await;
    let project = Project::with_model(&model.url(), json!({ "memory": { "refreshMinutes": 30 } }));
    let write = |text: &str| project.write(".ship/memory/project.md", text);
    let told =
        || model.requests().last().unwrap().body["messages"][0]["content"].as_str().unwrap().to_owned();
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    write("- first\n");
    daemon.say("m", "one").await;
    write("- second\n");
    clock.advance(Duration::from_secs(29 * 60));
    daemon.say("m", "two").await;
    assert!(told().contains("- first") && !told().contains("- second"), "{}", told());
    daemon.say("m", "/new").await;
    daemon.say("m", "three").await;
    assert!(told().contains("- second"), "{}", told());
    write("- third\n");
    clock.advance(Duration::from_secs(31 * 60));
    daemon.say("m", "four").await;
    assert!(told().contains("- third"), "{}", told());
    daemon.stop().await;
}
