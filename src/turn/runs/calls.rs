//! The calls of a step: received from the model, judged, run in order, and ended.

use serde_json::Value;

use super::closed_calls::{answered, asked, close_part, done_before, not_run};
use super::loop_guard::LoopVerdict;
use super::open_calls::Call;
use super::promotion::PROMOTION;
use super::run::{Run, RunPhase, TOOL_METADATA};
use super::run_messages::file_part;
use crate::domain::{
    Approval, ApprovalId, ApprovalState, Class, Effects, ErrorKind, Intent, RAISE_CALL, ToolCallId,
};
use crate::ports::{Durability, ToolCall, ToolOutcome};
use crate::turn::Effect;
use crate::turn::approval::question::Question;
use crate::turn::context::TurnContext;
use crate::uimessage::{Part, ToolPart, ToolState};

impl Run {
    /// Puts a call into the message: ready to be judged, or at its end with what the model can do about it. Only a call
    /// whose arguments its tool can take is judged, so that no person is asked about one that cannot run.
    pub(super) fn take_call(&mut self, call: ToolCall, ctx: &TurnContext<'_>) -> Result<(), ErrorKind> {
        let failed = |input, raw_input, error_text: String| ToolState::OutputError {
            input,
            raw_input,
            error_text,
            approval: None,
        };
        let usable = match call.arguments {
            Err(raw) => {
                let why = "invalid arguments: not a JSON object. Call the tool again with valid JSON.";
                Err((None, Some(Value::String(raw)), why.to_owned()))
            }
            Ok(input)
                if [PROMOTION, RAISE_CALL].contains(&call.name.as_str())
                    || ctx.settings.effects_of(&call.name).is_none() =>
            {
                Err((Some(input), None, format!("there is no tool named {:?}", call.name)))
            }
            Ok(input) => match ctx.settings.check_arguments(&call.name, &input) {
                Ok(()) => Ok(input),
                Err(why) => Err((Some(input), None, why)),
            },
        };
        let state = match usable {
            Ok(input) => match self.guard.judge(&call.name, &input) {
                LoopVerdict::Run => ToolState::InputAvailable { input },
                LoopVerdict::Warn => {
                    let why = "You have made this very call several times in this turn. Its result will not change: \
                               use what you have, or do something else.";
                    failed(Some(input), None, why.to_owned())
                }
                LoopVerdict::GiveUp => return Err(ErrorKind::Loop),
            },
            Err((input, raw_input, why)) => match self.guard.judge_unusable(&call.name) {
                LoopVerdict::Run | LoopVerdict::Warn => failed(input, raw_input, why),
                LoopVerdict::GiveUp => return Err(ErrorKind::Loop),
            },
        };
        match self.tool_mut(&call.id) {
            Some(part) => part.state = state,
            None => self.message.parts.push(Part::Tool(Box::new(ToolPart::new(call.name, call.id, state)))),
        }
        Ok(())
    }

    /// Advances every call that can be advanced; once all have ended, the model is called again. Each call is judged
    /// first. Read-only calls run concurrently; a call with side effects runs alone and in order, and later calls wait
    /// for it. When all remaining calls need an approval, the run is parked.
    pub(in crate::turn) fn advance_calls(&mut self, ctx: &TurnContext<'_>) -> Vec<Effect> {
        let open = self.open_calls();
        if open.is_empty() {
            let commit = self.commit_snapshot(Durability::Written);
            return std::iter::once(commit).chain(self.next_step(ctx)).collect();
        }
        let (mut blocked, mut running, mut judging) = (false, false, false);
        let (mut judge, mut check, mut start) = (None, None, Vec::new());
        for tool in open {
            let call = &tool.call_id;
            let acts = ctx.settings.effects_of(tool.tool.name()) != Some(Effects::ReadOnly);
            let request = || Effect::Judge {
                call: call.clone(),
                name: tool.tool.name().to_owned(),
                input: tool.state.input().cloned().unwrap_or_default(),
            };
            match self.calls.get(call) {
                state @ (Call::Unjudged | Call::Lost) => {
                    // One at a time, so that approvals are asked in the order of the calls.
                    if !std::mem::replace(&mut judging, true) {
                        let next = if state == Call::Lost { Call::JudgingLost } else { Call::Judging };
                        judge = Some((call.clone(), next, request()));
                    }
                    blocked |= acts;
                }
                Call::Judging | Call::JudgingLost => {
                    judging = true;
                    blocked |= acts;
                }
                Call::Checking | Call::Asked => blocked |= acts,
                Call::Running => {
                    running = true;
                    blocked |= acts;
                }
                Call::Cleared(_) | Call::Approved if blocked || (acts && running) => blocked |= acts,
                Call::Cleared(class) => {
                    start.push((call.clone(), class));
                    running = true;
                    blocked |= acts;
                }
                Call::Approved => {
                    check = Some((call.clone(), Call::Checking, request()));
                    blocked = true;
                }
            }
        }
        let mut effects = Vec::new();
        for (call, next, request) in judge.into_iter().chain(check) {
            self.calls.set(&call, next);
            effects.push(request);
        }
        if !start.is_empty() {
            effects.extend(self.start_calls(start, ctx));
        }
        effects.extend(self.park());
        effects
    }

    /// Runs these calls. That they will run is written first.
    pub(in crate::turn) fn start_calls(
        &mut self,
        calls: Vec<(ToolCallId, Class)>,
        ctx: &TurnContext<'_>,
    ) -> Vec<Effect> {
        let mut runs = Vec::new();
        let mut durability = Durability::Written;
        for (call, class) in calls {
            self.calls.set(&call, Call::Running);
            let Some(part) = self.tool_mut(&call) else { continue };
            let (name, arguments) =
                (part.tool.name().to_owned(), part.state.input().cloned().unwrap_or_default());
            // A call of the read-only class has no side effects, so it can be repeated.
            let looks = matches!(ctx.settings.effects_of(&name), Some(Effects::ReadOnly | Effects::Speaks));
            if !looks && class != Class::ReadOnly {
                durability = Durability::Synced;
                self.mark_started(&call);
            }
            runs.push(Effect::RunTool { call, name, arguments, class });
        }
        std::iter::once(self.commit_snapshot(durability)).chain(runs).collect()
    }

    /// Releases the run's slot when all remaining calls wait for an approval.
    fn park(&mut self) -> Vec<Effect> {
        if self.phase != RunPhase::Acting || self.calls.is_busy() || !self.calls.any_asked() {
            return Vec::new();
        }
        self.phase = RunPhase::AwaitingApproval;
        vec![Effect::ReleaseSlot, Effect::Parked(self.correlation.clone()), Effect::Publish]
    }

    /// A call is at its end.
    pub(in crate::turn) fn tool_ended(
        &mut self,
        call: &ToolCallId,
        outcome: ToolOutcome,
        ctx: &TurnContext<'_>,
    ) -> Vec<Effect> {
        if !self.calls.close(call) {
            return Vec::new();
        }
        let Some(part) = self.tool_mut(call) else { return Vec::new() };
        let input = part.state.input().cloned().unwrap_or_default();
        let name = part.tool.name().to_owned();
        let approval = match &part.state {
            ToolState::ApprovalResponded { approval, .. } => Some(approval.clone()),
            _ => None,
        };
        part.extra.shift_remove(TOOL_METADATA);
        part.state = match outcome {
            Ok(output) => ToolState::OutputAvailable { input, output, approval, preliminary: None },
            Err(failure) => {
                let error_text = failure.to_string();
                ToolState::OutputError { input: Some(input), raw_input: None, error_text, approval }
            }
        };
        let mut effects = Vec::new();
        // A result with side effects must survive a crash; a read-only call can be repeated.
        if ctx.settings.effects_of(&name) == Some(Effects::SideEffects) {
            effects.push(self.commit_snapshot(Durability::Synced));
        }
        effects.extend(self.advance_calls(ctx));
        effects.push(Effect::Publish);
        effects
    }

    /// The tool and the input of an open call.
    pub(in crate::turn) fn request_of(&mut self, call: &ToolCallId) -> Option<(String, Value)> {
        let part = self.tool_mut(call)?;
        Some((part.tool.name().to_owned(), part.state.input().cloned().unwrap_or_default()))
    }

    /// The approval that allowed a call.
    pub(in crate::turn) fn approval_of(&self, call: &ToolCallId) -> Option<ApprovalId> {
        self.message.parts.iter().rev().find_map(|part| match part {
            Part::Tool(tool) if tool.call_id == *call => match &tool.state {
                ToolState::ApprovalResponded { approval, .. } => approval.id.parse().ok(),
                _ => None,
            },
            _ => None,
        })
    }

    /// A call may run unasked.
    pub(in crate::turn) fn clear_call(&mut self, call: &ToolCallId, class: Class) {
        self.calls.set(call, Call::Cleared(class));
    }

    /// Ends a call that may not run; the model is told why.
    pub(in crate::turn) fn refuse_call(&mut self, call: &ToolCallId, why: &str) {
        self.calls.close(call);
        if let Some(part) = self.tool_mut(call) {
            let input = part.state.input().cloned();
            let error_text = format!("refused: {why}");
            part.state = ToolState::OutputError { input, raw_input: None, error_text, approval: None };
        }
    }

    /// A person is asked about a call: the record is stored first, then the question is sent.
    pub(in crate::turn) fn ask(&mut self, question: Question) -> Vec<Effect> {
        let Question { approval, whole, intents } = question;
        if let Some(part) = self.tool_mut(&approval.tool_call) {
            let input = part.state.input().cloned().unwrap_or_default();
            part.state = ToolState::ApprovalRequested { input, approval: asked(&approval) };
        }
        self.calls.set(&approval.tool_call, Call::Asked);
        self.shown = true;
        let attached = intents.iter().filter_map(|(_, intent)| file_part(intent));
        self.message.parts.extend(attached);
        let file = whole.map(|(file, text)| Effect::KeepFile { file, text });
        let save = Effect::SaveApproval(Box::new(approval));
        file.into_iter().chain([save, self.commit_saying(intents)]).collect()
    }

    /// A question about a call was settled: the call is ready, or at its end.
    pub(in crate::turn) fn resolve(&mut self, approval: &Approval, notice: Intent) -> Effect {
        match &approval.state {
            ApprovalState::Approved { decided, .. } => {
                self.note_approved(approval, decided.reason.clone());
                self.calls.set(&approval.tool_call, Call::Approved);
            }
            ApprovalState::Spent { .. } => self.settle_call(approval, done_before),
            ApprovalState::Denied { .. }
            | ApprovalState::Expired { .. }
            | ApprovalState::Cancelled { .. }
            | ApprovalState::Pending => self.settle_call(approval, not_run),
        }
        self.commit_saying(vec![(format!("{}.resolved", approval.id), notice)])
    }

    /// An approval holds for this call alone, against what was said before.
    pub(in crate::turn) fn restrict(
        &mut self,
        approval: &Approval,
        reason: Option<String>,
        notice: Intent,
    ) -> Effect {
        self.note_approved(approval, reason);
        self.commit_saying(vec![(format!("{}.once", approval.id), notice)])
    }

    /// Ends the call of an approval.
    fn settle_call(&mut self, approval: &Approval, end: fn(&Approval, Value) -> ToolState) {
        if let Some(part) = self.tool_mut(&approval.tool_call) {
            let input = part.state.input().cloned().unwrap_or_default();
            close_part(part, end(approval, input));
        }
        self.calls.close(&approval.tool_call);
    }

    fn note_approved(&mut self, approval: &Approval, reason: Option<String>) {
        let Some(part) = self.tool_mut(&approval.tool_call) else { return };
        let input = part.state.input().cloned().unwrap_or_default();
        part.extra.shift_remove(TOOL_METADATA);
        part.state = ToolState::ApprovalResponded { input, approval: answered(approval, true, reason) };
    }

    /// Continues after an answer, if it can.
    pub(in crate::turn) fn go_on(&mut self, ctx: &TurnContext<'_>) -> Vec<Effect> {
        match self.phase {
            RunPhase::AwaitingApproval => {
                if !self.open_calls().is_empty() && self.is_stuck() {
                    return Vec::new();
                }
                self.phase = RunPhase::WaitingForSlot;
                vec![Effect::AcquireSlot]
            }
            RunPhase::Acting => self.advance_calls(ctx),
            RunPhase::WaitingForSlot | RunPhase::Thinking | RunPhase::Ended => Vec::new(),
        }
    }

    /// Whether a person was asked about every open call.
    pub(super) fn is_stuck(&self) -> bool {
        self.open_calls().iter().all(|tool| self.calls.get(&tool.call_id) == Call::Asked)
    }
}
