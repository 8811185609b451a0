//! People change what is remembered: in the chat, on the machine, and through the files, while the daemon writes.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use shipagent::domain::ChatKind;

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};

const ANN: &str = "telegram:user:7";
const CHAT: &str = "telegram:chat:7";
const ANNS: &str = ".ship/memory/users/telegram%3Auser%3A7.md";

fn read(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.path().join(name)).unwrap_or_default()
}

async fn scene(config: Value) -> (FakeModel, Project) {
    let model = FakeModel::start(Script::compute(|_| Reply::text("well"))).await;
    let project = Project::with_model(&model.url(), config);
    (model, project)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_sees_forgets_and_undoes_what_is_remembered_about_them() {
    let (_model, project) = scene(json!({ "language": "en", "owners": ["telegram:user:1"] })).await;
    project.write(ANNS, "- likes tea\n- plays chess\n");
    project.write(".ship/memory/project.md", "- ships on Fridays\n");
    let daemon = InProcess::start(&project, &HandClock::evening());
    let say = async |text: &str| daemon.say_as(ANN, ChatKind::Direct, CHAT, text).await;
    let shown = say("/memory").await;
    let id = |shown: &str, of: &str| {
        let line = shown.lines().find(|line| line.contains(of)).unwrap();
        line.split('`').nth(1).unwrap().to_owned()
    };
    let tea = id(&shown, "likes tea");
    assert!(say(&format!("/memory forget {tea}")).await.contains("Forgotten"));
    assert_eq!(read(&project, ANNS), "- plays chess\n");
    assert!(say(&format!("/memory forget {tea}")).await.contains("nothing called"));
    let friday = id(&shown, "ships on Fridays");
    assert!(say(&format!("/memory forget {friday}")).await.contains("not yours to change"));
    let forget = format!("/memory forget {friday}");
    let owner = daemon.say_as("telegram:user:1", ChatKind::Direct, "telegram:chat:1", &forget).await;
    assert!(owner.contains("Forgotten"), "{owner}");
    assert!(say("/memory undo").await.contains("cannot be brought back"));
    assert!(say("/forget me").await.contains("I remember 1 things"));
    assert!(read(&project, ANNS).contains("chess"), "it is asked first");
    let group = daemon.say_as(ANN, ChatKind::Group, "telegram:chat:-1", "/forget me yes").await;
    assert!(group.contains("direct chat"), "{group}");
    assert!(say("/forget me yes").await.contains("1 things I remembered about you are gone"));
    assert!(!project.path().join(ANNS).exists());
    let ledger = read(&project, ".ship/memory/ledger.jsonl");
    assert!(
        !ledger.contains("chess") && !ledger.contains("tea") && ledger.contains("\"forget\""),
        "{ledger}"
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forgotten_leaves_the_prompt_of_a_conversation_at_once_whoever_forgets_it() {
    for way in ["chat", "undo", "command line", "edit"] {
        let (model, project) = scene(json!({ "language": "en" })).await;
        let scope = ["--scope", ANN];
        run(&project, &["edit", "-", scope[0], scope[1]], "- likes tea\n- plays chess\n");
        let daemon = InProcess::start(&project, &HandClock::evening());
        let say = async |text: &str| daemon.say_as(ANN, ChatKind::Direct, CHAT, text).await;
        let prompt = || model.requests().last().unwrap().body["messages"][0]["content"].to_string();
        say("hello").await;
        assert!(prompt().contains("likes tea") && prompt().contains("plays chess"), "{}", prompt());
        let shown = printed(&run(&project, &["show", "--json", scope[0], scope[1]], ""));
        let tea = shown["items"][0]["id"].as_str().unwrap();
        match way {
            "chat" => drop(say(&format!("/memory forget {tea}")).await),
            "undo" => assert!(say("/memory undo").await.contains("as it was before")),
            "command line" => drop(run(&project, &["forget", tea, scope[0], scope[1]], "")),
            _ => drop(run(&project, &["edit", "-", scope[0], scope[1]], "- plays chess\n")),
        }
        say("hello again").await;
        assert!(!prompt().contains("likes tea"), "{way}: {}", prompt());
        assert_eq!(prompt().contains("plays chess"), way != "undo", "{way}: {}", prompt());
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_sees_notes_forgets_them_and_is_told_what_was_undone() {
    let (_model, project) = scene(json!({ "language": "en" })).await;
    project.write(
        "notes/a.jsonl",
        "{\"id\": \"n1\", \"at\": 1, \"author\": \"Ann\", \"text\": \"rents a boat\"}\n",
    );
    let folder = project.path().join("notes");
    let scope = ["--scope", ANN];
    run(&project, &["import", folder.to_str().unwrap(), scope[0], scope[1]], "");
    run(&project, &["edit", "-", scope[0], scope[1]], "- likes tea\n");
    let daemon = InProcess::start(&project, &HandClock::evening());
    let say = async |text: &str| daemon.say_as(ANN, ChatKind::Direct, CHAT, text).await;
    let shown = say("/memory").await;
    assert!(shown.contains("- rents a boat (`n1`, 1970-01-01)"), "{shown}");
    let told = run(&project, &["show", scope[0], scope[1]], "");
    assert!(String::from_utf8_lossy(&told.stdout).contains("- rents a boat (`n1`"), "{told:?}");
    assert!(say("/memory forget n1").await.contains("Forgotten"));
    assert!(!say("/memory").await.contains("boat"));
    let again =
        printed(&run(&project, &["import", folder.to_str().unwrap(), "--json", scope[0], scope[1]], ""));
    assert_eq!((&again["added"], &again["forgotten"]), (&json!(0), &json!(1)), "{again}");
    assert!(!say("/memory").await.contains("boat"));
    assert!(say("/memory undo").await.contains("cannot be brought back"));
    daemon.stop().await;
}

fn run(project: &Project, arguments: &[&str], input: &str) -> Output {
    let mut command = project.command(&[&["memory"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_changes_and_exports_memory_beside_a_daemon_and_without_one() {
    let (_model, project) = scene(json!({ "language": "en" })).await;
    for beside in [true, false] {
        let daemon = beside.then(|| InProcess::start(&project, &HandClock::evening()));
        if let Some(daemon) = &daemon {
            daemon.say_as(ANN, ChatKind::Direct, CHAT, "hello there").await;
        }
        let scope = ["--scope", ANN];
        let done = run(&project, &["edit", "-", scope[0], scope[1]], "- likes tea\n- plays chess\n");
        assert!(done.status.success(), "{done:?}");
        let shown = printed(&run(&project, &["show", "--json", scope[0], scope[1]], ""));
        assert_eq!(shown["items"].as_array().unwrap().len(), 2, "{shown}");
        let tea = shown["items"][0]["id"].as_str().unwrap();
        assert!(run(&project, &["forget", tea, scope[0], scope[1]], "").status.success());
        assert_eq!(read(&project, ANNS), "- plays chess\n");
        assert!(run(&project, &["edit", "-", scope[0], scope[1]], "- plays go\n").status.success());
        let undone = printed(&run(&project, &["undo", "--json", scope[0], scope[1]], ""));
        assert!(undone["line"]["undoes"].is_u64(), "{undone}");
        assert_eq!(read(&project, ANNS), "- plays chess\n");
        let folder = project.path().join(format!("out-{beside}"));
        let folder = folder.to_str().unwrap();
        let told = printed(&run(&project, &["export", folder, "--json", scope[0], scope[1]], ""));
        assert_eq!(told["messages"], 1, "{told}");
        assert!(read(&project, &format!("out-{beside}/messages.jsonl")).contains("hello there"));
        assert_eq!(read(&project, &format!("out-{beside}/core.md")), "- plays chess\n");
        assert!(!read(&project, &format!("out-{beside}/ledger.jsonl")).contains("tea"));
        assert_eq!(run(&project, &["export", folder, scope[0], scope[1]], "").status.code(), Some(2));
        assert_eq!(run(&project, &["undo", "--scope", "everybody"], "").status.code(), Some(2));
        let missing = run(&project, &["forget", "k0", scope[0], scope[1]], "");
        assert_eq!(missing.status.code(), Some(1), "{missing:?}");
        if let Some(daemon) = daemon {
            daemon.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_cannot_be_read_or_changed_does_not_stop_a_turn() {
    let (model, project) = scene(json!({ "language": "en" })).await;
    let folder = project.path().join(ANNS);
    std::fs::create_dir_all(&folder).unwrap();
    project.write(".ship/memory/ledger.jsonl", "{\"torn\n");
    project.write(".ship/memory/project.md", &"- ships on Fridays\n".repeat(600_000));
    let daemon = InProcess::start(&project, &HandClock::evening());
    assert_eq!(daemon.say_as(ANN, ChatKind::Direct, CHAT, "hello").await, "well");
    let prompt = model.requests().last().unwrap().body["messages"][0]["content"].to_string();
    assert!(prompt.contains("ships on Fridays") && prompt.len() < 60_000, "{}", prompt.len());
    let told = daemon.say_as(ANN, ChatKind::Direct, CHAT, "/memory").await;
    assert!(told.contains("cannot read that now"), "{told}");
    daemon.stop().await;
}
