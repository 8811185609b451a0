//! Reading conversations.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::project::{Served, THREAD, offline, said, with_model};
use crate::fakes::approval_scene::obedient;
use crate::fakes::daemon::Output;
use crate::fakes::fake_model::{FakeModel, Script};

#[test]
fn a_wrong_configuration_keeps_nobody_from_their_conversations() {
    let project = offline();
    assert_eq!(project.run(&["chat", "-t", "terminal", "hello"]).code, Some(0));
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
    assert_eq!(project.run(&["chat", "-t", "terminal", "你好"]).code, Some(0));
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
    // Programs get the same JSON as from the daemon's interface.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_yes_is_shown_as_theirs_and_the_decision_between_question_and_result() {
    for served in [Served::Alone, Served::ByDaemon] {
        let model = FakeModel::start(Script::compute(obedient)).await;
        let project = with_model(&model);
        let daemon = served.start(&project).await;
        let chat = |words: &str| project.run(&["chat", "-t", "terminal", words]);
        assert_eq!(chat(r#"run ["touch made"]"#).code, Some(1));
        let waiting = project.run(&["threads", "show", THREAD]).stdout;
        assert!(waiting.contains("  … A1 waits for a decision\n"), "{waiting}");
        assert_eq!(chat("yes").code, Some(0));
        let shown = project.run(&["threads", "show", THREAD]).stdout;
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} in {shown}"));
        let order = [
            at("· exec_shell touch made"),
            at("  ? A1 asked for approval · risk: "),
            at("  ✓ A1 approved · cli:user:operator · text · "),
            at("  = exit 0"),
            at("1 results"),
        ];
        assert!(order.is_sorted(), "{shown}");
        let heads: Vec<&str> = shown.lines().filter(|line| line.contains("  20")).collect();
        let speakers: Vec<&str> = heads.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(speakers, ["user", "agent", "user", "daemon"], "{shown}");
        let markdown = project.run(&["threads", "export", THREAD, "-f", "markdown"]).stdout;
        assert!(markdown.contains("\n\nyes\n\n## daemon · "), "{markdown}");
        drop(daemon);
    }
}
