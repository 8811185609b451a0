//! Every trigger of a checkpoint takes notes of what it covers before it cuts.

use serde_json::{Value, json};

use super::scene::{core, ledger, notes, times, until};
use crate::compaction::scene::{answer, checkpoints, is_summary, question, small_window, summary};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::fakes::prompt::check_prompts;

const ANN: &str = "web:user:ann";
const THREAD: &str = "web:chat:c";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_four_triggers_take_notes_before_they_cut() {
    for (reason, extra) in [
        ("idle", json!({ "memory": { "compactPercent": 100, "compactIdlePercent": 30 } })),
        ("threshold", json!({ "memory": { "compactIdlePercent": 100 } })),
        ("overflow", json!({ "llm": { "contextTokens": 128_000 } })),
        ("manual", json!({})),
    ] {
        let refusal = json!({ "error": { "code": "context_length_exceeded",
            "message": "This model's maximum context length is 12000 tokens." } });
        let overflows = reason == "overflow";
        let model = FakeModel::start(Script::compute(move |seen| {
            let long = seen.body["messages"].to_string().len() > 20_000;
            match is_summary(seen) {
                true => summary(seen),
                false if long && overflows => Reply::status(400, refusal.to_string()),
                false => answer(),
            }
        }))
        .await;
        let project = small_window(&model.url(), extra);
        let daemon = InProcess::start(&project, &HandClock::evening());
        daemon.say("c", "fact: the staging host is `blue-7`.").await;
        let mut turn = 0;
        // A further message puts an idle checkpoint off.
        let most = if reason == "idle" { 20 } else { 60 };
        while checkpoints(&project, THREAD).is_empty() && turn < most {
            daemon.say("c", &question(turn)).await;
            turn += 1;
            if reason == "manual" && turn == 8 {
                daemon.say("c", "/compact").await;
            }
        }
        until("the checkpoint", || !checkpoints(&project, THREAD).is_empty()).await;
        daemon.stop().await;
        let made = checkpoints(&project, THREAD);
        assert_eq!(made[0]["reason"], reason, "{made:?}");
        let kept = notes(&project, ANN);
        assert_eq!(times(&kept, "staging host is `blue-7`"), 1, "{reason}: {kept}");
        let flushed: Vec<&str> =
            made[0]["flushed"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(
            !flushed.is_empty() && flushed.iter().all(|id| kept.contains(id)),
            "{reason}: {flushed:?} {kept}"
        );
        let lines = ledger(&project);
        let note = lines.iter().find(|line| line["op"] == "add").unwrap();
        let covered = note["from"][0].as_str().unwrap();
        let text = std::fs::read_to_string(project.thread_file(THREAD)).unwrap();
        let at = |part: &str| text.find(part).unwrap();
        assert!(at(covered) < at("data-checkpoint"), "of a message that is covered");
        assert_eq!((&note["origin"], &note["reviewed"]), (&"auto".into(), &false.into()), "{note}");
        check_prompts(&model.requests());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_checkpoint_takes_from_an_owner_is_written_where_ship_json_says_so() {
    for (owners, written) in [(json!([ANN]), true), (json!([]), false)] {
        let model = FakeModel::start(Script::compute(|seen| match is_summary(seen) {
            true => summary(seen),
            false => answer(),
        }))
        .await;
        let project = small_window(&model.url(), json!({ "owners": owners, "memory": { "auto": "write" } }));
        let daemon = InProcess::start(&project, &HandClock::evening());
        daemon.say("c", "fact: the staging host is `blue-7`.").await;
        for turn in 0..8 {
            daemon.say("c", &question(turn)).await;
        }
        daemon.say("c", "/compact").await;
        until("the checkpoint", || !checkpoints(&project, THREAD).is_empty()).await;
        daemon.stop().await;
        assert_eq!(times(&notes(&project, ANN), "staging host is `blue-7`"), 1);
        let core = core(&project, ANN);
        assert_eq!(core.contains("staging host is `blue-7`"), written, "{core}");
        let text = std::fs::read_to_string(project.thread_file(THREAD)).unwrap();
        let line = text.lines().find(|line| line.contains("data-checkpoint")).unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            line["metadata"]["scope"]["write"], ANN,
            "a checkpoint belongs to whom it is about: {line}"
        );
    }
}
