//! Spend caps: what happens at them, who decides, and what survives a restart.

mod caps;
mod cards;
mod chats;
mod kills;
mod over_http;
mod switch;

use serde_json::{Value, json};

use crate::fakes::daemon::Project;

/// The budget of a project whose calls cost 0.40 each.
fn budget(caps: Value) -> Value {
    let mut budget = json!({ "prices": { "*": { "perCall": 0.4 } } });
    crate::fakes::daemon::merge(&mut budget, caps);
    json!({ "budget": budget })
}

/// The lines of the ledger.
fn ledger(project: &Project) -> Vec<Value> {
    let files = std::fs::read_dir(project.path().join(".ship/logs")).into_iter().flatten().flatten();
    let usage = files.filter(|file| file.file_name().to_string_lossy().starts_with("usage-"));
    let text: String = usage.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The lines of one kind.
fn lines(project: &Project, kind: &str) -> Vec<Value> {
    ledger(project).into_iter().filter(|line| line["t"] == kind).collect()
}
