//! Converts messages to a model's prompt. The only place where a history becomes a prompt.
//!
//! For any history, each tool call has exactly one result, right after it: a call without one (after a crash, in a
//! truncated file) gets a result that says so.

use serde_json::{Map, Value};

use super::envelope::enveloped;
use super::recalled::recall_block;
use super::{Part, Role, ToolPart, ToolState, UiMessage, VOICE};
use crate::domain::{RAISE_CALL, Timestamp, inert_name};

/// A piece of a person's message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    /// A picture, as a `data:` or `https:` address.
    Image {
        url: String,
    },
    /// Any other file: its name is in the prompt, and tools can read it.
    File {
        media_type: String,
        url: String,
        name: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelToolCall {
    pub id: String,
    pub name: String,
    /// The arguments as valid JSON text.
    pub arguments: String,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelMessage {
    System(String),
    User {
        content: Vec<Content>,
        /// The name of a message in which the daemon states something.
        name: Option<String>,
    },
    Assistant {
        text: String,
        reasoning: String,
        tool_calls: Vec<ModelToolCall>,
    },
    /// The result of one call.
    Tool {
        call_id: String,
        content: String,
    },
}

/// Replaces a missing result.
const NO_RESULT: &str = "No result: the call was interrupted before it finished. Its outcome is unknown.";
const DENIED: &str = "Tool call execution denied.";

/// Longest name and type of a file in a prompt, in characters: people choose them.
const MAX_FILE_NAME: usize = 120;
const MAX_MEDIA_TYPE: usize = 100;

/// What the model is told of a file that it is not shown.
pub fn file_note(media_type: &str, url: &str, name: Option<&str>) -> String {
    format!("[file: {} ({media_type}) at {url}]", name.unwrap_or("unnamed"))
}

/// Converts folded messages, oldest first.
pub fn to_model<'a>(messages: impl IntoIterator<Item = &'a UiMessage>) -> Vec<ModelMessage> {
    to_model_after(messages, &mut None)
}

/// Converts folded messages that follow others. `said_at` is the time of the last message in a group.
pub fn to_model_after<'a>(
    messages: impl IntoIterator<Item = &'a UiMessage>,
    said_at: &mut Option<Timestamp>,
) -> Vec<ModelMessage> {
    let mut out = Vec::new();
    for message in messages.into_iter().filter(|message| !message.metadata.command) {
        match message.role {
            Role::System => {
                let text = message.parts.iter().filter_map(text_of).collect::<String>();
                out.push(ModelMessage::System(text));
            }
            Role::User => push_user(message, said_at, &mut out),
            Role::Assistant => {
                for block in message.parts.split(|part| matches!(part, Part::StepStart)) {
                    push_block(block, &mut out);
                }
            }
        }
    }
    out
}

fn push_user(message: &UiMessage, said_at: &mut Option<Timestamp>, out: &mut Vec<ModelMessage>) {
    let spoken = message.metadata.extra.contains_key(VOICE);
    // The transcript stands for the recording.
    let is_recording =
        |part: &&Part| matches!(part, Part::File(file) if file.media_type.starts_with("audio/"));
    let parts = message.parts.iter().filter(|part| !(spoken && is_recording(part)));
    let mut content: Vec<Content> = parts.filter_map(user_content).collect();
    if !content.is_empty() {
        let speaker = message.speaker();
        if let Some(speaker) = speaker {
            content = enveloped(message, speaker, content, *said_at);
            *said_at = Some(message.metadata.timestamp);
        }
        // In separate parts, never inside the person's text.
        let recalled = message.recalled();
        let recalled = (!recalled.is_empty()).then(|| recall_block(&recalled));
        let circumstances = speaker.is_none().then(|| circumstances(&message.metadata.extra));
        let before = recalled.into_iter().chain(circumstances.into_iter().flatten());
        content.splice(0..0, before.map(Content::Text));
        out.push(ModelMessage::User { content, name: None });
    }
}

/// The quoted message and the origin of a message, as separate texts.
fn circumstances(extra: &Map<String, Value>) -> impl Iterator<Item = String> + use<> {
    let quoted = extra.get("replyTo").and_then(|quoted| {
        let text = quoted.get("text").and_then(Value::as_str).filter(|text| !text.is_empty())?;
        let author = quoted.get("author").and_then(Value::as_str).unwrap_or("an earlier message");
        Some(format!("[In reply to {author}: {text}]"))
    });
    let forwarded = extra.get("forwardedFrom").and_then(Value::as_str);
    let corrects = extra.contains_key("corrects").then(|| "[Corrects an earlier message]".to_owned());
    let spoken = extra.contains_key(VOICE).then(|| "[Voice message, transcribed by a program]".to_owned());
    let forwarded = forwarded.map(|from| format!("[Forwarded from {from}]"));
    quoted.into_iter().chain(forwarded).chain(corrects).chain(spoken)
}

fn user_content(part: &Part) -> Option<Content> {
    match part {
        Part::Text(text) => Some(Content::Text(text.text.clone())),
        Part::File(file) if file.media_type.starts_with("image/") => {
            Some(Content::Image { url: file.url.clone() })
        }
        Part::File(file) => Some(Content::File {
            media_type: inert_name(&file.media_type, MAX_MEDIA_TYPE),
            url: file.url.clone(),
            name: file.filename.as_deref().map(|name| inert_name(name, MAX_FILE_NAME)),
        }),
        Part::Reasoning(_)
        | Part::StepStart
        | Part::Tool(_)
        | Part::Command(_)
        | Part::Error(_)
        | Part::Checkpoint(_)
        | Part::Other(_) => None,
    }
}

/// The parts of one model call: one assistant message, then one result per call.
fn push_block(block: &[Part], out: &mut Vec<ModelMessage>) {
    let text: String = block.iter().filter_map(text_of).collect();
    let reasoning: String = block
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
            _ => None,
        })
        .collect();
    let calls: Vec<(ModelToolCall, ModelMessage)> = block
        .iter()
        .filter_map(|part| match part {
            // The daemon's own question to owners, which the model did not make.
            Part::Tool(tool) if tool.tool.name() == RAISE_CALL => None,
            Part::Tool(tool) => call_and_result(tool),
            _ => None,
        })
        .collect();
    if text.is_empty() && calls.is_empty() {
        return;
    }
    let (tool_calls, results): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    out.push(ModelMessage::Assistant { text, reasoning, tool_calls });
    out.extend(results);
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(&text.text),
        _ => None,
    }
}

fn call_and_result(part: &ToolPart) -> Option<(ModelToolCall, ModelMessage)> {
    let (arguments, content) = match &part.state {
        ToolState::InputStreaming { .. } => return None,
        ToolState::InputAvailable { input } | ToolState::ApprovalRequested { input, .. } => {
            (input, NO_RESULT.to_owned())
        }
        ToolState::ApprovalResponded { input, approval } if approval.approved => {
            (input, NO_RESULT.to_owned())
        }
        ToolState::ApprovalResponded { input, approval } | ToolState::OutputDenied { input, approval } => {
            (input, approval.reason.clone().unwrap_or_else(|| DENIED.to_owned()))
        }
        ToolState::OutputAvailable { input, output, .. } => (input, result_text(output)),
        ToolState::OutputError { input, raw_input, error_text, .. } => {
            (input.as_ref().or(raw_input.as_ref()).unwrap_or(&Value::Null), error_text.clone())
        }
    };
    let id = part.call_id.as_str().to_owned();
    let call =
        ModelToolCall { id: id.clone(), name: part.tool.name().to_owned(), arguments: arguments.to_string() };
    Some((call, ModelMessage::Tool { call_id: id, content }))
}

fn result_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
