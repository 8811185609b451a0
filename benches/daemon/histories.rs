//! Many threads with long histories: what they take while all of them are used, and what is left of it later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::conversation::output;
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::measure::Memory;
use crate::table::Table;
use crate::thread_files;

const THREADS: usize = 200;
/// About a megabyte of JSON.
const MESSAGES: usize = 1_900;
/// Half of the minute in which all are used; the other half is left to the daemon.
const USED_WITHIN: Duration = Duration::from_secs(30);
const LATER: Duration = Duration::from_secs(600);

pub(crate) async fn memory(table: &mut Table) {
    let model = FakeModel::unrecorded(Script::compute(|_| Reply::text("fine"))).await;
    let config = json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } });
    let project = Project::with_model(&model.url(), config);
    for number in 0..THREADS {
        thread_files::long(project.path(), &format!("h{number}"), MESSAGES);
    }
    let size = std::fs::metadata(thread_files::path(project.path(), "h0")).unwrap().len();
    let daemon = Arc::new(project.start().await);
    let begun = Instant::now();
    let mut using = JoinSet::new();
    for number in 0..THREADS {
        let daemon = Arc::clone(&daemon);
        let at = USED_WITHIN / u32::try_from(THREADS).unwrap() * u32::try_from(number).unwrap();
        using.spawn(async move {
            tokio::time::sleep(at).await;
            let body = json!({ "instructions": "How are you?", "chatId": format!("h{number}") });
            assert_eq!(output(&daemon.execute(body).await), "fine");
        });
    }
    let mut most = Memory::of(daemon.pid());
    while begun.elapsed() < Duration::from_secs(60) {
        while using.try_join_next().is_some() {}
        let now = Memory::of(daemon.pid());
        most = if now.resident > most.resident { now } else { most };
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(using.is_empty(), "not all threads were used within a minute");
    let figure =
        format!("RSS at most, {THREADS} threads of {:.1} MB used within a minute", size as f64 / 1e6);
    table.target(&figure, "≤ 120 MB", &most.to_string(), most.resident <= 120.0);
    let mut left = Vec::new();
    while begun.elapsed() < LATER {
        tokio::time::sleep(Duration::from_secs(60).min(LATER.saturating_sub(begun.elapsed()))).await;
        left.push(Memory::of(daemon.pid()));
    }
    let course: Vec<String> = left.iter().map(|memory| format!("{:.0}", memory.resident)).collect();
    table.plain("RSS of it each minute, in MB", &course.join(" "));
    let last = left[left.len() - 1];
    table.target("RSS of it ten minutes later", "≤ 30 MB", &last.to_string(), last.resident <= 30.0);
}
