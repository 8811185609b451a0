//! The port of scheduled tasks: what people, the console and tools see of them and ask for.

use schemars::JsonSchema;
use serde::Serialize;

use super::{BoxFuture, StoreError};
use crate::domain::{AuthorId, Language, TaskStatus, ThreadId, Timestamp};

/// One ended run, or a slot that did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskHistoryEntry {
    /// When it was due, RFC 3339.
    pub slot: String,
    /// `schedule`, `catch-up` or `manual`; absent for a slot that did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<&'static str>,
    /// `done`, `quiet`, `failed`, `timed-out`, `stopped`, `missed`, `overlap` or `budget`.
    pub outcome: &'static str,
    /// When it ended, RFC 3339.
    pub at: String,
    /// The beginning of the result, or the reason of a failure.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// What it cost, in millionths of a US dollar; absent where no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// A mistake in a task file, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskMistake {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub message: String,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskSummary {
    pub id: String,
    /// The first line of the prompt.
    pub title: String,
    pub status: TaskStatus,
    /// The schedule in words; empty for a broken file.
    pub schedule: String,
    pub timezone: String,
    /// The next slots, RFC 3339.
    pub next: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<TaskHistoryEntry>,
    /// Failures in a row.
    pub failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mistake: Option<TaskMistake>,
    /// Keys of the file that have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_keys: Vec<String>,
    /// Where results go: threads, `owner`, or nothing at all.
    pub deliver: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<TaskInProgress>,
    /// What the runs of the last thirty days cost, in millionths of a US dollar; absent where no price is known.
    #[serde(rename = "cost30DaysMicros", skip_serializing_if = "Option::is_none")]
    pub recent_cost: Option<u64>,
    /// What is special about the next slot or the delivery, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl TaskSummary {
    pub fn leave_out_costs(&mut self) {
        self.recent_cost = None;
        if let Some(last) = &mut self.last {
            last.cost_micros = None;
        }
    }
}

/// The run in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskInProgress {
    /// When it was due, RFC 3339.
    pub slot: String,
    /// RFC 3339.
    pub started_at: String,
    pub thread_id: ThreadId,
}

/// A task with its file and history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskDetails {
    #[serde(flatten)]
    pub summary: TaskSummary,
    /// The text of the file.
    pub file: String,
    /// Newest first.
    pub history: Vec<TaskHistoryEntry>,
}

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum TaskRefusal {
    #[error("there is no such task")]
    Unknown,
    #[error("a task id has 1 to 64 small letters, digits and hyphens")]
    BadId,
    #[error("the task file has a mistake")]
    Broken(TaskMistake),
    #[error("a run of the task is going on")]
    Running,
    #[error("the task file was changed meanwhile")]
    Changed,
    #[error("the daemon is stopping")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a task file would mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskPreview {
    pub schedule: String,
    pub timezone: String,
    /// The next slots on the wall clock of its zone, with a remark where that clock is changed.
    pub next: Vec<String>,
    pub unknown_keys: Vec<String>,
    /// Where results go, as the file says it; empty: to the first owner.
    pub deliver: Vec<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorId>,
    /// All its times have passed.
    pub past: bool,
    /// What is special about the delivery, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// When a task is due, as a person or a model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskTimes {
    At(String),
    Every(String),
    Cron(String),
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskText {
    /// What the agent is asked to do.
    Prompt(String),
    /// Words that are sent as they are.
    Message(String),
}

/// A change of a task file. What is left out stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    pub times: Option<TaskTimes>,
    pub timezone: Option<String>,
    /// The threads that get results; none at all: nothing is sent.
    pub deliver: Option<Vec<ThreadId>>,
    pub text: Option<TaskText>,
    /// Who asks for the change. The runs have the rights of this person.
    pub author: AuthorId,
    /// The conversation in which it is asked for.
    pub here: ThreadId,
}

/// A change that was not made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTask {
    /// The file as it is.
    pub before: Option<String>,
    /// Whose rights the runs have now.
    pub author_before: Option<AuthorId>,
    /// The file as it would be.
    pub after: String,
    pub preview: TaskPreview,
    /// The schedule, the next three times and the place of delivery, in words.
    pub words: String,
}

/// The scheduled tasks of the project.
pub trait Tasks: Send + Sync + std::fmt::Debug {
    /// All tasks by id. Changes nothing.
    fn list(&self, language: Language) -> BoxFuture<'_, Result<Vec<TaskSummary>, TaskRefusal>>;

    /// One task. Changes nothing.
    fn show(&self, id: &str, language: Language) -> BoxFuture<'_, Result<TaskDetails, TaskRefusal>>;

    /// Starts a run now; the schedule stays as it is. The same key starts one run. Returns the thread of the run.
    fn run(&self, id: &str, key: Option<String>) -> BoxFuture<'_, Result<ThreadId, TaskRefusal>>;

    fn pause(&self, id: &str) -> BoxFuture<'_, Result<(), TaskRefusal>>;

    /// Ends a pause, or enables a task that failed too often.
    fn resume(&self, id: &str) -> BoxFuture<'_, Result<(), TaskRefusal>>;

    /// What a file would mean at this time. Writes nothing.
    fn preview(&self, file: &str, now: Timestamp, language: Language) -> Result<TaskPreview, TaskMistake>;

    /// What a change would make of a task. Writes nothing.
    fn plan(
        &self,
        id: &str,
        change: TaskChange,
        language: Language,
    ) -> BoxFuture<'_, Result<PlannedTask, TaskRefusal>>;

    /// The text of a task file.
    fn file(&self, id: &str) -> BoxFuture<'_, Result<Option<String>, TaskRefusal>>;

    /// Writes a task file, unless it is not `before`. A file with a mistake is refused.
    fn write(
        &self,
        id: &str,
        before: Option<String>,
        file: String,
        language: Language,
    ) -> BoxFuture<'_, Result<(), TaskRefusal>>;

    /// Removes a task file, unless it is not `before`.
    fn remove(&self, id: &str, before: String) -> BoxFuture<'_, Result<(), TaskRefusal>>;

    /// Sets the files of tasks that are over aside. Returns their ids.
    fn clean(&self) -> BoxFuture<'_, Result<Vec<String>, TaskRefusal>>;
}

/// The person who looks at tasks, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskViewer {
    pub author: Option<AuthorId>,
    pub owner: bool,
    pub thread: ThreadId,
    /// Whether others read along.
    pub group: bool,
}

impl TaskViewer {
    /// An owner sees all tasks in private. Others see their own tasks and those whose results come here; in a group
    /// everybody sees only the latter.
    pub fn may_see(&self, task: &TaskSummary) -> bool {
        let here = task.deliver.iter().any(|thread| thread == self.thread.as_str());
        let own = task.author.is_some() && task.author == self.author;
        here || (!self.group && (own || self.owner))
    }
}

/// Answers the chat command `/tasks`.
pub trait TaskCommands: Send + Sync + std::fmt::Debug {
    /// The answer to the words behind the command. Only an owner may change something.
    fn answer(&self, words: &str, viewer: TaskViewer, language: Language) -> BoxFuture<'_, String>;
}
