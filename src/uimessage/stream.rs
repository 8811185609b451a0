//! A growing message as the UI message stream that web clients read.
//!
//! The stream is the difference between what a client has been told and what the message is now. So a slow
//! client is told less often, never wrongly, and a client that comes late is told all from the beginning.

use serde::Serialize;
use serde_json::Value;

use super::{Part, RunStatus, TextState, ToolPart, ToolState, UiMessage};

/// Why a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The answer is whole.
    Stop,
    /// A call waits for somebody.
    ToolCalls,
    /// Something went wrong.
    Error,
    /// Anything else, a stop by a person for one.
    Other,
}

/// One event of the stream. Every key is one the format knows; an absent option is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the names are the format's own")]
pub enum Chunk {
    Start {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
    StartStep,
    FinishStep,
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        delta: String,
    },
    TextEnd {
        id: String,
    },
    ReasoningStart {
        id: String,
    },
    ReasoningDelta {
        id: String,
        delta: String,
    },
    ReasoningEnd {
        id: String,
    },
    ToolInputStart {
        tool_call_id: String,
        tool_name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        dynamic: Option<bool>,
    },
    ToolInputDelta {
        tool_call_id: String,
        input_text_delta: String,
    },
    ToolInputAvailable {
        tool_call_id: String,
        tool_name: String,
        input: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        dynamic: Option<bool>,
    },
    ToolInputError {
        tool_call_id: String,
        tool_name: String,
        input: Value,
        error_text: String,
    },
    ToolApprovalRequest {
        approval_id: String,
        tool_call_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        approval_descriptor: Option<Value>,
    },
    ToolOutputAvailable {
        tool_call_id: String,
        output: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        preliminary: Option<bool>,
    },
    ToolOutputError {
        tool_call_id: String,
        error_text: String,
    },
    ToolOutputDenied {
        tool_call_id: String,
    },
    File {
        url: String,
        media_type: String,
    },
    #[serde(rename = "data-command")]
    DataCommand {
        data: Value,
    },
    #[serde(rename = "data-error")]
    DataError {
        data: Value,
    },
    MessageMetadata {
        message_metadata: Value,
    },
    Finish {
        #[serde(skip_serializing_if = "Option::is_none")]
        finish_reason: Option<FinishReason>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
    Abort {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Error {
        error_text: String,
    },
}

/// What a client has been told of one part.
#[derive(Clone, Debug)]
enum Told {
    Text { id: String, reasoning: bool, bytes: usize, open: bool },
    Tool(ToldTool),
    Whole,
}

#[derive(Clone, Debug, Default)]
struct ToldTool {
    started: bool,
    raw_bytes: usize,
    input: bool,
    asked: bool,
    settled: bool,
}

/// What a client has been told so far.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    message: Option<String>,
    parts: Vec<Told>,
    step_open: bool,
    texts: usize,
    error: Option<String>,
}

impl Cursor {
    /// Tells what is new in `message`. A further message of the same run goes on where the last one ended:
    /// the client sees one answer.
    pub fn advance(&mut self, message: &UiMessage) -> Vec<Chunk> {
        let mut out = Vec::new();
        let id = message.id.as_str();
        match &self.message {
            None => out.push(Chunk::Start {
                message_id: id.to_owned(),
                message_metadata: serde_json::to_value(&message.metadata).ok(),
            }),
            Some(known) if known != id => {
                self.close_texts(0, &mut out);
                self.parts.clear();
            }
            Some(_) => {}
        }
        self.message = Some(id.to_owned());
        for (index, part) in message.parts.iter().enumerate() {
            self.tell(index, part, index + 1 < message.parts.len(), &mut out);
        }
        out
    }

    /// Closes the response.
    pub fn finish(&mut self, status: Option<RunStatus>) -> Vec<Chunk> {
        let mut out = Vec::new();
        self.close_texts(0, &mut out);
        if std::mem::take(&mut self.step_open) {
            out.push(Chunk::FinishStep);
        }
        let finish = |reason| Chunk::Finish {
            finish_reason: Some(reason),
            message_metadata: status.map(|status| serde_json::json!({ "status": status })),
        };
        match status {
            Some(RunStatus::Done) => out.push(finish(FinishReason::Stop)),
            Some(RunStatus::Stopped) => out.push(Chunk::Abort { reason: Some("stopped".to_owned()) }),
            Some(RunStatus::Failed) => {
                let error_text = self.error.clone().unwrap_or_else(|| "the turn failed".to_owned());
                out.push(Chunk::Error { error_text });
            }
            Some(RunStatus::Running | RunStatus::Continued) => out.push(finish(FinishReason::ToolCalls)),
            None => out.push(finish(FinishReason::Other)),
        }
        out
    }

    fn tell(&mut self, index: usize, part: &Part, followed: bool, out: &mut Vec<Chunk>) {
        let fresh = index >= self.parts.len();
        match part {
            Part::Text(text) => self.tell_text(index, text.state, &text.text, false, followed, out),
            Part::Reasoning(text) => self.tell_text(index, text.state, &text.text, true, followed, out),
            Part::Tool(tool) => {
                if fresh {
                    self.close_texts(0, out);
                    self.parts.push(Told::Tool(ToldTool::default()));
                }
                if let Some(Told::Tool(told)) = self.parts.get_mut(index) {
                    tell_tool(told, tool, out);
                }
            }
            _ if !fresh => {}
            Part::StepStart => {
                self.close_texts(0, out);
                if self.step_open {
                    out.push(Chunk::FinishStep);
                }
                self.step_open = true;
                out.push(Chunk::StartStep);
                self.parts.push(Told::Whole);
            }
            Part::File(file) => {
                out.push(Chunk::File { url: file.url.clone(), media_type: file.media_type.clone() });
                self.parts.push(Told::Whole);
            }
            Part::Command(record) => {
                out.extend(serde_json::to_value(record).map(|data| Chunk::DataCommand { data }));
                self.parts.push(Told::Whole);
            }
            Part::Error(record) => {
                self.close_texts(0, out);
                self.error = Some(record.text.clone());
                out.extend(serde_json::to_value(record).map(|data| Chunk::DataError { data }));
                self.parts.push(Told::Whole);
            }
            Part::Other(_) => self.parts.push(Told::Whole),
        }
    }

    fn tell_text(
        &mut self,
        index: usize,
        state: Option<TextState>,
        text: &str,
        reasoning: bool,
        followed: bool,
        out: &mut Vec<Chunk>,
    ) {
        if index >= self.parts.len() {
            self.close_texts(0, out);
            let id = self.texts.to_string();
            self.texts += 1;
            out.push(if reasoning {
                Chunk::ReasoningStart { id: id.clone() }
            } else {
                Chunk::TextStart { id: id.clone() }
            });
            self.parts.push(Told::Text { id, reasoning, bytes: 0, open: true });
        }
        let Some(Told::Text { id, bytes, open, .. }) = self.parts.get_mut(index) else { return };
        if !*open {
            return;
        }
        let delta = text.get(*bytes..).unwrap_or_default();
        if !delta.is_empty() {
            *bytes = text.len();
            let (id, delta) = (id.clone(), delta.to_owned());
            out.push(if reasoning {
                Chunk::ReasoningDelta { id, delta }
            } else {
                Chunk::TextDelta { id, delta }
            });
        }
        if followed || state != Some(TextState::Streaming) {
            self.close_texts(index, out);
        }
    }

    fn close_texts(&mut self, from: usize, out: &mut Vec<Chunk>) {
        for told in self.parts.iter_mut().skip(from) {
            if let Told::Text { id, reasoning, open, .. } = told
                && std::mem::take(open)
            {
                let id = id.clone();
                out.push(if *reasoning { Chunk::ReasoningEnd { id } } else { Chunk::TextEnd { id } });
            }
        }
    }
}

fn tell_tool(told: &mut ToldTool, tool: &ToolPart, out: &mut Vec<Chunk>) {
    let tool_call_id = || tool.call_id.as_str().to_owned();
    let tool_name = || tool.tool.name().to_owned();
    let dynamic = matches!(tool.tool, super::ToolType::Dynamic(_)).then_some(true);
    if let ToolState::InputStreaming { raw_input, .. } = &tool.state {
        if !std::mem::replace(&mut told.started, true) {
            out.push(Chunk::ToolInputStart { tool_call_id: tool_call_id(), tool_name: tool_name(), dynamic });
        }
        let raw = raw_input.as_deref().unwrap_or_default();
        let delta = raw.get(told.raw_bytes..).unwrap_or_default();
        if !delta.is_empty() {
            told.raw_bytes = raw.len();
            out.push(Chunk::ToolInputDelta {
                tool_call_id: tool_call_id(),
                input_text_delta: delta.to_owned(),
            });
        }
        return;
    }
    if !std::mem::replace(&mut told.input, true) {
        match (tool.state.input(), &tool.state) {
            (None, ToolState::OutputError { raw_input, error_text, .. }) => {
                told.settled = true;
                let (input, error_text) = (raw_input.clone().unwrap_or_default(), error_text.clone());
                out.push(Chunk::ToolInputError {
                    tool_call_id: tool_call_id(),
                    tool_name: tool_name(),
                    input,
                    error_text,
                });
            }
            (input, _) => {
                let input = input.cloned().unwrap_or_default();
                out.push(Chunk::ToolInputAvailable {
                    tool_call_id: tool_call_id(),
                    tool_name: tool_name(),
                    input,
                    dynamic,
                });
            }
        }
    }
    if told.settled {
        return;
    }
    match &tool.state {
        ToolState::ApprovalRequested { approval, .. } if !std::mem::replace(&mut told.asked, true) => {
            out.push(Chunk::ToolApprovalRequest {
                approval_id: approval.id.clone(),
                tool_call_id: tool_call_id(),
                approval_descriptor: approval.descriptor.clone(),
            });
        }
        ToolState::OutputAvailable { output, preliminary, .. } => {
            told.settled = *preliminary != Some(true);
            let (output, preliminary) = (output.clone(), *preliminary);
            out.push(Chunk::ToolOutputAvailable { tool_call_id: tool_call_id(), output, preliminary });
        }
        ToolState::OutputError { error_text, .. } => {
            told.settled = true;
            out.push(Chunk::ToolOutputError { tool_call_id: tool_call_id(), error_text: error_text.clone() });
        }
        ToolState::OutputDenied { .. } => {
            told.settled = true;
            out.push(Chunk::ToolOutputDenied { tool_call_id: tool_call_id() });
        }
        ToolState::InputStreaming { .. }
        | ToolState::InputAvailable { .. }
        | ToolState::ApprovalRequested { .. }
        | ToolState::ApprovalResponded { .. } => {}
    }
}

/// A whole message as the stream that would have made it.
pub fn replay(message: &UiMessage) -> Vec<Chunk> {
    Cursor::default().advance(message)
}
