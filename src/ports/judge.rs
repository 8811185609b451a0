//! The port that decides whether a call may run.

use serde_json::Value;

use super::BoxFuture;
use crate::domain::{
    Approval, AuthorId, Class, GrantNumber, Language, MemoryScope, Origin, Risk, Scope, ScopeKind, ThreadId,
    Timestamp,
};
use crate::policy::grants::GrantProposal;

#[derive(Clone, Debug)]
pub struct CallToJudge {
    pub thread: ThreadId,
    /// The memory that its turn may use.
    pub scope: MemoryScope,
    /// How far the people are trusted whose words led to it.
    pub origin: Origin,
    /// Who asked for it.
    pub requester: Option<AuthorId>,
    /// Whether a scheduled task asked for it.
    pub unattended: bool,
    /// Whether a message of a program, such as another agent, led to it.
    pub by_program: bool,
    /// The language of the people; `None`: that of the settings.
    pub language: Option<Language>,
    pub tool: String,
    pub input: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Yes, in this class of sandbox.
    Allow(Class),
    Ask,
    Deny(String),
}

/// The result of judging a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub ruling: Ruling,
    /// Binds an answer to exactly this call: tool, arguments, directory, and the current content of the scripts it
    /// names.
    pub fingerprint: String,
    /// The call in one line.
    pub summary: String,
    /// More, as CommonMark: the reasons, a diff.
    pub details: Option<String>,
    /// The complete text, where the details may be shortened.
    pub whole: Option<WholeText>,
    pub risk: Risk,
    /// The scopes that an approval of the call can have.
    pub scopes: Vec<ScopeKind>,
    /// The grants that allow it without approval.
    pub grants: Vec<GrantNumber>,
}

/// The complete text of a long command, change or input, for a file that is sent with the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeText {
    /// The file name, after the approval number: `command.sh.txt`.
    pub name: &'static str,
    /// The text, with invisible characters escaped.
    pub text: String,
    /// Whether the details are shortened.
    pub cut: bool,
}

/// Decides whether a call may run. May read files, never writes any.
pub trait Judge: Send + Sync + std::fmt::Debug {
    /// Judges a call in its current state.
    fn judge(&self, call: CallToJudge) -> BoxFuture<'_, Judgement>;

    /// The grant that an answer of this scope proposes; `None` where it grants nothing beyond the call.
    fn propose(
        &self,
        approval: &Approval,
        scope: Scope,
        now: Timestamp,
    ) -> BoxFuture<'_, Option<GrantProposal>>;
}
