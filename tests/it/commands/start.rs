//! The start and supervision of a daemon: when it is ready, its notifications to a service manager, and its own output.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tokio::net::UnixDatagram;
use tokio::time::timeout;

use crate::fakes::daemon::{Daemon, PATIENCE, Project};
use crate::fakes::telegram::server::FakeTelegram;

/// A fake service manager.
struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    /// Listens beside the project, and sets the command's environment.
    fn of(project: &Project, command: &mut Command) -> Self {
        let path = project.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        command.env("NOTIFY_SOCKET", path);
        Self { socket }
    }

    /// Waits for a notification that begins so, and returns its whole message.
    async fn is_told(&self, line: &str) -> String {
        let hear = async {
            loop {
                let mut bytes = [0; 1024];
                let length = self.socket.recv(&mut bytes).await.unwrap();
                let said = String::from_utf8_lossy(bytes.get(..length).unwrap()).into_owned();
                if said.lines().any(|said| said.starts_with(line)) {
                    return said;
                }
            }
        };
        timeout(PATIENCE, hear).await.unwrap_or_else(|_| panic!("the daemon never said {line}"))
    }
}

fn offline(adapters: Value) -> Project {
    Project::new(json!({ "language": "en", "llm": { "provider": "offline" }, "adapters": adapters }))
}

fn quiet(project: &Project) -> Command {
    let mut command = project.command(&["run"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The adapters' states, as the daemon reports them.
async fn states(daemon: &Daemon) -> Vec<String> {
    let info = daemon.get_json("/api/info").await;
    let adapters = info["adapters"].as_array().unwrap();
    adapters.iter().map(|own| format!("{}: {}", own["name"], own["state"]).replace('"', "")).collect()
}

async fn readiness(daemon: &Daemon) -> u16 {
    daemon.http.get(format!("{}/readyz", daemon.base)).send().await.unwrap().status().as_u16()
}

/// The daemon's log so far.
fn logged(project: &Path) -> String {
    let files = std::fs::read_dir(project.join(".ship/logs")).into_iter().flatten().flatten();
    files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adapter_that_gave_up_does_not_have_the_whole_daemon_restarted() {
    let telegram = FakeTelegram::start().await;
    let project = offline(json!({ "telegram": { "botToken": "123:nobody", "apiUrl": telegram.url() } }));
    let mut command = quiet(&project);
    let manager = Manager::of(&project, &mut command);
    command.env("WATCHDOG_USEC", "400000");
    let daemon = Daemon::announced(command, project.path()).await;
    manager.is_told("READY=1").await;
    assert_eq!(states(&daemon).await, ["telegram: failed", "web: up"]);
    assert_eq!(readiness(&daemon).await, 503);
    for _ in 0..5 {
        manager.is_told("WATCHDOG=1").await;
    }
    assert!(daemon.stop().await.success());
    manager.is_told("STOPPING=1").await;
}

/// Unreachable platforms: one that accepts the connection and sends nothing, and one that does not exist.
async fn starts_without_its_platforms(language: &str, words: &str) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
    let adapters = json!({
        "telegram": { "botToken": "123:abc", "apiUrl": url(&silent) },
        "feishu": { "appId": "cli_a", "appSecret": "secret", "domain": url(&gone) },
    });
    drop(gone);
    let project =
        Project::new(json!({ "language": language, "llm": { "provider": "offline" }, "adapters": adapters }));
    let mut command = project.command(&["run"]);
    let manager = Manager::of(&project, &mut command);
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer).stderr(Stdio::null());
    let daemon = Daemon::announced(command, project.path()).await;
    let told = manager.is_told("READY=1").await;
    assert!(told.contains("feishu, telegram"), "{told}");
    assert_eq!(readiness(&daemon).await, 503, "it is not ready all the same");
    assert_eq!(daemon.get("/").send().await.unwrap().status(), 200, "the console is there");
    let answer = daemon.execute(json!({ "instructions": "hello", "chatId": "c" })).await;
    assert_eq!(answer["status"], "done", "{answer}");
    assert!(daemon.stop().await.success());
    let summary = std::io::read_to_string(reader).unwrap();
    assert!(summary.contains("http://127.0.0.1:") && summary.contains(words), "{summary}");
    let log = logged(project.path());
    assert!(
        log.lines().any(|line| line.contains("still starting") && line.contains("feishu, telegram")),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn platforms_that_are_out_of_reach_do_not_keep_the_daemon_from_being_announced() {
    tokio::join!(
        starts_without_its_platforms("en", "starting  feishu, telegram (not reached yet; it goes on trying)"),
        starts_without_its_platforms("zh", "启动中  feishu, telegram（尚未连上，会继续尝试）"),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_whose_output_nobody_takes_serves_on_and_stops_as_it_should() {
    let (reader, broken) = std::io::pipe().unwrap();
    drop(reader);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    for output in [Stdio::from(broken), Stdio::from(full)] {
        let project = offline(json!({}));
        let mut command = project.command(&["run"]);
        let manager = Manager::of(&project, &mut command);
        command.stdout(output).stderr(Stdio::null());
        let daemon = Daemon::announced(command, project.path()).await;
        manager.is_told("READY=1").await;
        let answer = daemon.execute(json!({ "instructions": "hello", "chatId": "c" })).await;
        assert_eq!(answer["status"], "done", "{answer}");
        assert!(daemon.stop().await.success());
        assert!(!project.path().join(".ship/run/address").exists(), "it is not there any more");
        let log = logged(project.path());
        assert!(log.contains("status line not printed") && log.contains("stopping"), "{log}");
    }
}

#[test]
fn output_that_could_not_be_written_is_a_failure_and_one_that_was_not_wanted_is_none() {
    let project = offline(json!({}));
    let run = |args: &[&str], output: Stdio| {
        let mut command = project.command(args);
        let ended = command.stdin(Stdio::null()).stdout(output).output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    for args in
        [["threads", "list"].as_slice(), &["config", "schema"], &["completions", "bash"], &["run", "--help"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let (code, words) = run(args, full.into());
        assert!(code == Some(1) && words.starts_with("shipagent: "), "{args:?}: {code:?} {words}");
        let (reader, broken) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run(args, broken.into()), (Some(0), String::new()), "{args:?}");
    }
}
