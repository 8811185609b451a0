//! A conversation at the keyboard.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::Signal;

use super::project::{Served, THREAD, offline, pair, said, signal, spawn, with_model};
use super::pty::{PROMPT, Terminal};
use crate::fakes::fake_model::{FakeModel, Reply};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_at_the_keyboard_with_and_without_a_daemon() {
    let project = offline();
    for served in [Served::Alone, Served::ByDaemon] {
        let daemon = served.start(&project).await;
        let mut terminal = Terminal::open(&project, &[]);
        let greeting = terminal.until("Ctrl-D leaves");
        assert_eq!(greeting.contains("daemon at"), daemon.is_some(), "{greeting}");
        terminal.until(PROMPT);
        terminal.press("read: Agent.md\r");
        terminal.until("\u{1b}[2m· read_file Agent.md\u{1b}[0m");
        terminal.until("You are the agent of a scratch project.");
        terminal.until(PROMPT);
        terminal.press("half a line\u{3}");
        terminal.until("Ctrl-D or /quit leaves");
        terminal.until(PROMPT);
        terminal.press("/status\r");
        terminal.until("Model: offline");
        terminal.until(PROMPT);
        terminal.press("/quit\r");
        assert_eq!(terminal.end().0, Some(0));
    }
    let history = project.path().join(".ship/run/chat_history");
    assert_eq!(std::fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&history).unwrap().contains("read: Agent.md"));
    // A person who returns sees the history.
    let mut terminal = Terminal::open(&project, &[("NO_COLOR", "1")]);
    terminal.until("› read: Agent.md\r\n");
    let before = terminal.until(PROMPT);
    assert!(!before.contains("\u{1b}[0m"), "colours nobody wants: {before:?}");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_stops_a_hanging_turn_and_the_conversation_goes_on() {
    let replies = || [Reply::hang(), Reply::text("a real answer")];
    let model = FakeModel::start([replies(), replies()].concat()).await;
    let project = with_model(&model);
    for (requests, served) in [(1, Served::Alone), (3, Served::ByDaemon)] {
        let daemon = served.start(&project).await;
        let mut terminal = Terminal::open(&project, &[]);
        terminal.until(PROMPT);
        terminal.press("first\r");
        model.wait_for_requests(requests).await;
        terminal.press("\u{3}");
        terminal.until("Stopped.");
        terminal.until(PROMPT);
        terminal.press("second\r");
        terminal.until("a real answer");
        terminal.until(PROMPT);
        terminal.press("\u{4}");
        assert_eq!(terminal.end().0, Some(0));
        drop(daemon);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_is_given_back_when_the_process_or_the_daemon_ends() {
    let project = offline();
    let mut terminal = Terminal::open(&project, &[]);
    terminal.until(PROMPT);
    let pid = std::fs::read_to_string(project.path().join(".ship/run/lock")).unwrap();
    signal(pid.trim().parse().unwrap(), Signal::TERM);
    let (code, last) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(last.ends_with("\u{1b}[?2004l\r\n"), "{last:?}");

    let daemon = project.start().await;
    let mut terminal = Terminal::open(&project, &[]);
    terminal.until(PROMPT);
    daemon.kill();
    terminal.until("the daemon has ended");
    assert_eq!(terminal.end().0, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_was_left_open_is_answered_when_somebody_comes_back() {
    let model = FakeModel::start([Reply::hang(), Reply::text("the late answer")]).await;
    let project = with_model(&model);
    let mut child = spawn(&project, &["chat", "-t", "terminal", "hello"], Stdio::null());
    model.wait_for_requests(1).await;
    child.kill().unwrap();
    child.wait().unwrap();
    let mut terminal = Terminal::open(&project, &[]);
    terminal.until("an earlier question is still being answered");
    terminal.until("the late answer");
    terminal.until(PROMPT);
    terminal.press("/quit\r");
    assert_eq!(terminal.end().0, Some(0));
    assert_eq!(said(&project, THREAD), [pair("user", "hello"), pair("assistant", "the late answer")]);
}

#[test]
fn a_terminal_that_can_only_print_will_do() {
    let project = offline();
    let mut terminal = Terminal::open(&project, &[("TERM", "dumb")]);
    terminal.until(PROMPT);
    terminal.press("read: Agent.md\n");
    terminal.until("scratch project");
    terminal.until(PROMPT);
    terminal.press("/quit\n");
    let (code, last) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(!last.contains('\u{1b}'), "{last:?}");
}
