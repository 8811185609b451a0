//! What people see of a scheduled task, and what the message of a run says about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuthorId, ChatKind, MemoryScope, ScopeKey, ScopeSettings, ThreadId};

/// What the message that starts a scheduled run says beside its words. Kept in the thread file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduledRun {
    /// The id of the task.
    pub id: String,
    /// When it was due, RFC 3339.
    pub slot: String,
    /// `schedule`, `catch-up` or `manual`.
    pub trigger: String,
    /// How many earlier runs of its thread the model is shown, by their final texts; `None`: the whole conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
    /// Most model calls of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// The most that the run may cost, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
    /// The named model that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "RunMemory::is_default")]
    pub memory: RunMemory,
    /// Whether a run in a conversation may end without a message.
    #[serde(skip_serializing_if = "Quiet::is_default")]
    pub quiet: Quiet,
    /// Further threads where its questions are asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask_in: Vec<ThreadId>,
}

/// Whether a run may end without a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quiet {
    /// The agent decides.
    #[default]
    Auto,
    Never,
    /// Only failures are told.
    Always,
}

impl Quiet {
    fn is_default(&self) -> bool {
        *self == Self::Auto
    }
}

/// The memory that a scheduled run may use beside the project's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunMemory {
    /// None: the result may go anywhere.
    #[default]
    Project,
    /// That of the task's author, as in a direct chat.
    Author,
    /// That of a group.
    Group(ThreadId),
}

impl RunMemory {
    fn is_default(&self) -> bool {
        *self == Self::Project
    }

    /// What a run of this author may read and write.
    pub fn scope(&self, author: &AuthorId, thread: &ThreadId, settings: &ScopeSettings) -> MemoryScope {
        match self {
            Self::Project => MemoryScope::resolve(author, ChatKind::Program, thread, settings),
            Self::Author => MemoryScope::resolve(author, ChatKind::Direct, thread, settings),
            Self::Group(chat) => MemoryScope::resolve(author, ChatKind::Group, chat, settings),
        }
    }

    /// `project`, `author`, or `group:` and a chat.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "project" => Some(Self::Project),
            "author" => Some(Self::Author),
            other => match other.parse().ok()? {
                ScopeKey::Group(chat) => Some(Self::Group(chat)),
                _ => None,
            },
        }
    }
}

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStatus {
    Waiting,
    Running,
    Paused,
    /// Failed too often.
    Disabled,
    /// All its times have passed.
    Over,
    /// Its file has a mistake.
    Broken,
}
