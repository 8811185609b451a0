//! A project, with and without a daemon, and commands in it.

use std::io::Write;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Output, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script};

pub(super) const THREAD: &str = "cli:chat:terminal";

pub(super) fn offline() -> Project {
    Project::new(json!({ "name": "tester", "llm": { "provider": "offline" } }))
}

pub(super) fn with_model(model: &FakeModel) -> Project {
    let extra = json!({ "name": "tester", "llm": { "timeoutSecs": 600 }, "queue": { "mergeMs": 0 } });
    Project::with_model(&model.url(), extra)
}

/// Which process runs the agent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Served {
    Alone,
    ByDaemon,
}

impl Served {
    pub(super) async fn start(self, project: &Project) -> Option<Daemon> {
        match self {
            Self::Alone => None,
            Self::ByDaemon => Some(project.start().await),
        }
    }
}

pub(super) fn echo() -> Script {
    Script::compute(|seen| Reply::text(&format!("echo {}", seen.last_user_text())))
}

/// Runs a command with this on its standard input.
pub(super) fn pipe(project: &Project, args: &[&str], input: &[u8]) -> Output {
    let mut child = spawn(project, args, Stdio::piped());
    child.stdin.take().unwrap().write_all(input).unwrap();
    finish(child)
}

pub(super) fn spawn(project: &Project, args: &[&str], input: Stdio) -> Child {
    project.command(args).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(super) fn finish(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

pub(super) fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// The messages of a thread: roles and texts.
pub(super) fn said(project: &Project, thread: &str) -> Vec<(String, String)> {
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

pub(super) fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

/// The approvals of a project: number and state, oldest first.
pub(super) fn approvals(project: &Project) -> Vec<(String, String)> {
    let list = project.run(&["approvals", "list", "--state", "all", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let mut found: Vec<(String, String)> = list["approvals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(one, "number"), text(one, "state")))
        .collect();
    found.sort();
    found
}
