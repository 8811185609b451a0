//! Files that block: calls that name a pipe are judged like any other, and the daemon continues.

use serde_json::json;

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

/// Ways to name a pipe as a script, one for each conversation.
const COMMANDS: [&str; 16] = [
    "sh ./pipe",
    "sh pipe",
    "bash -x ./pipe",
    "sh < pipe",
    ". ./pipe",
    "./pipe",
    "python3 ./pipe",
    "python3.12 -X dev pipe",
    "node pipe",
    "cat pipe | sh",
    "make -f pipe",
    "cd sub && sh ../pipe",
    "env -C sub sh ../pipe",
    "(cd sub; ./pipe)",
    "perl link",
    "cp pipe copy",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_conversations_that_name_a_pipe_do_not_stop_the_daemon() {
    let model = FakeModel::start(Script::compute(|seen: &Seen| {
        let text = seen.last_user_text();
        match text.strip_prefix("run ").and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => Reply::calls([("exec_shell", json!({ "command": COMMANDS[number] }))]),
            None => Reply::text("hello"),
        }
    }))
    .await;
    let project = Project::with_model(&model.url(), json!({}));
    let pipe = |name: &str| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let path = project.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    project.write("sub/x", "");
    pipe("pipe");
    pipe("sub/pipe");
    std::os::unix::fs::symlink("pipe", project.path().join("link")).unwrap();
    let daemon = project.start().await;
    let asked = futures_util::future::join_all((0..COMMANDS.len()).map(|number| {
        daemon.execute(json!({ "instructions": format!("run {number}"), "chatId": format!("c{number}") }))
    }))
    .await;
    for (answer, command) in asked.iter().zip(COMMANDS) {
        assert_eq!(answer["status"], "awaiting-approval", "{command}: {answer}");
    }
    let other = daemon.execute(json!({ "instructions": "hello", "chatId": "other" })).await;
    assert_eq!(other["output"], "hello", "another conversation is answered");
    assert_eq!(health(&daemon).await, 200);
    assert!(daemon.stop().await.success());
}

async fn health(daemon: &Daemon) -> u16 {
    daemon.http.get(format!("{}/healthz", daemon.base)).send().await.unwrap().status().as_u16()
}
