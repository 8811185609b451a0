//! A conversation at the keyboard.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::stage::{Served, THREAD, offline, pair, said, signal, spawn, with_model};
use crate::support::daemon::{PATIENCE, Project};
use crate::support::fake_model::{FakeModel, Reply};

/// The chat on a terminal of its own, with somebody at the keyboard.
struct Terminal {
    script: Child,
    keyboard: ChildStdin,
    output: mpsc::Receiver<Vec<u8>>,
    /// What was shown and not looked at yet.
    unread: String,
}

impl Terminal {
    fn open(project: &Project, env: &[(&str, &str)]) -> Self {
        let chat = project.command(&["chat"]);
        let words = std::iter::once(chat.get_program()).chain(chat.get_args());
        let line: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let mut command = Command::new("script");
        command.args(["-qec", &format!("exec {}", line.join(" ")), "/dev/null"]).env_clear();
        command.envs(chat.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm").env("SHELL", "/bin/sh").envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut script = command.spawn().expect("script, of util-linux");
        let (keyboard, mut shown) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = shown.read(&mut bytes) {
                drop(sender.send(bytes[..count].to_vec()));
            }
        });
        Self { script, keyboard, output, unread: String::new() }
    }

    /// Waits until this is shown; what stands before it is given back.
    fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.unread.find(text) {
                let rest = self.unread.split_off(at + text.len());
                return std::mem::replace(&mut self.unread, rest);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.unread.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("waited in vain for {text:?}; the screen says\n{}", self.unread),
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits for the end: the exit code, and what was shown last.
    fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.script.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the chat does not end:\n{}", self.unread);
            std::thread::sleep(Duration::from_millis(5));
        };
        let rest: Vec<u8> = self.output.iter().flatten().collect();
        self.unread.push_str(&String::from_utf8_lossy(&rest));
        (status.code(), std::mem::take(&mut self.unread))
    }
}

const PROMPT: &str = "tester › ";

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
    // Whoever comes back sees where they were.
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
    let mut child = spawn(&project, &["chat", "hello"], Stdio::null());
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
