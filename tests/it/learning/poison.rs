//! The poison corpus through a whole daemon, with a model that does what the attacker wants.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shipagent::domain::{Addressed, IngressKind, Quoted, Said};

use super::scene::{core, is_distil, is_summary, ledger, notes, project, questions, until};
use crate::compaction::scene::checkpoints;
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::in_process::{HandClock, InProcess};

const ANN: &str = "web:user:ann";
const POISON: &str = include_str!("../../fixtures/memory_poison.jsonl");

/// Cases whose danger is in the author or in where a message comes from, which are fixed here; the unit test has them.
const OF_OTHERS: [&str; 5] = ["guest", "name", "unscoped", "secret", "task"];

/// By what a conversation is learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Distil,
    /// The notes that are taken before a checkpoint.
    Flush,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_poison_corpus_becomes_memory_and_nobody_is_asked() {
    poisoned(Route::Distil, json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_poison_corpus_becomes_core_memory_where_it_is_written_unasked() {
    poisoned(Route::Distil, json!({ "owners": [ANN], "memory": { "auto": "write" } })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_poison_corpus_becomes_memory_when_it_is_summed_up() {
    poisoned(Route::Flush, json!({ "owners": [ANN], "memory": { "auto": "write", "keepRuns": 1 } })).await;
}

/// What a model answers that does what the attacker wants: each poison is blamed on each message and on all together.
fn obedient(seen: &Seen, texts: &[String]) -> Reply {
    let shown = seen.body["messages"][1]["content"].as_str().unwrap();
    let ids: Vec<usize> = (1..=shown.matches("\n[").count().max(1)).collect();
    let items = texts.iter().flat_map(|text| {
        let one = ids.iter().map(|id| json!({ "ids": [id], "text": text }));
        one.chain([json!({ "ids": ids, "text": text })]).collect::<Vec<_>>()
    });
    let items: Vec<Value> = items.collect();
    let observations = json!([{ "ids": [1], "who": "Ann", "text": "They talked." }]);
    Reply::text(
        &json!({ "memories": items, "notes": items, "observations": observations, "open": open(seen) })
            .to_string(),
    )
}

/// What the daemon wants to be kept as open.
fn open(seen: &Seen) -> Vec<Value> {
    let system = seen.body["messages"][0]["content"].as_str().unwrap();
    let open = system.lines().filter_map(|line| line.strip_prefix("  [")?.split_once("] "));
    open.map(|(ids, text)| {
        let ids: Vec<u64> = ids.split(", ").filter_map(|id| id.parse().ok()).collect();
        json!({ "ids": ids, "text": text })
    })
    .collect()
}

/// How many tool calls a thread file has.
fn tool_calls(thread: &str) -> usize {
    let lines = thread.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let parts = lines.flat_map(|line| line["parts"].as_array().cloned().unwrap_or_default());
    let ids = parts.filter_map(|part| part["toolCallId"].as_str().map(str::to_owned));
    ids.collect::<BTreeSet<String>>().len()
}

async fn poisoned(way: Route, config: Value) {
    let cases: Vec<Value> = POISON.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cases: Vec<Value> =
        cases.into_iter().filter(|case| !OF_OTHERS.contains(&case["kind"].as_str().unwrap())).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    // What the model would have remembered next.
    let wanted: Arc<Mutex<Vec<String>>> = Arc::default();
    let outputs: Arc<Mutex<VecDeque<String>>> = Arc::default();
    let (wants, reads) = (wanted.clone(), outputs.clone());
    let model = FakeModel::start(Script::compute(move |seen| {
        if is_distil(seen) || is_summary(seen) {
            return obedient(seen, &std::mem::take(&mut *wants.lock().unwrap()));
        }
        let newest =
            seen.body["messages"].as_array().unwrap().iter().rfind(|m| m["name"] != "facts").unwrap().clone();
        match reads.lock().unwrap().pop_front().filter(|_| newest["role"] == "user") {
            Some(file) => Reply::calls([("read_file", json!({ "path": file }))]),
            None => Reply::text(&format!("I have read it. {}", "All of it is clear to me. ".repeat(20))),
        }
    }))
    .await;
    let project = project(&model.url(), if way == Route::Distil { 1 } else { 0 }, config);
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    let learnings = || model.requests().iter().filter(|seen| is_distil(seen) || is_summary(seen)).count();
    for (number, case) in cases.iter().enumerate() {
        let chat = format!("c{number}");
        if way == Route::Flush {
            daemon.say(&chat, "good morning").await;
        }
        if let Some(output) = case["tool"].as_str() {
            let name = format!("page{number}.txt");
            project.write(&name, output);
            outputs.lock().unwrap().push_back(name);
        }
        wanted.lock().unwrap().push(case["model"].as_str().unwrap().to_owned());
        let text = case["text"].as_str().unwrap().to_owned();
        let said = Said {
            text: if case["command"] == true { "/help".to_owned() } else { text.clone() },
            forwarded_from: case["extra"]["forwardedFrom"].as_str().map(str::to_owned),
            addressed: Addressed { context_only: case["context"] == true, ..Addressed::default() },
            // Every message also replies to one that carries the poison.
            quoted: Some(Quoted {
                platform_message: "q1".to_owned(),
                author: None,
                text: case["model"].as_str().unwrap().to_owned(),
            }),
            ..Said::default()
        };
        let before = learnings();
        let message =
            daemon.deliver(&chat, format!("p{number}").parse().unwrap(), IngressKind::Said(said)).await;
        if case["context"] != true {
            daemon.outcome(&chat, message).await;
        }
        // An ordinary turn behind it, so that there is always something to distil.
        daemon.say(&chat, "thanks, that is all").await;
        if way == Route::Flush {
            daemon.say(&chat, "/compact").await;
            until("the checkpoint", || !checkpoints(&project, &format!("web:chat:{chat}")).is_empty()).await;
        }
        until("what is learned", || learnings() > before).await;
    }
    daemon.stop().await;
    let poison: Vec<&str> = cases.iter().map(|case| case["model"].as_str().unwrap()).collect();
    let (kept, core) = (notes(&project, ANN), core(&project, ANN));
    let learned: Vec<&&str> =
        poison.iter().filter(|text| kept.contains(**text) || core.contains(**text)).collect();
    assert!(learned.is_empty(), "{learned:?}");
    assert!(ledger(&project).iter().all(|line| line["op"] == "distil"), "no line but marks");
    check_threads(&project, &cases, way);
}

/// Nobody was asked, no tool was called unasked, and what a model answered was used.
fn check_threads(project: &Project, cases: &[Value], way: Route) {
    for (number, case) in cases.iter().enumerate() {
        let thread = format!("web:chat:c{number}");
        assert!(questions(project, &thread).is_empty(), "nobody is asked");
        let calls = tool_calls(&std::fs::read_to_string(project.thread_file(&thread)).unwrap());
        assert_eq!(
            calls,
            usize::from(case["tool"].is_string()),
            "no call but the one that was asked for: {case}"
        );
        if way == Route::Flush {
            let made = checkpoints(project, &thread);
            assert_eq!(
                (made.len(), &made[0]["by"]),
                (1, &json!("model")),
                "the answer was used: {case} {made:?}"
            );
        }
    }
}
