//! The serialized form of an approval in files and HTTP answers: flat, with readable times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Approval, ApprovalId, ApprovalKind, ApprovalNumber, ApprovalState, AuthorId, CorrelationId, Decided,
    MemoryScope, Risk, Scope, ScopeKind, ThreadId, Timestamp, ToolCallId,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalFile {
    id: ApprovalId,
    number: String,
    kind: ApprovalKind,
    state: StoredState,
    thread_id: ThreadId,
    correlation_id: CorrelationId,
    tool_call_id: ToolCallId,
    tool: String,
    input: Value,
    summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    risk: Risk,
    #[serde(default = "only_once")]
    scopes: Vec<ScopeKind>,
    #[serde(default, skip_serializing_if = "is_default")]
    memory_scope: MemoryScope,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    owners_only: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked_in: Vec<ThreadId>,
    fingerprint: String,
    requested_by: AuthorId,
    created_at: String,
    expires_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_by: Option<AuthorId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StoredState {
    Pending,
    Approved,
    Denied,
    Expired,
    Cancelled,
    Spent,
}

fn is_default(scope: &MemoryScope) -> bool {
    *scope == MemoryScope::default()
}

/// The scopes of a file from an older version, which has no such field.
fn only_once() -> Vec<ScopeKind> {
    vec![ScopeKind::Once]
}

/// A file whose fields do not form a valid approval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an approval: {0} is missing or malformed")]
pub struct BadApproval(&'static str);

impl From<&Approval> for ApprovalFile {
    fn from(approval: &Approval) -> Self {
        let (state, decided, scope, end) = match &approval.state {
            ApprovalState::Pending => (StoredState::Pending, None, None, None),
            ApprovalState::Approved { decided, scope } => {
                (StoredState::Approved, Some(decided), Some(*scope), None)
            }
            ApprovalState::Spent { decided, scope } => {
                (StoredState::Spent, Some(decided), Some(*scope), None)
            }
            ApprovalState::Denied { decided } => (StoredState::Denied, Some(decided), None, None),
            ApprovalState::Expired { at } => (StoredState::Expired, None, None, Some((*at, None))),
            ApprovalState::Cancelled { at, reason } => {
                (StoredState::Cancelled, None, None, Some((*at, Some(reason.clone()))))
            }
        };
        let (ended_at, ended_why) = end.map_or((None, None), |(at, why)| (Some(at), why));
        Self {
            id: approval.id.clone(),
            number: approval.number.to_string(),
            kind: approval.kind,
            state,
            thread_id: approval.thread.clone(),
            correlation_id: approval.correlation.clone(),
            tool_call_id: approval.tool_call.clone(),
            tool: approval.tool.clone(),
            input: approval.input.clone(),
            summary: approval.summary.clone(),
            details: approval.details.clone(),
            risk: approval.risk,
            scopes: approval.scopes.clone(),
            memory_scope: approval.memory_scope.clone(),
            owners_only: approval.owners_only,
            asked_in: approval.asked_in.clone(),
            fingerprint: approval.fingerprint.clone(),
            requested_by: approval.requested_by.clone(),
            created_at: approval.created_at.rfc3339(),
            expires_at: approval.expires_at.rfc3339(),
            decided_by: decided.map(|decided| decided.by.clone()),
            decided_at: decided.map(|decided| decided.at).or(ended_at).map(Timestamp::rfc3339),
            via: decided.map(|decided| decided.via.clone()),
            reason: decided.and_then(|decided| decided.reason.clone()).or(ended_why),
            scope,
        }
    }
}

impl TryFrom<ApprovalFile> for Approval {
    type Error = BadApproval;

    fn try_from(file: ApprovalFile) -> Result<Self, BadApproval> {
        let time = |text: &str, name| Timestamp::parse_rfc3339(text).ok_or(BadApproval(name));
        let decided_at = file.decided_at.as_deref().map(|text| time(text, "decidedAt")).transpose()?;
        let decided = || {
            Ok(Decided {
                by: file.decided_by.clone().ok_or(BadApproval("decidedBy"))?,
                at: decided_at.ok_or(BadApproval("decidedAt"))?,
                via: file.via.clone().unwrap_or_default(),
                reason: file.reason.clone(),
            })
        };
        let scope = file.scope.unwrap_or_default();
        let state = match file.state {
            StoredState::Pending => ApprovalState::Pending,
            StoredState::Approved => ApprovalState::Approved { decided: decided()?, scope },
            StoredState::Spent => ApprovalState::Spent { decided: decided()?, scope },
            StoredState::Denied => ApprovalState::Denied { decided: decided()? },
            StoredState::Expired => {
                ApprovalState::Expired { at: decided_at.ok_or(BadApproval("decidedAt"))? }
            }
            StoredState::Cancelled => ApprovalState::Cancelled {
                at: decided_at.ok_or(BadApproval("decidedAt"))?,
                reason: file.reason.clone().unwrap_or_default(),
            },
        };
        let number = file.number.strip_prefix('A').and_then(|digits| digits.parse().ok());
        Ok(Self {
            number: ApprovalNumber(number.ok_or(BadApproval("number"))?),
            created_at: time(&file.created_at, "createdAt")?,
            expires_at: time(&file.expires_at, "expiresAt")?,
            state,
            id: file.id,
            kind: file.kind,
            thread: file.thread_id,
            correlation: file.correlation_id,
            tool_call: file.tool_call_id,
            tool: file.tool,
            input: file.input,
            summary: file.summary,
            details: file.details,
            risk: file.risk,
            scopes: file.scopes,
            memory_scope: file.memory_scope,
            owners_only: file.owners_only,
            asked_in: file.asked_in,
            fingerprint: file.fingerprint,
            requested_by: file.requested_by,
        })
    }
}
