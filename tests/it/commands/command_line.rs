//! The command line, run as people run it: its output and exit codes.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, TOKEN};

fn offline() -> Project {
    Project::new(json!({ "llm": { "provider": "offline" } }))
}

#[test]
fn a_bad_ship_json_names_every_mistake_with_its_place_and_a_fix() {
    let project = offline();
    project.write(
        "ship.json",
        r#"{
  "nmae": "typo",
  "language": "fr",
  "owners": ["somebody"],
  "llm": { "provider": "openai", "apiKey": "${NO_SUCH_VARIABLE}", "maxSteps": "many" },
  "adapters": { "web": { "listen": "everywhere" } },
  "queue": { "mergeMs": 5000, "whileRunning": "panic" },
  "approvals": { "expireMinutes": 0 },
  "limits": { "mailbox": -1 }
}"#,
    );
    let output = project.run(&["run"]);
    assert_eq!(output.code, Some(3), "{output:?}");
    for place in [
        "nmae",
        "language",
        "owners",
        "NO_SUCH_VARIABLE",
        "maxSteps",
        "listen",
        "mergeMs",
        "whileRunning",
        "expireMinutes",
        "mailbox",
    ] {
        assert!(output.stderr.contains(place), "{place} is not named in\n{}", output.stderr);
    }
    assert!(output.stderr.contains("ship.json:2"), "no line in\n{}", output.stderr);
    assert!(output.stderr.contains("name"), "no suggestion in\n{}", output.stderr);
    assert!(!project.path().join(".ship").exists(), "something was written");
    assert_eq!(project.run(&["config", "check"]).code, Some(3));
}

#[test]
fn a_missing_agent_md_is_told() {
    let project = offline();
    std::fs::remove_file(project.path().join("Agent.md")).unwrap();
    let output = project.run(&["run"]);
    assert_eq!(output.code, Some(3));
    assert!(output.stderr.contains("Agent.md"), "{output:?}");
    assert!(!project.path().join(".ship").exists(), "something was written");
}

#[test]
fn a_port_in_use_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let project = Project::new(
        json!({ "llm": { "provider": "offline" }, "adapters": { "web": { "listen": listen, "token": TOKEN } } }),
    );
    let output = project.run(&["run"]);
    assert_eq!(output.code, Some(5), "{output:?}");
    assert!(output.stderr.contains(&listen), "{output:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_projects_without_an_address_run_side_by_side_on_ports_of_their_own() {
    let project = || {
        Project::new(json!({ "llm": { "provider": "offline" }, "adapters": { "web": { "token": TOKEN } } }))
    };
    let (one, other) = (project(), project());
    let (first, second) = (one.start().await, other.start().await);
    assert_ne!(first.base, second.base);
    for (daemon, project) in [(&first, &one), (&second, &other)] {
        let answer = daemon.execute(json!({ "instructions": "hello", "chatId": "t" })).await;
        assert_eq!(answer["status"], "done", "{answer}");
        assert!(project.thread_file("api:chat:t").exists());
    }
    assert!(first.stop().await.success() && second.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_listen_option_takes_precedence_over_the_settings() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let project = Project::new(
        json!({ "llm": { "provider": "offline" }, "adapters": { "web": { "listen": listen.to_string(), "token": TOKEN } } }),
    );
    let daemon = Daemon::start(project.command(&["run", "--listen", "0"]), project.path()).await;
    assert_ne!(daemon.base, format!("http://{listen}"));
    assert!(daemon.stop().await.success());
    let output = project.run(&["run", "--listen", &listen.port().to_string()]);
    assert_eq!(output.code, Some(5), "{output:?}");
    assert_eq!(project.run(&["run", "--listen", "nowhere"]).code, Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_daemon_is_refused_and_a_dead_one_holds_nothing() {
    let project = offline();
    let daemon = project.start().await;
    let second = project.run(&["run"]);
    assert_eq!(second.code, Some(4), "{second:?}");
    assert!(second.stderr.contains(&daemon.pid().to_string()), "{second:?}");
    daemon.kill();
    let third = project.start().await;
    assert!(third.stop().await.success());
}

#[test]
fn a_state_directory_that_cannot_be_written_is_told() {
    let project = offline();
    // A file in place of the directory stops root as well.
    project.write(".ship", "not a directory");
    let output = project.run(&["run"]);
    assert_eq!(output.code, Some(6), "{output:?}");
    assert!(output.stderr.contains(".ship"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_messages_clearly_and_loses_none() {
    let project = offline();
    // No file of the daemon may exceed 64 KiB: the journal reaches that soon.
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -f 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_shipagent"), "run", "-C"])
        .arg(project.path());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", project.path());
    let daemon = Daemon::start(command, project.path()).await;
    let mut accepted = Vec::new();
    let mut refused = 0;
    for number in 0..60 {
        let id = format!("m{number}");
        let body = json!({ "instructions": "x".repeat(3000), "chatId": "full", "messageId": id });
        let answer = daemon.post("/api/execute", &body).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        match status {
            200 => accepted.push((id, text)),
            503 | 507 => {
                assert!(!text.is_empty());
                refused += 1;
            }
            other => panic!("{other}: {text}"),
        }
    }
    assert!(refused > 0, "the limit was never reached");
    assert!(!accepted.is_empty());
    assert_eq!(
        daemon.http.get(format!("{}/healthz", daemon.base)).send().await.unwrap().status(),
        200,
        "it lives on"
    );
    daemon.kill();
    // With space again, accepted messages are there and are answered.
    let daemon = project.start().await;
    for (id, _) in &accepted {
        let body = json!({ "instructions": "again", "chatId": "full", "messageId": id });
        let answer = daemon.execute(body).await;
        assert_eq!(answer["status"], "done", "{id}: {answer}");
        assert!(!answer["output"].as_str().unwrap().contains("again"), "{id} was processed anew");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_summary_tells_where_the_console_is_and_the_token_is_for_the_owner_only() {
    let project = Project::new(
        json!({ "llm": { "provider": "offline" }, "adapters": { "web": { "listen": "127.0.0.1:0" } } }),
    );
    let mut child = project
        .command(&["run"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let console = lines
        .find_map(|line| {
            line.unwrap().split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned)
        })
        .unwrap();
    let (base, token) = console.split_once("/#token=").unwrap();
    let kept = std::fs::read_to_string(project.path().join(".ship/run/token")).unwrap();
    assert_eq!(token, kept.trim());
    assert!(token.len() >= 32);
    let mode = std::fs::metadata(project.path().join(".ship/run/token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    shipagent::http_client::install_tls();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let threads = http.get(format!("{base}/api/threads")).bearer_auth(token).send().await.unwrap();
    assert_eq!(threads.status(), 200);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_schema_is_json_and_completions_are_made() {
    let project = offline();
    let schema = project.run(&["config", "schema"]);
    assert_eq!(schema.code, Some(0));
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    assert!(schema["properties"]["adapters"].is_object());
    for shell in ["bash", "zsh", "fish"] {
        let script = project.run(&["completions", shell]);
        assert!(script.stdout.contains("shipagent"), "{shell}");
    }
    assert_eq!(project.run(&["fly"]).code, Some(2));
}

/// Secrets never appear in a log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_ever_logged() {
    let canary = "sk-canary-4f9d1c77aa";
    let model = crate::fakes::fake_model::FakeModel::start(crate::fakes::fake_model::Reply::status(
        500,
        format!("echo {canary}"),
    ))
    .await;
    let project = Project::new(
        json!({ "llm": { "provider": "openai", "baseUrl": model.url(), "apiKey": canary, "model": "m", "timeoutSecs": 2 } }),
    );
    let mut command = project.command(&["run"]);
    command.env("SHIPAGENT_LOG", "trace");
    let daemon = Daemon::start(command, project.path()).await;
    let answer =
        daemon.execute(json!({ "instructions": format!("my key is {canary}"), "chatId": "c" })).await;
    assert_eq!(answer["status"], "failed");
    assert!(daemon.stop().await.success());
    let mut lines = 0;
    let mut of_turn = 0;
    for entry in std::fs::read_dir(project.path().join(".ship/logs")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains(canary), "the key is in the log");
        assert!(!text.contains(TOKEN), "the token is in the log");
        lines += text.lines().count();
        of_turn +=
            text.lines().filter(|line| line.contains(answer["correlationId"].as_str().unwrap())).count();
    }
    assert!(lines > 0 && of_turn > 1, "{lines} lines, {of_turn} of the turn");
}

#[test]
fn a_journal_is_told_where_the_token_is_and_not_the_token() {
    let project = Project::new(
        json!({ "llm": { "provider": "offline" }, "adapters": { "web": { "listen": "127.0.0.1:0" } } }),
    );
    let mut child = project
        .command(&["run"])
        .env("INVOCATION_ID", "0123456789abcdef")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let console = lines.map(Result::unwrap).find(|line| line.contains("http://")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(console.ends_with("/ (the token is in .ship/run/token)"), "{console}");
}

#[test]
fn what_is_remembered_and_the_tasks_are_shown_on_the_machine() {
    let project = Project::new(json!({ "language": "en" }));
    let run = |args: &[&str]| {
        let output = project.run(args);
        (output.code, output.stdout.trim().to_owned())
    };
    let (code, told) = run(&["memory", "show"]);
    assert!(code == Some(0) && told.starts_with("nothing is remembered"), "{told}");
    assert!(!project.path().join(".ship").exists(), "a look makes no state");
    let (_, path) = run(&["memory", "path", "--user", "telegram:user:7"]);
    assert!(path.ends_with(".ship/memory/users/telegram%3Auser%3A7.md"), "{path}");
    project.write(".ship/memory/project.md", "- ships on Fridays\n");
    assert_eq!(run(&["memory", "show"]), (Some(0), "- ships on Fridays".to_owned()));
    let (_, told) = run(&["memory", "show", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["text"], "- ships on Fridays");
    assert_eq!(run(&["memory", "show", "--user", "nobody"]).0, Some(2));
    assert!(run(&["tasks", "list"]).1.starts_with("There are no tasks"));
    project.write(".ship/tasks/a.md", "---\nevery: 1d\n---\n# Water the plants\n");
    let (_, told) = run(&["tasks", "list", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["tasks"][0]["title"], "Water the plants");
}
