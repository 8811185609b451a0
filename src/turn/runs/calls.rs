//! The calls of a step: received from the model, judged, run in order, and ended.

use serde_json::Value;

use crate::domain::{Class, Effects, ErrorKind, Timestamp, ToolCallId};
use crate::ports::{Durability, ToolCall, ToolOutcome};
use crate::turn::runs::loop_guard::Verdict;
use crate::turn::runs::open_calls::Call;
use crate::turn::runs::run::{Phase, TOOL_METADATA};
use crate::turn::{Conversation, Effect};
use crate::uimessage::{Part, ToolPart, ToolState};

impl Conversation {
    /// Puts a call into the message: ready to be judged, or at its end with what the model can do about it. Only a call
    /// whose arguments its tool can take is judged, so that no person is asked about one that cannot run.
    pub(in crate::turn) fn take_call(&mut self, call: ToolCall) -> Result<(), ErrorKind> {
        let known = self.effects_of_call(&call.name).is_some();
        let check = self.check_arguments.clone();
        let Some(run) = self.run.as_mut() else { return Ok(()) };
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
            Ok(input) if !known => {
                Err((Some(input), None, format!("there is no tool named {:?}", call.name)))
            }
            Ok(input) => match check(&call.name, &input) {
                Ok(()) => Ok(input),
                Err(why) => Err((Some(input), None, why)),
            },
        };
        let state = match usable {
            Ok(input) => match run.guard.judge(&call.name, &input) {
                Verdict::Run => ToolState::InputAvailable { input },
                Verdict::Warn => {
                    let why = "You have made this very call several times in this turn. Its result will not change: \
                               use what you have, or do something else.";
                    failed(Some(input), None, why.to_owned())
                }
                Verdict::GiveUp => return Err(ErrorKind::Loop),
            },
            Err((input, raw_input, why)) => match run.guard.judge_unusable(&call.name) {
                Verdict::Run | Verdict::Warn => failed(input, raw_input, why),
                Verdict::GiveUp => return Err(ErrorKind::Loop),
            },
        };
        match run.tool_mut(&call.id) {
            Some(part) => part.state = state,
            None => run.message.parts.push(Part::Tool(Box::new(ToolPart::new(call.name, call.id, state)))),
        }
        Ok(())
    }

    /// Advances every call that can be advanced; once all have ended, the model is called again. Each call is judged
    /// first. Read-only calls run concurrently; a call with side effects runs alone and in order, and later calls wait
    /// for it. When all remaining calls need an approval, the run is parked.
    pub(in crate::turn) fn run_tools(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_ref() else { return };
        let open = run.open_calls();
        if open.is_empty() {
            self.commit_snapshot(Durability::Written, out);
            return self.next_step(now, out);
        }
        let (mut blocked, mut running) = (false, false);
        let (mut judging, mut judge, mut check, mut start) = (false, None, None, Vec::new());
        for tool in open {
            let call = &tool.call_id;
            let acts = self.effects_of_call(tool.tool.name()) != Some(Effects::ReadOnly);
            match run.ledger.get(call) {
                state @ (Call::Unjudged | Call::Lost) => {
                    // One at a time, so that approvals are asked in the order of the calls.
                    if !std::mem::replace(&mut judging, true) {
                        let input = tool.state.input().cloned().unwrap_or_default();
                        let next = if *state == Call::Lost { Call::JudgingLost } else { Call::Judging };
                        judge = Some((call.clone(), tool.tool.name().to_owned(), input, next));
                    }
                    blocked |= acts;
                }
                Call::Judging | Call::JudgingLost => {
                    judging = true;
                    blocked |= acts;
                }
                Call::Checking(_) | Call::Asked(_) => blocked |= acts,
                Call::Running => {
                    running = true;
                    blocked |= acts;
                }
                Call::Cleared(_) | Call::Approved(_) if blocked || (acts && running) => blocked |= acts,
                Call::Cleared(class) => {
                    start.push((call.clone(), *class));
                    running = true;
                    blocked |= acts;
                }
                Call::Approved(approval) => {
                    check = Some((call.clone(), tool.tool.name().to_owned(), approval.clone()));
                    blocked = true;
                }
            }
        }
        if let Some((call, name, input, next)) = judge {
            self.set_call(&call, next);
            out.push(Effect::Judge { call, name, input });
        }
        if let Some((call, name, approval)) = check {
            let input = approval.input.clone();
            self.set_call(&call, Call::Checking(approval));
            out.push(Effect::Judge { call, name, input });
        }
        if !start.is_empty() {
            self.start_calls(start, out);
        }
        self.park(out);
    }

    /// Runs these calls. That they will run is written first.
    pub(in crate::turn) fn start_calls(&mut self, calls: Vec<(ToolCallId, Class)>, out: &mut Vec<Effect>) {
        let mut runs = Vec::new();
        let mut durability = Durability::Written;
        for (call, class) in calls {
            let effects_of = self.effects_of.clone();
            let Some(run) = self.run.as_mut() else { return };
            run.ledger.set(&call, Call::Running);
            let Some(part) = run.tool_mut(&call) else { continue };
            let (name, arguments) =
                (part.tool.name().to_owned(), part.state.input().cloned().unwrap_or_default());
            // A call of the read-only class has no side effects, so it can be repeated.
            let looks = matches!(effects_of(&name), Some(Effects::ReadOnly | Effects::Speaks));
            if !looks && class != Class::ReadOnly {
                durability = Durability::Synced;
                run.mark_started(&call);
            }
            runs.push(Effect::RunTool { call, name, arguments, class });
        }
        self.commit_snapshot(durability, out);
        out.extend(runs);
    }

    /// Releases the run's slot when all remaining calls wait for an approval.
    fn park(&mut self, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::Acting) else { return };
        if run.ledger.is_busy() || run.ledger.asked().is_empty() {
            return;
        }
        run.phase = Phase::AwaitingApproval;
        out.push(Effect::ReleaseSlot);
        out.push(Effect::Parked(run.correlation.clone()));
        out.push(Effect::Publish);
    }

    pub(in crate::turn) fn tool_ended(
        &mut self,
        call: &ToolCallId,
        outcome: ToolOutcome,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.run.as_mut() else { return };
        if !run.ledger.close(call) {
            return;
        }
        let Some(part) = run.tool_mut(call) else { return };
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
        // A result with side effects must survive a crash; a read-only call can be repeated.
        if self.effects_of_call(&name) == Some(Effects::SideEffects) {
            self.commit_snapshot(Durability::Synced, out);
        }
        self.run_tools(now, out);
        out.push(Effect::Publish);
    }
}
