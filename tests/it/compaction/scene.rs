//! A model that answers people and sums conversations up, and what the thread file says of it.

use serde_json::{Value, json};

use crate::fakes::daemon::{PATIENCE, Project};
use crate::fakes::fake_model::{Reply, Seen};

/// A window in which a conversation of twenty turns is long.
pub(crate) fn small_window(url: &str, extra: Value) -> Project {
    let mut config = json!({ "llm": { "contextTokens": 16_000 }, "queue": { "mergeMs": 0 } });
    crate::fakes::daemon::merge(&mut config, extra);
    Project::with_model(url, config)
}

/// Whether a request asks for a summary.
pub(crate) fn is_summary(seen: &Seen) -> bool {
    seen.body["messages"][0]["content"]
        .as_str()
        .is_some_and(|text| text.contains("You keep the notes of an agent"))
}

/// A summary as a good model would write it: what was told as a fact, and one line about the rest.
pub(crate) fn summary(seen: &Seen) -> Reply {
    let shown = seen.body["messages"][1]["content"].as_str().unwrap_or_default();
    let mut observations =
        vec![json!({ "ids": [1], "who": "Ann", "text": "They talked about the staging host." })];
    let mut notes = Vec::new();
    for line in shown.lines().filter(|line| line.contains("fact:")) {
        let number = line.trim_start_matches('[').split([']', ',']).next().unwrap_or_default();
        let text =
            line.split_once("fact:").map_or("", |(_, fact)| fact.split('.').next().unwrap_or_default());
        let number: u64 = number.parse().unwrap_or(1);
        observations.push(json!({ "ids": [number], "who": "Ann", "text": format!("fact:{text}.") }));
        notes.push(json!({ "ids": [number], "text": text.trim() }));
    }
    Reply::text(&json!({ "observations": observations, "open": [], "notes": notes }).to_string())
}

/// A question of some length.
pub(crate) fn question(number: usize) -> String {
    format!("Question {number}: {}", "what about the staging host, and who looks after it? ".repeat(8))
}

/// An answer of some length.
pub(crate) fn answer() -> Reply {
    Reply::text(&format!("An answer. {}", "The staging host is looked after by the team on duty. ".repeat(8)))
}

/// The checkpoints of a thread file, oldest first.
pub(crate) fn checkpoints(project: &Project, thread: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(project.thread_file(thread)).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["metadata"]["checkpoint"] == true)
        .map(|line| line["parts"][0]["data"].clone())
        .collect()
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
