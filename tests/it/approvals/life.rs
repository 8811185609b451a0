//! The states of approvals, over HTTP and by text: answered, refused, expired, withdrawn, and across restarts.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fakes::approval_scene::Scene;
use crate::fakes::daemon::Daemon;
use crate::fakes::dice::{Dice, seed};
use crate::fakes::processes::alive;

fn denied(call: &Value) -> &str {
    call["output"]["denied"].as_str().unwrap_or_else(|| panic!("not denied: {call}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_nobody_answers_expires_also_when_the_daemon_is_down_and_the_turn_goes_on() {
    for (minutes, restart, meanwhile) in [(0.02, false, false), (0.05, true, false), (600.0, true, true)] {
        let mut scene = Scene::new(json!({ "approvals": { "expireMinutes": minutes } })).await;
        let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
        if meanwhile {
            // Time passes while no daemon runs.
            let name = format!(".ship/approvals/{}.json", asked["id"].as_str().unwrap());
            let mut file = asked.clone();
            file["expiresAt"] = json!("2020-01-01T00:00:00Z");
            scene.daemon.kill();
            scene.project.write(&name, &file.to_string());
            scene.daemon = scene.project.start().await;
        } else if restart {
            scene = scene.killed_and_started().await;
        }
        let answer = scene.outcome("a", "m1").await;
        assert_eq!(answer["output"], "1 results", "the turn went on");
        assert!(denied(&answer["toolCalls"][0]).contains("in time"), "the model was told: {answer}");
        assert_eq!(scene.stands(&asked).await["state"], "expired");
        let (status, text) = scene.decide(&asked, "approve").await;
        assert!(status == 409 && text.contains("expired"), "{status} {text}");
        assert_eq!(scene.lines(), [""; 0], "it did not run");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_withdraws_the_question_and_releases_what_waited() {
    let scene = Scene::new(json!({})).await;
    let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
    scene.drop_in("a", "what is the time", "m2").await;
    let reply = scene.say("/cancel", "m3").await;
    assert_eq!(reply["output"], "Withdrawn: 1.", "{reply}");
    let answer = scene.outcome("a", "m1").await;
    assert!(denied(&answer["toolCalls"][0]).contains("withdrew"), "{answer}");
    assert_eq!(scene.outcome("a", "m2").await["output"], "echo what is the time");
    let stands = scene.stands(&asked).await;
    assert_eq!(stands["state"], "cancelled", "{stands}");
    let (status, text) = scene.decide(&asked, "approve").await;
    assert!(status == 409 && text.contains("withdrawn"), "{status} {text}");
    assert_eq!(scene.lines(), [""; 0]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_message_takes_the_place_of_the_question_where_the_operator_wants_it_so() {
    let scene = Scene::new(json!({ "approvals": { "whileWaiting": "supersede" } })).await;
    let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
    let answer = scene.say("something else", "m2").await;
    assert_eq!(answer["output"], "echo something else", "{answer}");
    let answer = scene.outcome("a", "m1").await;
    assert!(denied(&answer["toolCalls"][0]).contains("took its place"), "{answer}");
    assert_eq!(scene.stands(&asked).await["state"], "cancelled");
    assert_eq!(scene.lines(), [""; 0]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_messages_wait_for_the_decision_and_people_are_reminded_once() {
    let scene = Scene::new(json!({})).await;
    let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
    let mut events = scene.daemon.get("/api/threads/api:chat:a/events").send().await.unwrap();
    let mut heard = String::new();
    for (text, id, queued) in [("what is this?", "m2", 1), ("are you there?", "m3", 2), ("hello?", "m4", 3)] {
        scene.drop_in("a", text, id).await;
        while !heard.contains(&format!("\"queued\":{queued}")) {
            heard.push_str(&String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()));
        }
    }
    let reminders = heard.matches("waiting for a decision on A1").count();
    assert_eq!(reminders, 1, "{heard}");
    assert_eq!(scene.model.requests().len(), 1, "nothing was answered while it waited");
    assert_eq!(scene.decide(&asked, "approve").await.0, 200);
    assert_eq!(scene.outcome("a", "m1").await["output"], "1 results");
    for id in ["m2", "m3", "m4"] {
        assert_eq!(scene.outcome("a", id).await["output"], "echo hello?", "one answer to all of them");
    }
    assert_eq!(scene.lines(), ["one"]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_questions_one_is_approved_one_denied_and_the_rest_all_at_once() {
    let scene = Scene::new(json!({})).await;
    let commands = ["one", "two", "three", "four"].map(|line| format!("echo {line} >> out/log.txt"));
    let asked = scene.ask(&commands.each_ref().map(String::as_str)).await;
    let numbers: Vec<&str> = asked.iter().map(|one| one["number"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["A1", "A2", "A3", "A4"], "in the order of the calls");
    for (one, command) in asked.iter().zip(&commands) {
        assert_eq!(one["input"]["command"], **command, "{one}");
    }
    assert_eq!(scene.decide(&asked[2], "approve").await.0, 200);
    let reply = scene.say("拒绝 A2", "m2").await;
    assert!(reply["output"].as_str().unwrap().contains("A2"), "{reply}");
    assert_eq!(scene.lines(), [""; 0], "A1 comes first, and nobody has decided about it");
    scene.say("全部同意", "m3").await;
    let answer = scene.outcome("a", "m1").await;
    assert_eq!(answer["output"], "4 results");
    for (call, command) in answer["toolCalls"].as_array().unwrap().iter().zip(&commands) {
        assert_eq!(call["input"]["command"], **command, "each result stands with its call: {answer}");
        if command.contains("two") {
            assert_eq!(denied(call), "The user denied this call.");
        } else {
            assert_eq!(call["output"]["exitCode"], 0, "{call}");
        }
    }
    assert_eq!(scene.lines(), ["one", "three", "four"], "in their order");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_means_all_that_waits_here_and_nothing_elsewhere() {
    for (words, runs) in [("全部同意", true), ("approve all", true), ("全部拒绝", false), ("deny all", false)]
    {
        let scene = Scene::new(json!({})).await;
        let elsewhere = r#"run ["echo elsewhere >> out/log.txt"]"#;
        assert_eq!(scene.say_as("ada", "b", elsewhere, "b1").await["status"], "awaiting-approval");
        scene.ask(&["echo one >> out/log.txt", "echo two >> out/log.txt"]).await;
        scene.say(words, "m2").await;
        let answer = scene.outcome("a", "m1").await;
        assert_eq!(answer["output"], "2 results");
        let expected: &[&str] = if runs { &["one", "two"] } else { &[] };
        assert_eq!(scene.lines(), expected, "{words}");
        assert_eq!(scene.pending().await.len(), 1, "what waits elsewhere still waits");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_changed_after_it_was_shown_is_asked_about_again() {
    let scene = Scene::new(json!({})).await;
    scene.project.write("job.sh", "echo harmless >> out/log.txt\n");
    let first = scene.ask(&["sh job.sh"]).await.remove(0);
    scene.project.write("job.sh", "echo changed >> out/log.txt\n");
    assert_eq!(scene.decide(&first, "approve").await.0, 200);
    scene.daemon.until("the new question", async |_: &Daemon| scene.pending().await.len() == 1).await;
    let second = scene.pending().await.remove(0);
    assert_eq!((&first["number"], &second["number"]), (&json!("A1"), &json!("A2")), "{second}");
    assert_eq!(second["toolCallId"], first["toolCallId"], "it is about the same call");
    assert_ne!(second["fingerprint"], first["fingerprint"]);
    let stands = scene.stands(&first).await;
    assert!(stands["state"] == "cancelled" && stands["reason"].to_string().contains("changed"), "{stands}");
    assert_eq!(scene.lines(), [""; 0], "what was approved is not there any more, so nothing ran");
    // The old answer does not count for the new approval, also not after a restart.
    let scene = scene.killed_and_started().await;
    scene.daemon.until_state("api:chat:a", "awaiting-approval").await;
    assert_eq!(scene.decide(&first, "approve").await.0, 409);
    assert_eq!(scene.decide(&second, "approve").await.0, 200);
    assert_eq!(scene.outcome("a", "m1").await["toolCalls"][0]["output"]["exitCode"], 0);
    assert_eq!(scene.lines(), ["changed"]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_number_decides_after_a_restart_and_deciding_again_says_who_decided() {
    for (words, runs, told) in
        [("同意 A1", true, "was approved by api:user:ada"), ("deny A1", false, "was denied by api:user:ada")]
    {
        let scene = Scene::new(json!({})).await;
        let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
        let scene = scene.killed_and_started().await;
        scene.daemon.until_state("api:chat:a", "awaiting-approval").await;
        let reply = scene.say(words, "m2").await;
        assert_eq!(scene.say(words, "m2").await["output"], reply["output"], "the same words once more");
        scene.outcome("a", "m1").await;
        assert_eq!(scene.lines().len(), usize::from(runs));
        for decision in ["approve", "deny"] {
            let (status, text) = scene.decide(&asked, decision).await;
            assert!(status == 409 && text.contains(told), "{status} {text}");
        }
        let stands = scene.stands(&asked).await;
        assert_eq!(
            (&stands["decidedBy"], &stands["via"]),
            (&json!("api:user:ada"), &json!("text")),
            "{stands}"
        );
        assert_eq!(scene.lines().len(), usize::from(runs));
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_decisions_at_once_the_first_counts_and_the_other_hears_who_was_first() {
    let scene = Scene::new(json!({})).await;
    let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
    let (yes, no) = tokio::join!(scene.decide(&asked, "approve"), scene.decide(&asked, "deny"));
    let approved = yes.0 == 200;
    let (winner, loser) = if approved { (yes, no) } else { (no, yes) };
    assert_eq!((winner.0, loser.0), (200, 409), "{winner:?} {loser:?}");
    let told = if approved { "was approved by" } else { "was denied by" };
    assert!(loser.1.contains(told), "{loser:?}");
    scene.outcome("a", "m1").await;
    assert_eq!(scene.lines().len(), usize::from(approved));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wrong_person_is_refused_and_that_is_logged() {
    let scene = Scene::new(json!({})).await;
    let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
    for (words, id) in [("approve", "e1"), ("同意 A1", "e2"), ("deny A1", "e3")] {
        let refused = scene.say_as("eve", "a", words, id).await;
        let told = refused["output"].as_str().unwrap();
        assert!(told.contains("You may not decide A1") || told.contains("无权"), "{words}: {refused}");
    }
    assert_eq!(scene.stands(&asked).await["state"], "pending");
    let logged = |_: &Daemon| {
        let logs = std::fs::read_dir(scene.project.path().join(".ship/logs")).unwrap();
        let texts = logs.map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap_or_default());
        let text: String = texts.collect();
        text.lines().filter(|line| line.contains("\"refused\"") && line.contains("\"api:user:eve\"")).count()
    };
    scene
        .daemon
        .until("three refusals in the audit trail", async |daemon: &Daemon| logged(daemon) == 3)
        .await;
    assert_eq!(scene.decide(&asked, "approve").await.0, 200);
    scene.outcome("a", "m1").await;
    assert_eq!(scene.lines(), ["one"]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_decision_and_execution_the_call_runs_once_or_is_asked_about() {
    let mut scene = Scene::new(json!({})).await;
    let seed = seed();
    println!("SHIPAGENT_TEST_SEED={seed}");
    let mut dice = Dice::new(seed);
    for round in 0..12 {
        let (chat, id, line) = (format!("r{round}"), format!("round{round}"), format!("line{round}"));
        let text = format!("run [\"echo {line} >> out/log.txt\"]");
        let answer = scene.say_as("ada", &chat, &text, &id).await;
        assert_eq!(answer["status"], "awaiting-approval", "{answer}");
        assert_eq!(scene.decide(&answer["approvals"][0], "approve").await.0, 200);
        tokio::time::sleep(Duration::from_micros(dice.roll(40_000))).await;
        scene = scene.killed_and_started().await;
        let answer = loop {
            let answer = scene.say_as("ada", &chat, &text, &id).await;
            if answer["status"] != "awaiting-approval" {
                break answer;
            }
            // The call had begun: the person checks its outcome.
            assert_eq!(answer["approvals"][0]["kind"], "unknown-outcome", "{answer}");
            let there = scene.lines().contains(&line);
            let (status, text) =
                scene.decide(&answer["approvals"][0], if there { "done" } else { "rerun" }).await;
            assert_eq!(status, 200, "{text}");
        };
        assert_eq!(answer["output"], "1 results", "{answer}");
        assert_eq!(scene.lines().iter().filter(|known| **known == line).count(), 1, "round {round}");
    }
    assert_eq!(scene.lines().len(), 12);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_was_cut_off_before_it_was_asked_does_not_wait_for_ever() {
    let mut scene = Scene::new(json!({})).await;
    let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
    scene.daemon.kill();
    // The record was written before the daemon was killed, but no call refers to it.
    let mut unasked = asked.clone();
    unasked["id"] = json!("apr_00000000000000000000000000000000");
    unasked["number"] = json!("A2");
    scene.project.write(".ship/approvals/apr_00000000000000000000000000000000.json", &unasked.to_string());
    scene.daemon = scene.project.start().await;
    scene.daemon.until_state("api:chat:a", "awaiting-approval").await;
    assert_eq!(scene.stands(&unasked).await["state"], "cancelled");
    let (status, text) = scene.decide(&unasked, "approve").await;
    assert!(status == 409 && text.contains("withdrawn"), "{status} {text}");
    assert_eq!(scene.pending().await.len(), 1, "the one that was asked still waits");
    assert_eq!(scene.decide(&asked, "approve").await.0, 200);
    scene.outcome("a", "m1").await;
    assert_eq!(scene.lines(), ["one"]);
    scene.end().await;
}

/// Answers about an interrupted call: the surface, the text, and the outcome.
const OUTCOMES: [(&str, &str, &str); 11] = [
    ("http", "rerun", "rerun"),
    ("http", "approve", "rerun"),
    ("http", "skip", "skip"),
    ("http", "deny", "skip"),
    ("http", "done", "done"),
    ("words", "重跑", "rerun"),
    ("words", "跳过", "skip"),
    ("words", "已经做了", "done"),
    ("words", "run it again", "rerun"),
    ("words", "skip it", "skip"),
    ("words", "it was done", "done"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_outcome_is_run_again_skipped_or_noted_as_done_as_people_say() {
    let scene = Scene::new(json!({
        "permissions": { "exec_shell": { "allow": ["sh job.sh"] } },
        "limits": { "maxProcesses": OUTCOMES.len() },
    }))
    .await;
    scene.project.write("job.sh", "echo $1 >> out/log.txt\ntest -e out/go || sleep 600\n");
    for at in 0..OUTCOMES.len() {
        scene.drop_in(&format!("u{at}"), &format!("run [\"sh job.sh line{at}\"]"), &format!("m{at}")).await;
    }
    scene.daemon.until("all to begin", async |_: &Daemon| scene.lines().len() == OUTCOMES.len()).await;
    let scene = scene.killed_and_started().await;
    scene.project.write("out/go", "");
    let mut asked = Vec::new();
    for (at, (way, words, expected)) in OUTCOMES.into_iter().enumerate() {
        let (chat, id) = (format!("u{at}"), format!("m{at}"));
        let answer = scene.say_as("ada", &chat, "again", &id).await;
        let approval = answer["approvals"][0].clone();
        assert_eq!(approval["kind"], "unknown-outcome", "{answer}");
        if way == "http" {
            let (status, text) = scene.decide(&approval, words).await;
            assert_eq!(status, 200, "{words}: {text}");
        } else {
            scene.say_as("ada", &chat, words, &format!("words{at}")).await;
        }
        asked.push((at, words, expected, approval));
    }
    for (at, words, expected, approval) in asked {
        let answer = scene.outcome(&format!("u{at}"), &format!("m{at}")).await;
        assert_eq!(answer["output"], "1 results", "{words}: {answer}");
        let call = &answer["toolCalls"][0];
        let (result, lines, state) = match expected {
            "rerun" => (call["output"]["exitCode"] == 0, 2, "spent"),
            "skip" => (denied(call).contains("is unknown"), 1, "denied"),
            _ => (call["output"]["outcome"] == "done", 1, "spent"),
        };
        assert!(result, "{words}: {call}");
        let line = format!("line{at}");
        assert_eq!(scene.lines().iter().filter(|known| **known == line).count(), lines, "{words}");
        assert_eq!(scene.stands(&approval).await["state"], state, "{words}");
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_only_looked_is_run_again_after_a_kill_without_a_word() {
    let mut scene = Scene::new(json!({})).await;
    // Counting the lines of so many zeros takes minutes, and they need no room on the disk.
    let name = format!("out/zeros-{}", std::process::id());
    let path = scene.project.path().join(&name);
    std::fs::File::create(&path).unwrap().set_len(1 << 42).unwrap();
    scene.drop_in("a", &format!(r#"run ["wc -l {name}"]"#), "m1").await;
    let begun = async |_: &Daemon| alive(&format!("wc\0-l\0{name}")) > 0;
    scene.daemon.until("the command to begin", begun).await;
    scene.daemon.kill();
    std::fs::remove_file(&path).unwrap();
    scene.project.write(&name, "one\ntwo\n");
    scene.daemon = scene.project.start().await;
    let answer = scene.say("again", "m1").await;
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(answer["toolCalls"][0]["output"]["stdout"], format!("2 {name}\n"), "{answer}");
    assert_eq!(scene.pending().await.len(), 0);
    scene.end().await;
}
