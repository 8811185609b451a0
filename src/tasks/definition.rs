//! What a task file says: schedule, policies and prompt, and the mistakes it may have.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::planner::{Missed, Overlap};
use super::schedule::{Schedule, ScheduleError};
pub use crate::domain::Quiet;
use crate::domain::{AuthorId, RunMemory, ThreadId};

/// The name of a task: its file name without `.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(String);

impl TaskId {
    /// Small letters, digits and hyphens, at most 64, not beginning with a hyphen.
    pub fn new(name: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let valid = !name.is_empty() && name.len() <= 64 && !name.starts_with('-') && name.chars().all(fits);
        valid.then(|| Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A task as its file describes it.
#[derive(Clone, Debug)]
pub struct TaskDefinition {
    pub schedule: Schedule,
    pub zone: TimeZone,
    pub enabled: bool,
    /// Times of `at` that the wall clock skips: they were moved forward.
    pub moved: Vec<jiff::Timestamp>,
    pub deliver: Deliver,
    pub thread: RunThread,
    /// How many earlier results the model is shown.
    pub context: usize,
    pub missed: Missed,
    pub grace: SignedDuration,
    pub overlap: Overlap,
    pub quiet: Quiet,
    pub on_approval: OnApproval,
    pub timeout: Duration,
    /// The named model that answers; `None` is the default model.
    pub model: Option<String>,
    /// Most model calls of a run.
    pub max_steps: Option<u32>,
    /// The most that a run may cost, in millionths of a unit of the project's currency.
    pub max_cost: Option<u64>,
    pub memory: RunMemory,
    pub failures: NotifyFailure,
    /// Who created it; the run has the rights of this person.
    pub author: Option<AuthorId>,
    pub kind: TaskKind,
    /// The prompt, or the words of a reminder.
    pub body: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deliver {
    /// To the direct chat of the first owner.
    Owner,
    Threads(Vec<ThreadId>),
    Nowhere,
}

/// The thread of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunThread {
    /// One thread for all runs of the task.
    #[default]
    Own,
    /// A new thread for each run.
    PerRun,
    /// A conversation of people: the run waits its turn like a message.
    In(ThreadId),
}

/// What happens when an unattended run needs an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnApproval {
    #[default]
    Ask,
    Deny,
}

/// Who hears of failures, and after how many in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotifyFailure {
    pub owner: bool,
    pub after: u32,
}

impl Default for NotifyFailure {
    fn default() -> Self {
        Self { owner: true, after: 2 }
    }
}

/// What a slot starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskKind {
    /// A turn with the body as its prompt.
    #[default]
    Prompt,
    /// The body is sent as it is; no model is asked.
    Message,
}

/// A mistake in a task file. `line` counts from 1 and includes the frontmatter's first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskProblem {
    pub line: Option<u64>,
    pub what: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    TooLarge,
    NotUtf8,
    /// The file does not begin with `---`, or the frontmatter has no end.
    NoFrontmatter,
    Yaml(String),
    /// `*` and `@` begin something else in YAML.
    UnquotedCron(String),
    /// Not exactly one of `schedule`, `every` and `at`.
    NotOneSchedule(usize),
    Schedule {
        key: &'static str,
        error: ScheduleError,
    },
    /// A value that is none of the allowed ones.
    Value {
        key: &'static str,
        found: String,
        allowed: &'static str,
    },
    /// `from` without `every`.
    FromWithoutEvery,
    EmptyBody,
    /// A change would not say what was asked for.
    NotAsMeant,
    /// The file name is no task id.
    FileName,
    /// What is kept about the task cannot be read, for this reason.
    State(String),
    /// `deliver: none` beside a conversation in `thread`.
    DeliverNoneInThread,
    /// No model of this name is configured.
    UnknownModel(String),
}

/// What was read, and what in it has no meaning.
#[derive(Clone, Debug)]
pub struct ReadTask {
    pub definition: TaskDefinition,
    /// Keys that are unknown and have no effect.
    pub unknown_keys: Vec<String>,
}

impl TaskDefinition {
    /// The prompt or the words of a reminder, with the placeholders filled in.
    pub fn text(&self, values: &Placeholders<'_>) -> String {
        [
            ("{{now}}", values.now),
            ("{{date}}", values.date),
            ("{{lastRun}}", values.last_run),
            ("{{lastResult}}", values.last_result),
        ]
        .into_iter()
        .fold(self.body.clone(), |text, (name, value)| text.replace(name, value))
    }
}

/// The values of the placeholders in a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Placeholders<'a> {
    pub now: &'a str,
    pub date: &'a str,
    pub last_run: &'a str,
    pub last_result: &'a str,
}
