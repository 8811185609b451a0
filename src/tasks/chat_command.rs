//! `/tasks` in a chat.

use std::sync::Arc;

use super::words;
use crate::domain::{Currency, Language, Timestamp, time_zone};
use crate::phrases::tasks as phrases;
use crate::ports::{BoxFuture, TaskCommands, TaskRefusal, TaskSummary, TaskViewer, Tasks};

/// Most tasks in a list.
const MOST: usize = 50;

/// Most characters of the reason of a failure.
const REASON_CHARS: usize = 120;

/// Answers `/tasks`.
#[derive(Clone, Debug)]
pub struct ChatTasks {
    pub tasks: Arc<dyn Tasks>,
    pub currency: Currency,
}

impl TaskCommands for ChatTasks {
    fn answer(&self, words: &str, viewer: TaskViewer, language: Language) -> BoxFuture<'_, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Box::pin(async move {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words.as_slice() {
                [] | ["list"] => self.list(&viewer, language).await,
                ["run" | "pause" | "resume", _] if !viewer.owner => phrases::owners_only(language).to_owned(),
                ["run", id] => told(id, self.tasks.run(id, None).await.map(drop), phrases::started, language),
                ["pause", id] => told(id, self.tasks.pause(id).await, phrases::paused, language),
                ["resume", id] => told(id, self.tasks.resume(id).await, phrases::resumed, language),
                _ => phrases::usage(language).to_owned(),
            }
        })
    }
}

impl ChatTasks {
    async fn list(&self, viewer: &TaskViewer, language: Language) -> String {
        let tasks = self.tasks.list(language).await;
        match tasks.map(|tasks| tasks.into_iter().filter(|task| viewer.may_see(task)).collect::<Vec<_>>()) {
            Ok(tasks) if tasks.is_empty() => phrases::none(language).to_owned(),
            Ok(tasks) => {
                // What something costs is between the project and its owners.
                let currency = (viewer.owner && !viewer.group).then_some(&self.currency);
                let lines = tasks.iter().take(MOST).map(|task| line(task, currency, language));
                lines.collect::<Vec<_>>().join("\n")
            }
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "task list unavailable");
                phrases::unavailable(language).to_owned()
            }
        }
    }
}

/// One task of a list, with its cost where a currency is given.
fn line(task: &TaskSummary, currency: Option<&Currency>, language: Language) -> String {
    let zone = time_zone(&task.timezone).unwrap_or(jiff::tz::TimeZone::UTC);
    let local = |text: &str| {
        Timestamp::parse_rfc3339(text).map(|at| words::local(at, &zone, language)).unwrap_or_default()
    };
    let mut parts = vec![phrases::status(task.status, language).to_owned()];
    if !task.schedule.is_empty() {
        parts.push(format!("{} ({})", task.schedule, task.timezone));
    }
    if let Some(mistake) = &task.mistake {
        parts.push(mistake.message.clone());
    }
    if let Some(next) = task.next.first() {
        parts.push(phrases::next_run(&local(next), language));
    }
    if let Some(last) = &task.last {
        parts.push(phrases::last_run(&local(&last.slot), phrases::outcome(last.outcome, language), language));
        if matches!(last.outcome, "failed" | "timed-out") {
            parts.push(last.text.lines().next().unwrap_or_default().chars().take(REASON_CHARS).collect());
        }
    }
    if let (Some(currency), Some(month)) = (currency, task.recent_cost) {
        let show = |micros: u64| format!("{} {}", currency.show(micros), currency.name);
        let last = task.last.as_ref().and_then(|last| last.cost_micros).unwrap_or_default();
        parts.push(phrases::cost(&show(last), &show(month), language));
    }
    parts.extend(task.remarks.iter().cloned());
    format!("- **{}** {}: {}", task.id, task.title, parts.join(" · "))
}

fn told(
    id: &str,
    answer: Result<(), TaskRefusal>,
    done: fn(&str, Language) -> String,
    language: Language,
) -> String {
    match answer {
        Ok(()) => done(id, language),
        Err(TaskRefusal::Unknown | TaskRefusal::BadId) => phrases::unknown(id, language),
        Err(TaskRefusal::Running) => phrases::still_running(id, language),
        Err(TaskRefusal::Broken(mistake)) => phrases::broken(id, &mistake.message, language),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "task command failed");
            phrases::unavailable(language).to_owned()
        }
    }
}
