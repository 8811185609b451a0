//! Moving a run on: the model speaks, tools run, the answer ends.

use serde_json::Value;

use super::effect::Spoken;
use super::guard::Verdict;
use super::ledger::Call;
use super::run::{Phase, Run, TOOL_METADATA};
use super::{Conversation, Effect};
use crate::domain::{Class, Delivery, Effects, ErrorKind, Intent, Language, Timestamp, ToolCallId};
use crate::ports::{Completion, Durability, ModelDelta, ModelError, ToolCall, ToolOutcome};
use crate::render::Phrase;
use crate::uimessage::{ErrorRecord, Part, RunStatus, TextPart, ToolPart, ToolState};

/// How often a prompt that the server finds too long is tried with half the window.
const MAX_SHRINKS: u32 = 2;
/// How often an answer without words and calls is asked for again.
const MAX_EMPTY: u32 = 1;

impl Conversation {
    /// Begins the run that waits longest, if there is one.
    pub(super) fn start_next(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        if self.run.is_some() || self.stopping {
            return;
        }
        let Some(waiting) = self.waiting.pop_front() else { return };
        let last = waiting.messages.last();
        let reply_to = self
            .history
            .iter()
            .find(|message| Some(&message.id) == last)
            .and_then(|m| m.metadata.message_id.clone());
        self.run = Some(Run::new(&self.thread, waiting.correlation, reply_to, now));
        out.push(Effect::AcquireSlot);
    }

    pub(super) fn slot_granted(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::WaitingForSlot) else {
            out.push(Effect::ReleaseSlot);
            return;
        };
        out.push(Effect::Show(Intent::Typing));
        if run.open_calls().is_empty() {
            self.next_step(now, out);
        } else {
            run.phase = Phase::Acting;
            self.run_tools(now, out);
        }
        out.push(Effect::Publish);
    }

    pub(super) fn show_delta(&mut self, delta: ModelDelta, out: &mut Vec<Effect>) {
        // Only trouble needs words of ours, and only then is it worth finding out in which language.
        let language =
            if matches!(delta, ModelDelta::Trouble { .. }) { self.language() } else { Language::default() };
        let sends_drafts =
            self.rules.capabilities.delivery == Delivery::Push && self.rules.capabilities.streaming;
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::Thinking) else { return };
        match delta {
            ModelDelta::Trouble { kind, next_model } => {
                if !std::mem::replace(&mut run.told_of_trouble, true) {
                    let phrase = match next_model {
                        Some(model) => Phrase::Switching { kind, model },
                        None => Phrase::Retrying(kind),
                    };
                    let text = phrase.say(language);
                    out.push(Effect::Show(Intent::Progress { text, call_id: None }));
                }
                return;
            }
            ModelDelta::Text(more) => {
                run.grow(false, &more);
                if sends_drafts {
                    out.push(Effect::Drafted);
                }
            }
            ModelDelta::Reasoning(more) => run.grow(true, &more),
            ModelDelta::ToolInput(more) => grow_tool_input(run, &more.id, &more.name, &more.arguments),
        }
        run.shown = true;
        out.push(Effect::Publish);
    }

    pub(super) fn model_answered(&mut self, completion: Completion, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::Thinking) else { return };
        if let (Some(usage), estimate @ 1..) = (completion.usage, run.estimate) {
            self.token_ratio = ratio(usage.input, estimate);
        }
        if completion.tool_calls.is_empty() && completion.text.trim().is_empty() {
            return self.empty_answer(now, out);
        }
        put_words(run, &completion);
        if completion.tool_calls.is_empty() {
            if completion.truncated {
                let text = Phrase::Truncated.say(self.language());
                out.push(Effect::Show(Intent::Progress { text, call_id: None }));
            }
            return self.end_of_words(now, out);
        }
        run.phase = Phase::Acting;
        for call in completion.tool_calls {
            if let Err(kind) = self.take_call(call) {
                return self.fail(kind, now, out);
            }
        }
        self.run_tools(now, out);
        out.push(Effect::Publish);
    }

    pub(super) fn model_failed(&mut self, error: &ModelError, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::Thinking) else { return };
        if error.kind == ErrorKind::ContextLength && run.shrunk < MAX_SHRINKS {
            run.shrunk += 1;
            run.forget_step();
            out.push(Effect::CallModel);
            return;
        }
        self.fail(error.kind, now, out);
    }

    pub(super) fn tool_ended(
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
        // What changed the world must not be forgotten; what only looked can look again.
        if self.effects_of_call(&name) == Some(Effects::SideEffects) {
            self.commit_snapshot(Durability::Synced, out);
        }
        self.run_tools(now, out);
        out.push(Effect::Publish);
    }

    /// Moves every call on that can be moved; once all are at their end, the model is asked again. Each is judged
    /// first. Calls that only look run side by side; one that changes something runs alone, in its turn, and
    /// what comes after it waits. When all that is left waits for a person, so does the run.
    pub(super) fn run_tools(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
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
                    // One after the other, so that questions come in the order of their calls.
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
    pub(super) fn start_calls(&mut self, calls: Vec<(ToolCallId, Class)>, out: &mut Vec<Effect>) {
        let mut runs = Vec::new();
        let mut durability = Durability::Written;
        for (call, class) in calls {
            let effects_of = self.effects_of.clone();
            let Some(run) = self.run.as_mut() else { return };
            run.ledger.set(&call, Call::Running);
            let Some(part) = run.tool_mut(&call) else { continue };
            let (name, arguments) =
                (part.tool.name().to_owned(), part.state.input().cloned().unwrap_or_default());
            // What runs in the read-only class changes nothing, whatever its tool may do: it can simply run again.
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

    /// Gives the slot back when all that is left waits for a person.
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

    /// Asks the model again, with all that has happened since.
    pub(super) fn next_step(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let max_steps = self.rules.max_steps;
        let thread = self.thread.clone();
        let Some(run) = self.run.as_mut() else { return };
        if run.steps >= max_steps && run.message.parts.last() != Some(&Part::StepStart) {
            return self.fail(ErrorKind::TooManySteps, now, out);
        }
        let steered = std::mem::take(&mut run.steered) && run.placed;
        if steered || run.is_full() {
            let full = run.turn_page(&thread, now);
            let commit = self.commit(vec![full], Durability::Written);
            out.push(commit);
        }
        if let Some(run) = &mut self.run {
            run.begin_step();
        }
        out.push(Effect::CallModel);
        out.push(Effect::Publish);
    }

    /// The model has said what it has to say: the end, unless something was handed in meanwhile.
    fn end_of_words(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let thread = self.thread.clone();
        let Some(run) = self.run.as_mut() else { return };
        if !std::mem::take(&mut run.steered) {
            return self.finish(RunStatus::Done, now, out);
        }
        let page = run.turn_page(&thread, now);
        let say = spoken(run, &page.id, Intent::AssistantText { text: page.final_text() });
        run.begin_step();
        self.remember(&page);
        out.push(Effect::Commit { messages: vec![page], say, durability: Durability::Synced });
        out.push(Effect::CallModel);
        out.push(Effect::Publish);
    }

    fn finish(&mut self, status: RunStatus, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(mut run) = self.run.take() else { return };
        run.end_texts();
        run.settle_all("The turn ended before this call finished.");
        run.message.metadata.status = Some(status);
        let error = run.message.parts.iter().find_map(|part| match part {
            Part::Error(record) => Some(Intent::Error {
                kind: record.kind,
                text: record.text.clone(),
                retryable: record.retryable,
            }),
            _ => None,
        });
        let intent = error.unwrap_or_else(|| Intent::AssistantText { text: run.message.final_text() });
        let say = spoken(&run, &run.message.id, intent);
        self.remember(&run.message);
        out.push(Effect::Commit { messages: vec![run.message], say, durability: Durability::Synced });
        out.push(Effect::ReleaseSlot);
        out.push(Effect::Finished(run.correlation));
        self.start_next(now, out);
        out.push(Effect::Publish);
    }

    pub(super) fn fail(&mut self, kind: ErrorKind, now: Timestamp, out: &mut Vec<Effect>) {
        self.fail_saying(&Phrase::Error(kind), kind, now, out);
    }

    fn fail_saying(&mut self, phrase: &Phrase, kind: ErrorKind, now: Timestamp, out: &mut Vec<Effect>) {
        let text = phrase.say(self.language());
        let Some(run) = self.run.as_mut() else { return };
        run.end_texts();
        if run.ledger.is_busy() {
            out.push(Effect::CancelJobs);
        }
        run.message.parts.push(Part::Error(ErrorRecord { kind, text, retryable: kind.retryable() }));
        self.finish(RunStatus::Failed, now, out);
    }

    fn empty_answer(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut() else { return };
        if run.empty_answers >= MAX_EMPTY || run.shown {
            return self.fail_saying(&Phrase::EmptyAnswer, ErrorKind::BadResponse, now, out);
        }
        run.empty_answers += 1;
        out.push(Effect::CallModel);
    }

    /// Puts a call into the message: ready to run, or at its end with what the model can do about it.
    fn take_call(&mut self, call: ToolCall) -> Result<(), ErrorKind> {
        let known = self.effects_of_call(&call.name).is_some();
        let Some(run) = self.run.as_mut() else { return Ok(()) };
        let failed = |input, raw_input, error_text: String| ToolState::OutputError {
            input,
            raw_input,
            error_text,
            approval: None,
        };
        let state = match call.arguments {
            Err(raw) => {
                let why =
                    "invalid arguments: not a JSON object. Call the tool again with valid JSON.".to_owned();
                failed(None, Some(Value::String(raw)), why)
            }
            Ok(input) if !known => {
                failed(Some(input), None, format!("there is no tool named {:?}", call.name))
            }
            Ok(input) => match run.guard.judge(&call.name, &input) {
                Verdict::Run => ToolState::InputAvailable { input },
                Verdict::Warn => {
                    let why = "You have made this very call several times in this turn. Its result will not change: \
                               use what you have, or do something else.";
                    failed(Some(input), None, why.to_owned())
                }
                Verdict::GiveUp => return Err(ErrorKind::Loop),
            },
        };
        match run.tool_mut(&call.id) {
            Some(part) => part.state = state,
            None => run.message.parts.push(Part::Tool(Box::new(ToolPart::new(call.name, call.id, state)))),
        }
        Ok(())
    }

    fn commit_snapshot(&mut self, durability: Durability, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut() else { return };
        run.placed = true;
        let snapshot = run.snapshot();
        let commit = self.commit(vec![snapshot], durability);
        out.push(commit);
    }
}

/// What a run says, unless it has nothing to say.
fn spoken(run: &Run, source: &crate::domain::MessageId, intent: Intent) -> Vec<Spoken> {
    if matches!(&intent, Intent::AssistantText { text } if text.trim().is_empty()) {
        return Vec::new();
    }
    let correlation = run.correlation.clone();
    vec![Spoken { source: source.to_string(), correlation, reply_to: run.reply_to.clone(), intent }]
}

/// Makes the words of the step those of the completion. Usually they were all shown already and stay as they are.
fn put_words(run: &mut Run, completion: &Completion) {
    if run.step_words() != (completion.text.clone(), completion.reasoning.clone()) {
        run.forget_step();
        if !completion.reasoning.is_empty() {
            run.message.parts.push(Part::Reasoning(TextPart::done(completion.reasoning.clone())));
        }
        if !completion.text.is_empty() {
            run.message.parts.push(Part::text(completion.text.clone()));
        }
    }
    run.end_texts();
    // A call that was begun but is not in the completion never happened.
    let start = run.step_start();
    let mut at = 0;
    run.message.parts.retain(|part| {
        at += 1;
        let dropped = at > start
            && matches!(part, Part::Tool(tool) if !completion.tool_calls.iter().any(|call| call.id == tool.call_id));
        !dropped
    });
}

fn grow_tool_input(run: &mut Run, id: &ToolCallId, name: &str, more: &str) {
    if run.tool_mut(id).is_none() {
        run.end_texts();
        let state = ToolState::InputStreaming { input: None, raw_input: Some(String::new()) };
        run.message.parts.push(Part::Tool(Box::new(ToolPart::new(name, id.clone(), state))));
    }
    if let Some(ToolPart { state: ToolState::InputStreaming { raw_input: Some(raw), .. }, .. }) =
        run.tool_mut(id)
    {
        raw.push_str(more);
    }
}

/// Real tokens per estimated token, within reason.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below the limit of exactness")]
fn ratio(real: u64, estimate: usize) -> f64 {
    (real as f64 / estimate as f64).clamp(0.5, 2.0)
}
