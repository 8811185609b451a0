//! The audit trail: who allowed what, and with which outcome. For people; the daemon itself never reads it to decide.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{BoxFuture, StoreError};
use crate::domain::{
    Approval, ApprovalId, ApprovalNumber, ApprovalState, AuthorId, CorrelationId, Decided, GrantNumber,
    Scope, ThreadId, Timestamp, ToolCallId,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditEvent {
    /// A call was judged.
    Verdict,
    /// An approval was settled, or an answer was refused.
    Decision,
    /// A tool call has ended.
    Execution,
    /// A grant was given.
    GrantAdded,
    /// A call ran by a grant.
    GrantUsed,
    GrantRevoked,
    GrantExpired,
    /// A pairing request was approved, or a code was refused.
    AccessApproved,
    /// The operator created an invitation code.
    AccessInvited,
    AccessRevoked,
    /// The role of a person with access was changed.
    AccessChanged,
    /// An owner opened a group by a message there.
    AccessOpened,
    /// The operator stopped a thread.
    ThreadStopped,
    /// The operator deleted a thread with its files.
    ThreadDeleted,
    /// The operator wrote into a thread of another platform.
    OperatorWrote,
    /// Another model was chosen for a thread.
    ModelChosen,
    /// A model failed and another one answered.
    ModelFallback,
    /// The operator changed the configuration; the reason names the keys.
    ConfigurationChanged,
    /// The operator replaced the text of `Agent.md`.
    InstructionsChanged,
    /// The operator downloaded a backup.
    BackupTaken,
    /// Lines were lost before this one.
    LinesLost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditVerdict {
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// The outcome of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditOutcome {
    /// A person said yes.
    Approved,
    Denied,
    /// A person said that the call was done already.
    Done,
    /// It was not answered in time.
    Expired,
    /// The approval was withdrawn.
    Cancelled,
    /// The answer was not accepted.
    Refused,
    /// The tool returned an output.
    Ok,
    Error,
    /// The call was stopped before its end.
    Aborted,
}

/// One line of the trail. Unknown fields are absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditLine {
    #[serde(serialize_with = "as_rfc3339")]
    pub at: Timestamp,
    pub event: AuditEvent,
    #[serde(rename = "threadId", skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    #[serde(rename = "correlationId", skip_serializing_if = "Option::is_none")]
    pub correlation: Option<CorrelationId>,
    /// Who did it; for a verdict or an execution, the author of the message that led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(rename = "toolCallId", skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCallId>,
    #[serde(rename = "approvalId", skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// The number people see.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub number: Option<ApprovalNumber>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<GrantNumber>,
    /// The person or group whose access is concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<AuditVerdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AuditOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The surface: `button`, `text`, `http`, `console`, `cli`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AuditLine {
    /// A line with only the event and the time.
    pub const fn new(event: AuditEvent, at: Timestamp) -> Self {
        Self {
            at,
            event,
            thread: None,
            correlation: None,
            author: None,
            tool: None,
            tool_call: None,
            approval: None,
            number: None,
            grants: Vec::new(),
            guest: None,
            fingerprint: None,
            verdict: None,
            outcome: None,
            scope: None,
            exit_code: None,
            duration_ms: None,
            via: None,
            reason: None,
        }
    }

    /// A line about an approval: its thread, run and call.
    pub fn about(event: AuditEvent, approval: &Approval, at: Timestamp) -> Self {
        Self {
            thread: Some(approval.thread.clone()),
            correlation: Some(approval.correlation.clone()),
            tool: Some(approval.tool.clone()),
            tool_call: Some(approval.tool_call.clone()),
            approval: Some(approval.id.clone()),
            number: Some(approval.number),
            fingerprint: Some(approval.fingerprint.clone()),
            ..Self::new(event, at)
        }
    }

    /// The line of a settled approval, dated at its settlement; `None` while it is pending.
    pub fn settled(approval: &Approval) -> Option<Self> {
        let line =
            |outcome, at| Self { outcome: Some(outcome), ..Self::about(AuditEvent::Decision, approval, at) };
        let settled = match &approval.state {
            ApprovalState::Pending => return None,
            ApprovalState::Approved { decided, scope } => {
                Self { scope: Some(*scope), ..line(AuditOutcome::Approved, decided.at).by(decided) }
            }
            ApprovalState::Spent { decided, .. } => line(AuditOutcome::Done, decided.at).by(decided),
            ApprovalState::Denied { decided } => line(AuditOutcome::Denied, decided.at).by(decided),
            ApprovalState::Expired { at } => line(AuditOutcome::Expired, *at),
            ApprovalState::Cancelled { at, reason } => {
                Self { reason: Some(reason.clone()), ..line(AuditOutcome::Cancelled, *at) }
            }
        };
        Some(settled)
    }

    #[must_use]
    pub fn by(self, decided: &Decided) -> Self {
        Self {
            author: Some(decided.by.clone()),
            via: Some(decided.via.clone()),
            reason: decided.reason.clone(),
            ..self
        }
    }
}

/// Redacts the text of a line.
pub type Redaction = Box<dyn Fn(&str) -> String + Send + Sync>;

/// A query of the trail.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// Inclusive.
    pub since: Option<Timestamp>,
    pub thread: Option<String>,
    /// An event, or a family of events: `grant` includes `grant-added`.
    pub event: Option<String>,
    pub author: Option<String>,
    pub tool: Option<String>,
    /// The outcome, or the verdict where there is no outcome.
    pub outcome: Option<String>,
    /// The newest lines to leave out, for a further page.
    pub skip: usize,
    /// Most lines, the newest.
    pub limit: usize,
}

impl AuditQuery {
    /// Whether a parsed line matches.
    pub fn fits(&self, facts: &Value) -> bool {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default();
        let of_family = |wanted: &String| {
            let rest = text("event").strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.since.is_none_or(|since| Timestamp::parse_rfc3339(text("at")).is_some_and(|at| at >= since))
            && self.thread.as_ref().is_none_or(|thread| text("threadId") == thread)
            && self.event.as_ref().is_none_or(of_family)
            && self.author.as_ref().is_none_or(|author| text("author") == author)
            && self.tool.as_ref().is_none_or(|tool| text("tool") == tool)
            && self.outcome.as_ref().is_none_or(|wanted| {
                let outcome = text("outcome");
                if outcome.is_empty() { text("verdict") == wanted } else { outcome == wanted }
            })
    }
}

/// A stored line of the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAuditLine {
    pub text: String,
    pub facts: Value,
}

/// The result of a query.
#[derive(Clone, Debug, Default)]
pub struct AuditLines {
    /// Oldest first.
    pub lines: Vec<StoredAuditLine>,
    /// Lines that could not be parsed.
    pub unreadable: usize,
}

/// The port of the audit trail.
pub trait Audit: Send + Sync + std::fmt::Debug {
    /// Queues a line. Never blocks the caller. Lines that cannot be written are counted, and the trail records how many
    /// are missing.
    fn record(&self, line: AuditLine);

    /// Redacts every line from now on. The first call counts.
    fn redact_with(&self, redact: Redaction);

    /// Waits until every queued line is durable.
    fn flush(&self) -> BoxFuture<'_, ()>;

    /// The newest lines that match.
    fn read(&self, query: AuditQuery) -> BoxFuture<'_, Result<AuditLines, StoreError>>;
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
fn as_rfc3339<S: Serializer>(at: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&at.rfc3339())
}

fn as_text<S: Serializer>(number: &Option<ApprovalNumber>, out: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => out.collect_str(number),
        None => out.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_has_what_is_known_and_nothing_else() {
        let line = AuditLine {
            thread: Some("web:chat:1".parse().unwrap()),
            number: Some(ApprovalNumber(3)),
            grants: vec![GrantNumber(2)],
            outcome: Some(AuditOutcome::Ok),
            exit_code: Some(0),
            duration_ms: Some(12),
            ..AuditLine::new(AuditEvent::Execution, Timestamp::from_millis(0))
        };
        let expected = json!({
            "at": "1970-01-01T00:00:00Z", "event": "execution", "threadId": "web:chat:1", "number": "A3",
            "grants": ["G2"], "outcome": "ok", "exitCode": 0, "durationMs": 12,
        });
        assert_eq!(serde_json::to_value(line).unwrap(), expected);
    }

    #[test]
    fn lines_are_told_apart_by_time_thread_and_kind() {
        let line = json!({ "at": "2026-11-16T12:00:00Z", "event": "grant-used", "threadId": "web:chat:1" });
        let all = AuditQuery { limit: 1, ..AuditQuery::default() };
        let of = |event: &str| AuditQuery { event: Some(event.to_owned()), ..all.clone() };
        assert!(all.fits(&line));
        assert!(of("grant").fits(&line));
        assert!(of("grant-used").fits(&line));
        assert!(!of("gran").fits(&line));
        assert!(!AuditQuery { thread: Some("web:chat:2".to_owned()), ..all.clone() }.fits(&line));
        let later = Timestamp::parse_rfc3339("2026-11-16T12:00:01Z");
        assert!(!AuditQuery { since: later, ..all.clone() }.fits(&line));
        let decided = json!({ "event": "decision", "author": "web:user:operator", "tool": "exec_shell", "outcome": "denied" });
        let by = |author: &str, tool: &str, outcome: &str| AuditQuery {
            author: Some(author.to_owned()),
            tool: Some(tool.to_owned()),
            outcome: Some(outcome.to_owned()),
            ..all.clone()
        };
        assert!(by("web:user:operator", "exec_shell", "denied").fits(&decided));
        assert!(!by("web:user:operator", "exec_shell", "approved").fits(&decided));
        assert!(!by("web:user:other", "exec_shell", "denied").fits(&decided));
    }
}
