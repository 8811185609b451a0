//! The stream events of a tool call, each sent once.

use serde_json::Value;

use crate::domain::ToolCallId;
use crate::uimessage::{Chunk, ToolPart, ToolState, ToolType};

/// What was sent to a client about one call.
#[derive(Clone, Debug, Default)]
pub(super) struct SentCall {
    id: String,
    started: bool,
    raw_bytes: usize,
    input: bool,
    asked: bool,
    /// The last preliminary output.
    preliminary: Option<Value>,
    settled: bool,
}

impl SentCall {
    pub(super) fn new(id: &ToolCallId) -> Self {
        Self { id: id.as_str().to_owned(), ..Self::default() }
    }

    pub(super) fn is(&self, id: &ToolCallId) -> bool {
        self.id == id.as_str()
    }

    /// Emits what is new about the call.
    pub(super) fn tell(&mut self, tool: &ToolPart, out: &mut Vec<Chunk>) {
        if let ToolState::InputStreaming { raw_input, .. } = &tool.state {
            self.tell_growing(tool, raw_input.as_deref().unwrap_or_default(), out);
            return;
        }
        if !std::mem::replace(&mut self.input, true) {
            self.tell_input(tool, out);
        }
        if !self.settled {
            self.tell_outcome(tool, out);
        }
    }

    /// The arguments streamed so far.
    fn tell_growing(&mut self, tool: &ToolPart, raw: &str, out: &mut Vec<Chunk>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(Chunk::ToolInputStart {
                tool_call_id: tool.call_id.as_str().to_owned(),
                tool_name: tool.tool.name().to_owned(),
                dynamic: dynamic(tool),
            });
        }
        let delta = raw.get(self.raw_bytes..).unwrap_or_default();
        if !delta.is_empty() {
            self.raw_bytes = raw.len();
            out.push(Chunk::ToolInputDelta {
                tool_call_id: tool.call_id.as_str().to_owned(),
                input_text_delta: delta.to_owned(),
            });
        }
    }

    /// The complete arguments, or that they are invalid.
    fn tell_input(&mut self, tool: &ToolPart, out: &mut Vec<Chunk>) {
        let (tool_call_id, tool_name) = (tool.call_id.as_str().to_owned(), tool.tool.name().to_owned());
        let dynamic = dynamic(tool);
        out.push(match (tool.state.input(), &tool.state) {
            (None, ToolState::OutputError { raw_input, error_text, .. }) => {
                self.settled = true;
                let (input, error_text) = (raw_input.clone().unwrap_or_default(), error_text.clone());
                Chunk::ToolInputError { tool_call_id, tool_name, input, error_text, dynamic }
            }
            (input, _) => {
                let input = input.cloned().unwrap_or_default();
                Chunk::ToolInputAvailable { tool_call_id, tool_name, input, dynamic }
            }
        });
    }

    fn tell_outcome(&mut self, tool: &ToolPart, out: &mut Vec<Chunk>) {
        let tool_call_id = tool.call_id.as_str().to_owned();
        match &tool.state {
            ToolState::ApprovalRequested { approval, .. } if !std::mem::replace(&mut self.asked, true) => {
                out.push(Chunk::ToolApprovalRequest {
                    approval_id: approval.id.clone(),
                    tool_call_id,
                    approval_descriptor: approval.descriptor.clone(),
                });
            }
            ToolState::OutputAvailable { output, preliminary: Some(true), .. }
                if self.preliminary.as_ref() == Some(output) => {}
            ToolState::OutputAvailable { output, preliminary, .. } => {
                self.settled = *preliminary != Some(true);
                self.preliminary = Some(output.clone());
                let (output, preliminary) = (output.clone(), *preliminary);
                out.push(Chunk::ToolOutputAvailable { tool_call_id, output, preliminary });
            }
            ToolState::OutputError { error_text, .. } => {
                self.settled = true;
                out.push(Chunk::ToolOutputError { tool_call_id, error_text: error_text.clone() });
            }
            ToolState::OutputDenied { .. } => {
                self.settled = true;
                out.push(Chunk::ToolOutputDenied { tool_call_id });
            }
            ToolState::InputStreaming { .. }
            | ToolState::InputAvailable { .. }
            | ToolState::ApprovalRequested { .. }
            | ToolState::ApprovalResponded { .. } => {}
        }
    }
}

/// Whether the tool is one that clients do not know by its name.
fn dynamic(tool: &ToolPart) -> Option<bool> {
    matches!(tool.tool, ToolType::Dynamic(_)).then_some(true)
}
