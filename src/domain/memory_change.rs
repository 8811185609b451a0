//! What is remembered: items in files, changes to them, and the ledger of all changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuthorId, CorrelationId, MemoryItem, MemoryScope, MessageId, ScopeKey, ThreadId, Timestamp};

/// Largest core memory of a scope, in estimated tokens: all of it is part of each prompt.
pub const CORE_TOKENS: usize = 2_000;

/// Where something is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Small, and part of each prompt.
    Core,
    /// Without a limit, and only searched.
    Notes,
}

impl Tier {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Notes => "notes",
        }
    }
}

/// Where the words of an item come from. The least trusted source counts; those later in this list are trusted less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// An owner, or the operator.
    Owner,
    Member,
    /// Taken from a conversation by the agent itself.
    Auto,
    Guest,
    /// The output of a tool.
    Tool,
}

impl Origin {
    /// Whether items of this origin may be part of a prompt without a search.
    pub const fn may_be_core(self) -> bool {
        !matches!(self, Self::Guest | Self::Tool)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
            Self::Auto => "auto",
            Self::Guest => "guest",
            Self::Tool => "tool",
        }
    }
}

/// The core memory of a scope, as it stands in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreFile {
    pub text: String,
    /// Names this version of the file; a change can be bound to it.
    pub digest: String,
    /// Whether the file is longer than what was read.
    pub cut: bool,
    /// Whether all of it is text. Where it is not, the file can only be changed by hand.
    pub is_text: bool,
}

impl CoreFile {
    pub fn items(&self) -> Vec<MemoryItem> {
        super::items_of(&self.text)
    }
}

/// What to do with the memory of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryEdit {
    /// Adds an item, in core memory to a section; nothing where an item says the same.
    Add { text: String, section: Option<String> },
    /// Puts a text in the place of an item's.
    Replace { id: String, text: String },
    /// Puts items in the place of all that stands in a section of core memory. An empty text removes the section.
    ReplaceSection { section: String, text: String },
    /// Removes an item, and its text from the ledger.
    Forget { id: String },
    /// Replaces the whole core memory.
    Write { text: String },
}

/// Who changes memory, and on what grounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    pub at: Timestamp,
    pub by: Option<AuthorId>,
    /// The approval that allowed it, or the surface: `chat`, `cli`, `console`.
    pub via: Option<String>,
    pub thread: Option<ThreadId>,
    /// The messages it was taken from.
    pub from: Vec<MessageId>,
    pub origin: Origin,
    /// Whether a person has seen and confirmed the text.
    pub reviewed: bool,
}

/// A change of the memory of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryChange {
    pub scope: ScopeKey,
    pub tier: Tier,
    pub edit: MemoryEdit,
    /// The version of core memory that the change was made for. Where it is another by now, nothing is changed.
    pub expected: Option<String>,
    pub provenance: Provenance,
}

/// How far a thread was read for things worth remembering.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DistilMark {
    pub thread: ThreadId,
    /// The newest message that was read.
    pub through: MessageId,
    pub at: Timestamp,
    /// How many turns of people were read since the thread was last distilled.
    #[serde(default)]
    pub turns: u32,
    /// The date of the newest message that was read when the thread was last distilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The question about notes that may go into core memory. It was asked if the thread has its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<MemoryQuestion>,
}

/// A person is asked which notes of a thread go into core memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryQuestion {
    /// The run that asks.
    pub run: CorrelationId,
    /// The person who is asked.
    pub asked: AuthorId,
    pub memory_scope: MemoryScope,
    /// Notes of messages behind this time are asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Timestamp>,
}

/// What a ledger line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LedgerOp {
    Add,
    Replace,
    Forget,
    /// The whole file was written: through a command, or by hand, which is noticed when it is read.
    Edit,
}

impl LedgerOp {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Forget => "forget",
            Self::Edit => "edit",
        }
    }
}

/// A change in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerLine {
    /// The number of the line, counted from 1.
    pub seq: u64,
    /// The item; absent where the whole file or a section was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub scope: ScopeKey,
    pub tier: Tier,
    pub op: LedgerOp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The text before; absent where it was forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text after; absent where it was forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub at: Timestamp,
    /// Absent for a file that was edited by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AuthorId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<MessageId>,
    pub origin: Origin,
    pub reviewed: bool,
    /// The number of the line that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The number of the first line that was written together with this one.
    pub batch: u64,
    /// The number of the last of them. Without that line none of them counts: the write was cut off.
    #[serde(default)]
    pub last: u64,
    /// The month's file of a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The version of the file before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The version of the file after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Of a line that forgets: whether the text is in no file any more, and not in the ledger. Where it is not, the next
    /// reader completes it. Lines of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<bool>,
}

impl LedgerLine {
    /// Whether the line forgets something that may still be somewhere.
    pub fn is_unfinished_forget(&self) -> bool {
        self.op == LedgerOp::Forget && self.undoes.is_none() && self.erased == Some(false)
    }

    /// Whether undo takes the line back before older ones: not what a file's editor did, not an import of notes, not a note
    /// that the agent took by itself and nobody has seen, and not a newer date of the same text.
    pub fn may_be_undone(&self) -> bool {
        let unseen = self.tier == Tier::Notes && self.by.is_none() && self.via.is_none();
        let same = self.op == LedgerOp::Replace && self.before.is_some() && self.before == self.after;
        let whole_month = self.tier == Tier::Notes && self.op == LedgerOp::Edit;
        self.undoes.is_none() && !self.is_hand_edit() && !whole_month && !unseen && !same
    }

    /// Whether the change took text away that a conversation may still show.
    pub fn removes(&self) -> bool {
        let written = self.op == LedgerOp::Edit && !self.is_hand_edit();
        self.op == LedgerOp::Forget || self.undoes.is_some() || written
    }

    /// Whether the line notes that a file was edited by hand.
    pub fn is_hand_edit(&self) -> bool {
        self.op == LedgerOp::Edit && self.by.is_none() && self.via.is_none()
    }
}

/// The newest notes of a scope, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewestNotes {
    pub notes: Vec<ShownNote>,
    pub has_more: bool,
}

/// A note, and whether a person has confirmed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownNote {
    pub item: MemoryItem,
    pub reviewed: bool,
}

/// Why a change of memory was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    #[error(
        "core memory would take about {tokens} tokens of at most {CORE_TOKENS} (it takes {now} now): merge or forget items first"
    )]
    TooLarge { tokens: usize, now: usize },
    #[error("somebody else has changed it since it was read: read it again")]
    Changed,
    #[error("there is no item {0:?}")]
    NoSuchItem(String),
    #[error("the file is not UTF-8 text: repair it by hand first")]
    NotText,
    #[error("the file is longer than what can be changed this way: shorten it by hand first")]
    TooLong,
    #[error("there is nothing to remember in it")]
    Empty,
    #[error("there is nothing to undo")]
    NothingToUndo,
    #[error("what was forgotten cannot be brought back")]
    Forgotten,
    #[error("notes have no sections and are not written as a whole")]
    NotForNotes,
    #[error("words of a guest or from the output of a tool are kept as notes only")]
    NotTrusted,
}
