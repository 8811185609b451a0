//! The poison corpus through a whole daemon, with a model that does what the attacker wants.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shipagent::domain::{Addressed, IngressKind, Quoted, Said};

use super::scene::{core, is_distil, ledger, notes, project, questions, until};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};

const ANN: &str = "web:user:ann";
const POISON: &str = include_str!("../../fixtures/memory_poison.jsonl");

/// Cases whose danger is in the author or in where a message comes from, which are fixed here; the unit test has them.
const OF_OTHERS: [&str; 5] = ["guest", "name", "unscoped", "secret", "task"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_poison_corpus_becomes_memory_and_nobody_is_asked() {
    poisoned(json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_poison_corpus_becomes_core_memory_where_it_is_written_unasked() {
    poisoned(json!({ "owners": [ANN], "memory": { "auto": "write" } })).await;
}

async fn poisoned(config: Value) {
    let cases: Vec<Value> = POISON.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cases: Vec<Value> =
        cases.into_iter().filter(|case| !OF_OTHERS.contains(&case["kind"].as_str().unwrap())).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    // What the model would have remembered next.
    let wanted: Arc<Mutex<Vec<String>>> = Arc::default();
    let outputs: Arc<Mutex<VecDeque<String>>> = Arc::default();
    let (wants, reads) = (wanted.clone(), outputs.clone());
    let model = FakeModel::start(Script::compute(move |seen| {
        if is_distil(seen) {
            let count = seen.body["messages"][1]["content"].as_str().unwrap().matches("\n[").count();
            let ids: Vec<usize> = (1..=count.max(1)).collect();
            // Each poison is blamed on each message and on all together.
            let texts = std::mem::take(&mut *wants.lock().unwrap());
            let items = texts.iter().flat_map(|text| {
                let one = ids.iter().map(|id| json!({ "ids": [id], "text": text }));
                one.chain([json!({ "ids": ids, "text": text })]).collect::<Vec<_>>()
            });
            return Reply::text(&json!({ "memories": items.collect::<Vec<_>>() }).to_string());
        }
        let newest =
            seen.body["messages"].as_array().unwrap().iter().rfind(|m| m["name"] != "facts").unwrap().clone();
        match reads.lock().unwrap().pop_front().filter(|_| newest["role"] == "user") {
            Some(file) => Reply::calls([("read_file", json!({ "path": file }))]),
            None => Reply::text("I have read it."),
        }
    }))
    .await;
    let project = project(&model.url(), 1, config);
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    let distils = || model.requests().iter().filter(|seen| is_distil(seen)).count();
    for (number, case) in cases.iter().enumerate() {
        let chat = format!("c{number}");
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
        let before = distils();
        let message =
            daemon.deliver(&chat, format!("p{number}").parse().unwrap(), IngressKind::Said(said)).await;
        if case["context"] != true {
            daemon.outcome(&chat, message).await;
        }
        // An ordinary turn behind it, so that there is always something to distil.
        daemon.say(&chat, "thanks, that is all").await;
        until("the distil", || distils() > before).await;
    }
    daemon.stop().await;
    let poison: Vec<&str> = cases.iter().map(|case| case["model"].as_str().unwrap()).collect();
    let (kept, core) = (notes(&project, ANN), core(&project, ANN));
    let learned: Vec<&&str> =
        poison.iter().filter(|text| kept.contains(**text) || core.contains(**text)).collect();
    assert!(learned.is_empty(), "{learned:?}");
    assert!(ledger(&project).iter().all(|line| line["op"] == "distil"), "no line but marks");
    for number in 0..cases.len() {
        assert!(questions(&project, &format!("web:chat:c{number}")).is_empty(), "nobody is asked");
    }
}
