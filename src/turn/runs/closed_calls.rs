//! The tool part of a call that a person is asked about: the question, the answer, and how a call ends that does not
//! run, with the text for the model.

use serde_json::{Value, json};

use super::run::TOOL_METADATA;
use crate::domain::{Approval, ApprovalFile, ApprovalKind, ApprovalState};
use crate::uimessage::{ApprovalAnswer, ApprovalAsk, ToolPart, ToolState};

/// The question as the tool part keeps it.
pub(super) fn asked(approval: &Approval) -> ApprovalAsk {
    let descriptor = json!({
        "number": approval.number.to_string(), "kind": approval.kind, "summary": approval.summary,
        "details": approval.details, "risk": approval.risk, "scopes": approval.scopes,
        "expiresAt": approval.expires_at.rfc3339(),
    });
    ApprovalAsk { id: approval.id.to_string(), descriptor: Some(descriptor) }
}

/// Ends a call and removes the mark that it had begun.
pub(super) fn close_part(part: &mut ToolPart, end: ToolState) {
    part.extra.shift_remove(TOOL_METADATA);
    part.state = end;
}

/// The end of a call that, as a person says, was done before the restart.
pub(super) fn done_before(approval: &Approval, input: Value) -> ToolState {
    let output =
        json!({ "outcome": "done", "note": "The user says that this call took effect before the restart." });
    let answer = answered(approval, true, None);
    ToolState::OutputAvailable { input, output, approval: Some(answer), preliminary: None }
}

/// The answer of an approval with its outcome, which the tool part keeps before its result.
pub(super) fn answered(approval: &Approval, approved: bool, reason: Option<String>) -> ApprovalAnswer {
    let descriptor = Some(outcome_of(approval));
    ApprovalAnswer { id: approval.id.to_string(), approved, reason, descriptor }
}

/// The outcome fields of an approval record.
fn outcome_of(approval: &Approval) -> Value {
    const KEPT: [&str; 7] = ["number", "kind", "state", "decidedBy", "decidedAt", "via", "scope"];
    let Ok(Value::Object(mut record)) = serde_json::to_value(ApprovalFile::from(approval)) else {
        return Value::Null;
    };
    record.retain(|key, _| KEPT.contains(&key.as_str()));
    // The state of the part says whether the call ran.
    if matches!(approval.state, ApprovalState::Spent { .. }) {
        record.insert("state".to_owned(), "approved".into());
    }
    Value::Object(record)
}

/// The end of a call that is not run, or not run again, with the reason for the model.
pub(super) fn not_run(approval: &Approval, input: Value) -> ToolState {
    let answer = answered(approval, false, Some(why_not_run(approval)));
    ToolState::OutputDenied { input, approval: answer }
}

fn why_not_run(approval: &Approval) -> String {
    let cut_off = approval.kind == ApprovalKind::UnknownOutcome;
    let run = if cut_off { "run again" } else { "run" };
    let why = match &approval.state {
        ApprovalState::Denied { decided } => {
            let denied = if cut_off {
                "The user chose not to run this call again"
            } else {
                "The user denied this call"
            };
            decided
                .reason
                .as_ref()
                .map_or_else(|| format!("{denied}."), |reason| format!("{denied}: {reason}"))
        }
        ApprovalState::Expired { .. } => {
            format!("Nobody answered the request for approval in time, so this call was not {run}.")
        }
        ApprovalState::Cancelled { reason, .. } => format!("This call was not {run}: {reason}."),
        ApprovalState::Pending | ApprovalState::Approved { .. } | ApprovalState::Spent { .. } => {
            format!("This call was not {run}.")
        }
    };
    if cut_off { format!("{why} Whether it took effect before the restart is unknown.") } else { why }
}
