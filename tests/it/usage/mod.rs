//! Which model answers, what calls used, and where that is shown.

mod ledger;
mod reports;
mod routing;
mod surfaces;
mod titles;

use serde_json::{Value, json};

use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

/// Says which model was asked, and what.
pub(crate) fn named(seen: &Seen) -> Reply {
    let model = seen.body["model"].as_str().unwrap_or_default();
    Reply::text(&format!("{model}: {}", seen.last_user_text()))
}

/// A project with a model `deep` beside the default one.
pub(crate) fn with_deep(url: &str, extra: Value) -> Project {
    let mut config = json!({
        "language": "en", "queue": { "mergeMs": 0 }, "llm": { "models": { "deep": { "model": "fake-deep" } } },
    });
    merge(&mut config, extra);
    Project::with_model(url, config)
}

async fn naming() -> FakeModel {
    FakeModel::start(Script::compute(named)).await
}

/// The lines of the usage ledger.
fn ledger(project: &Project) -> Vec<Value> {
    let files = std::fs::read_dir(project.path().join(".ship/logs")).into_iter().flatten().flatten();
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("usage-")));
    files.sort();
    let text: String = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines that end calls.
fn settled(project: &Project) -> Vec<Value> {
    ledger(project).into_iter().filter(|line| line["t"] == "settle").collect()
}
