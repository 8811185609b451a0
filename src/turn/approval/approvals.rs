//! The pending questions of a run: asks them, applies the answers, and expires those without an answer.
//!
//! The record of an approval is written before the question is sent, and before an answer takes effect. An approved
//! call is judged again right before it runs: it must still be the call that was shown.

use super::audit;
use super::question::{Question, QuestionRequest};
use super::visibility::{QuestionVisibility, asked_by};
use crate::domain::{
    Answer, Approval, ApprovalId, ApprovalKind, ApprovalNumber, ApprovalState, Author, AuthorId, AuthorRole,
    Decided, Intent, Scope, ScopeKind, Timestamp, ToolCallId,
};
use crate::ports::{DeliveryError, Durability, Judgement, Receipt, Ruling, ThreadRecord};
use crate::render::Phrase;
use crate::turn::context::TurnContext;
use crate::turn::event::ApprovalSlot;
use crate::turn::exchange::DaemonReply;
use crate::turn::runs::run::Run;
use crate::turn::runs::steps::progress;
use crate::turn::{Effect, Spoken};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::turn) enum AnswerOutcome {
    Counted,
    /// It counts for this call alone: a longer yes cannot hold for it.
    CountedOnce,
    /// There is no such approval, or it was settled before.
    NotOpen,
    /// The author may not answer.
    NotTheirs,
    /// The approval had expired.
    TooLate,
    /// The answer does not fit this approval.
    NotAnAnswer,
}

/// The authority of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::turn) enum DecisionAuthority {
    /// They hold the operator's token.
    Operator,
    /// They wrote in the chat.
    Speaker(AuthorRole),
}

/// A question that was settled. The run applies it to the call and sends the notice.
pub(in crate::turn) struct Settlement {
    pub(in crate::turn) approval: Approval,
    /// The record, its audit line and its grant.
    pub(in crate::turn) effects: Vec<Effect>,
    pub(in crate::turn) notice: Intent,
}

/// What came of an answer.
pub(in crate::turn) struct Answered {
    pub(in crate::turn) outcome: AnswerOutcome,
    pub(in crate::turn) settled: Vec<Settlement>,
    /// The audit line of an answer that was not accepted.
    pub(in crate::turn) refusal: Option<Effect>,
}

/// Whether an approved call may still run.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::turn) enum AnswerCheck {
    Unchanged,
    /// It would do something else than what was shown.
    Changed,
    Denied(String),
}

/// The questions of the run in flight.
#[derive(Debug)]
pub(in crate::turn) struct Approvals {
    /// Without an answer, by number.
    pending: Vec<Approval>,
    /// Approved, and the call has not begun.
    approved: Vec<Approval>,
    pub(super) visibility: QuestionVisibility,
    /// Whether people were reminded of the questions of this run.
    reminded: bool,
}

impl Approvals {
    pub(in crate::turn) fn new(record: &ThreadRecord) -> Self {
        Self {
            pending: Vec::new(),
            approved: Vec::new(),
            visibility: QuestionVisibility::resumed(record),
            reminded: false,
        }
    }

    /// Takes up the records of a run that goes on after a restart.
    pub(in crate::turn) fn resume(&mut self, approvals: Vec<Approval>) {
        let (pending, approved): (Vec<_>, Vec<_>) = approvals.into_iter().partition(Approval::is_pending);
        pending.iter().for_each(|question| self.visibility.may_be_seen(question));
        self.pending = pending;
        self.pending.sort_by_key(|approval| approval.number);
        self.approved = approved;
    }

    /// The pending approvals, in the order they were asked.
    pub(in crate::turn) fn pending(&self) -> &[Approval] {
        &self.pending
    }

    #[cfg(test)]
    pub(in crate::turn) const fn visibility(&self) -> &QuestionVisibility {
        &self.visibility
    }

    fn find(&self, id: &ApprovalId) -> Option<&Approval> {
        self.pending.iter().find(|approval| approval.id == *id)
    }

    pub(in crate::turn) fn numbers(&self) -> Vec<ApprovalNumber> {
        self.pending.iter().map(|approval| approval.number).collect()
    }

    /// When the next approval expires.
    pub(in crate::turn) fn next_expiry(&self) -> Option<Timestamp> {
        self.pending.iter().map(|approval| approval.expires_at).min()
    }

    /// The approval by which a call that has not begun may run.
    pub(in crate::turn) fn approved(&self, call: &ToolCallId) -> Option<&Approval> {
        self.approved.iter().find(|approval| approval.tool_call == *call)
    }

    /// Whether the author may answer any of these approvals.
    pub(in crate::turn) fn may_answer_one(
        by: &Author,
        approvals: &[Approval],
        ctx: &TurnContext<'_>,
    ) -> bool {
        let rights = &ctx.rules().rights;
        approvals.iter().any(|asked| rights.may_decide(asked, &by.id, by.role))
    }

    /// The calls of the run have ended, and with them its questions.
    pub(in crate::turn) fn forget_calls(&mut self) {
        self.pending.clear();
        self.approved.clear();
    }

    pub(in crate::turn) fn run_ended(&mut self) {
        self.forget_calls();
        self.reminded = false;
    }

    /// Asks about a call.
    pub(in crate::turn) fn ask(
        &mut self,
        request: QuestionRequest,
        judgement: Judgement,
        slot: ApprovalSlot,
        ctx: &TurnContext<'_>,
    ) -> Question {
        let question = Question::new(request, judgement, slot, ctx);
        if ctx.is_push() {
            self.visibility.hide(&question.approval.id);
        }
        self.pending.push(question.approval.clone());
        self.pending.sort_by_key(|approval| approval.number);
        question
    }

    /// Checks an approved call right before it runs. Its approval is spent, or cancelled.
    pub(in crate::turn) fn check(
        &mut self,
        call: &ToolCallId,
        judgement: &Judgement,
        now: Timestamp,
    ) -> Option<(AnswerCheck, Vec<Effect>)> {
        let at = self.approved.iter().position(|approval| approval.tool_call == *call)?;
        let mut approval = self.approved.remove(at);
        let (check, why) = match &judgement.ruling {
            Ruling::Deny(why) => (AnswerCheck::Denied(why.clone()), why.clone()),
            Ruling::Allow(_) | Ruling::Ask if approval.fingerprint == judgement.fingerprint => {
                if let ApprovalState::Approved { decided, scope } = approval.state.clone() {
                    approval.state = ApprovalState::Spent { decided, scope };
                }
                return Some((AnswerCheck::Unchanged, vec![Effect::SaveApproval(Box::new(approval))]));
            }
            Ruling::Allow(_) | Ruling::Ask => {
                (AnswerCheck::Changed, "what it would do has changed since it was approved".to_owned())
            }
        };
        approval.state = ApprovalState::Cancelled { at: now, reason: why };
        Some((check, audit::save(&approval)))
    }

    /// Applies an answer to the approval of this id.
    pub(in crate::turn) fn answer(
        &mut self,
        id: &ApprovalId,
        answer: &Answer,
        decided: Decided,
        authority: DecisionAuthority,
        ctx: &TurnContext<'_>,
    ) -> Answered {
        let approval = self.find(id).cloned();
        let (outcome, settled) = match approval.clone() {
            Some(approval) => self.apply_answer(approval, answer, decided.clone(), authority, ctx),
            None => (AnswerOutcome::NotOpen, Vec::new()),
        };
        let refusal = audit::refused(&outcome, ctx.thread(), (id, approval.as_ref()), &decided);
        Answered { outcome, settled, refusal }
    }

    fn apply_answer(
        &mut self,
        mut approval: Approval,
        answer: &Answer,
        decided: Decided,
        authority: DecisionAuthority,
        ctx: &TurnContext<'_>,
    ) -> (AnswerOutcome, Vec<Settlement>) {
        let may = match authority {
            DecisionAuthority::Operator => true,
            DecisionAuthority::Speaker(role) => ctx.rules().rights.may_decide(&approval, &decided.by, role),
        };
        if !may {
            return (AnswerOutcome::NotTheirs, Vec::new());
        }
        if ctx.now >= approval.expires_at {
            return (AnswerOutcome::TooLate, self.expire(ctx));
        }
        let fits = match (answer, approval.kind) {
            (Answer::Done, ApprovalKind::Tool | ApprovalKind::Budget) => false,
            (Answer::Approve(scope), ApprovalKind::Budget) => {
                *scope == Scope::Once || ScopeKind::RAISES.contains(&scope.kind())
            }
            _ => true,
        };
        if !fits {
            return (AnswerOutcome::NotAnAnswer, Vec::new());
        }
        let by = decided.by.clone();
        let mut outcome = AnswerOutcome::Counted;
        approval.state = match answer {
            Answer::Approve(wanted) => {
                let wanted = match (wanted, approval.kind) {
                    (Scope::Once, ApprovalKind::Budget) => Scope::PlusOne,
                    (wanted, _) => *wanted,
                };
                let scope = approval.held(wanted);
                if scope != wanted {
                    outcome = AnswerOutcome::CountedOnce;
                }
                ApprovalState::Approved { decided, scope }
            }
            Answer::Deny => ApprovalState::Denied { decided },
            Answer::Done => ApprovalState::Spent { decided, scope: Scope::Once },
        };
        let name = Some(ctx.history.name_of(&by));
        let phrase = match outcome {
            AnswerOutcome::CountedOnce => Phrase::ResolvedOnce { number: approval.number, by: name },
            _ => Phrase::Resolved { approval: Box::new(approval.clone()), by: name },
        };
        let settlement = self.settle(approval, Some(&by), &phrase, ctx);
        if authority == DecisionAuthority::Operator {
            self.visibility.settled_by_operator();
        }
        (outcome, vec![settlement])
    }

    /// Settles a question in the state that it has now.
    fn settle(
        &mut self,
        approval: Approval,
        by: Option<&AuthorId>,
        phrase: &Phrase,
        ctx: &TurnContext<'_>,
    ) -> Settlement {
        self.pending.retain(|pending| pending.id != approval.id);
        self.visibility.settle(&approval, by, ctx.now);
        let mut effects = audit::save(&approval);
        if let ApprovalState::Approved { scope, .. } = &approval.state {
            // A raised cap is a grant that its call makes.
            if *scope != Scope::Once && approval.kind != ApprovalKind::Budget {
                effects.push(Effect::Grant(Box::new(approval.clone()), *scope));
            }
            self.approved.push(approval.clone());
        }
        let text = phrase.say(ctx.language());
        let notice = Intent::ApprovalResolved { approval_id: approval.id.clone(), text };
        Settlement { approval, effects, notice }
    }

    /// Expires a question without an answer.
    fn close(
        &mut self,
        mut approval: Approval,
        state: ApprovalState,
        by: Option<&AuthorId>,
        ctx: &TurnContext<'_>,
    ) -> Settlement {
        approval.state = state;
        let phrase = Phrase::Resolved { approval: Box::new(approval.clone()), by: None };
        self.settle(approval, by, &phrase, ctx)
    }

    /// Rejects approvals that were not answered in time.
    pub(in crate::turn) fn expire(&mut self, ctx: &TurnContext<'_>) -> Vec<Settlement> {
        let late: Vec<Approval> =
            self.pending.iter().filter(|approval| ctx.now >= approval.expires_at).cloned().collect();
        let expired = ApprovalState::Expired { at: ctx.now };
        late.into_iter().map(|approval| self.close(approval, expired.clone(), None, ctx)).collect()
    }

    /// Withdraws every pending approval.
    pub(in crate::turn) fn withdraw(
        &mut self,
        why: &str,
        by: &AuthorId,
        ctx: &TurnContext<'_>,
    ) -> Vec<Settlement> {
        self.cancel(self.pending.clone(), why, by, ctx)
    }

    fn cancel(
        &mut self,
        approvals: Vec<Approval>,
        why: &str,
        by: &AuthorId,
        ctx: &TurnContext<'_>,
    ) -> Vec<Settlement> {
        let cancelled = ApprovalState::Cancelled { at: ctx.now, reason: why.to_owned() };
        approvals.into_iter().map(|approval| self.close(approval, cancelled.clone(), Some(by), ctx)).collect()
    }

    /// Withdraws the approvals that a person may withdraw, and returns the reply text.
    pub(in crate::turn) fn cancel_for(
        &mut self,
        by: &Author,
        ctx: &TurnContext<'_>,
    ) -> (Vec<Settlement>, String) {
        let rights = &ctx.rules().rights;
        let may = |asked: &Approval| asked.requested_by == by.id || rights.may_decide(asked, &by.id, by.role);
        let (theirs, others): (Vec<Approval>, Vec<Approval>) = self.pending.iter().cloned().partition(may);
        let (count, language) = (theirs.len(), ctx.language());
        let settled = self.cancel(theirs, "the user withdrew the request", &by.id, ctx);
        let refused = (!others.is_empty()).then(|| {
            Phrase::NotTheirsToWithdraw(others.iter().map(|asked| asked.number).collect()).say(language)
        });
        let withdrawn = (count > 0 || refused.is_none()).then(|| Phrase::Withdrawn(count).say(language));
        (settled, withdrawn.into_iter().chain(refused).collect::<Vec<_>>().join("\n"))
    }

    /// A longer yes could not be kept: it holds for the call alone. Returns the approval as it is now, and the reason
    /// that the person gave.
    pub(in crate::turn) fn not_granted(&mut self, id: &ApprovalId) -> Option<(Approval, Option<String>)> {
        let approval = self.approved.iter_mut().find(|approval| approval.id == *id)?;
        let ApprovalState::Approved { scope, decided } = &mut approval.state else { return None };
        *scope = Scope::Once;
        Some((decided.reason.clone(), approval.clone())).map(|(reason, approval)| (approval, reason))
    }

    /// Tells people once in a run how the pending approvals can be answered.
    pub(in crate::turn) fn remind(&mut self, run: &Run, ctx: &TurnContext<'_>) -> Vec<Effect> {
        if std::mem::replace(&mut self.reminded, true) {
            return Vec::new();
        }
        let language = ctx.language();
        let text = Phrase::Reminder(self.numbers()).say(language);
        let say = Spoken {
            source: format!("{}.reminder", run.correlation()),
            correlation: run.correlation().clone(),
            reply_to: run.reply_to().map(str::to_owned),
            intent: DaemonReply::asking(text.clone(), &self.pending).intent(language),
        };
        // Clients that read the thread get it as progress; on other platforms it is sent.
        let commit = Effect::Commit { messages: Vec::new(), say: vec![say], durability: Durability::Written };
        vec![progress(text), commit]
    }

    /// If the intent is a question, records that it is being sent: from now on people may see it.
    pub(in crate::turn) fn note_sending(&mut self, intent: &Intent, now: Timestamp) {
        if let Some(question) = asked_by(intent).filter(|question| self.find(question).is_some()) {
            self.visibility.show(question, now);
        }
    }

    /// Records the result of sending a question: the platform message that shows it, or why there is none.
    pub(in crate::turn) fn note_sent(&mut self, intent: &Intent, result: Result<&Receipt, &DeliveryError>) {
        let Some(question) = asked_by(intent) else { return };
        match result {
            Ok(receipt) => {
                if let Some(post) = &receipt.platform_message {
                    self.visibility.post(question, post);
                }
            }
            Err(_) if self.find(question).is_none() => {}
            // The request may have succeeded with only the response lost.
            Err(DeliveryError::Retry { .. }) => self.visibility.doubt(question),
            Err(DeliveryError::Hold { .. } | DeliveryError::Permanent { .. }) => {
                self.visibility.take_back(question);
            }
        }
    }

    /// Records the delay of a message that a person wrote at `at`.
    pub(in crate::turn) fn note_said(&mut self, at: Timestamp, now: Timestamp) {
        self.visibility.note_message(at, now);
    }
}
