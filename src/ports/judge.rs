//! Who says whether a call may run.

use serde_json::Value;

use super::BoxFuture;
use crate::domain::{Approval, AuthorId, Class, GrantNumber, Risk, Scope, ScopeKind, ThreadId, Timestamp};
use crate::policy::grants::Proposal;

/// A call that wants to run.
#[derive(Clone, Debug)]
pub struct CallToJudge {
    pub thread: ThreadId,
    /// The one person who speaks there, where nobody else reads along.
    pub person: Option<AuthorId>,
    pub tool: String,
    pub input: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Yes, in this class of sandbox.
    Allow(Class),
    /// A person must be asked.
    Ask,
    Deny(String),
}

/// Everything that is known about a call before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub ruling: Ruling,
    /// Binds an answer to exactly this call: tool, arguments, directory, and the scripts it names as they are now.
    pub fingerprint: String,
    /// What would be done, in one line.
    pub summary: String,
    /// More, as CommonMark: the reasons, a diff.
    pub details: Option<String>,
    /// All of what the details may show only in part.
    pub whole: Option<WholeText>,
    /// How dangerous it looks.
    pub risk: Risk,
    /// How far a yes can reach.
    pub scopes: Vec<ScopeKind>,
    /// The grants by which it may run unasked, where it is they.
    pub grants: Vec<GrantNumber>,
}

/// The whole of a long command, change or input, for a file that is sent with the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeText {
    /// What the file is called, behind the number of the question: `command.sh.txt`.
    pub name: &'static str,
    /// The text, with everything spelled out that cannot be seen.
    pub text: String,
    /// Whether the details leave something out.
    pub cut: bool,
}

/// Says whether a call may run. May read files, never writes any.
pub trait Judge: Send + Sync + std::fmt::Debug {
    /// Looks at a call as it is now.
    fn judge(&self, call: CallToJudge) -> BoxFuture<'_, Judgement>;

    /// What an answer of this scope grants beyond the call it was given for; nothing where it grants no more.
    fn propose(&self, approval: &Approval, scope: Scope, now: Timestamp) -> BoxFuture<'_, Option<Proposal>>;
}
