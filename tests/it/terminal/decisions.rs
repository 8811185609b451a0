//! Approvals at the keyboard: shown completely, decided, left open.

use serde_json::{Value, json};

use super::project::{Served, approvals, with_model};
use super::pty::{PROMPT, Terminal};
use crate::fakes::approval_scene::obedient;
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script};

const TOUCH: &str = "run [\"touch made\"]\r";

async fn obedient_project() -> (FakeModel, Project) {
    let model = FakeModel::start(Script::compute(obedient)).await;
    let project = with_model(&model);
    (model, project)
}

fn only(state: &str) -> [(String, String); 1] {
    [("A1".to_owned(), state.to_owned())]
}

/// A chat in which A1 is pending.
fn asked(project: &Project) -> Terminal {
    let mut terminal = Terminal::open(project, &[]);
    terminal.until(PROMPT);
    terminal.press(TOUCH);
    terminal.until("A1 · exec_shell · risk: ");
    terminal.until("approve A1 · deny A1 · /cancel withdraws it");
    terminal.until(PROMPT);
    terminal
}

fn quit(mut terminal: Terminal) {
    terminal.press("/quit\r");
    assert_eq!(terminal.end().0, Some(0));
}

async fn the_rest_is_printed(served: Served) {
    let (_model, project) = obedient_project().await;
    let _daemon = served.start(&project).await;
    let mut terminal = asked(&project);
    terminal.press("yes\r");
    terminal.until("A1: approved.");
    terminal.until("  = exit 0");
    terminal.until("1 results");
    terminal.until(PROMPT);
    assert!(project.path().join("made").exists());
    assert_eq!(approvals(&project), only("spent"));
    // The conversation goes on.
    terminal.press("and now?\r");
    terminal.until("echo and now?");
    terminal.until(PROMPT);
    quit(terminal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_yes_the_rest_of_the_turn_is_printed_with_a_daemon() {
    the_rest_is_printed(Served::ByDaemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_yes_the_rest_of_the_turn_is_printed_without_a_daemon() {
    the_rest_is_printed(Served::Alone).await;
}

async fn a_question_meanwhile(served: Served) {
    let (_model, project) = obedient_project().await;
    let _daemon = served.start(&project).await;
    let mut terminal = asked(&project);
    for question in ["what is this for?\r", "which folder is it in?\r"] {
        terminal.press(question);
        terminal.until("waiting for a decision on A1: answer `approve` or `deny`");
        let shown = terminal.until(PROMPT);
        assert!(!shown.contains("waiting for a decision"), "told twice: {shown}");
    }
    assert_eq!(approvals(&project), only("pending"));
    terminal.press("deny\r");
    terminal.until("A1: denied.");
    terminal.until("1 results");
    // Messages sent meanwhile are answered now, in one answer to the newest.
    terminal.until("echo which folder is it in?");
    terminal.until(PROMPT);
    assert_eq!(approvals(&project), only("denied"));
    assert!(!project.path().join("made").exists());
    quit(terminal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_while_a_request_waits_is_answered_with_how_to_decide_with_a_daemon() {
    a_question_meanwhile(Served::ByDaemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_while_a_request_waits_is_answered_with_how_to_decide_without_a_daemon() {
    a_question_meanwhile(Served::Alone).await;
}

async fn left_by_ctrl_c(served: Served) {
    let (_model, project) = obedient_project().await;
    let _daemon = served.start(&project).await;
    let mut terminal = asked(&project);
    terminal.press("what?\r");
    terminal.until("waiting for a decision on A1");
    terminal.until(PROMPT);
    terminal.press("\u{3}");
    terminal.until("A1 needs a decision: approve A1, deny A1, or /cancel. Ctrl-C again leaves");
    terminal.until(PROMPT);
    assert_eq!(approvals(&project), only("pending"));
    terminal.press("\u{3}");
    let (code, last) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(last.contains("A1 stays open"), "{last}");
    assert!(last.contains("shipagent approvals approve A1"), "{last}");
    assert_eq!(approvals(&project), only("pending"));
    // It is shown when the chat is opened again, and so is the message that waits for it.
    let mut terminal = Terminal::open(&project, &[]);
    terminal.until("A1 · exec_shell · risk: ");
    terminal.until(PROMPT);
    terminal.press("approve\r");
    terminal.until("A1: approved.");
    terminal.until("1 results");
    terminal.until("echo what?");
    terminal.until(PROMPT);
    quit(terminal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_while_a_request_waits_leaves_it_open_with_a_daemon() {
    left_by_ctrl_c(Served::ByDaemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_while_a_request_waits_leaves_it_open_without_a_daemon() {
    left_by_ctrl_c(Served::Alone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_can_only_print_keeps_a_request_open_as_well() {
    let (_model, project) = obedient_project().await;
    let mut terminal = Terminal::open(&project, &[("TERM", "dumb")]);
    terminal.until(PROMPT);
    terminal.press(&TOUCH.replace('\r', "\n"));
    terminal.until("approve A1 · deny A1");
    terminal.until(PROMPT);
    // Here Ctrl-C comes as a signal.
    terminal.press("\u{3}");
    terminal.until("Ctrl-C again leaves");
    terminal.press("\u{3}");
    let (code, last) = terminal.end();
    assert!(code == Some(0) && last.contains("A1 stays open"), "{code:?} {last}");
    assert_eq!(approvals(&project), only("pending"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_withdraws_a_request_and_the_turn_goes_on() {
    for served in [Served::Alone, Served::ByDaemon] {
        let (_model, project) = obedient_project().await;
        let _daemon = served.start(&project).await;
        let mut terminal = asked(&project);
        terminal.press("/cancel\r");
        terminal.until("Withdrawn: 1.");
        terminal.until("1 results");
        terminal.until(PROMPT);
        assert_eq!(approvals(&project), only("cancelled"));
        quit(terminal);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_made_elsewhere_is_printed_above_the_prompt_with_the_rest_of_the_turn() {
    let (_model, project) = obedient_project().await;
    let daemon = project.start().await;
    let mut terminal = asked(&project);
    terminal.press("half a li");
    let answer = daemon.post("/api/approvals/A1", &json!({ "decision": "approve" })).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    terminal.until("A1 was approved");
    terminal.until("  = exit 0");
    terminal.until("1 results");
    terminal.until("half a li");
    terminal.press("ne\r");
    terminal.until("echo half a line");
    terminal.until(PROMPT);
    quit(terminal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_requests_are_decided_one_after_the_other() {
    for served in [Served::Alone, Served::ByDaemon] {
        let (_model, project) = obedient_project().await;
        let _daemon = served.start(&project).await;
        let mut terminal = Terminal::open(&project, &[]);
        terminal.until(PROMPT);
        terminal.press("run [\"touch one\", \"touch two\"]\r");
        terminal.until("answer: approve A1");
        terminal.until("answer: approve A2");
        terminal.press("approve A1\r");
        terminal.until("A1: approved.");
        // Also when the prompt is shown already.
        terminal.until("  = exit 0");
        terminal.until(PROMPT);
        terminal.press("deny A2\r");
        terminal.until("A2: denied.");
        terminal.until("2 results");
        terminal.until(PROMPT);
        assert!(project.path().join("one").exists() && !project.path().join("two").exists());
        quit(terminal);
    }
}

const ATTACK: &str = "\u{1b}]0;pwned\u{7}";

/// Makes one call after the other, as the person names them.
fn caller(calls: &[(&'static str, &'static str, Value)]) -> Script {
    let calls = calls.to_vec();
    Script::compute(move |seen| {
        let last = seen.body["messages"].as_array().unwrap().last().unwrap().clone();
        let wanted = calls.iter().find(|(word, ..)| seen.last_user_text() == *word);
        match wanted {
            Some((_, tool, input)) if last["role"] == "user" => Reply::calls([(*tool, input.clone())]),
            _ => Reply::text(&format!("over {ATTACK}")),
        }
    })
}

/// Requests a call, returns what is shown before the prompt, and denies it.
fn shown_before_deciding(terminal: &mut Terminal, word: &str, number: &str) -> String {
    terminal.press(&format!("{word}\r"));
    let shown = terminal.until(&format!("answer: approve {number}"));
    terminal.until(PROMPT);
    terminal.press("deny\r");
    terminal.until(&format!("{number}: denied."));
    let rest = terminal.until(PROMPT);
    assert!(rest.contains("over \\u{1b}]0;pwned\\u{7}") && !rest.contains(ATTACK), "{rest:?}");
    shown
}

async fn shown_whole(served: Served) {
    let command = format!("touch a{ATTACK} \u{202e}b\ntouch {} THE-END", "c".repeat(600));
    let content: String = (0..400).map(|number| format!("line {number} of the file\n")).collect();
    let model = FakeModel::start(caller(&[
        ("command", "exec_shell", json!({ "command": command, "cwd": "sub/folder" })),
        ("edit", "edit_file", json!({ "path": "notes.txt", "old": "old words", "new": "new words" })),
        ("write", "write_file", json!({ "path": "long.txt", "content": content })),
    ]))
    .await;
    let project = with_model(&model);
    project.write("sub/folder/file.txt", "");
    project.write("notes.txt", "before\nold words\nafter\n");
    let _daemon = served.start(&project).await;
    let mut terminal = Terminal::open(&project, &[("NO_COLOR", "1")]);
    terminal.until(PROMPT);

    let shown = shown_before_deciding(&mut terminal, "command", "A1");
    assert!(shown.contains("A1 · exec_shell · risk: high · expires "), "{shown}");
    assert!(shown.contains("│ folder: sub/folder\r\n"), "{shown}");
    assert!(shown.contains("│     touch a\\u{1b}]0;pwned\\u{7} \\u{202e}b\r\n"), "{shown}");
    assert!(shown.contains(&format!("│     touch {} THE-END\r\n", "c".repeat(600))), "{shown}");
    assert!(!shown.contains(ATTACK) && !shown.contains('\u{202e}'), "{shown:?}");

    let shown = shown_before_deciding(&mut terminal, "edit", "A2");
    assert!(shown.contains("A2 · edit_file · risk: medium"), "{shown}");
    assert!(shown.contains("│ -old words\r\n│ +new words\r\n"), "{shown}");

    let shown = shown_before_deciding(&mut terminal, "write", "A3");
    assert!(shown.contains("│ +line 0 of the file\r\n"), "{shown}");
    assert!(shown.contains("line 399 of the file\r\n"), "{shown}");
    quit(terminal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_shown_whole_before_deciding_with_a_daemon() {
    shown_whole(Served::ByDaemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_shown_whole_before_deciding_without_a_daemon() {
    shown_whole(Served::Alone).await;
}
