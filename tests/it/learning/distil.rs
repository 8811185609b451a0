//! When a conversation is distilled, and from what.

use std::time::Duration;

use serde_json::json;

use super::scene::{both, core, is_distil, ledger, memories, notes, project, questions, shown, until};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::fakes::prompt::check_prompts;

const ANN: &str = "web:user:ann";
const THREAD: &str = "web:chat:c";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_few_turns_what_was_said_since_the_last_time_becomes_notes() {
    let model = FakeModel::start(Script::compute(both)).await;
    let project = project(&model.url(), 3, json!({}));
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    let distils = || model.requests().iter().filter(|seen| is_distil(seen)).count();
    for (turn, text) in
        ["my dog is called Bo", "hello", "my town is Lisbon", "my sister is Mia", "hm", "well"]
            .into_iter()
            .enumerate()
    {
        clock.advance(Duration::from_secs(60));
        daemon.say("c", text).await;
        let expected = (turn + 1) / 3;
        until("the distil", || {
            distils() == expected
                && ledger(&project).iter().filter(|l| l["op"] == "distil").count() == expected
        })
        .await;
    }
    daemon.stop().await;
    let kept = notes(&project, ANN);
    for fact in ["dog is called Bo", "town is Lisbon", "sister is Mia"] {
        assert_eq!(super::scene::times(&kept, fact), 1, "{kept}");
    }
    let asked: Vec<_> = model.requests().into_iter().filter(is_distil).collect();
    assert_eq!(asked.len(), 2);
    let second: String = shown(&asked[1]).into_iter().map(|(_, line)| line).collect();
    assert!(second.contains("Mia") && !second.contains("Lisbon"), "only what is new: {second}");
    assert_eq!(asked[0].body["max_tokens"], 1500);
    let lines = ledger(&project);
    let note = lines.iter().find(|line| line["op"] == "add").unwrap();
    assert_eq!(
        (&note["origin"], &note["reviewed"], &note["tier"]),
        (&"auto".into(), &false.into(), &"notes".into())
    );
    assert!(note["from"][0].is_string() && note["thread"] == THREAD, "{note}");
    assert_eq!(core(&project, ANN), "", "nothing reaches core memory unasked");
    check_prompts(&model.requests());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn distilling_ends_when_a_person_speaks_and_is_done_later() {
    let gate = Latch::new();
    let held = gate.clone();
    let model = FakeModel::start(Script::compute(move |seen| {
        if is_distil(seen) { memories(seen).behind(&held) } else { Reply::text("Noted.") }
    }))
    .await;
    let project = project(&model.url(), 1, json!({}));
    let daemon = InProcess::start(&project, &HandClock::evening());
    let distils = || model.requests().iter().filter(|seen| is_distil(seen)).count();
    daemon.say("c", "my dog is called Bo").await;
    until("the first distil", || distils() == 1).await;
    assert_eq!(daemon.say("c", "my town is Lisbon").await, "Noted.", "it waits for nothing");
    gate.open();
    for text in ["one", "two", "three", "four", "five", "six"] {
        daemon.say("c", text).await;
    }
    until("the notes", || notes(&project, ANN).contains("Lisbon")).await;
    daemon.stop().await;
    let kept = notes(&project, ANN);
    assert_eq!(super::scene::times(&kept, "dog is called Bo"), 1, "{kept}");
    assert!(questions(&project, THREAD).len() <= 2, "at most one question per distil");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rule_in_agent_md_counts_where_ship_json_is_silent_and_its_section_is_shown() {
    let model = FakeModel::start(Script::compute(both)).await;
    let project =
        crate::fakes::daemon::Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 } }));
    project.write("Agent.md", "# Bo\n\n每 2 轮提炼一次\n\n## Memory\n\nKeep the names of pets.\n");
    let daemon = InProcess::start(&project, &HandClock::evening());
    daemon.say("c", "my dog is called Bo").await;
    daemon.say("c", "hello").await;
    until("the distil", || model.requests().iter().any(is_distil)).await;
    daemon.stop().await;
    let asked = model.requests().into_iter().find(is_distil).unwrap();
    let system = asked.body["messages"][0]["content"].as_str().unwrap();
    assert!(system.ends_with("The operator says about memory:\nKeep the names of pets."), "{system}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_learned_where_it_is_switched_off() {
    for memory in [json!({ "auto": "off" }), json!({ "distilEvery": 0 })] {
        let model = FakeModel::start(Script::compute(both)).await;
        let project = project(&model.url(), 1, json!({ "memory": memory }));
        let daemon = InProcess::start(&project, &HandClock::evening());
        for _ in 0..3 {
            daemon.say("c", "my dog is called Bo").await;
        }
        daemon.stop().await;
        assert!(!model.requests().iter().any(is_distil), "{memory}");
        assert!(ledger(&project).is_empty(), "{memory}");
    }
}
