//! One run: the assistant message it writes, the step it is in, and the calls it has open.

use serde_json::Map;

use super::guard::LoopGuard;
use super::open_calls::OpenCalls;
use crate::domain::{CorrelationId, MessageId, ThreadId, Timestamp, ToolCallId};
use crate::ports::Usage;
use crate::uimessage::{
    ApprovalAnswer, Metadata, Part, Role, RunStatus, TextPart, TextState, ToolPart, ToolState, UiMessage,
};

/// A message this long is closed and the run goes on in a further one, so that snapshots stay cheap.
const MESSAGE_BYTES: usize = 64 * 1024;

/// Where the format lets a tool part carry what only we need.
pub(super) const TOOL_METADATA: &str = "toolMetadata";

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for leave to use the machine.
    WaitingForSlot,
    /// The model is asked.
    Thinking,
    Acting,
    /// Every call that is left waits for a person.
    AwaitingApproval,
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) correlation: CorrelationId,
    /// The message it is writing.
    pub(super) message: UiMessage,
    /// Which of the run's messages that is, from 1.
    pub(super) number: u32,
    /// Whether the message has a line in the file, and so a place in the conversation.
    pub(super) placed: bool,
    pub(super) phase: Phase,
    pub(super) steps: u32,
    /// When the first of its messages came in.
    pub(super) began: Timestamp,
    /// Whether people have seen any of its answer.
    pub(super) shown: bool,
    /// Whether they have been told of trouble with the model.
    pub(super) told_of_trouble: bool,
    /// The open calls of the step.
    pub(super) ledger: OpenCalls,
    /// Whether people were reminded that a question waits.
    pub(super) reminded: bool,
    /// Whether a message was handed in that the model has not read yet.
    pub(super) steered: bool,
    /// How many messages have come to it since it began.
    pub(super) joined: usize,
    pub(super) guard: LoopGuard,
    /// How often the window was halved because the server found the prompt too long.
    pub(super) shrunk: u32,
    /// How often the model gave neither words nor calls.
    pub(super) empty_answers: u32,
    /// What the estimate said of the last prompt.
    pub(super) estimate: usize,
    /// The platform's id of the message it answers.
    pub(super) reply_to: Option<String>,
}

impl Run {
    /// A run that begins now.
    pub(super) fn new(
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
            phase: Phase::WaitingForSlot,
            steps: 0,
            began: now,
            shown: false,
            told_of_trouble: false,
            ledger: OpenCalls::default(),
            reminded: false,
            steered: false,
            joined: 0,
            guard: LoopGuard::default(),
            shrunk: 0,
            empty_answers: 0,
            estimate: 0,
            reply_to,
        }
    }

    /// Takes up a run that was cut off: its last message is gone on with. `steps` is what all of its messages
    /// took so far.
    pub(super) fn resumed(mut self, message: UiMessage, steps: u32) -> Self {
        self.steps = steps;
        self.number = number_of(&message.id);
        self.message = message;
        self.placed = true;
        self.shown = true;
        self
    }

    /// Writes its answer in the place of an earlier one.
    pub(super) fn instead_of(mut self, answer: MessageId) -> Self {
        self.number = number_of(&answer);
        self.message.id = answer;
        self.message.parts.push(Part::StepStart);
        self.steps = 1;
        self.placed = true;
        self
    }

    /// Where the parts of the current step begin.
    pub(super) fn step_start(&self) -> usize {
        self.message.parts.iter().rposition(|part| matches!(part, Part::StepStart)).map_or(0, |at| at + 1)
    }

    /// The message as the file should have it now: while the model still speaks, without what it says.
    pub(super) fn snapshot(&self) -> UiMessage {
        let mut message = self.message.clone();
        if matches!(self.phase, Phase::WaitingForSlot | Phase::Thinking) && self.open_calls().is_empty() {
            message.parts.truncate(self.step_start());
        }
        message
    }

    /// Begins a step, unless an empty one is there already.
    pub(super) fn begin_step(&mut self) {
        if self.message.parts.last() != Some(&Part::StepStart) {
            self.message.parts.push(Part::StepStart);
            self.steps += 1;
        }
        self.phase = Phase::Thinking;
    }

    /// Whether the model is being asked for the first time and nothing was shown or done: asking it anew loses nothing.
    pub(super) fn may_start_over(&self) -> bool {
        self.phase == Phase::Thinking && !self.shown && self.steps <= 1
    }

    /// Throws away what the model has said in this step.
    pub(super) fn forget_step(&mut self) {
        let start = self.step_start();
        self.message.parts.truncate(start);
    }

    /// Grows the text or reasoning that is being written, or begins it.
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

    /// Marks every text as whole.
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

    /// The calls of the current step that are not at their end, in order.
    pub(super) fn open_calls(&self) -> Vec<&ToolPart> {
        let tools = self.message.parts.iter().skip(self.step_start()).filter_map(|part| match part {
            Part::Tool(tool) => Some(tool.as_ref()),
            _ => None,
        });
        tools.filter(|tool| !tool.state.is_settled()).collect()
    }

    /// Puts an end to every call that has none.
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
                // Once a person was asked, the question stays, and it was not answered with yes.
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
        self.ledger.clear();
    }

    /// Marks a call as begun, so that a crash in its middle is known as such.
    pub(super) fn mark_started(&mut self, call: &ToolCallId) {
        if let Some(part) = self.tool_mut(call) {
            part.extra.insert(TOOL_METADATA.to_owned(), serde_json::json!({ "started": true }));
        }
    }

    /// Adds what a model call cost to the message that it wrote.
    pub(super) fn note_usage(&mut self, usage: Usage) {
        let extra = &mut self.message.metadata.extra;
        let known = |key: &str| extra.get("usage").and_then(|sum| sum.get(key)?.as_u64()).unwrap_or(0);
        let sum = serde_json::json!({
            "in": known("in").saturating_add(usage.input),
            "out": known("out").saturating_add(usage.output),
            "cached": known("cached").saturating_add(usage.cached),
        });
        extra.insert("usage".to_owned(), sum);
    }

    /// Whether the message is so long that the run should go on in a further one.
    pub(super) fn is_full(&self) -> bool {
        serde_json::to_vec(&self.message).is_ok_and(|bytes| bytes.len() > MESSAGE_BYTES)
    }

    /// Closes the message and opens a further one; gives the closed one.
    pub(super) fn turn_page(&mut self, thread: &ThreadId, now: Timestamp) -> UiMessage {
        self.end_texts();
        self.message.metadata.status = Some(RunStatus::Continued);
        self.number += 1;
        self.placed = false;
        let next = blank_message(thread, &self.correlation, self.number, now);
        std::mem::replace(&mut self.message, next)
    }
}

/// Forgets that a call had begun, and nothing else about it.
pub(super) fn forget_start(tool: &mut ToolPart) {
    let Some(facts) = tool.extra.get_mut(TOOL_METADATA).and_then(serde_json::Value::as_object_mut) else {
        return;
    };
    facts.shift_remove("started");
    if facts.is_empty() {
        tool.extra.shift_remove(TOOL_METADATA);
    }
}

/// Which of its run's messages one is, by its id: not all of them need be in memory to be counted.
fn number_of(id: &MessageId) -> u32 {
    id.as_str().rsplit_once('.').and_then(|(_, number)| number.parse().ok()).unwrap_or(1)
}

/// The id is derived from the run, so that a run that is taken up after a crash writes the same message.
fn blank_message(thread: &ThreadId, correlation: &CorrelationId, number: u32, now: Timestamp) -> UiMessage {
    UiMessage {
        id: MessageId::made(correlation.as_str(), &format!(".{number}")),
        role: Role::Assistant,
        metadata: Metadata {
            platform: thread.platform().as_str().to_owned(),
            thread_id: thread.clone(),
            author_id: None,
            author_name: None,
            message_id: None,
            timestamp: now,
            correlation_id: correlation.clone(),
            status: Some(RunStatus::Running),
            command: false,
            context: false,
            extra: Map::new(),
        },
        parts: Vec::new(),
    }
}
