//! The audit lines of the state machine: verdicts, approvals and answers.

use crate::domain::{Approval, ApprovalId, Decided, Timestamp, ToolCallId};
use crate::ports::{AuditEvent, AuditLine, AuditOutcome, AuditVerdict, Judgement, Ruling};
use crate::turn::approval::approvals::AnswerOutcome;
use crate::turn::event::ApprovalSlot;
use crate::turn::runs::open_calls::Call;
use crate::turn::{Conversation, Effect};

impl Conversation {
    /// Records a verdict, and the grants by which a call runs.
    pub(in crate::turn) fn tell_verdict(
        &self,
        call: &ToolCallId,
        state: &Call,
        judgement: &Judgement,
        seat: Option<&ApprovalSlot>,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.run.as_ref() else { return };
        let question = match state {
            Call::Judging | Call::JudgingLost => seat.map(|seat| (&seat.id, seat.number)),
            Call::Checking(approval) => Some((&approval.id, approval.number)),
            _ => return,
        };
        let (verdict, reason) = match &judgement.ruling {
            Ruling::Allow(_) => (AuditVerdict::Allow, None),
            Ruling::Ask => (AuditVerdict::Ask, None),
            Ruling::Deny(why) => (AuditVerdict::Deny, Some(why.clone())),
        };
        let tool = run.open_calls().iter().find(|part| part.call_id == *call).map(|part| part.tool.name());
        let line = AuditLine {
            thread: Some(self.thread.clone()),
            correlation: Some(run.correlation.clone()),
            author: self.requester(),
            tool: tool.map(str::to_owned),
            tool_call: Some(call.clone()),
            approval: question.map(|(id, _)| id.clone()),
            number: question.map(|(_, number)| number),
            fingerprint: Some(judgement.fingerprint.clone()),
            ..AuditLine::new(AuditEvent::Verdict, now)
        };
        // A call that a person allowed runs by that decision, even if it also created a grant.
        if *state == Call::Judging && verdict == AuditVerdict::Allow && !judgement.grants.is_empty() {
            let used =
                AuditLine { event: AuditEvent::GrantUsed, grants: judgement.grants.clone(), ..line.clone() };
            out.push(Effect::Audit(Box::new(used)));
        }
        out.push(Effect::Audit(Box::new(AuditLine { verdict: Some(verdict), reason, ..line })));
    }

    /// Records an answer that was not accepted.
    pub(in crate::turn) fn tell_refused(
        &self,
        heard: &AnswerOutcome,
        (id, known): (&ApprovalId, Option<&Approval>),
        decided: &Decided,
        out: &mut Vec<Effect>,
    ) {
        let reason = match heard {
            AnswerOutcome::Counted | AnswerOutcome::CountedOnce => return,
            AnswerOutcome::NotOpen => "there is no such question here, or it was settled before",
            AnswerOutcome::NotTheirs => "whoever answered may not",
            AnswerOutcome::TooLate => "it came too late",
            AnswerOutcome::NotAnAnswer => "it is no answer to this question",
        };
        let line = match known {
            Some(approval) => AuditLine::about(AuditEvent::Decision, approval, decided.at),
            None => AuditLine {
                thread: Some(self.thread.clone()),
                approval: Some(id.clone()),
                ..AuditLine::new(AuditEvent::Decision, decided.at)
            },
        };
        out.push(Effect::Audit(Box::new(AuditLine {
            outcome: Some(AuditOutcome::Refused),
            reason: Some(reason.to_owned()),
            ..line.by(decided)
        })));
    }
}

/// Stores an approval's new state, and records it in the audit trail.
pub(in crate::turn) fn write_down(approval: &Approval, out: &mut Vec<Effect>) {
    out.push(Effect::SaveApproval(Box::new(approval.clone())));
    out.extend(AuditLine::settled(approval).map(|line| Effect::Audit(Box::new(line))));
}
