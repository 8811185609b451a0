//! One message, and its output for scripts.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::project::{
    Served, THREAD, approvals, echo, finish, offline, pair, pipe, said, signal, spawn, with_model,
};
use crate::fakes::approval_scene::obedient;
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_is_answered_with_and_without_a_daemon_in_the_same_thread() {
    let model = FakeModel::start(echo()).await;
    let project = with_model(&model);
    let alone = project.run(&["chat", "-t", "terminal", "one"]);
    assert_eq!((alone.code, alone.stdout.as_str(), alone.stderr.as_str()), (Some(0), "echo one\n", ""));
    let daemon = project.start().await;
    let beside = project.run(&["chat", "-t", "terminal", "two"]);
    assert_eq!((beside.code, beside.stdout.as_str(), beside.stderr.as_str()), (Some(0), "echo two\n", ""));
    assert!(daemon.stop().await.success());
    let again = project.run(&["chat", "-t", "terminal", "three"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "echo three\n"), "{again:?}");
    let expected = ["one", "two", "three"];
    let expected =
        expected.map(|text| [pair("user", text), pair("assistant", &format!("echo {text}"))]).concat();
    assert_eq!(said(&project, THREAD), expected);
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_shown_as_it_grows_and_only_once() {
    let gates = [Latch::new(), Latch::new()];
    let reply =
        |gate: &Latch| Reply::pieces(["The ", "first ", "words ", "and the rest."]).gated_after(4, gate);
    let model = FakeModel::start(gates.each_ref().map(reply)).await;
    let project = with_model(&model);
    for (served, gate) in [Served::Alone, Served::ByDaemon].into_iter().zip(&gates) {
        let daemon = served.start(&project).await;
        let mut child = spawn(&project, &["chat", "go"], Stdio::null());
        let mut out = child.stdout.take().unwrap();
        let mut first = [0; 9];
        out.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"The first", "{served:?}");
        gate.open();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, " words and the rest.\n", "{served:?}");
        assert_eq!(finish(child).code, Some(0));
        drop(daemon);
    }
}

#[test]
fn a_message_can_come_through_a_pipe() {
    let project = offline();
    let output = pipe(&project, &["chat", "-t", "terminal"], "read: Agent.md\n".as_bytes());
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.contains("You are the agent of a scratch project."), "{output:?}");
    // Steps are printed to stderr, without colours unless it is a terminal.
    assert_eq!(output.stderr, "· read_file Agent.md\n");
    assert_eq!(said(&project, THREAD)[0], pair("user", "read: Agent.md"));
}

#[test]
fn nothing_to_say_is_a_mistake_and_makes_no_thread() {
    let project = offline();
    for (args, input) in [(&["chat"][..], &b" \n"[..]), (&["chat"], b"\xff\xfe"), (&["chat", "  "], b"")] {
        let output = pipe(&project, args, input);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{output:?}");
    }
    assert!(!project.path().join(".ship").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_get_the_answer_as_data() {
    let project = offline();
    let mut answers = Vec::new();
    for served in [Served::Alone, Served::ByDaemon] {
        let daemon = served.start(&project).await;
        let args = ["chat", "--json", "--thread", "for programs 100%", "read: Agent.md"];
        let output = project.run(&args);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{output:?}");
        let mut answer: Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(answer["messageId"].as_str().unwrap().starts_with("cli:"), "{answer}");
        for key in ["messageId", "correlationId"] {
            assert!(answer[key].take().is_string(), "{key}");
        }
        answers.push(answer);
        drop(daemon);
    }
    assert_eq!(answers[0], answers[1]);
    let answer = &answers[0];
    assert_eq!(answer["threadId"], "cli:chat:for%20programs%20100%25");
    assert_eq!((&answer["success"], &answer["status"]), (&json!(true), &json!("done")));
    assert_eq!(answer["toolCalls"][0]["tool"], "read_file");
    assert!(answer["output"].as_str().unwrap().contains("scratch project"), "{answer}");
    assert_eq!(said(&project, "cli:chat:for%20programs%20100%25").len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_fails_is_told_and_is_a_failure() {
    let model = FakeModel::start(Reply::status(401, r#"{"error":{"message":"no"}}"#)).await;
    let project = with_model(&model);
    for served in [Served::Alone, Served::ByDaemon] {
        let daemon = served.start(&project).await;
        let output = project.run(&["chat", "hello"]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
        assert!(output.stderr.contains("refused the API key"), "{output:?}");
        let output = project.run(&["chat", "--json", "hello"]);
        let answer: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!((output.code, &answer["error"]["kind"]), (Some(1), &json!("auth")), "{answer}");
        drop(daemon);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_dies_in_the_middle_is_told_and_the_question_is_not_lost() {
    let model = FakeModel::start([Reply::hang(), Reply::text("late answer")]).await;
    let project = with_model(&model);
    let daemon = project.start().await;
    let child = spawn(&project, &["chat", "-t", "terminal", "hello"], Stdio::null());
    model.wait_for_requests(1).await;
    daemon.kill();
    let output = finish(child);
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
    assert!(output.stderr.contains("the daemon has ended"), "{output:?}");
    let daemon = project.start().await;
    model.wait_for_requests(2).await;
    daemon.until_state(THREAD, "idle").await;
    assert_eq!(said(&project, THREAD), [pair("user", "hello"), pair("assistant", "late answer")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_stops_the_turn_of_one_message() {
    let model = FakeModel::start(Reply::hang()).await;
    let project = with_model(&model);
    for (requests, served) in [(1, Served::Alone), (2, Served::ByDaemon)] {
        let daemon = served.start(&project).await;
        let child = spawn(&project, &["chat", "-t", "terminal", "hello"], Stdio::null());
        model.wait_for_requests(requests).await;
        signal(child.id(), Signal::INT);
        let output = finish(child);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stdout.contains("Stopped."), "{output:?}");
        model.wait_until_idle().await;
        drop(daemon);
    }
    assert!(project.run(&["threads", "show", THREAD]).stdout.contains("(stopped)"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_another_chat_has_is_told() {
    let model = FakeModel::start(Reply::hang()).await;
    let project = with_model(&model);
    let first = spawn(&project, &["chat", "hello"], Stdio::null());
    model.wait_for_requests(1).await;
    let second = project.run(&["chat", "hello"]);
    assert_eq!(second.code, Some(4), "{second:?}");
    assert!(second.stderr.contains(&first.id().to_string()), "{second:?}");
    signal(first.id(), Signal::INT);
    assert_eq!(finish(first).code, Some(1));
}

/// The thread in the command that a chat prints for an answer.
fn thread_in(stderr: &str) -> String {
    let (_, behind) = stderr.split_once("--thread ").unwrap_or_else(|| panic!("no --thread in {stderr}"));
    behind.split(' ').next().unwrap().to_owned()
}

async fn asks_for_approval(served: Served) {
    let model = FakeModel::start(Script::compute(obedient)).await;
    let project = with_model(&model);
    let daemon = served.start(&project).await;
    let asked = project.run(&["chat", r#"run ["touch made"]"#]);
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(1), ""), "{asked:?}");
    for part in ["A1 · exec_shell · risk: ", "touch made", "'approve A1'", "shipagent approvals approve A1"]
    {
        assert!(asked.stderr.contains(part), "{part} in {asked:?}");
    }
    assert_eq!(approvals(&project), [("A1".to_owned(), "pending".to_owned())]);
    // The printed command works.
    let thread = thread_in(&asked.stderr);
    let decided = project.run(&["chat", "--thread", &thread, "approve A1"]);
    assert_eq!(
        (decided.code, decided.stdout.as_str()),
        (Some(0), "A1: approved.\n1 results\n"),
        "{decided:?}"
    );
    assert!(decided.stderr.contains("  = exit 0"), "{decided:?}");
    assert!(project.path().join("made").exists());
    drop(daemon);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_that_needs_approval_prints_its_number_and_how_to_answer_with_a_daemon() {
    asks_for_approval(Served::ByDaemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_that_needs_approval_prints_its_number_and_how_to_answer_without_a_daemon() {
    asks_for_approval(Served::Alone).await;
}

async fn behind_an_open_request(served: Served) {
    let model = FakeModel::start(Script::compute(obedient)).await;
    let project = with_model(&model);
    let daemon = served.start(&project).await;
    let chat = |words: &str| project.run(&["chat", "-t", "work", words]);
    assert_eq!(chat(r#"run ["touch made"]"#).code, Some(1));
    let queued = chat("hello");
    assert_eq!((queued.code, queued.stdout.as_str()), (Some(1), ""), "{queued:?}");
    assert!(queued.stderr.contains("A1 of an earlier message waits first"), "{queued:?}");
    assert!(queued.stderr.contains("shipagent approvals approve A1"), "{queued:?}");
    let data = project.run(&["chat", "-t", "work", "--json", "hello again"]);
    let answer: Value = serde_json::from_str(&data.stdout).unwrap();
    assert_eq!((data.code, &answer["status"]), (Some(1), &json!("awaiting-approval")), "{answer}");
    assert_eq!(answer["approvals"][0]["number"], "A1", "{answer}");
    // A text that decides nothing leaves it open, and the output says so.
    let unclear = chat("approve A1, or deny A1");
    assert_eq!(unclear.code, Some(1), "{unclear:?}");
    let status = chat("/status");
    assert_eq!(status.code, Some(0), "{status:?}");
    assert_eq!(approvals(&project), [("A1".to_owned(), "pending".to_owned())]);
    let denied = project.run(&["chat", "-t", "work", "--json", "deny A1"]);
    let answer: Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!((denied.code, &answer["output"]), (Some(0), &json!("1 results")), "{answer}");
    drop(daemon);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_never_waits_behind_an_open_request_with_a_daemon() {
    behind_an_open_request(Served::ByDaemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_never_waits_behind_an_open_request_without_a_daemon() {
    behind_an_open_request(Served::Alone).await;
}

fn threads(project: &Project) -> Vec<String> {
    let list: Value = serde_json::from_str(&project.run(&["threads", "list", "--json"]).stdout).unwrap();
    list["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["threadId"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_has_a_thread_of_its_own_unless_one_is_named() {
    let model = FakeModel::start(echo()).await;
    let project = with_model(&model);
    for served in [Served::Alone, Served::ByDaemon] {
        let daemon = served.start(&project).await;
        let before = threads(&project);
        for _ in 0..2 {
            assert_eq!(project.run(&["chat", "hello"]).code, Some(0));
        }
        let new: Vec<String> = threads(&project).into_iter().filter(|one| !before.contains(one)).collect();
        assert_eq!(new.len(), 2, "{new:?}");
        for thread in &new {
            assert_eq!(said(&project, thread), [pair("user", "hello"), pair("assistant", "echo hello")]);
        }
        // The id that `threads list` prints is a name as well.
        assert_eq!(project.run(&["chat", "--thread", &new[0], "more"]).code, Some(0));
        assert_eq!(said(&project, &new[0]).len(), 4);
        drop(daemon);
    }
    let other = project.run(&["chat", "--thread", "telegram:chat:7", "hello"]);
    assert_eq!(other.code, Some(2), "{other:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_piped_in_goes_below_the_message_and_is_bounded() {
    let model = FakeModel::start(echo()).await;
    let project = with_model(&model);
    for served in [Served::Alone, Served::ByDaemon] {
        let daemon = served.start(&project).await;
        let output = pipe(&project, &["chat", "explain"], b"a log\nof two lines\n");
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(output.stdout, "echo explain\n\na log\nof two lines\n");
        let output = pipe(&project, &["chat"], b"a question\n");
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), "echo a question\n"), "{output:?}");
        drop(daemon);
    }
    // A file is an input as well.
    project.write("long.log", &"x".repeat(1_000_001));
    let long = std::fs::File::open(project.path().join("long.log")).unwrap();
    let output = finish(spawn(&project, &["chat", "explain"], long.into()));
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output:?}");
    assert!(output.stderr.contains("1000000"), "{output:?}");
    let output = pipe(&project, &["chat", "explain"], b"\xff\xfe");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_that_does_not_end_is_told() {
    let model = FakeModel::start(echo()).await;
    let project = with_model(&model);
    let mut child = spawn(&project, &["chat", "explain"], Stdio::piped());
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    err.read_line(&mut told).unwrap();
    assert!(told.contains("reading the standard input"), "{told}");
    child.stdin.take().unwrap().write_all(b"late").unwrap();
    assert_eq!(finish(child).stdout, "echo explain\n\nlate\n");
}

#[test]
fn the_help_tells_the_exit_codes_of_chat() {
    let help = offline().run(&["chat", "--help"]).stdout;
    for line in
        ["Exit codes:", "  0  answered", "  1  not answered", "a request waits for a decision", "  2  "]
    {
        assert!(help.contains(line), "{line} in {help}");
    }
}
