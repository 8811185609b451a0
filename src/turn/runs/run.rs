//! One run: the assistant message it writes, its current step, and its open calls.

use super::loop_guard::LoopGuard;
use super::open_calls::{Call, OpenCalls};
use crate::domain::{CorrelationId, MessageId, ThreadId, Timestamp, ToolCallId};
use crate::ports::{Fallback, Usage};
use crate::uimessage::{
    ApprovalAnswer, Metadata, Part, Role, RunStatus, SILENT, TextPart, TextState, ToolPart, ToolState,
    UiMessage,
};

/// A message of this size is closed and the run continues in a further one, so that snapshots stay small.
const MESSAGE_BYTES: usize = 64 * 1024;

/// The field of a tool part for metadata of our own.
pub(super) const TOOL_METADATA: &str = "toolMetadata";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::turn) enum RunPhase {
    /// It waits for a permit to run.
    WaitingForSlot,
    /// The model is being called.
    Thinking,
    Acting,
    /// Every remaining call waits for an approval.
    AwaitingApproval,
    /// Its last message is committed.
    Ended,
}

/// How often a conversation is compacted in one run at most.
const MOST_COMPACTIONS: u32 = 2;

/// The run in flight.
#[derive(Clone, Debug)]
pub(in crate::turn) struct Run {
    pub(super) correlation: CorrelationId,
    /// The message it is writing.
    pub(super) message: UiMessage,
    /// Its number among the run's messages, from 1.
    pub(super) number: u32,
    /// Whether the message has a line in the file, and so a place in the conversation.
    pub(super) placed: bool,
    pub(super) phase: RunPhase,
    pub(super) steps: u32,
    /// When the first of its messages arrived.
    pub(super) began: Timestamp,
    /// Whether any of its answer was shown.
    pub(super) shown: bool,
    /// Whether people were told that a model call is retried.
    pub(super) retry_shown: bool,
    pub(super) calls: OpenCalls,
    /// Whether a message joined that the model has not read yet.
    pub(super) steered: bool,
    /// How many messages joined since it began.
    pub(super) joined: usize,
    pub(super) guard: LoopGuard,
    /// How often the window was halved because the server found the prompt too long.
    pub(super) shrunk: u32,
    /// Whether it waits for the conversation to be compacted.
    pub(super) compacting: bool,
    /// How often it did.
    pub(super) compactions: u32,
    /// How often the model gave neither words nor calls.
    pub(super) empty_answers: u32,
    /// Whether it waits for the answer to a question about a spend cap that another thread asked.
    pub(super) waits_for_budget: bool,
    /// The platform's id of the message it answers.
    pub(super) reply_to: Option<String>,
}

impl Run {
    /// A run that begins now.
    pub(in crate::turn) fn new(
        thread: &ThreadId,
        correlation: CorrelationId,
        reply_to: Option<String>,
        now: Timestamp,
    ) -> Self {
        let message = blank_message(thread, &correlation, 1, now);
        Self {
            correlation,
            message,
            number: 1,
            placed: false,
            phase: RunPhase::WaitingForSlot,
            steps: 0,
            began: now,
            shown: false,
            retry_shown: false,
            calls: OpenCalls::default(),
            steered: false,
            joined: 0,
            guard: LoopGuard::default(),
            shrunk: 0,
            compacting: false,
            compactions: 0,
            empty_answers: 0,
            waits_for_budget: false,
            reply_to,
        }
    }

    /// Resumes an interrupted run with its last message. `steps` is the sum over all of its messages.
    pub(super) fn resumed(mut self, message: UiMessage, steps: u32) -> Self {
        self.steps = steps;
        self.number = number_of(&message.id);
        self.message = message;
        self.placed = true;
        self.shown = true;
        self
    }

    /// Writes its answer under the id of an earlier answer.
    pub(in crate::turn) fn instead_of(mut self, answer: MessageId) -> Self {
        self.number = number_of(&answer);
        self.message.id = answer;
        self.message.parts.push(Part::StepStart);
        self.steps = 1;
        self.placed = true;
        self
    }

    pub(in crate::turn) const fn correlation(&self) -> &CorrelationId {
        &self.correlation
    }

    /// The message it is writing.
    pub(in crate::turn) const fn message(&self) -> &UiMessage {
        &self.message
    }

    /// The platform's id of the message it answers.
    pub(in crate::turn) fn reply_to(&self) -> Option<&str> {
        self.reply_to.as_deref()
    }

    pub(in crate::turn) const fn phase(&self) -> RunPhase {
        self.phase
    }

    pub(in crate::turn) const fn steps(&self) -> u32 {
        self.steps
    }

    /// When the first of its messages arrived.
    pub(in crate::turn) const fn began(&self) -> Timestamp {
        self.began
    }

    /// How many messages joined since it began.
    pub(in crate::turn) const fn joined(&self) -> usize {
        self.joined
    }

    /// Whether nothing was shown, stored or done.
    pub(in crate::turn) fn is_untouched(&self) -> bool {
        !self.shown && !self.placed && self.steps <= 1 && self.phase != RunPhase::Acting
    }

    /// The text of the answer so far.
    pub(in crate::turn) fn draft(&self) -> Option<String> {
        let text = (self.phase == RunPhase::Thinking).then(|| self.step_words().0);
        // What may become the sign of silence is not shown.
        text.filter(|text| !SILENT.starts_with(text.trim()))
    }

    /// The state of a call.
    pub(in crate::turn) fn call(&self, call: &ToolCallId) -> Call {
        self.calls.get(call)
    }

    pub(in crate::turn) fn is_running(&self, call: &ToolCallId) -> bool {
        self.calls.get(call) == Call::Running
    }

    /// The divisor of the context window, after the server found the prompt too long.
    pub(in crate::turn) const fn window_divisor(&self) -> usize {
        1 << self.shrunk
    }

    /// Whether it may still wait for the conversation to be compacted before its next call.
    pub(in crate::turn) const fn may_compact(&self) -> bool {
        self.compactions < MOST_COMPACTIONS
    }

    /// Tells that it waits for the conversation to be compacted.
    pub(in crate::turn) const fn note_compacting(&mut self) {
        self.compacting = true;
        self.compactions += 1;
    }

    /// Where the parts of the current step begin.
    pub(super) fn step_start(&self) -> usize {
        self.message.parts.iter().rposition(|part| matches!(part, Part::StepStart)).map_or(0, |at| at + 1)
    }

    /// The message as it should be stored now: while the model call runs, without the current step's text.
    pub(super) fn snapshot(&self) -> UiMessage {
        let mut message = self.message.clone();
        if matches!(self.phase, RunPhase::WaitingForSlot | RunPhase::Thinking) && self.open_calls().is_empty()
        {
            message.parts.truncate(self.step_start());
        }
        message
    }

    /// Begins a step, unless the last one is still empty.
    pub(super) fn begin_step(&mut self) {
        if self.message.parts.last() != Some(&Part::StepStart) {
            self.message.parts.push(Part::StepStart);
            self.steps += 1;
        }
        self.phase = RunPhase::Thinking;
    }

    /// Whether this is the first model call and nothing was shown or done: repeating it loses nothing.
    pub(in crate::turn) fn may_start_over(&self) -> bool {
        self.phase == RunPhase::Thinking && !self.shown && self.steps <= 1
    }

    /// Discards the model's output of this step.
    pub(super) fn forget_step(&mut self) {
        let start = self.step_start();
        self.message.parts.truncate(start);
    }

    /// Appends to the text or reasoning that is being streamed, or begins one.
    pub(super) fn grow(&mut self, reasoning: bool, more: &str) {
        match (self.message.parts.last_mut(), reasoning) {
            (Some(Part::Text(text)), false) | (Some(Part::Reasoning(text)), true)
                if text.state == Some(TextState::Streaming) =>
            {
                text.text.push_str(more);
            }
            _ => {
                self.end_texts();
                let part = TextPart::streaming(more);
                self.message.parts.push(if reasoning { Part::Reasoning(part) } else { Part::Text(part) });
            }
        }
    }

    /// Marks every text as complete.
    pub(super) fn end_texts(&mut self) {
        for part in &mut self.message.parts {
            if let Part::Text(text) | Part::Reasoning(text) = part
                && text.state == Some(TextState::Streaming)
            {
                text.state = Some(TextState::Done);
            }
        }
    }

    /// The text and the reasoning of the current step.
    pub(super) fn step_words(&self) -> (String, String) {
        let (mut text, mut reasoning) = (String::new(), String::new());
        for part in self.message.parts.iter().skip(self.step_start()) {
            match part {
                Part::Text(words) => text.push_str(&words.text),
                Part::Reasoning(words) => reasoning.push_str(&words.text),
                _ => {}
            }
        }
        (text, reasoning)
    }

    /// The tool part of a call of the current step.
    pub(super) fn tool_mut(&mut self, call: &ToolCallId) -> Option<&mut ToolPart> {
        let start = self.step_start();
        self.message.parts.iter_mut().skip(start).find_map(|part| match part {
            Part::Tool(tool) if tool.call_id == *call => Some(tool.as_mut()),
            _ => None,
        })
    }

    /// The calls of the current step that have not ended, in order.
    pub(in crate::turn) fn open_calls(&self) -> Vec<&ToolPart> {
        let tools = self.message.parts.iter().skip(self.step_start()).filter_map(|part| match part {
            Part::Tool(tool) => Some(tool.as_ref()),
            _ => None,
        });
        tools.filter(|tool| !tool.state.is_settled()).collect()
    }

    /// Ends every open call.
    pub(super) fn settle_all(&mut self, why: &str) {
        for part in &mut self.message.parts {
            let Part::Tool(tool) = part else { continue };
            if tool.state.is_settled() {
                continue;
            }
            let input = tool.state.input().cloned().unwrap_or_default();
            let error = |approval| ToolState::OutputError {
                input: Some(input.clone()),
                raw_input: None,
                error_text: why.to_owned(),
                approval,
            };
            tool.state = match &tool.state {
                // An approval request stays visible, as denied.
                ToolState::ApprovalRequested { approval, .. } => ToolState::OutputDenied {
                    input,
                    approval: ApprovalAnswer {
                        id: approval.id.clone(),
                        approved: false,
                        reason: Some(why.to_owned()),
                        descriptor: None,
                    },
                },
                ToolState::ApprovalResponded { approval, .. } if approval.approved => {
                    error(Some(approval.clone()))
                }
                _ => error(None),
            };
        }
        self.calls.clear();
    }

    /// Marks a call as begun, so that a crash during the call can be recognised.
    pub(super) fn mark_started(&mut self, call: &ToolCallId) {
        if let Some(part) = self.tool_mut(call) {
            part.extra.insert(TOOL_METADATA.to_owned(), serde_json::json!({ "started": true }));
        }
    }

    /// Adds the token usage of a model call to the message.
    pub(super) fn note_usage(&mut self, usage: Usage) {
        let extra = &mut self.message.metadata.extra;
        let known = |key: &str| extra.get("usage").and_then(|sum| sum.get(key)?.as_u64()).unwrap_or(0);
        let mut sum = serde_json::json!({
            "in": known("in").saturating_add(usage.input),
            "out": known("out").saturating_add(usage.output),
            "cached": known("cached").saturating_add(usage.cached),
        });
        let flag = |key: &str| extra.get("usage").and_then(|sum| sum.get(key)?.as_bool()).unwrap_or(false);
        let (estimated, unpriced) = (flag("estimated"), flag("unpriced"));
        let has_no_price = usage.cost.is_none() && usage.input.saturating_add(usage.output) > 0;
        let cost = usage.cost.map(|cost| known("cost").saturating_add(cost));
        let cost = cost.or_else(|| extra.get("usage")?.get("cost")?.as_u64());
        if let Some(sum) = sum.as_object_mut() {
            // Millionths of a US dollar, as in the ledger.
            sum.extend(cost.map(|cost| ("cost".to_owned(), cost.into())));
            sum.extend((estimated || usage.estimated).then(|| ("estimated".to_owned(), true.into())));
            sum.extend((unpriced || has_no_price).then(|| ("unpriced".to_owned(), true.into())));
        }
        extra.insert("usage".to_owned(), sum);
    }

    /// Adds to the message which model answered in place of the first choice, and why.
    pub(super) fn note_fallback(&mut self, fallback: &Fallback) {
        let note = serde_json::json!({ "model": fallback.model, "reason": fallback.reason });
        self.message.metadata.extra.insert("fallback".to_owned(), note);
    }

    /// Whether the message is so large that the run should continue in a further one.
    pub(super) fn is_full(&self) -> bool {
        serde_json::to_vec(&self.message).is_ok_and(|bytes| bytes.len() > MESSAGE_BYTES)
    }

    /// Closes the message and opens a further one; returns the closed one.
    pub(super) fn turn_page(&mut self, thread: &ThreadId, now: Timestamp) -> UiMessage {
        self.end_texts();
        self.message.metadata.status = Some(RunStatus::Continued);
        self.number += 1;
        self.placed = false;
        let next = blank_message(thread, &self.correlation, self.number, now);
        std::mem::replace(&mut self.message, next)
    }
}

/// Removes only the mark that a call had begun.
pub(super) fn forget_start(tool: &mut ToolPart) {
    let Some(facts) = tool.extra.get_mut(TOOL_METADATA).and_then(serde_json::Value::as_object_mut) else {
        return;
    };
    facts.shift_remove("started");
    if facts.is_empty() {
        tool.extra.shift_remove(TOOL_METADATA);
    }
}

/// The number of a message within its run, from its id: not all of them are in memory.
fn number_of(id: &MessageId) -> u32 {
    id.as_str().rsplit_once('.').and_then(|(_, number)| number.parse().ok()).unwrap_or(1)
}

/// A new message. Its id is derived from the run, so that a resumed run writes the same message.
fn blank_message(thread: &ThreadId, correlation: &CorrelationId, number: u32, now: Timestamp) -> UiMessage {
    UiMessage {
        id: MessageId::made(correlation.as_str(), &format!(".{number}")),
        role: Role::Assistant,
        metadata: Metadata::of_agent(thread, correlation.clone(), now, RunStatus::Running),
        parts: Vec::new(),
    }
}
