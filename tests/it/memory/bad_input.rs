//! Files that are broken in every way: a clear message, nothing lost, and turns go on.

use std::path::Path;

use serde_json::json;

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script};

const CORE: &str = ".ship/memory/project.md";
const LEDGER: &str = ".ship/memory/ledger.jsonl";
const NOTES: &str = ".ship/memory/notes/project/2026-11.md";
const INDEX: &str = ".ship/state/search.sqlite";

#[expect(clippy::disallowed_methods, reason = "files are broken on purpose")]
fn put(project: &Project, name: &str, bytes: &[u8]) {
    let path = project.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}

/// A name, the file that is broken, and its content.
fn cases() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let mut not_text = b"- ships on Fridays \xff\xfe\x80\n".to_vec();
    not_text.extend(b"- and this line is fine\n");
    let torn = br#"{"seq":1,"id":"k1","scope":"project","tier":"core","op":"add","after":"te"#;
    vec![
        ("core memory that is not UTF-8", CORE, not_text),
        ("core memory of 10 MB", CORE, b"- ships on Fridays\n".repeat(550_000)),
        ("a ledger with a torn line", LEDGER, torn.to_vec()),
        ("a ledger of noise", LEDGER, vec![0xa5; 4096]),
        ("an index of noise", INDEX, vec![0xa5; 8192]),
        ("an index with a torn head", INDEX, b"SQLite format 3\0\x10\0".to_vec()),
        ("notes that are not UTF-8", NOTES, vec![b'-', b' ', 0xff, b'\n']),
        ("notes of 10 MB", NOTES, b"- the harbour is open on Fridays\n".repeat(330_000)),
    ]
}

/// Adds one note of November 2026.
fn import(project: &Project) -> Option<i32> {
    let line =
        json!({ "id": "n1", "at": 1_795_032_000_000_i64, "author": "Ann", "text": "the sluice is shut" });
    put(project, "import/notes.jsonl", format!("{line}\n").as_bytes());
    project.run(&["memory", "import", project.path().join("import").to_str().unwrap()]).code
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_files_are_told_of_lose_nothing_and_stop_no_turn() {
    for (what, file, content) in cases() {
        let model = FakeModel::start(Script::compute(|seen| {
            let last = seen.body["messages"].as_array().unwrap().last().unwrap().clone();
            match seen.last_user_text() {
                _ if last["role"] == "tool" => Reply::text("found"),
                "find" => Reply::calls([("memory_search", json!({ "query": "lantern" }))]),
                _ => Reply::text("well"),
            }
        }))
        .await;
        let project =
            Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 }, "language": "en" }));
        put(&project, file, &content);
        let daemon = project.start().await;
        let told = async |text: &str| {
            let body = json!({ "instructions": text, "chatId": "c", "userId": "ann" });
            let reply = daemon.execute(body).await;
            assert_eq!(reply["status"], "done", "{what}: {reply}");
            reply["output"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(told("the lantern is blue").await, "well", "{what}");
        assert_eq!(told("find").await, "found", "{what}");
        let results = model.requests().last().unwrap().body["messages"].to_string();
        assert!(results.contains("the lantern is blue"), "{what}: what was said is found: {results}");
        // A change either works, or is refused with the reason; the file that a person wrote stays as it is.
        let change = json!({ "scope": "project", "action": "edit", "text": "- the office is in Lisbon\n" });
        let response = daemon.post("/api/memory", &change).send().await.unwrap();
        let (status, body) = (response.status(), response.text().await.unwrap());
        match file {
            CORE => {
                assert!(status.is_client_error(), "{what}: {status} {body}");
                assert!(body.contains("by hand"), "{what}: it says what to do: {body}");
                assert!(bytes(&project.path().join(CORE)) == content, "{what}: the file was changed");
            }
            _ => assert!(status.is_success(), "{what}: {status} {body}"),
        }
        let shown = project.run(&["memory", "show", "--json"]);
        assert_eq!(shown.code, Some(0), "{what}: {shown:?}");
        let unknown = daemon.get("/api/memory?scope=everybody").send().await.unwrap();
        assert_eq!(unknown.status(), 400, "{what}");
        assert!(unknown.text().await.unwrap().contains("everybody"), "{what}");
        assert_eq!(told("still there?").await, "well", "{what}");
        let imported = import(&project);
        assert_eq!(imported, Some(0), "{what}: notes can be added");
        let found = project.run(&["memory", "search", "the sluice is shut", "--json"]);
        assert!(found.stdout.contains("the sluice is shut"), "{what}: {found:?}");
        let kept = bytes(&project.path().join(file));
        match file {
            INDEX => {}
            _ => assert!(kept.starts_with(&content), "{what}: nothing of the file is lost"),
        }
        assert!(daemon.stop().await.success(), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fills_up_during_a_change_loses_nothing_and_stops_no_turn() {
    let model = FakeModel::start(Reply::text("well")).await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 }, "language": "en" }));
    put(&project, CORE, b"- the pier is closed\n");
    // The ledger is longer than every other file, so that it alone reaches the limit.
    put(&project, LEDGER, &[vec![b'x'; 8 << 20], vec![b'\n']].concat());
    let before = bytes(&project.path().join(LEDGER));
    let daemon = project.start().await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.pid()).unwrap());
    let limit = |current: Option<u64>| {
        let limit = rustix::process::Rlimit { current, maximum: None };
        rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    };
    let change = async || {
        let change = json!({ "scope": "project", "action": "edit", "text": "- the pier is open\n" });
        let response = daemon.post("/api/memory", &change).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    };
    let core = || String::from_utf8(bytes(&project.path().join(CORE))).unwrap();
    limit(Some(8 << 20));
    for _ in 0..2 {
        let (status, body) = change().await;
        assert!(status.is_server_error() && body.contains("message"), "{status} {body}");
        assert_eq!(core(), "- the pier is closed\n");
    }
    let reply = daemon.execute(json!({ "instructions": "hello", "chatId": "c", "userId": "ann" })).await;
    assert_eq!((&reply["status"], &reply["output"]), (&json!("done"), &json!("well")));
    limit(None);
    let (status, body) = change().await;
    assert!(status.is_success(), "{status} {body}");
    assert!(core().contains("the pier is open") && !core().contains("closed"), "{}", core());
    assert!(bytes(&project.path().join(LEDGER)).starts_with(&before), "nothing of the ledger was lost");
    assert!(daemon.stop().await.success());
}
