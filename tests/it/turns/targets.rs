//! The result of a run in other threads: who may have it sent there, and once each, also after crashes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use shipagent::domain::{IngressEvent, IngressKind, Said, ThreadId};
use shipagent::ports::{Acceptance, ThreadStore};
use shipagent::uimessage::{Role, UiMessage};

use crate::fakes::daemon::PATIENCE;
use crate::fakes::dice::{Dice, seed};
use crate::fakes::scripted_threads::{Recorder, ScriptedThreads, said};

fn thread(chat: &str) -> ThreadId {
    format!("task:chat:{chat}").parse().unwrap()
}

/// A message whose result also goes to these chats.
fn for_others(chat: &str, id: &str, text: &str, targets: &[&str]) -> IngressEvent {
    let deliver_to = targets.iter().map(|chat| thread(chat)).collect();
    let kind = IngressKind::Said(Said { text: text.to_owned(), deliver_to, ..Said::default() });
    IngressEvent { kind, ..said(chat, id, text) }
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn history(stage: &ScriptedThreads, chat: &str) -> Vec<UiMessage> {
    stage.store.page(&thread(chat), None, 100).await.unwrap()
}

/// The texts that another thread has sent to a chat.
async fn results(stage: &ScriptedThreads, chat: &str) -> Vec<String> {
    let all = history(stage, chat).await;
    let sent = all.iter().filter(|message| message.metadata.extra.contains_key("sentFrom"));
    sent.map(UiMessage::text).collect()
}

#[tokio::test]
async fn a_result_is_delivered_to_other_threads_and_a_reply_there_goes_on_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::new(Recorder::default()));
    for chat in ["b", "c"] {
        stage.say(chat, &format!("{chat}1"), &format!("hello {chat}")).await;
    }
    until("the greetings", async || stage.metrics.deliveries.get() == 2).await;
    let event = for_others("a", "m1", "the report", &["b", "c", "b", "a"]);
    assert!(matches!(stage.threads.deliver(event).await, Acceptance::Accepted { .. }));
    // To its own platform, handed over to two threads, and delivered there.
    until("the results", async || stage.metrics.deliveries.get() == 2 + 1 + 2 + 2).await;
    let mut texts = stage.recorder.texts();
    texts.sort();
    assert_eq!(texts, ["hello b", "hello c", "the report", "the report", "the report"]);
    for chat in ["b", "c"] {
        let all = history(&stage, chat).await;
        let result = all.last().unwrap();
        assert_eq!((result.role, result.text().as_str()), (Role::Assistant, "the report"));
        assert_eq!(result.metadata.extra["sentFrom"], "task:chat:a");
    }
    stage.say("b", "b2", "and now?").await;
    until("the answer", async || history(&stage, "b").await.len() == 5).await;
    assert_eq!(results(&stage, "a").await, Vec::<String>::new(), "its own thread has it as the answer");
    stage.stop().await;
}

#[tokio::test]
async fn a_result_for_a_thread_of_strangers_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::new(Recorder::default()));
    let mut stranger = said("b", "b1", "mine");
    stranger.author.id = "task:user:2".parse().unwrap();
    stage.threads.deliver(stranger).await;
    until("the greeting", async || stage.metrics.deliveries.get() == 1).await;
    stage.threads.deliver(for_others("a", "m1", "the report", &["b", "nowhere"])).await;
    let mut elsewhere = for_others("a", "m2", "again", &[]);
    let IngressKind::Said(words) = &mut elsewhere.kind else { panic!() };
    words.deliver_to = vec!["matrix:chat:1".parse().unwrap()];
    stage.threads.deliver(elsewhere).await;
    until("the refusals", async || stage.metrics.dead_letters.get() == 3).await;
    assert_eq!(stage.recorder.texts(), ["mine", "the report", "again"]);
    for chat in ["b", "nowhere"] {
        assert_eq!(results(&stage, chat).await, Vec::<String>::new());
    }
    stage.stop().await;
    let outbox = std::fs::read_to_string(dir.path().join("state/outbox/task%3Achat%3Aa.jsonl")).unwrap();
    for reason in [
        "task:user:1 may not have results sent to task:chat:b",
        "task:user:1 may not have results sent to task:chat:nowhere",
        "matrix:chat:1 belongs to a platform that is not set up",
    ] {
        assert!(outbox.contains(reason), "{reason}: {outbox}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_are_in_the_other_threads_once_whenever_the_daemon_crashes() {
    let seed = seed();
    println!("SHIPAGENT_TEST_SEED={seed}");
    let mut dice = Dice::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    let mut stage = ScriptedThreads::open(dir.path(), recorder.clone());
    for chat in ["b", "c"] {
        stage.say(chat, &format!("{chat}0"), "hello").await;
    }
    let mut accepted = Vec::new();
    for number in 0..40 {
        let words = format!("report {number}");
        let event = for_others("a", &format!("m{number}"), &words, &["b", "c"]);
        if matches!(stage.threads.deliver(event).await, Acceptance::Accepted { .. }) {
            accepted.push(words);
        }
        tokio::time::sleep(Duration::from_micros(dice.roll(3_000))).await;
        stage.crash().await;
        stage = ScriptedThreads::open(dir.path(), recorder.clone());
    }
    let last = for_others("a", "last", "the end", &["b", "c"]);
    stage.threads.deliver(last).await;
    for chat in ["b", "c"] {
        let ended = async || results(&stage, chat).await.iter().any(|text| text.contains("the end"));
        until("the last result", ended).await;
    }
    stage.stop().await;
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    // Messages that waited for the same turn share an answer: to the last of them.
    let own = history(&stage, "a").await;
    let answers = own.iter().filter(|message| message.role == Role::Assistant).map(UiMessage::text);
    let answers: BTreeSet<String> = answers.collect();
    for chat in ["b", "c"] {
        let said = results(&stage, chat).await;
        let unique: BTreeSet<String> = said.iter().cloned().collect();
        assert_eq!(unique.len(), said.len(), "{chat}: {said:?}");
        assert_eq!(unique, answers, "{chat} has every answer");
    }
    assert_eq!(accepted.len(), 40);
    stage.stop().await;
}
