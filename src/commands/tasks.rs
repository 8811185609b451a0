//! `shipagent tasks`: looks at scheduled tasks beside a running daemon or without one, and starts, pauses and resumes them.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::cli_context::CliContext;
use super::daemon_client::{DaemonClient, DaemonError};
use super::setup::load_or_say;
use super::terminal::{moment, one_line};
use super::text_table::table;
use crate::cli::{Exit, OneTask, Output, TasksCommand};
use crate::config::{Env, Settings};
use crate::domain::{Language, Timestamp};
use crate::phrases::tasks as words;
use crate::ports::{
    AdapterTable, Clock as _, SystemClock, TaskDetails, TaskHistoryEntry, TaskMistake, TaskPreview,
    TaskRefusal, TaskSummary, Tasks as _,
};
use crate::tasks::TaskBook;

/// The widest a title or a result is shown.
const TEXT_COLUMNS: usize = 48;

/// What a command works with.
struct TasksContext<'a> {
    cli: CliContext,
    settings: Settings,
    tasks: TaskBook,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
}

/// Runs one of the commands. What was found goes to `out`, mistakes to `err`.
///
/// # Errors
/// When nothing can be written to the terminal.
pub(super) fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    command: TasksCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(cli) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let Some(settings) = load_or_say(project, env, adapters, err)? else { return Ok(Exit::Configuration) };
    let states = cli.store.notes.nested("tasks");
    let tasks = TaskBook::new(cli.store.tasks.clone(), states, Arc::new(SystemClock), settings.zone.clone())
        .with_models(settings.model.named.keys());
    let mut context = TasksContext { cli, settings, tasks, out, err };
    match command {
        TasksCommand::List(output) => context.list(output),
        TasksCommand::Show(OneTask { task, output }) => context.show(&task, output),
        TasksCommand::History(OneTask { task, output }) => context.history(&task, output),
        TasksCommand::Validate { task, output } => context.validate(task.as_deref(), output),
        TasksCommand::Run(one) => context.change(&one, "run"),
        TasksCommand::Pause(one) => context.change(&one, "pause"),
        TasksCommand::Resume(one) => context.change(&one, "resume"),
        TasksCommand::Clean(output) => context.clean(output),
    }
}

/// How a run ended, and why it failed.
fn outcome(last: &TaskHistoryEntry, language: Language) -> String {
    let outcome = words::outcome(last.outcome, language);
    match last.outcome {
        "failed" | "timed-out" => format!("{outcome}: {}", last.text),
        _ => outcome.to_owned(),
    }
}

impl TasksContext<'_> {
    fn refused(&mut self, id: &str, refusal: &TaskRefusal) -> anyhow::Result<Exit> {
        let language = self.cli.language;
        let text = match refusal {
            TaskRefusal::Unknown | TaskRefusal::BadId => words::unknown_on_machine(id, language),
            TaskRefusal::Running => words::still_running(id, language),
            TaskRefusal::Broken(mistake) => words::broken(id, &mistake.message, language),
            TaskRefusal::Stopping => words::no_daemon_runs(language).to_owned(),
            TaskRefusal::Store(error) => self.cli.trouble(error),
            TaskRefusal::Changed => refusal.to_string(),
        };
        writeln!(self.err, "{text}")?;
        Ok(Exit::Failed)
    }

    fn list(&mut self, output: Output) -> anyhow::Result<Exit> {
        let tasks = match self.cli.wait(self.tasks.list(self.cli.language)) {
            Ok(tasks) => tasks,
            Err(refusal) => return self.refused("", &refusal),
        };
        if output.json {
            writeln!(self.out, "{:#}", json!({ "tasks": tasks }))?;
        } else if tasks.is_empty() {
            writeln!(self.out, "{}", words::none(self.cli.language))?;
        } else {
            let rows: Vec<_> = tasks.iter().map(|task| self.row(task)).collect();
            write!(self.out, "{}", table(self.cli.surface, words::task_columns(self.cli.language), &rows))?;
        }
        Ok(Exit::Ok)
    }

    fn cost(&self, micros: Option<u64>) -> String {
        let currency = &self.settings.budget.rules.currency;
        micros.map(|micros| format!("{} {}", currency.show(micros), currency.name)).unwrap_or_default()
    }

    fn row(&self, task: &TaskSummary) -> [String; 7] {
        let at = |text: &str| {
            Timestamp::parse_rfc3339(text).map(|at| moment(at, &self.cli.zone)).unwrap_or_default()
        };
        let language = self.cli.language;
        let schedule = match &task.mistake {
            Some(mistake) => one_line(&mistake.message, TEXT_COLUMNS),
            None => one_line(&task.schedule, TEXT_COLUMNS),
        };
        [
            task.id.clone(),
            words::status(task.status, language).to_owned(),
            task.next.first().map(|next| at(next)).unwrap_or_default(),
            task.last
                .as_ref()
                .map(|last| one_line(&outcome(last, language), TEXT_COLUMNS))
                .unwrap_or_default(),
            self.cost(task.recent_cost),
            schedule,
            one_line(&task.title, TEXT_COLUMNS),
        ]
    }

    fn details(&mut self, id: &str) -> Result<TaskDetails, TaskRefusal> {
        self.cli.wait(self.tasks.show(id, self.cli.language))
    }

    fn show(&mut self, id: &str, output: Output) -> anyhow::Result<Exit> {
        let task = match self.details(id) {
            Ok(task) => task,
            Err(refusal) => return self.refused(id, &refusal),
        };
        if output.json {
            writeln!(self.out, "{:#}", json!(task))?;
            return Ok(Exit::Ok);
        }
        let rows = [self.row(&task.summary)];
        write!(self.out, "{}", table(self.cli.surface, words::task_columns(self.cli.language), &rows))?;
        for remark in &task.summary.remarks {
            writeln!(self.out, "{remark}")?;
        }
        writeln!(self.out, "\n{}", self.cli.surface.clean(task.file.trim_end()))?;
        Ok(Exit::Ok)
    }

    fn history(&mut self, id: &str, output: Output) -> anyhow::Result<Exit> {
        let task = match self.details(id) {
            Ok(task) => task,
            Err(refusal) => return self.refused(id, &refusal),
        };
        if output.json {
            writeln!(self.out, "{:#}", json!({ "history": task.history }))?;
            return Ok(Exit::Ok);
        }
        if task.history.is_empty() {
            writeln!(self.out, "{}", words::no_runs(self.cli.language))?;
            return Ok(Exit::Ok);
        }
        let at = |text: &str| {
            Timestamp::parse_rfc3339(text).map(|at| moment(at, &self.cli.zone)).unwrap_or_default()
        };
        let row = |entry: &TaskHistoryEntry| {
            [
                at(&entry.slot),
                entry.trigger.unwrap_or_default().to_owned(),
                words::outcome(entry.outcome, self.cli.language).to_owned(),
                at(&entry.at),
                self.cost(entry.cost_micros),
                one_line(&entry.text, TEXT_COLUMNS),
            ]
        };
        let rows: Vec<_> = task.history.iter().map(row).collect();
        write!(self.out, "{}", table(self.cli.surface, words::history_columns(self.cli.language), &rows))?;
        Ok(Exit::Ok)
    }

    /// Checks one file or all of them.
    fn validate(&mut self, id: Option<&str>, output: Output) -> anyhow::Result<Exit> {
        let named = id.is_some();
        let ids = match id {
            Some(id) => vec![id.to_owned()],
            None => match self.cli.wait(self.tasks.files.list()) {
                Ok(files) => files.into_iter().map(|file| file.name).collect(),
                Err(error) => return self.refused("", &TaskRefusal::Store(error)),
            },
        };
        let (mut all, mut exit) = (Vec::new(), Exit::Ok);
        for id in ids {
            let checked = match self.cli.wait(self.tasks.file(&id)) {
                Ok(Some(file)) => self.tasks.preview(&file, SystemClock.now(), self.cli.language),
                // The others are checked all the same.
                Err(TaskRefusal::BadId) if !named => {
                    let message = words::bad_file_name(self.cli.language).to_owned();
                    Err(TaskMistake { line: None, message })
                }
                Ok(None) if !named => continue,
                Ok(None) => return self.refused(&id, &TaskRefusal::Unknown),
                Err(refusal) => return self.refused(&id, &refusal),
            };
            if checked.is_err() {
                exit = Exit::Failed;
            }
            if output.json {
                all.push(match checked {
                    Ok(preview) => json!({ "id": id, "valid": true, "preview": preview }),
                    Err(mistake) => json!({ "id": id, "valid": false, "mistake": mistake }),
                });
                continue;
            }
            match checked {
                Ok(preview) => self.tell_preview(&id, &preview)?,
                Err(mistake) => {
                    let line = mistake.line.map(|line| format!(":{line}")).unwrap_or_default();
                    writeln!(self.out, "{id}.md{line}: {}", mistake.message)?;
                }
            }
        }
        if output.json {
            writeln!(self.out, "{:#}", json!({ "tasks": all }))?;
        }
        Ok(exit)
    }

    fn tell_preview(&mut self, id: &str, preview: &TaskPreview) -> std::io::Result<()> {
        let language = self.cli.language;
        writeln!(self.out, "{id}: {} ({})", preview.schedule, preview.timezone)?;
        for time in &preview.next {
            writeln!(self.out, "  {time}")?;
        }
        if preview.past {
            writeln!(self.out, "  {}", words::all_past(language))?;
        }
        for remark in &preview.remarks {
            writeln!(self.out, "  {remark}")?;
        }
        if !preview.unknown_keys.is_empty() {
            writeln!(self.out, "  {}", words::unknown_keys(&preview.unknown_keys.join(", "), language))?;
        }
        Ok(())
    }

    /// Starts, pauses or resumes a task: by the daemon where one runs.
    fn change(&mut self, one: &OneTask, verb: &str) -> anyhow::Result<Exit> {
        let id = one.task.as_str();
        let path = format!("/api/tasks/{id}/{verb}");
        let asked = self
            .cli
            .wait(async { DaemonClient::of_project(&self.settings)?.post::<Value>(&path, &json!({})).await });
        let answer = match asked {
            Ok(answer) => answer,
            Err(DaemonError::NotRunning) => {
                let changed = match verb {
                    "pause" => self.cli.wait(self.tasks.pause(id)),
                    "resume" => self.cli.wait(self.tasks.resume(id)),
                    _ => Err(TaskRefusal::Stopping),
                };
                if let Err(refusal) = changed {
                    return self.refused(id, &refusal);
                }
                json!({ "paused": verb == "pause" })
            }
            Err(error) => {
                writeln!(self.err, "{}", self.cli.surface.clean(&error.to_string()))?;
                return Ok(Exit::Failed);
            }
        };
        if one.output.json {
            writeln!(self.out, "{answer:#}")?;
            return Ok(Exit::Ok);
        }
        let text = match verb {
            "run" => words::started(id, self.cli.language),
            "pause" => words::paused(id, self.cli.language),
            _ => words::resumed(id, self.cli.language),
        };
        writeln!(self.out, "{text}")?;
        Ok(Exit::Ok)
    }

    fn clean(&mut self, output: Output) -> anyhow::Result<Exit> {
        let cleaned = match self.cli.wait(self.tasks.clean()) {
            Ok(cleaned) => cleaned,
            Err(refusal) => return self.refused("", &refusal),
        };
        if output.json {
            writeln!(self.out, "{:#}", json!({ "setAside": cleaned }))?;
        } else if cleaned.is_empty() {
            writeln!(self.out, "{}", words::nothing_over(self.cli.language))?;
        } else {
            writeln!(
                self.out,
                "{}",
                words::set_aside(&cleaned.join(", "), cleaned.len(), self.cli.language)
            )?;
        }
        Ok(Exit::Ok)
    }
}
