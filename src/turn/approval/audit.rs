//! The audit lines of the state machine: verdicts, approvals and answers.

use super::approvals::{AnswerOutcome, Approvals};
use crate::domain::{Approval, ApprovalId, Decided, ThreadId, ToolCallId};
use crate::ports::{AuditEvent, AuditLine, AuditOutcome, AuditVerdict, Judgement, Ruling};
use crate::turn::Effect;
use crate::turn::context::TurnContext;
use crate::turn::event::ApprovalSlot;
use crate::turn::runs::open_calls::Call;
use crate::turn::runs::run::Run;

/// The lines of a verdict, and of the grants by which a call runs.
pub(in crate::turn) fn verdict(
    run: &Run,
    approvals: &Approvals,
    call: &ToolCallId,
    judgement: &Judgement,
    slot: Option<&ApprovalSlot>,
    ctx: &TurnContext<'_>,
) -> Vec<Effect> {
    let state = run.call(call);
    let question = match state {
        Call::Judging | Call::JudgingLost => slot.map(|slot| (&slot.id, slot.number)),
        Call::Checking => approvals.approved(call).map(|approval| (&approval.id, approval.number)),
        _ => return Vec::new(),
    };
    let (verdict, reason) = match &judgement.ruling {
        Ruling::Allow(_) => (AuditVerdict::Allow, None),
        Ruling::Ask => (AuditVerdict::Ask, None),
        Ruling::Deny(why) => (AuditVerdict::Deny, Some(why.clone())),
    };
    let tool = run.open_calls().iter().find(|part| part.call_id == *call).map(|part| part.tool.name());
    let line = AuditLine {
        thread: Some(ctx.thread().clone()),
        correlation: Some(run.correlation().clone()),
        author: ctx.history.requester(run.correlation()),
        tool: tool.map(str::to_owned),
        tool_call: Some(call.clone()),
        approval: question.map(|(id, _)| id.clone()),
        number: question.map(|(_, number)| number),
        fingerprint: Some(judgement.fingerprint.clone()),
        ..AuditLine::new(AuditEvent::Verdict, ctx.now)
    };
    // A call that a person allowed runs by that decision, even if it also created a grant.
    let granted = state == Call::Judging && verdict == AuditVerdict::Allow && !judgement.grants.is_empty();
    let used = granted.then(|| AuditLine {
        event: AuditEvent::GrantUsed,
        grants: judgement.grants.clone(),
        ..line.clone()
    });
    let lines = used.into_iter().chain([AuditLine { verdict: Some(verdict), reason, ..line }]);
    lines.map(|line| Effect::Audit(Box::new(line))).collect()
}

/// The line of an answer that was not accepted.
pub(super) fn refused(
    outcome: &AnswerOutcome,
    thread: &ThreadId,
    (id, known): (&ApprovalId, Option<&Approval>),
    decided: &Decided,
) -> Option<Effect> {
    let reason = match outcome {
        AnswerOutcome::Counted | AnswerOutcome::CountedOnce => return None,
        AnswerOutcome::NotOpen => "there is no such question here, or it was settled before",
        AnswerOutcome::NotTheirs => "whoever answered may not",
        AnswerOutcome::TooLate => "it came too late",
        AnswerOutcome::NotAnAnswer => "it is no answer to this question",
    };
    let line = match known {
        Some(approval) => AuditLine::about(AuditEvent::Decision, approval, decided.at),
        None => AuditLine {
            thread: Some(thread.clone()),
            approval: Some(id.clone()),
            ..AuditLine::new(AuditEvent::Decision, decided.at)
        },
    };
    Some(Effect::Audit(Box::new(AuditLine {
        outcome: Some(AuditOutcome::Refused),
        reason: Some(reason.to_owned()),
        ..line.by(decided)
    })))
}

/// Stores an approval's new state, and records it in the audit trail.
pub(super) fn save(approval: &Approval) -> Vec<Effect> {
    let line = AuditLine::settled(approval).map(|line| Effect::Audit(Box::new(line)));
    std::iter::once(Effect::SaveApproval(Box::new(approval.clone()))).chain(line).collect()
}
