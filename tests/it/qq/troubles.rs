//! Failures on QQ, and what survives them.

use super::*;

/// The response codes of messages to a chat.
fn codes(rules: &Rules, chat: &str) -> Vec<u64> {
    let to = rules.tries.iter().filter(|(path, _, _)| path.ends_with(&format!("/{chat}")));
    to.map(|(_, _, code)| *code).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_told_twice_is_answered_once() {
    let world = Environment::echo().await;
    let _daemon = world.project.start().await;
    let id = world.qq.says(ANN, "once");
    world.qq.text_with("U1", "echo once").await;
    world.qq.says_again(ANN, &id, "once");
    world.qq.says(ANN, "after");
    world.qq.text_with("U1", "echo after").await;
    assert_eq!(world.qq.look(|rules| rules.texts("U1")), ["echo once", "echo after"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_while_the_daemon_was_down_is_told_when_the_session_is_resumed() {
    let world = Environment::echo().await;
    let daemon = world.project.start().await;
    world.qq.says(ANN, "one");
    world.qq.text_with("U1", "echo one").await;
    daemon.kill();
    world.qq.says(ANN, "two");
    world.qq.says(GROUP, "three");
    let _daemon = world.project.start().await;
    world.qq.text_with("U1", "echo two").await;
    world.qq.text_with("G1", "echo three").await;
    world.qq.look(|rules| {
        assert_eq!((rules.identified.len(), rules.resumed.len()), (1, 1), "one session for both daemons");
        assert_eq!(rules.texts("U1"), ["echo one", "echo two"]);
    });
}

/// Waits for this many resumes and sessions, and exchanges messages.
async fn talks(qq: &QqFake, words: &str, resumed: usize, sessions: u64) {
    let so = |rules: &Rules| {
        (rules.resumed.len() >= resumed && rules.sessions >= sessions).then_some(rules.sessions)
    };
    assert_eq!(qq.wait_for("the next connection", so).await, sessions, "{words}");
    qq.says(ANN, words);
    qq.text_with("U1", &format!("echo {words}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_closed_is_resumed_and_an_expired_session_begun_anew() {
    let world = Environment::echo().await;
    let _daemon = world.project.start().await;
    talks(&world.qq, "fresh", 0, 1).await;
    world.qq.rule(|rules| rules.close(4009));
    talks(&world.qq, "expired", 1, 1).await;
    world.qq.rule(|rules| rules.frame(json!({ "op": 7 })));
    talks(&world.qq, "asked to reconnect", 2, 1).await;
    world.qq.rule(|rules| {
        rules.refuse_resume.push_back(4009);
        rules.close(4009);
    });
    talks(&world.qq, "expired for good", 2, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_does_not_answer_is_given_up_and_a_refused_session_begun_anew() {
    let world = Environment::echo().await;
    world.qq.rule(|rules| rules.beat_ms = 300);
    let _daemon = world.project.start().await;
    talks(&world.qq, "fresh", 0, 1).await;
    world.qq.rule(|rules| rules.silent = true);
    world.qq.wait_for("a new connection", |rules| (!rules.resumed.is_empty()).then_some(())).await;
    world.qq.rule(|rules| rules.silent = false);
    talks(&world.qq, "heard again", 1, 1).await;
    world.qq.rule(|rules| rules.frame(json!({ "op": 9, "d": false })));
    talks(&world.qq, "invalid session", 1, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_without_all_intents_works_with_those_it_has() {
    let world = Environment::echo().await;
    world.qq.rule(|rules| rules.intents_granted = 1 << 25 | 1 << 26);
    let _daemon = world.project.start().await;
    world.qq.says(ANN, "hello");
    world.qq.text_with("U1", "echo hello").await;
    assert_eq!(world.qq.look(|rules| rules.identified.len()), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_expires_is_replaced_and_no_secret_is_in_the_logs() {
    let world = Environment::echo().await;
    let daemon = world.project.start().await;
    world.qq.says(ANN, "one");
    world.qq.text_with("U1", "echo one").await;
    world.qq.rule(|rules| rules.good_token = None);
    world.qq.says(ANN, "two");
    world.qq.text_with("U1", "echo two").await;
    assert_eq!(world.qq.look(|rules| rules.tokens.len()), 2);
    assert!(daemon.stop().await.success());
    let logged = log(&world.project);
    assert!(logged.contains("access token refused"), "{logged}");
    assert!(!logged.contains(SECRET) && !logged.contains("tok-canary"), "a secret in the logs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_send_is_repeated_under_its_number_and_shown_once() {
    let world = Environment::echo().await;
    let _daemon = world.project.start().await;
    world.qq.rule(|rules| rules.faults.push_back(Fault::Cut));
    // A group has no typing indicator that would meet the fault first.
    world.qq.says(GROUP, "hello");
    let recognised = |rules: &Rules| codes(rules, "G1").contains(&40_054_005).then(|| rules.texts("G1"));
    assert_eq!(world.qq.wait_for("the second try", recognised).await, ["echo hello"]);
    world.qq.says(GROUP, "next");
    world.qq.text_with("G1", "echo next").await;
    assert_eq!(world.qq.look(|rules| rules.texts("G1")), ["echo hello", "echo next"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_and_a_broken_server_only_delay_an_answer() {
    let world = Environment::echo().await;
    let _daemon = world.project.start().await;
    world.qq.rule(|rules| rules.faults.extend([Fault::Refuse(429, 22_009), Fault::Refuse(504, 0)]));
    world.qq.says(GROUP, "hello");
    world.qq.text_with("G1", "echo hello").await;
    assert_eq!(world.qq.look(|rules| codes(rules, "G1")), [22_009, 0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_are_not_let_through_are_written_out() {
    let world = Environment::new(Reply::text("see https://docs.rs/ring for more"), json!({})).await;
    let _daemon = world.project.start().await;
    world.qq.says(GROUP, "where?");
    world.qq.text_with("G1", "docs[.]rs/ring").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_too_late_waits_for_the_next_message() {
    let world = Environment::echo().await;
    let daemon = world.project.start().await;
    // The platform refuses: its window is over although ours is not.
    world.qq.rule(|rules| rules.window = Duration::ZERO);
    world.qq.says(GROUP, "slow one");
    let refused = |rules: &Rules| codes(rules, "G1").contains(&40_034_005).then_some(());
    world.qq.wait_for("the refusal", refused).await;
    wait_until(|| log(&world.project).contains("delivery waits")).await;
    let view = daemon.get_json("/api/threads").await.to_string();
    assert!(view.contains("\"qq:chat:G1\""), "{view}");
    world.qq.rule(|rules| rules.window = Duration::from_secs(300));
    let second = world.qq.says(GROUP, "second");
    let both = world.qq.texts("G1", 2).await;
    assert_eq!(both, ["echo slow one", "echo second"]);
    let answers: Vec<String> =
        world.qq.look(|rules| rules.sent.iter().map(|sent| sent.answers.clone()).collect());
    assert_eq!(answers, [second.as_str(), second.as_str()]);

    // The message is older than the window, so nothing is attempted.
    let tries = world.qq.look(|rules| rules.tries.len());
    let other = Place::Group("G2", "M1");
    world.qq.says_with(other, "old", json!({ "timestamp": "2020-01-01T00:00:00Z" }));
    wait_until(|| log(&world.project).matches("delivery waits").count() == 2).await;
    world.qq.says(other, "/status");
    let both = world.qq.texts("G2", 2).await;
    assert_eq!(both[0], "echo old");
    assert!(both[1].contains("Replies on their way: 1"), "{}", both[1]);
    assert!(both[1].contains("Held back until somebody wrote here"), "{}", both[1]);
    assert_eq!(world.qq.look(|rules| rules.tries.len()), tries + 2);
    let active = world.qq.look(|rules| rules.tries.iter().any(|(_, _, code)| *code == 40_034_102));
    assert!(!active, "nothing was ever sent without a message to answer");
}

fn log(project: &Project) -> String {
    let entries = std::fs::read_dir(project.path().join(".ship/logs")).unwrap();
    entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default()).collect()
}

pub(super) async fn wait_until(so: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + crate::fakes::daemon::PATIENCE;
    while !so() {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_message_survives_a_restart() {
    let world = Environment::echo().await;
    let daemon = world.project.start().await;
    world.qq.says_with(GROUP, "old", json!({ "timestamp": "2020-01-01T00:00:00Z" }));
    let held = world.project.thread_file("qq:chat:G1");
    wait_until(|| std::fs::read_to_string(&held).is_ok_and(|text| text.contains("echo old"))).await;
    daemon.kill();
    let _daemon = world.project.start().await;
    world.qq.says(GROUP, "new");
    assert_eq!(world.qq.texts("G1", 2).await, ["echo old", "echo new"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_turn_full_of_progress_leaves_room_for_the_answer() {
    // Each model error is shown as an ephemeral notice; there are many.
    let mut calls = 0;
    let script = Script::compute(move |_| {
        calls += 1;
        if calls <= 3 { Reply::status(500, "oops") } else { Reply::text("at last") }
    });
    let world = Environment::new(script, json!({})).await;
    let _daemon = world.project.start().await;
    world.qq.says(ANN, "take your time");
    world.qq.text_with("U1", "at last").await;
    let used =
        world.qq.look(|rules| rules.sent.iter().filter(|sent| sent.chat == "U1").count() + rules.typing);
    assert!(used <= 3, "two in passing at most, and the answer: {used}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_says_what_waits_for_the_next_message() {
    let world = Environment::echo().await;
    let daemon = world.project.start().await;
    let mut events = daemon.get("/api/threads/qq:chat:G1/events").send().await.unwrap();
    world.qq.rule(|rules| rules.window = Duration::ZERO);
    world.qq.says(GROUP, "slow one");
    let told = async {
        let mut heard = String::new();
        while !heard.contains("Replies waiting for the next message in this chat") {
            let chunk = events.chunk().await.unwrap().expect("the console is told");
            heard.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    tokio::time::timeout(crate::fakes::daemon::PATIENCE, told).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_twenty_steps_leaves_room_for_the_answer() {
    let script = Script::compute(|seen: &Seen| {
        let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
        let steps = messages.iter().filter(|message| message["role"] == "tool").count();
        match steps {
            20 => Reply::text("at last"),
            // Every step sends progress.
            step => Reply::calls([("exec_shell", json!({ "command": format!("echo step {step}") }))]),
        }
    });
    let allowed = json!({ "permissions": { "exec_shell": { "mode": "allow" } } });
    let world = Environment::new(script, allowed).await;
    let _daemon = world.project.start().await;
    for place in [ANN, GROUP] {
        let id = world.qq.says(place, "take your time");
        let answer = world.qq.text_with(place.chat(), "at last").await;
        assert_eq!(answer.answers, id);
        let used = world.qq.look(|rules| {
            let tries = rules.tries.iter().filter(|(_, body, _)| body["msg_id"] == id.as_str());
            tries.count()
        });
        assert!(used <= 3, "two in passing at most, and the answer: {used}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_numbers_and_with_one_way_to_its_gateway_is_good_enough() {
    let world = Environment::echo().await;
    world.qq.rule(|rules| rules.minimal = true);
    let _daemon = world.project.start().await;
    for words in ["one", "two"] {
        let id = world.qq.says(ANN, words);
        world.qq.text_with("U1", &format!("echo {words}")).await;
        world.qq.says_again(ANN, &id, words);
    }
    world.qq.says(ANN, "three");
    world.qq.text_with("U1", "echo three").await;
    assert_eq!(world.qq.look(|rules| rules.texts("U1")), ["echo one", "echo two", "echo three"]);
}
