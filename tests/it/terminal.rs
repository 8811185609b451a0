//! Talking and looking in a terminal, as people and scripts do it: pipes, signals, a keyboard.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Output, PATIENCE, Project};
use crate::support::fake_model::{FakeModel, Gate, Reply, Script};

const THREAD: &str = "cli:chat:terminal";

fn offline() -> Project {
    Project::new(json!({ "name": "tester", "llm": { "provider": "offline" } }))
}

fn with_model(model: &FakeModel) -> Project {
    let extra = json!({ "name": "tester", "llm": { "timeoutSecs": 600 }, "queue": { "mergeMs": 0 } });
    Project::with_model(&model.url(), extra)
}

/// Who runs the agent.
#[derive(Clone, Copy, Debug)]
enum Served {
    Alone,
    ByDaemon,
}

impl Served {
    async fn start(self, project: &Project) -> Option<Daemon> {
        match self {
            Self::Alone => None,
            Self::ByDaemon => Some(project.start().await),
        }
    }
}

fn echo() -> Script {
    Script::compute(|seen| Reply::text(&format!("echo {}", seen.last_user_text())))
}

/// Runs a command with this on its standard input.
fn pipe(project: &Project, args: &[&str], input: &[u8]) -> Output {
    let mut child = spawn(project, args, Stdio::piped());
    child.stdin.take().unwrap().write_all(input).unwrap();
    finish(child)
}

fn spawn(project: &Project, args: &[&str], input: Stdio) -> Child {
    project.command(args).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// What was said in a thread: who, and their words.
fn said(project: &Project, thread: &str) -> Vec<(String, String)> {
    let shown = project.run(&["threads", "show", thread, "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let text = |message: &Value| {
        let parts = message["parts"].as_array().unwrap().iter();
        parts.filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    let messages = shown["messages"].as_array().unwrap().iter();
    messages.map(|message| (message["role"].as_str().unwrap().to_owned(), text(message))).collect()
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_is_answered_with_and_without_a_daemon_in_the_same_thread() {
    let model = FakeModel::start(echo()).await;
    let project = with_model(&model);
    let alone = project.run(&["chat", "one"]);
    assert_eq!((alone.code, alone.stdout.as_str(), alone.stderr.as_str()), (Some(0), "echo one\n", ""));
    let daemon = project.start().await;
    let beside = project.run(&["chat", "two"]);
    assert_eq!((beside.code, beside.stdout.as_str(), beside.stderr.as_str()), (Some(0), "echo two\n", ""));
    assert!(daemon.stop().await.success());
    let again = project.run(&["chat", "three"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "echo three\n"), "{again:?}");
    let expected = ["one", "two", "three"];
    let expected =
        expected.map(|text| [pair("user", text), pair("assistant", &format!("echo {text}"))]).concat();
    assert_eq!(said(&project, THREAD), expected);
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_shown_as_it_grows_and_only_once() {
    let gates = [Gate::new(), Gate::new()];
    let reply =
        |gate: &Gate| Reply::pieces(["The ", "first ", "words ", "and the rest."]).gated_after(4, gate);
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
    let output = pipe(&project, &["chat"], "read: Agent.md\n".as_bytes());
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.contains("You are the agent of a scratch project."), "{output:?}");
    // The step is told beside the answer, without colours for whoever is no terminal.
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
    let child = spawn(&project, &["chat", "hello"], Stdio::null());
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
        let child = spawn(&project, &["chat", "hello"], Stdio::null());
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

#[test]
fn a_wrong_configuration_keeps_nobody_from_their_conversations() {
    let project = offline();
    assert_eq!(project.run(&["chat", "hello"]).code, Some(0));
    project.write("ship.json", "{ nonsense");
    assert_eq!(project.run(&["chat", "hello"]).code, Some(3));
    assert_eq!(project.run(&["threads", "list"]).code, Some(0));
    assert_eq!(said(&project, THREAD).len(), 2);
}

/// Every file under a directory with its content.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.to_string_lossy().into_owned(), std::fs::read(&path).unwrap());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_look_the_same_beside_a_daemon_and_without_one() {
    let project = offline();
    assert_eq!(project.run(&["chat", "你好"]).code, Some(0));
    assert_eq!(project.run(&["chat", "-t", "other", "read: nope.md"]).code, Some(0));
    let looks: [&[&str]; 6] = [
        &["threads", "list"],
        &["threads", "list", "--json"],
        &["threads", "show", "cli:chat:other"],
        &["threads", "show", "cli:chat:other", "--limit", "1", "--json"],
        &["threads", "export", THREAD],
        &["threads", "export", "cli:chat:other", "-f", "markdown"],
    ];
    let before = files(&project.path().join(".ship"));
    let alone: Vec<Output> = looks.iter().map(|args| project.run(args)).collect();
    assert_eq!(files(&project.path().join(".ship")), before, "looking wrote something");
    let daemon = project.start().await;
    for (args, alone) in looks.iter().zip(&alone) {
        let beside = project.run(args);
        assert_eq!((alone.code, alone.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert_eq!((beside.code, &beside.stdout), (alone.code, &alone.stdout), "{args:?}");
    }
    // Programs get what the interface of the daemon gives.
    let list: Value = serde_json::from_str(&alone[1].stdout).unwrap();
    assert_eq!(list, daemon.get_json("/api/threads").await);
    let page: Value = serde_json::from_str(&alone[3].stdout).unwrap();
    assert_eq!(page, daemon.get_json("/api/threads/cli:chat:other/messages?limit=1").await);

    let list = &alone[0].stdout;
    let (other, first) = (list.find("cli:chat:other").unwrap(), list.find(THREAD).unwrap());
    assert!(list.starts_with("THREAD") && other < first && list.contains("你好"), "{list}");
    let shown = &alone[2].stdout;
    assert!(shown.contains("· read_file nope.md\n  ! nope.md does not exist"), "{shown}");
    let lines: Vec<Value> = alone[4].stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines.iter().map(|line| line["role"].as_str().unwrap()).collect::<Vec<_>>(),
        ["user", "assistant"]
    );
    assert!(alone[5].stdout.starts_with("# cli:chat:other\n\n## user · "), "{}", alone[5].stdout);
    assert!(
        alone[5].stdout.contains("\n- `read_file nope.md`: nope.md does not exist"),
        "{}",
        alone[5].stdout
    );
}

#[test]
fn a_thread_that_is_not_there_is_told() {
    let project = offline();
    for thread in ["web:chat:nobody", "no id at all", "../../etc/passwd"] {
        for args in [&["threads", "show", thread][..], &["threads", "export", thread, "-o", "never.jsonl"]] {
            let output = project.run(args);
            assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
            assert!(output.stderr.contains(thread) && output.stderr.contains("threads list"), "{output:?}");
        }
    }
    let empty = project.run(&["threads", "list"]);
    assert_eq!((empty.code, empty.stdout.lines().count()), (Some(0), 1), "{empty:?}");
    assert_eq!(project.run(&["threads", "list", "--json"]).stdout, "{\n  \"threads\": []\n}\n");
    assert!(!project.path().join(".ship").exists());
}

#[test]
fn a_long_thread_is_exported_whole_and_in_order_into_a_file_that_was_not_there() {
    let project = offline();
    let message = |index: usize, text: &str| {
        let id = format!("m{index}");
        let metadata = json!({ "platform": "web", "threadId": "web:chat:long", "messageId": id,
            "authorId": "web:user:operator", "timestamp": 1_700_000_000_000_u64, "correlationId": format!("run_{index}") });
        json!({ "id": id, "role": "user", "metadata": metadata, "parts": [{ "type": "text", "text": text }] })
    };
    let mut lines: Vec<Value> = (0..700).map(|index| message(index, "old")).collect();
    lines.push(message(3, "new"));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    project.write(".ship/threads/web%3Achat%3Along.jsonl", &text);
    let path = project.path().join("out.jsonl");
    let path = path.to_str().unwrap();
    let args = ["threads", "export", "web:chat:long", "-o", path];
    let output = project.run(&args);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""), "{output:?}");
    let read = || {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    lines.swap_remove(3);
    assert!(read() == lines, "not the newest version of each message, in order");
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);

    let again = project.run(&args);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains(path), "{again:?}");
    assert!(read() == lines, "the file was touched");
    let beside = std::fs::read_dir(project.path()).unwrap().count();
    assert_eq!(beside, 4, "something was left beside Agent.md, ship.json, .ship and the export");
}

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
