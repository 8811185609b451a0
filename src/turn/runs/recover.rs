//! Resumes a thread after a restart: open work continues from what is stored, without guesses.

use std::collections::BTreeMap;

use crate::domain::{Approval, ApprovalKind, ApprovalState, CorrelationId, Effects, Timestamp};
use crate::ports::Durability;
use crate::turn::machine::conversation::Waiting;
use crate::turn::runs::closed_calls::{answered, close_part, done_before, not_run};
use crate::turn::runs::open_calls::Call;
use crate::turn::runs::run::{Phase, Run, TOOL_METADATA, forget_start};
use crate::turn::{Conversation, Effect};
use crate::uimessage::{Part, Role, RunStatus, ToolPart, ToolState, UiMessage, unfinished_runs};

impl Conversation {
    /// Resumes open runs. The first one continues where it was interrupted; the others wait.
    pub(in crate::turn) fn resume(
        &mut self,
        approvals: Vec<Approval>,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let mut open = unfinished_runs(&self.history).into_iter();
        let Some(first) = open.next() else { return };
        self.waiting = open.map(|correlation| self.waiting_for(correlation)).collect();
        let reply_to = self.said_in(&first).last().and_then(|message| message.metadata.message_id.clone());
        let run = Run::new(&self.thread, first.clone(), reply_to, now);
        let answers = || {
            self.history.iter().filter(|m| m.role == Role::Assistant && m.metadata.correlation_id == first)
        };
        let steps = answers().map(UiMessage::steps).sum();
        let run = match answers().next_back() {
            Some(last) if last.metadata.status == Some(RunStatus::Running) => {
                let mut run = run.resumed(last.clone(), steps);
                run.steered = self.said_in(&first).last().is_some_and(|said| self.is_after(said, last));
                run
            }
            // The run was about to continue in a further message.
            Some(last) => {
                let mut run = run.resumed(last.clone(), steps);
                run.turn_page(&self.thread, now);
                run
            }
            None => run,
        };
        let cut_off = run.message.clone();
        self.run = Some(run);
        self.take_up_calls(approvals);
        for question in self.pending_approvals() {
            self.sight.may_be_seen(&question);
        }
        // The record may be one step ahead of the lines, but never two: then its state would be ambiguous.
        let caught_up =
            self.run.as_ref().map(|run| run.message.clone()).filter(|message| *message != cut_off);
        if let Some(message) = caught_up {
            let commit = self.commit(vec![message], Durability::Synced);
            out.push(commit);
        }
        let waits = !self.pending_approvals().is_empty() && self.only_asked();
        if let Some(run) = self.run.as_mut().filter(|_| waits) {
            run.phase = Phase::AwaitingApproval;
        } else {
            out.push(Effect::AcquireSlot);
        }
        out.push(Effect::Publish);
    }

    fn only_asked(&self) -> bool {
        let asked = |run: &Run| {
            run.open_calls().iter().all(|tool| matches!(run.ledger.get(&tool.call_id), Call::Asked(_)))
        };
        self.run.as_ref().is_some_and(asked)
    }

    /// Determines the state of each open call. A call with side effects that had begun is never simply run again.
    fn take_up_calls(&mut self, approvals: Vec<Approval>) {
        let effects_of = self.effects_of.clone();
        let Some(run) = self.run.as_mut() else { return };
        let mut approvals: BTreeMap<String, Approval> =
            approvals.into_iter().map(|approval| (approval.id.to_string(), approval)).collect();
        let start = run.step_start();
        let mut calls = Vec::new();
        for part in run.message.parts.iter_mut().skip(start) {
            let Part::Tool(tool) = part else { continue };
            if tool.state.is_settled() {
                continue;
            }
            let acts = !matches!(effects_of(tool.tool.name()), Some(Effects::ReadOnly | Effects::Speaks));
            let begun = acts && tool.extra.contains_key(TOOL_METADATA);
            let known = approval_id(&tool.state).and_then(|id| approvals.remove(id));
            if let Some(call) = take_up(tool, begun, known) {
                calls.push((tool.call_id.clone(), call));
            }
        }
        for (id, call) in calls {
            run.ledger.set(&id, call);
        }
    }

    fn waiting_for(&self, correlation: CorrelationId) -> Waiting {
        let messages = self.said_in(&correlation).map(|message| message.id.clone()).collect();
        Waiting { correlation, messages }
    }

    fn is_after(&self, one: &UiMessage, other: &UiMessage) -> bool {
        let place = |message: &UiMessage| self.history.iter().position(|known| known.id == message.id);
        place(one) > place(other)
    }

    fn said_in<'a>(&'a self, correlation: &'a CorrelationId) -> impl Iterator<Item = &'a UiMessage> {
        self.history.iter().filter(move |m| {
            m.role == Role::User && !m.metadata.context && m.metadata.correlation_id == *correlation
        })
    }
}

fn approval_id(state: &ToolState) -> Option<&str> {
    match state {
        ToolState::ApprovalRequested { approval, .. } => Some(&approval.id),
        ToolState::ApprovalResponded { approval, .. } => Some(&approval.id),
        _ => None,
    }
}

/// The state of one open call, from its part and its approval record. The record is written first, so where they differ
/// it is the newer one. `None` means that the call has ended.
fn take_up(tool: &mut ToolPart, begun: bool, known: Option<Approval>) -> Option<Call> {
    let input = tool.state.input().cloned().unwrap_or_default();
    let asked = matches!(tool.state, ToolState::ApprovalRequested { .. });
    match known {
        Some(approval) if asked && approval.state == ApprovalState::Pending => {
            return Some(Call::Asked(approval));
        }
        Some(approval) => match &approval.state {
            // A rerun would have been approved first, so a person said that the call was done.
            ApprovalState::Spent { .. } if asked && approval.kind == ApprovalKind::UnknownOutcome => {
                close_part(tool, done_before(&approval, input));
                return None;
            }
            ApprovalState::Approved { decided, scope } | ApprovalState::Spent { decided, scope }
                if !begun || asked =>
            {
                let answer = answered(&approval, true, decided.reason.clone());
                let state = ApprovalState::Approved { decided: decided.clone(), scope: *scope };
                forget_start(tool);
                tool.state = ToolState::ApprovalResponded { input, approval: answer };
                return Some(Call::Approved(Approval { state, ..approval }));
            }
            ApprovalState::Denied { .. }
            | ApprovalState::Expired { .. }
            | ApprovalState::Cancelled { .. }
                if asked =>
            {
                close_part(tool, not_run(&approval, input));
                return None;
            }
            _ => {}
        },
        None => {}
    }
    if begun {
        return Some(Call::Lost);
    }
    // Also a call that was approved and found changed right before it ran.
    tool.state = ToolState::InputAvailable { input };
    Some(Call::Unjudged)
}
