//! A model that answers people and distils, and what memory holds afterwards.

use serde_json::{Value, json};

use crate::fakes::daemon::{PATIENCE, Project};
use crate::fakes::fake_model::{Reply, Seen};

/// A project that distils after so many turns.
pub(super) fn project(url: &str, every: u32, extra: Value) -> Project {
    let mut config =
        json!({ "queue": { "mergeMs": 0 }, "memory": { "distilEvery": every, "auto": "propose" } });
    crate::fakes::daemon::merge(&mut config, extra);
    Project::with_model(url, config)
}

/// Whether a request asks what is worth remembering.
pub(crate) fn is_distil(seen: &Seen) -> bool {
    system(seen).contains("You keep the memory of an agent")
}

/// Whether a request asks for a summary.
pub(super) fn is_summary(seen: &Seen) -> bool {
    system(seen).contains("You keep the notes of an agent")
}

fn system(seen: &Seen) -> &str {
    seen.body["messages"][0]["content"].as_str().unwrap_or_default()
}

/// The numbered lines that a model was shown.
pub(super) fn shown(seen: &Seen) -> Vec<(u64, String)> {
    let text = seen.body["messages"][1]["content"].as_str().unwrap_or_default();
    let line = |line: &str| {
        let (number, rest) = line.strip_prefix('[')?.split_once(']')?;
        Some((number.parse().ok()?, rest.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// Keeps every line with "my … is …" as a good model would.
pub(super) fn memories(seen: &Seen) -> Reply {
    let facts = shown(seen).into_iter().filter_map(|(number, line)| {
        let (_, fact) = line.split_once("my ")?;
        Some(json!({ "ids": [number], "text": format!("Ann's {}", fact.trim_end_matches('.')) }))
    });
    Reply::text(&json!({ "memories": facts.collect::<Vec<_>>() }).to_string())
}

/// Answers people, and distils.
pub(super) fn both(seen: &Seen) -> Reply {
    if is_distil(seen) { memories(seen) } else { Reply::text("Noted.") }
}

/// All notes of a scope, month after month.
pub(super) fn notes(project: &Project, scope: &str) -> String {
    let folder = project.path().join(".ship/memory/notes").join(scope.replace(':', "%3A"));
    let mut files: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    // A file that is being replaced has a temporary name.
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    files.sort();
    files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// The core memory of a person.
pub(super) fn core(project: &Project, scope: &str) -> String {
    let path = project.path().join(".ship/memory/users").join(format!("{}.md", scope.replace(':', "%3A")));
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The lines of the ledger.
pub(super) fn ledger(project: &Project) -> Vec<Value> {
    let text = std::fs::read_to_string(project.path().join(".ship/memory/ledger.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// How often a text stands in another.
pub(super) fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// The newest versions of the questions about core memory in a thread file.
pub(super) fn questions(project: &Project, thread: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(project.thread_file(thread)).unwrap_or_default();
    let mut found: Vec<(String, Value)> = Vec::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        for part in
            line["parts"].as_array().into_iter().flatten().filter(|part| part["type"] == "tool-memory_keep")
        {
            let id = part["toolCallId"].to_string();
            found.retain(|(known, _)| *known != id);
            found.push((id, part.clone()));
        }
    }
    found.into_iter().map(|(_, part)| part).collect()
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
