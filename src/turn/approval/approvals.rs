//! Asks people to approve calls, and applies their answers.
//!
//! The record of an approval is written before the question is sent, and before an answer takes effect. An approved
//! call is judged again right before it runs: it must still be the call that was shown.

use serde_json::{Value, json};

use crate::domain::Class;
use crate::domain::{
    Answer, Approval, ApprovalId, ApprovalKind, ApprovalState, AuthorId, AuthorRole, Decided, Delivery,
    Intent, Scope, ScopeKind, Timestamp, ToolCallId,
};
use crate::policy::tools::needs_owner;
use crate::ports::{Durability, Judgement, Ruling};
use crate::render::{GrantPhrase, Phrase};
use crate::turn::approval::audit::write_down;
use crate::turn::effect::Spoken;
use crate::turn::event::ApprovalSlot;
use crate::turn::runs::closed_calls::{answered, close_part, done_before, not_run};
use crate::turn::runs::open_calls::Call;
use crate::turn::runs::run::{Phase, TOOL_METADATA};
use crate::turn::{Conversation, Effect};
use crate::uimessage::{ApprovalAsk, Part, Role, ToolState};

/// The outcome of an answer.
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
pub(in crate::turn) enum Authority {
    /// They hold the operator's token.
    Operator,
    /// They spoke in the chat.
    Speaker(AuthorRole),
}

impl Conversation {
    /// Whether this judgement leads to an approval, which then needs a number. Numbers are assigned only to approvals
    /// that are asked: a gap would make people look for a missing question.
    pub fn needs_seat(&self, call: &ToolCallId, judgement: &Judgement) -> bool {
        match self.run.as_ref().map(|run| run.ledger.get(call)) {
            Some(Call::Judging) => judgement.ruling == Ruling::Ask,
            Some(Call::JudgingLost) => true,
            Some(Call::Checking(approval)) => {
                !matches!(judgement.ruling, Ruling::Deny(_)) && approval.fingerprint != judgement.fingerprint
            }
            _ => false,
        }
    }

    /// Processes a judgement.
    pub(in crate::turn) fn judged(
        &mut self,
        call: &ToolCallId,
        judgement: Judgement,
        seat: Option<ApprovalSlot>,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let Some(state) = self.run.as_ref().map(|run| run.ledger.get(call).clone()) else { return };
        self.tell_verdict(call, &state, &judgement, seat.as_ref(), now, out);
        match (state, judgement.ruling.clone()) {
            (Call::Judging, Ruling::Allow(class)) => self.set_call(call, Call::Cleared(class)),
            (Call::Judging, Ruling::Ask) => self.ask(call, judgement, ApprovalKind::Tool, seat, now, out),
            (Call::Judging, Ruling::Deny(why)) => self.refuse_call(call, &why),
            (Call::JudgingLost, _) => self.ask(call, judgement, ApprovalKind::UnknownOutcome, seat, now, out),
            (Call::Checking(mut approval), ruling) => {
                let same = approval.fingerprint == judgement.fingerprint;
                match ruling {
                    Ruling::Deny(why) => {
                        self.cancel_approval(approval, &why, now, out);
                        self.refuse_call(call, &why);
                    }
                    Ruling::Allow(_) | Ruling::Ask if same => {
                        if let ApprovalState::Approved { decided, scope } = approval.state.clone() {
                            approval.state = ApprovalState::Spent { decided, scope };
                        }
                        out.push(Effect::SaveApproval(Box::new(approval)));
                        return self.start_calls(vec![(call.clone(), Class::ProjectWritable)], out);
                    }
                    Ruling::Allow(_) | Ruling::Ask => {
                        let why = "what it would do has changed since it was approved";
                        self.cancel_approval(approval, why, now, out);
                        self.ask(call, judgement, ApprovalKind::Tool, seat, now, out);
                    }
                }
            }
            _ => return,
        }
        self.run_tools(now, out);
        out.push(Effect::Publish);
    }

    /// Asks for an approval: stores it first, then sends the question.
    pub(in crate::turn) fn ask(
        &mut self,
        call: &ToolCallId,
        judgement: Judgement,
        kind: ApprovalKind,
        seat: Option<ApprovalSlot>,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let (thread, expire_ms, language) = (self.thread.clone(), self.rules.expire_ms, self.language());
        let memory_scope = self.memory_scope();
        let (Some(requested_by), Some(seat)) = (self.requester(), seat) else {
            return self.refuse_call(call, "nobody is there to be asked");
        };
        let Some(run) = self.run.as_mut() else { return };
        let correlation = run.correlation.clone();
        let Some(part) = run.tool_mut(call) else { return };
        let input = part.state.input().cloned().unwrap_or_default();
        let owners_only = needs_owner(part.tool.name(), &input);
        let approval = Approval {
            id: seat.id,
            number: seat.number,
            kind,
            thread,
            correlation,
            tool_call: call.clone(),
            tool: part.tool.name().to_owned(),
            input: input.clone(),
            summary: judgement.summary,
            details: judgement.details,
            risk: judgement.risk,
            scopes: match kind {
                ApprovalKind::Tool => judgement.scopes,
                ApprovalKind::UnknownOutcome => vec![ScopeKind::Once],
            },
            memory_scope,
            owners_only,
            fingerprint: judgement.fingerprint,
            requested_by,
            created_at: now,
            expires_at: now.plus_millis(expire_ms),
            state: ApprovalState::Pending,
        };
        let descriptor = json!({
            "number": approval.number.to_string(), "kind": approval.kind, "summary": approval.summary,
            "details": approval.details, "risk": approval.risk, "scopes": approval.scopes,
            "expiresAt": approval.expires_at.rfc3339(),
        });
        let ask = ApprovalAsk { id: approval.id.to_string(), descriptor: Some(descriptor) };
        part.state = ToolState::ApprovalRequested { input, approval: ask };
        run.ledger.set(call, Call::Asked(approval.clone()));
        run.shown = true;
        if self.rules.capabilities.delivery == Delivery::Push {
            self.sight.hide(&approval.id);
        }
        let say = Intent::ApprovalRequest {
            approval_id: approval.id.clone(),
            number: approval.number.to_string(),
            kind,
            language,
            summary: approval.summary.clone(),
            risk: approval.risk,
            details: approval.details.clone(),
            scopes: approval.scopes.clone(),
            suggested_replies: Phrase::suggested_replies(kind, approval.number, language),
            expires_at: approval.expires_at.rfc3339(),
        };
        let say = self.with_whole(say, &approval, judgement.whole, out);
        out.push(Effect::SaveApproval(Box::new(approval)));
        self.commit_saying(say, out);
    }

    /// Applies an answer to the approval of this id.
    pub(in crate::turn) fn answer(
        &mut self,
        id: &ApprovalId,
        answer: &Answer,
        decided: Decided,
        authority: Authority,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) -> AnswerOutcome {
        let approval = self.run.as_ref().and_then(|run| run.ledger.find_asked(id)).cloned();
        let heard = match approval.clone() {
            Some(approval) => self.weigh(approval, answer, decided.clone(), authority, now, out),
            None => AnswerOutcome::NotOpen,
        };
        self.tell_refused(&heard, (id, approval.as_ref()), &decided, out);
        heard
    }

    fn weigh(
        &mut self,
        approval: Approval,
        answer: &Answer,
        decided: Decided,
        authority: Authority,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) -> AnswerOutcome {
        let rights = &self.rules.rights;
        let may = match authority {
            Authority::Operator => true,
            Authority::Speaker(role) => rights.may_decide(&approval, &decided.by, role),
        };
        if !may {
            return AnswerOutcome::NotTheirs;
        }
        if now >= approval.expires_at {
            self.expire(now, out);
            return AnswerOutcome::TooLate;
        }
        if (answer, approval.kind) == (&Answer::Done, ApprovalKind::Tool) {
            return AnswerOutcome::NotAnAnswer;
        }
        self.sight.settle(&approval, Some(&decided.by), now);
        if authority == Authority::Operator {
            self.sight.settled_by_operator();
        }
        let mut outcome = AnswerOutcome::Counted;
        match (answer, approval.kind) {
            (Answer::Approve(wanted), _) => {
                let scope = approval.held(*wanted);
                if scope != *wanted {
                    outcome = AnswerOutcome::CountedOnce;
                }
                self.allow(approval, scope, decided, &outcome, out);
            }
            (Answer::Deny, _) => {
                let by = decided.by.clone();
                self.turn_down(approval, ApprovalState::Denied { decided }, Some(&by), out);
            }
            (Answer::Done, _) => self.was_done(approval, decided, out),
        }
        self.go_on(now, out);
        outcome
    }

    fn allow(
        &mut self,
        mut approval: Approval,
        scope: Scope,
        decided: Decided,
        outcome: &AnswerOutcome,
        out: &mut Vec<Effect>,
    ) {
        let by = decided.by.clone();
        let reason = decided.reason.clone();
        approval.state = ApprovalState::Approved { decided, scope };
        self.respond(&approval, reason);
        write_down(&approval, out);
        if scope != Scope::Once {
            out.push(Effect::Grant(Box::new(approval.clone()), scope));
        }
        self.set_call(&approval.tool_call, Call::Approved(approval.clone()));
        let name = Some(self.name_of(&by));
        let phrase = match outcome {
            AnswerOutcome::CountedOnce => Phrase::ResolvedOnce { number: approval.number, by: name },
            _ => Phrase::Resolved { approval: Box::new(approval.clone()), by: name },
        };
        self.say_resolved(&approval, &phrase, out);
    }

    /// A longer yes could not be kept: the record says what holds, and so does the chat.
    pub(in crate::turn) fn not_granted(&mut self, id: &ApprovalId, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut() else { return };
        let Some(approval) = run.ledger.find_allowed_mut(id) else { return };
        let ApprovalState::Approved { scope, decided } = &mut approval.state else { return };
        *scope = Scope::Once;
        let (reason, approval) = (decided.reason.clone(), approval.clone());
        self.respond(&approval, reason);
        let text = GrantPhrase::NotKept(approval.number).say(self.language());
        out.push(Effect::Show(Intent::Progress { text: text.clone(), call_id: None }));
        out.push(Effect::SaveApproval(Box::new(approval)));
        self.commit_saying(vec![(format!("{id}.once"), Intent::AssistantText { text })], out);
    }

    fn was_done(&mut self, mut approval: Approval, decided: Decided, out: &mut Vec<Effect>) {
        let by = decided.by.clone();
        approval.state = ApprovalState::Spent { decided, scope: Scope::Once };
        self.settle_call(&approval, done_before);
        write_down(&approval, out);
        self.tell_resolved(&approval, Some(&by), out);
    }

    /// Rejects the call; the model is told why.
    pub(in crate::turn) fn turn_down(
        &mut self,
        mut approval: Approval,
        state: ApprovalState,
        by: Option<&AuthorId>,
        out: &mut Vec<Effect>,
    ) {
        approval.state = state;
        self.settle_call(&approval, not_run);
        write_down(&approval, out);
        self.tell_resolved(&approval, by, out);
    }

    /// Ends the call of an approval.
    fn settle_call(&mut self, approval: &Approval, end: fn(&Approval, Value) -> ToolState) {
        let Some(run) = self.run.as_mut() else { return };
        if let Some(part) = run.tool_mut(&approval.tool_call) {
            let input = part.state.input().cloned().unwrap_or_default();
            close_part(part, end(approval, input));
        }
        run.ledger.close(&approval.tool_call);
    }

    /// Rejects approvals that were not answered in time.
    pub(in crate::turn) fn expire(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let late: Vec<Approval> =
            self.pending_approvals().into_iter().filter(|approval| now >= approval.expires_at).collect();
        if late.is_empty() {
            return;
        }
        for approval in late {
            self.sight.settle(&approval, None, now);
            self.turn_down(approval, ApprovalState::Expired { at: now }, None, out);
        }
        self.go_on(now, out);
        out.push(Effect::Publish);
    }

    /// Withdraws every pending approval.
    pub(in crate::turn) fn withdraw(
        &mut self,
        why: &str,
        by: &AuthorId,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        for approval in self.pending_approvals() {
            self.sight.settle(&approval, Some(by), now);
            let state = ApprovalState::Cancelled { at: now, reason: why.to_owned() };
            self.turn_down(approval, state, None, out);
        }
    }

    /// Continues the run after an answer, if it can.
    pub(in crate::turn) fn go_on(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut() else { return };
        match run.phase {
            Phase::AwaitingApproval => {
                let open = run.open_calls();
                let stuck = !open.is_empty()
                    && open.iter().all(|tool| matches!(run.ledger.get(&tool.call_id), Call::Asked(_)));
                if !stuck {
                    run.phase = Phase::WaitingForSlot;
                    out.push(Effect::AcquireSlot);
                }
            }
            Phase::Acting => self.run_tools(now, out),
            Phase::WaitingForSlot | Phase::Thinking => {}
        }
    }

    /// The pending approvals, in the order they were asked.
    pub fn pending_approvals(&self) -> Vec<Approval> {
        self.run.as_ref().map(|run| run.ledger.asked().into_iter().cloned().collect()).unwrap_or_default()
    }

    /// When the next approval expires.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.pending_approvals().iter().map(|approval| approval.expires_at).min()
    }

    fn respond(&mut self, approval: &Approval, reason: Option<String>) {
        let Some(part) = self.run.as_mut().and_then(|run| run.tool_mut(&approval.tool_call)) else { return };
        let input = part.state.input().cloned().unwrap_or_default();
        let answer = answered(approval, true, reason);
        part.extra.shift_remove(TOOL_METADATA);
        part.state = ToolState::ApprovalResponded { input, approval: answer };
    }

    fn cancel_approval(&mut self, mut approval: Approval, why: &str, now: Timestamp, out: &mut Vec<Effect>) {
        approval.state = ApprovalState::Cancelled { at: now, reason: why.to_owned() };
        write_down(&approval, out);
    }

    fn refuse_call(&mut self, call: &ToolCallId, why: &str) {
        let Some(run) = self.run.as_mut() else { return };
        run.ledger.close(call);
        if let Some(part) = run.tool_mut(call) {
            let input = part.state.input().cloned();
            let error_text = format!("refused: {why}");
            part.state = ToolState::OutputError { input, raw_input: None, error_text, approval: None };
        }
    }

    fn tell_resolved(&mut self, approval: &Approval, by: Option<&AuthorId>, out: &mut Vec<Effect>) {
        let name = by.map(|by| self.name_of(by));
        let phrase = Phrase::Resolved { approval: Box::new(approval.clone()), by: name };
        self.say_resolved(approval, &phrase, out);
    }

    fn say_resolved(&mut self, approval: &Approval, phrase: &Phrase, out: &mut Vec<Effect>) {
        let text = phrase.say(self.language());
        let source = format!("{}.resolved", approval.id);
        let resolved = Intent::ApprovalResolved { approval_id: approval.id.clone(), text };
        self.commit_saying(vec![(source, resolved)], out);
    }

    /// The display name of a person, as far as this thread knows it.
    pub(in crate::turn) fn name_of(&self, author: &AuthorId) -> String {
        let known =
            self.history.iter().rev().find(|message| message.metadata.author_id.as_ref() == Some(author));
        known.and_then(|message| message.metadata.author_name.clone()).unwrap_or_else(|| author.to_string())
    }

    /// Commits the run with the messages to send, in order; each delivery id is derived from its source.
    fn commit_saying(&mut self, intents: Vec<(String, Intent)>, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut() else { return };
        run.placed = true;
        let (snapshot, correlation, reply_to) =
            (run.snapshot(), run.correlation.clone(), run.reply_to.clone());
        self.remember(&snapshot);
        let spoken = |(source, intent)| Spoken {
            source,
            correlation: correlation.clone(),
            reply_to: reply_to.clone(),
            intent,
        };
        let say = intents.into_iter().map(spoken).collect();
        out.push(Effect::Commit { messages: vec![snapshot], say, durability: Durability::Synced });
    }

    pub(in crate::turn) fn set_call(&mut self, call: &ToolCallId, state: Call) {
        if let Some(run) = self.run.as_mut() {
            run.ledger.set(call, state);
        }
    }

    /// The approval that allowed a call of the run in flight.
    pub fn approval_of(&self, call: &ToolCallId) -> Option<ApprovalId> {
        let parts = self.run.as_ref()?.message.parts.iter().rev();
        parts
            .filter_map(|part| match part {
                Part::Tool(tool) if tool.call_id == *call => Some(&tool.state),
                _ => None,
            })
            .find_map(|state| match state {
                ToolState::ApprovalResponded { approval, .. } => approval.id.parse().ok(),
                _ => None,
            })
    }

    /// The author of the message that led to the run's current calls.
    pub fn requester(&self) -> Option<AuthorId> {
        let run = self.run.as_ref()?;
        let asked = |message: &&crate::uimessage::UiMessage| {
            message.role == Role::User && message.metadata.correlation_id == run.correlation
        };
        self.history.iter().find(asked).and_then(|message| message.metadata.author_id.clone())
    }
}
