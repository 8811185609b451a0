//! kill -9 while tasks are due, accepted, running and delivering: each slot runs once and delivers once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::runs::{in_millis, texts};
use crate::fakes::daemon::{PATIENCE, Project};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

const KILLS: usize = 40;
const TASKS: usize = 60;

/// Answers with the number of the task, after a moment.
fn numbered(seen: &Seen) -> Reply {
    let text = seen.last_user_text().lines().last().unwrap_or_default().to_owned();
    Reply::text(&format!("done {text}")).after(Duration::from_millis(30))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_runs_once_and_delivers_once_over_forty_kills() {
    let model = FakeModel::unrecorded(Script::compute(numbered)).await;
    let project = Project::with_model(&model.url(), json!({}));
    let mut dice = Dice::new(seed());
    // Half of the tasks run in threads of their own, the others are reminders; all are due while daemons come and go.
    for number in 0..TASKS {
        let kind = if number % 2 == 0 { "prompt" } else { "message" };
        let due = in_millis(500 + i64::try_from(dice.roll(12_000)).unwrap());
        let file = format!("---\nat: {due}\nkind: {kind}\ndeliver: api:chat:all\n---\n{kind} {number}");
        project.write(&format!(".ship/tasks/t{number}.md"), &file);
    }
    for _ in 0..KILLS {
        let daemon = project.start().await;
        tokio::time::sleep(Duration::from_millis(50 + dice.roll(250))).await;
        daemon.kill();
    }
    let daemon = project.start().await;
    let expected: BTreeMap<String, usize> = (0..TASKS)
        .map(
            |number| {
                if number % 2 == 0 { format!("done prompt {number}") } else { format!("message {number}") }
            },
        )
        .map(|text| (text, 1))
        .collect();
    let delivered = async || {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for text in texts(&daemon, "api:chat:all").await {
            *found.entry(text).or_default() += 1;
        }
        found
    };
    let complete = tokio::time::timeout(PATIENCE, async {
        while delivered().await.len() < TASKS {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let complete = complete.await;
    assert_eq!(delivered().await, expected, "{complete:?}");
}
