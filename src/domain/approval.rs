//! Approvals: questions to people before risky calls, and their answers. The state is an enum with its data: a denied
//! approval cannot also have run.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AuthorId, BadId, CorrelationId, MemoryScope, ThreadId, Timestamp, ToolCallId};

/// The id of an approval: random and unguessable. Buttons carry it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApprovalId(Arc<str>);

impl ApprovalId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A new id from a random text.
    pub(crate) fn made(unguessable: &str) -> Self {
        Self(format!("apr_{unguessable}").into())
    }
}

impl FromStr for ApprovalId {
    type Err = BadId;

    fn from_str(raw: &str) -> Result<Self, BadId> {
        let plain = raw.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !(16..=64).contains(&raw.len()) || !plain {
            return Err(BadId::Shape(raw.chars().take(80).collect(), "an approval id"));
        }
        Ok(Self(raw.into()))
    }
}

impl TryFrom<String> for ApprovalId {
    type Error = BadId;

    fn try_from(raw: String) -> Result<Self, BadId> {
        raw.parse()
    }
}

impl From<ApprovalId> for String {
    fn from(id: ApprovalId) -> Self {
        id.as_str().to_owned()
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The short name people use: `A1`, `A2`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalNumber(pub u32);

impl ApprovalState {
    /// Its name in files and answers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved { .. } => "approved",
            Self::Denied { .. } => "denied",
            Self::Expired { .. } => "expired",
            Self::Cancelled { .. } => "cancelled",
            Self::Spent { .. } => "spent",
        }
    }
}

impl Approval {
    pub fn is_pending(&self) -> bool {
        self.state == ApprovalState::Pending
    }

    /// The threads where it is asked, its own first.
    pub fn shown_in(&self) -> impl Iterator<Item = &ThreadId> {
        std::iter::once(&self.thread).chain(&self.asked_in)
    }

    /// As much of a scope as can hold for this call.
    pub fn held(&self, wanted: Scope) -> Scope {
        if self.scopes.contains(&wanted.kind()) { wanted } else { Scope::Once }
    }
}

impl ApprovalNumber {
    /// Parses a number as people type it: `A2` or `a2`.
    pub fn typed(raw: &str) -> Option<Self> {
        let digits = raw.trim().strip_prefix(['A', 'a'])?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok().map(Self)).flatten()
    }
}

impl fmt::Display for ApprovalNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "A{}", self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalKind {
    /// Whether a call may run.
    Tool,
    /// A call was interrupted by a crash: whether to run it again, to skip it, or that it was done.
    UnknownOutcome,
    /// A spend cap has no room for the next model call: whether it is raised.
    Budget,
}

/// The scope of an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "type", content = "minutes")]
pub enum Scope {
    #[default]
    Once,
    /// Every call like it in this thread.
    Thread,
    /// Every call like it for this many minutes.
    Minutes(NonZeroU32),
    /// Every command of this shape.
    Shape,
    /// Every call like it in this project.
    Project,
    /// Every call of the program that the person named, with plain arguments, in this thread for so many minutes.
    Program(NonZeroU32),
    /// One more unit of a spend cap, until it begins anew.
    PlusOne,
    /// Five more units of a spend cap, until it begins anew.
    PlusFive,
    /// No spend cap until midnight.
    Midnight,
}

impl Scope {
    /// The kind of scope, without its length.
    pub const fn kind(self) -> ScopeKind {
        match self {
            Self::Once => ScopeKind::Once,
            Self::Thread => ScopeKind::Thread,
            Self::Minutes(_) => ScopeKind::Minutes,
            Self::Shape => ScopeKind::Shape,
            Self::Project => ScopeKind::Project,
            Self::Program(_) => ScopeKind::Program,
            Self::PlusOne => ScopeKind::PlusOne,
            Self::PlusFive => ScopeKind::PlusFive,
            Self::Midnight => ScopeKind::Midnight,
        }
    }
}

/// The sorts of scopes. A question names those that can hold for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    Once,
    Thread,
    Minutes,
    Shape,
    Project,
    Program,
    PlusOne,
    PlusFive,
    Midnight,
}

impl ScopeKind {
    /// How a spend cap can be raised.
    pub const RAISES: [Self; 3] = [Self::PlusOne, Self::PlusFive, Self::Midnight];
}

/// The risk of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    /// Changes things inside the project.
    Medium,
    /// Uses the network, deletes, or cannot be parsed.
    High,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes; for an unknown outcome: run it again.
    Approve(Scope),
    /// No; for an unknown outcome: skip it.
    Deny,
    /// It was done already. Only for an unknown outcome.
    Done,
}

/// Who answered, when, through which surface, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub by: AuthorId,
    pub at: Timestamp,
    /// The surface: `button`, `text`, `http`, `console`, `cli`.
    pub via: String,
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalState {
    Pending,
    /// Approved, and not run yet.
    Approved {
        decided: Decided,
        scope: Scope,
    },
    /// Approved and run. It can never run again.
    Spent {
        decided: Decided,
        scope: Scope,
    },
    Denied {
        decided: Decided,
    },
    /// It was not answered in time.
    Expired {
        /// When the expiry was noticed.
        at: Timestamp,
    },
    Cancelled {
        at: Timestamp,
        reason: String,
    },
}

/// A question to a person before a call runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    pub id: ApprovalId,
    /// The number people see.
    pub number: ApprovalNumber,
    pub kind: ApprovalKind,
    pub thread: ThreadId,
    pub correlation: CorrelationId,
    pub tool_call: ToolCallId,
    pub tool: String,
    pub input: Value,
    /// The call in one line.
    pub summary: String,
    /// More, as CommonMark: a diff, the reasons.
    pub details: Option<String>,
    pub risk: Risk,
    /// How far a yes can reach. A longer one than these is a yes to this call alone.
    pub scopes: Vec<ScopeKind>,
    /// The memory that its turn may use.
    pub memory_scope: MemoryScope,
    /// Whether only an owner or the operator may say yes.
    pub owners_only: bool,
    /// Further threads where it is asked, because its own has no readers.
    pub asked_in: Vec<ThreadId>,
    /// Binds the answer to exactly this call.
    pub fingerprint: String,
    /// The author of the message that led to it.
    pub requested_by: AuthorId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub state: ApprovalState,
}
