//! Resumes a run after a restart: open work continues from what is stored, without guesses.

use std::collections::BTreeMap;

use super::closed_calls::{answered, close_part, done_before, not_run};
use super::open_calls::Call;
use super::run::{Run, RunPhase, TOOL_METADATA, forget_start};
use crate::domain::{Approval, ApprovalKind, ApprovalState, CorrelationId, Effects};
use crate::ports::Durability;
use crate::turn::Effect;
use crate::turn::context::{ConversationSettings, TurnContext};
use crate::uimessage::{Part, RunStatus, ToolPart, ToolState, UiMessage};

/// A run that goes on after a restart.
pub(in crate::turn) struct Resumed {
    pub(in crate::turn) run: Run,
    /// The records of its calls that wait for an answer, or were approved and have not begun.
    pub(in crate::turn) approvals: Vec<Approval>,
    pub(in crate::turn) effects: Vec<Effect>,
}

impl Run {
    /// Continues a run where it was interrupted, with the stored approvals of its calls.
    pub(in crate::turn) fn resume(
        correlation: CorrelationId,
        approvals: Vec<Approval>,
        ctx: &TurnContext<'_>,
    ) -> Resumed {
        let mut run = Self::cut_off(correlation, ctx);
        let before = run.message.clone();
        let approvals = run.take_up_calls(approvals, ctx.settings);
        let mut effects = Vec::new();
        // The record may be one step ahead of the lines, but never two: then its state would be ambiguous.
        if run.message != before {
            effects.push(Effect::commit(vec![run.message.clone()], Durability::Synced));
        }
        if run.calls.any_asked() && run.is_stuck() {
            run.phase = RunPhase::AwaitingApproval;
        } else {
            effects.push(Effect::AcquireSlot);
        }
        effects.push(Effect::Publish);
        Resumed { run, approvals, effects }
    }

    /// The run as its lines show it.
    fn cut_off(correlation: CorrelationId, ctx: &TurnContext<'_>) -> Self {
        let history = ctx.history;
        let said = history.said_in(&correlation).next_back();
        let reply_to = said.and_then(|message| message.metadata.message_id.clone());
        let run = Self::new(ctx.thread(), correlation.clone(), reply_to, ctx.now);
        let steps = history.answers_of(&correlation).map(UiMessage::steps).sum();
        match history.answers_of(&correlation).next_back() {
            Some(last) if last.metadata.status == Some(RunStatus::Running) => {
                let mut run = run.resumed(last.clone(), steps);
                run.steered = said.is_some_and(|said| history.is_after(said, last));
                run
            }
            // The run was about to continue in a further message.
            Some(last) => {
                let mut run = run.resumed(last.clone(), steps);
                run.turn_page(ctx.thread(), ctx.now);
                run
            }
            None => run,
        }
    }

    /// Determines the state of each open call. A call with side effects that had begun is never simply run again.
    fn take_up_calls(&mut self, approvals: Vec<Approval>, settings: &ConversationSettings) -> Vec<Approval> {
        let mut known: BTreeMap<String, Approval> =
            approvals.into_iter().map(|approval| (approval.id.to_string(), approval)).collect();
        let start = self.step_start();
        let mut kept = Vec::new();
        for part in self.message.parts.iter_mut().skip(start) {
            let Part::Tool(tool) = part else { continue };
            if tool.state.is_settled() {
                continue;
            }
            let acts =
                !matches!(settings.effects_of(tool.tool.name()), Some(Effects::ReadOnly | Effects::Speaks));
            let begun = acts && tool.extra.contains_key(TOOL_METADATA);
            let approval = approval_id(&tool.state).and_then(|id| known.remove(id));
            if let Some((call, approval)) = take_up(tool, begun, approval) {
                self.calls.set(&tool.call_id, call);
                kept.extend(approval);
            }
        }
        kept
    }
}

fn approval_id(state: &ToolState) -> Option<&str> {
    match state {
        ToolState::ApprovalRequested { approval, .. } => Some(&approval.id),
        ToolState::ApprovalResponded { approval, .. } => Some(&approval.id),
        _ => None,
    }
}

/// The state of one open call, from its part and its approval record, with the record where it still matters. The
/// record is written first, so where they differ it is the newer one. `None` means that the call has ended.
fn take_up(tool: &mut ToolPart, begun: bool, known: Option<Approval>) -> Option<(Call, Option<Approval>)> {
    let input = tool.state.input().cloned().unwrap_or_default();
    let asked = matches!(tool.state, ToolState::ApprovalRequested { .. });
    match known {
        Some(approval) if asked && approval.state == ApprovalState::Pending => {
            return Some((Call::Asked, Some(approval)));
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
                return Some((Call::Approved, Some(Approval { state, ..approval })));
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
        return Some((Call::Lost, None));
    }
    // Also a call that was approved and found changed right before it ran.
    tool.state = ToolState::InputAvailable { input };
    Some((Call::Unjudged, None))
}
