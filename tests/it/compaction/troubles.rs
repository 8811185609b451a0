//! A model that gives no usable summary, and thread files that were cut: the conversation goes on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use shipagent::domain::{CorrelationId, Effects, ThreadId, Timestamp};
use shipagent::store::Reader;
use shipagent::turn::{CompactionRules, Conversation, Event, Rules};
use shipagent::uimessage::{ModelMessage, to_model};

use super::scene::{answer, checkpoints, is_summary, question, small_window, summary};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::fakes::prompt::check_prompts;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rubbish_nothing_an_error_or_too_much_still_leaves_a_working_thread() {
    type Case = (&'static str, fn() -> Reply);
    let cases: [Case; 5] = [
        ("rubbish", || Reply::text("I am sorry, I cannot do that.")),
        ("nothing", || Reply::text("")),
        ("an error", || Reply::status(500, "oops")),
        ("too much", || {
            Reply::text(
                &json!({ "observations": [{ "ids": [1], "text": "word ".repeat(20_000) }] }).to_string(),
            )
        }),
        ("unknown ids", || Reply::text(r#"{"observations": [{"ids": ["m1"], "text": "x"}], "open": []}"#)),
    ];
    for (what, reply) in cases {
        let model =
            FakeModel::start(Script::compute(move |seen| if is_summary(seen) { reply() } else { answer() }))
                .await;
        let project = small_window(
            &model.url(),
            json!({ "llm": { "timeoutSecs": 2 }, "memory": { "compactIdlePercent": 100 } }),
        );
        let daemon = InProcess::start(&project, &HandClock::evening());
        for turn in 0..50 {
            let told = daemon.say("c", &question(turn)).await;
            assert!(told.starts_with("An answer"), "{what}, turn {turn}: {told}");
        }
        daemon.stop().await;
        let made = checkpoints(&project, "web:chat:c");
        assert!(!made.is_empty() && made.iter().all(|data| data["by"] == "rules"), "{what}: {made:?}");
        assert!(made[0]["observations"][0]["text"].as_str().unwrap().starts_with("Question 0"), "{what}");
        check_prompts(&model.requests());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_corrected_once_is_used() {
    let mut tries = 0;
    let model = FakeModel::start(Script::compute(move |seen| {
        if !is_summary(seen) {
            return answer();
        }
        tries += 1;
        if tries == 1 { Reply::text("Here is the summary!") } else { summary(seen) }
    }))
    .await;
    let project = small_window(&model.url(), json!({}));
    let daemon = InProcess::start(&project, &HandClock::evening());
    for turn in 0..8 {
        daemon.say("c", &question(turn)).await;
    }
    daemon.say("c", "/compact").await;
    daemon.stop().await;
    assert_eq!(checkpoints(&project, "web:chat:c")[0]["by"], "model");
    let asked: Vec<_> = model.requests().into_iter().filter(is_summary).collect();
    assert!(asked[1].body["messages"].to_string().contains("it is no JSON object"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_file_with_checkpoints_cut_at_every_byte_makes_a_valid_prompt() {
    let model =
        FakeModel::start(Script::compute(
            |seen| if is_summary(seen) { summary(seen) } else { Reply::text("Yes.") },
        ))
        .await;
    let project = small_window(&model.url(), json!({ "memory": { "keepRuns": 1 } }));
    let daemon = InProcess::start(&project, &HandClock::evening());
    for round in 0..2 {
        for turn in 0..4 {
            daemon.say("c", &question(round * 10 + turn)).await;
        }
        daemon.say("c", "/compact").await;
    }
    daemon.stop().await;
    assert_eq!(checkpoints(&project, "web:chat:c").len(), 2);
    let thread: ThreadId = "web:chat:c".parse().unwrap();
    let path = project.thread_file("web:chat:c");
    let whole = std::fs::read(&path).unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("threads")).unwrap();
    let copy = dir.path().join("threads").join(path.file_name().unwrap());
    std::fs::copy(&path, &copy).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&copy).unwrap();
    let mut chains = Vec::new();
    for length in (0..=whole.len()).rev() {
        file.set_len(u64::try_from(length).unwrap()).unwrap();
        let record = Reader::read_only(dir.path()).load(&thread).unwrap();
        let behind = record.checkpoints.last().map(|last| last.checkpoint().unwrap().through.clone());
        assert!(record.tail.iter().all(|message| Some(&message.id) != behind.as_ref()), "cut at {length}");
        chains.push(record.checkpoints.len());
        let mut conversation = Conversation::new(
            thread.clone(),
            Arc::new(rules()),
            Arc::new(|_| Some(Effects::ReadOnly)),
            Arc::new(|_, _| Ok(())),
            record,
        );
        let mut fresh = || "run_fresh".parse::<CorrelationId>().unwrap();
        conversation.step(Event::Resumed(Vec::new()), Timestamp::from_millis(1), &mut fresh);
        let shown = to_model(conversation.context());
        assert!(!shown.iter().any(|message| matches!(message, ModelMessage::Tool { .. })), "cut at {length}");
    }
    chains.dedup();
    assert_eq!(chains, [2, 1, 0], "a torn checkpoint falls back to the one before it");
}

fn rules() -> Rules {
    Rules {
        scopes: Default::default(),
        merge_ms: 0,
        while_running: shipagent::domain::WhileRunning::Merge,
        mailbox: 8,
        max_steps: 8,
        language: None,
        compaction: CompactionRules::default(),
        footer: shipagent::domain::Footer::Off,
        currency: shipagent::domain::Currency::default(),
        capabilities: shipagent::domain::Capabilities::pull(),
        rights: shipagent::policy::Rights::default(),
        expire_ms: 60_000,
        while_waiting: shipagent::domain::WhileWaiting::Queue,
        read_replies: shipagent::domain::ReadReplies::Rules,
        speech: shipagent::domain::SpeechMode::Off,
    }
}

/// However long the thread, taking it up costs the same: only the checkpoints and what stands behind them are read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn taking_a_thread_up_reads_the_checkpoints_and_what_stands_behind_them() {
    let model =
        FakeModel::start(Script::compute(|seen| if is_summary(seen) { summary(seen) } else { answer() }))
            .await;
    let project = small_window(&model.url(), json!({}));
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    for turn in 0..60 {
        clock.advance(Duration::from_secs(1));
        daemon.say("c", &question(turn)).await;
    }
    daemon.stop().await;
    let thread: ThreadId = "web:chat:c".parse().unwrap();
    let record = Reader::read_only(&project.path().join(".ship")).load(&thread).unwrap();
    let made = checkpoints(&project, "web:chat:c");
    assert_eq!(
        record.checkpoints.last().unwrap().checkpoint().unwrap().number,
        u32::try_from(made.len()).unwrap()
    );
    assert!(record.has_more && record.tail.len() < 60, "{} of 120 messages", record.tail.len());
}
