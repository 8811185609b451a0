//! A question to a person before something risky is done, and its answer. A state is an enum with its data:
//! an approval that was denied cannot also have run.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AuthorId, BadId, CorrelationId, ThreadId, Timestamp, ToolCallId};

/// The approval's own id: random and long enough that nobody guesses it. Buttons carry it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApprovalId(Arc<str>);

impl ApprovalId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id of our own making.
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

impl Approval {
    /// Whether it waits for an answer.
    pub fn is_pending(&self) -> bool {
        self.state == ApprovalState::Pending
    }

    /// As much of a scope as can hold for this call.
    pub fn held(&self, wanted: Scope) -> Scope {
        if self.scopes.contains(&wanted.kind()) { wanted } else { Scope::Once }
    }
}

impl ApprovalNumber {
    /// The number that somebody typed: `A2` or `a2`.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalKind {
    /// Whether a call may run.
    Tool,
    /// A call was cut off by a crash: whether it should run again, be skipped, or was done.
    UnknownOutcome,
}

/// How far an approval reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "type", content = "minutes")]
pub enum Scope {
    #[default]
    Once,
    /// Every call like it in this thread.
    Thread,
    /// Every call like it for so many minutes.
    Minutes(NonZeroU32),
    /// Every command of this shape.
    Shape,
    /// From now on, in this project.
    Project,
    /// Every call of the program that the person named, with plain arguments, in this thread for so many minutes.
    Program(NonZeroU32),
}

impl Scope {
    /// What sort of scope it is, whatever its length.
    pub const fn kind(self) -> ScopeKind {
        match self {
            Self::Once => ScopeKind::Once,
            Self::Thread => ScopeKind::Thread,
            Self::Minutes(_) => ScopeKind::Minutes,
            Self::Shape => ScopeKind::Shape,
            Self::Project => ScopeKind::Project,
            Self::Program(_) => ScopeKind::Program,
        }
    }
}

/// The sorts of scopes. A question names those that can hold for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    Once,
    Thread,
    Minutes,
    Shape,
    Project,
    Program,
}

/// How dangerous a call looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    /// Changes things inside the project.
    Medium,
    /// Reaches the network, deletes, or cannot be understood.
    High,
}

/// What a person answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes; for an unknown outcome: run it again.
    Approve(Scope),
    /// No; for an unknown outcome: leave it.
    Deny,
    /// It was done already. Only for an unknown outcome.
    Done,
}

/// Who answered, when, from where, and in which words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub by: AuthorId,
    pub at: Timestamp,
    /// From where: `button`, `text`, `http`, `console`, `cli`.
    pub via: String,
    pub reason: Option<String>,
}

/// Where an approval is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalState {
    Pending,
    /// Allowed, and not run yet.
    Approved {
        decided: Decided,
        /// How far it reaches.
        scope: Scope,
    },
    /// Allowed and run. It can never run again.
    Spent {
        /// By whom it was allowed.
        decided: Decided,
        /// How far it reaches.
        scope: Scope,
    },
    Denied {
        decided: Decided,
    },
    /// Nobody answered in time.
    Expired {
        /// When that was found.
        at: Timestamp,
    },
    /// Nobody needs to answer any more.
    Cancelled {
        at: Timestamp,
        reason: String,
    },
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    pub id: ApprovalId,
    /// What people call it.
    pub number: ApprovalNumber,
    pub kind: ApprovalKind,
    pub thread: ThreadId,
    pub correlation: CorrelationId,
    pub tool_call: ToolCallId,
    pub tool: String,
    pub input: Value,
    /// One line for people: what would be done.
    pub summary: String,
    /// More, as CommonMark: a diff, the reasons.
    pub details: Option<String>,
    /// How dangerous it looks.
    pub risk: Risk,
    /// How far a yes can reach. A longer one than these is a yes to this call alone.
    pub scopes: Vec<ScopeKind>,
    /// Binds the answer to exactly this call.
    pub fingerprint: String,
    /// Whose message led to it.
    pub requested_by: AuthorId,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When nobody needs to answer any more.
    pub expires_at: Timestamp,
    /// Where it is in its life.
    pub state: ApprovalState,
}
