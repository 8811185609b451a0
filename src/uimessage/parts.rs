//! The parts of a message. Tool parts are in `tool_part`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::ToolPart;
use super::checkpoint::{CHECKPOINT_VERSION, CheckpointRecord};
use crate::domain::{ApprovalChoice, AuthorId, ErrorKind};

/// Whether a text is still streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextState {
    Streaming,
    Done,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextPart {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TextState>,
    /// Unknown keys, preserved.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl TextPart {
    pub fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), state: Some(TextState::Done), extra: Map::new() }
    }

    /// A text of a person: no state.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), state: None, extra: Map::new() }
    }

    /// A text that is being streamed.
    pub fn streaming(text: impl Into<String>) -> Self {
        Self { text: text.into(), state: Some(TextState::Streaming), extra: Map::new() }
    }
}

/// A file, by URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilePart {
    pub media_type: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Unknown keys, preserved.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A command and the daemon's reply. Stored as a data part of an assistant message, which no model sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// As it was written, with the slash.
    pub command: String,
    pub author: AuthorId,
    /// As CommonMark.
    pub reply: String,
    /// The questions that the reply asks back about: a page shows their answers as buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<ApprovalChoice>,
}

impl CommandRecord {
    /// Whether it is the command of this name, with any arguments.
    pub fn is(&self, name: &str) -> bool {
        self.command.split_whitespace().next().and_then(|word| word.strip_prefix('/')) == Some(name)
    }
}

/// An error, as the person was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorRecord {
    pub kind: ErrorKind,
    pub text: String,
    /// Whether a retry may help.
    pub retryable: bool,
    /// The provider's message, redacted: for the operator, not for people in chats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(TextPart),
    /// The model's reasoning, where it is shown.
    Reasoning(TextPart),
    File(FilePart),
    /// A model call begins.
    StepStart,
    /// A tool call with its state.
    Tool(Box<ToolPart>),
    /// A command and its reply.
    Command(CommandRecord),
    /// The error that ended the turn.
    Error(ErrorRecord),
    /// What earlier messages came to. The only part of its message.
    Checkpoint(Box<CheckpointRecord>),
    /// An unknown part, preserved as it is.
    Other(Value),
}

impl Part {
    /// Its approximate size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text.text.len(),
            Self::File(file) => file.url.len(),
            Self::Tool(tool) => serde_json::to_string(tool.as_ref()).map_or(0, |text| text.len()),
            Self::Command(record) => record.reply.len(),
            Self::Error(record) => record.text.len() + record.detail.as_ref().map_or(0, String::len),
            Self::StepStart => 0,
            Self::Checkpoint(record) => serde_json::to_string(record).map_or(0, |text| text.len()),
            Self::Other(raw) => raw.to_string().len(),
        }
    }

    /// A complete text of the agent.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart::done(text))
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T: Serialize> {
            r#type: &'a str,
            #[serde(flatten)]
            body: T,
        }
        #[derive(Serialize)]
        struct Data<'a, T: Serialize> {
            r#type: &'a str,
            data: &'a T,
        }
        match self {
            Self::Text(body) => Tagged { r#type: "text", body }.serialize(serializer),
            Self::Reasoning(body) => Tagged { r#type: "reasoning", body }.serialize(serializer),
            Self::File(body) => Tagged { r#type: "file", body }.serialize(serializer),
            Self::StepStart => json!({ "type": "step-start" }).serialize(serializer),
            Self::Tool(body) => body.serialize(serializer),
            Self::Command(data) => Data { r#type: "data-command", data }.serialize(serializer),
            Self::Error(data) => Data { r#type: "data-error", data }.serialize(serializer),
            Self::Checkpoint(data) => Data { r#type: "data-checkpoint", data }.serialize(serializer),
            Self::Other(raw) => raw.serialize(serializer),
        }
    }
}

impl JsonSchema for Part {
    fn schema_name() -> Cow<'static, str> {
        "Part".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A part of a message in the AI SDK's UIMessage format; `type` says which.",
            "properties": { "type": { "type": "string" } },
            "required": ["type"],
            "additionalProperties": true,
        })
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Value::deserialize(deserializer)?;
        Ok(read(&raw).unwrap_or(Self::Other(raw)))
    }
}

/// Parses a part. A part of a known type that does not fit its type is kept raw: one odd part must not make the whole
/// message unreadable.
fn read(raw: &Value) -> Option<Part> {
    let without_type = || {
        let mut body = raw.as_object().cloned().unwrap_or_default();
        body.remove("type");
        Value::Object(body)
    };
    let data = || raw.get("data").cloned().unwrap_or_default();
    let part = match raw.get("type")?.as_str()? {
        "text" => Part::Text(serde_json::from_value(without_type()).ok()?),
        "reasoning" => Part::Reasoning(serde_json::from_value(without_type()).ok()?),
        "file" => Part::File(serde_json::from_value(without_type()).ok()?),
        "step-start" => Part::StepStart,
        "data-command" => Part::Command(serde_json::from_value(data()).ok()?),
        "data-error" => Part::Error(serde_json::from_value(data()).ok()?),
        "data-checkpoint" => {
            let record: CheckpointRecord = serde_json::from_value(data()).ok()?;
            Part::Checkpoint(Box::new(Some(record).filter(|record| record.version == CHECKPOINT_VERSION)?))
        }
        kind if kind == "dynamic-tool" || kind.starts_with("tool-") => {
            Part::Tool(Box::new(serde_json::from_value(raw.clone()).ok()?))
        }
        _ => return None,
    };
    Some(part)
}
