//! A tool call and its states, from the first streamed input to its outcome.
//!
//! Each state has only the fields it may have, so a part that the format forbids cannot be written.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::domain::ToolCallId;

/// How the part's `type` names the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolType {
    /// One of our own: `tool-<name>`.
    Static(String),
    /// A tool found at run time: `dynamic-tool` with a `toolName`.
    Dynamic(String),
}

impl ToolType {
    pub fn name(&self) -> &str {
        match self {
            Self::Static(name) | Self::Dynamic(name) => name,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAsk {
    pub id: String,
    /// The question: summary, risk, expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    pub id: String,
    pub approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The outcome: who decided, when, from where, and with which scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<Value>,
}

/// The state of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ToolState {
    /// The model is still streaming the input.
    InputStreaming {
        /// The input as far as it can be parsed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// The raw text so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_input: Option<String>,
    },
    /// The input is complete.
    InputAvailable {
        input: Value,
    },
    ApprovalRequested {
        input: Value,
        approval: ApprovalAsk,
    },
    ApprovalResponded {
        input: Value,
        approval: ApprovalAnswer,
    },
    OutputAvailable {
        input: Value,
        /// The output as the model saw it.
        output: Value,
        /// The approval, where one was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalAnswer>,
        /// Whether the output is incomplete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preliminary: Option<bool>,
    },
    /// It failed, or never ran.
    OutputError {
        /// The input, where it could be parsed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// The raw input, where it could not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_input: Option<Value>,
        /// The error text for the model.
        error_text: String,
        /// The approval, where one was needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalAnswer>,
    },
    /// A person denied it.
    OutputDenied {
        input: Value,
        approval: ApprovalAnswer,
    },
}

impl ToolState {
    /// Whether the call has ended.
    pub const fn is_settled(&self) -> bool {
        matches!(self, Self::OutputAvailable { .. } | Self::OutputError { .. } | Self::OutputDenied { .. })
    }

    /// The input, where it is known.
    pub const fn input(&self) -> Option<&Value> {
        match self {
            Self::InputStreaming { input, .. } | Self::OutputError { input, .. } => input.as_ref(),
            Self::InputAvailable { input }
            | Self::ApprovalRequested { input, .. }
            | Self::ApprovalResponded { input, .. }
            | Self::OutputAvailable { input, .. }
            | Self::OutputDenied { input, .. } => Some(input),
        }
    }
}

/// A tool call in a message.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPart {
    pub tool: ToolType,
    pub call_id: ToolCallId,
    pub state: ToolState,
    /// Unknown keys, preserved.
    pub extra: Map<String, Value>,
}

impl ToolPart {
    /// A call of a built-in tool.
    pub fn new(name: impl Into<String>, call_id: ToolCallId, state: ToolState) -> Self {
        Self { tool: ToolType::Static(name.into()), call_id, state, extra: Map::new() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    tool_call_id: ToolCallId,
    #[serde(flatten)]
    state: ToolState,
}

const KNOWN: &[&str] = &[
    "type",
    "toolName",
    "toolCallId",
    "state",
    "input",
    "rawInput",
    "output",
    "errorText",
    "approval",
    "preliminary",
];

impl Serialize for ToolPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            wire: Wire,
            #[serde(flatten)]
            extra: &'a Map<String, Value>,
        }
        let (r#type, tool_name) = match &self.tool {
            ToolType::Static(name) => (format!("tool-{name}"), None),
            ToolType::Dynamic(name) => ("dynamic-tool".to_owned(), Some(name.clone())),
        };
        let wire = Wire { r#type, tool_name, tool_call_id: self.call_id.clone(), state: self.state.clone() };
        Whole { wire, extra: &self.extra }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut raw = Map::deserialize(deserializer)?;
        let wire: Wire = serde_json::from_value(Value::Object(raw.clone())).map_err(D::Error::custom)?;
        raw.retain(|key, _| !KNOWN.contains(&key.as_str()));
        let tool = match (wire.r#type.strip_prefix("tool-"), wire.tool_name) {
            (Some(name), _) => ToolType::Static(name.to_owned()),
            (None, Some(name)) => ToolType::Dynamic(name),
            (None, None) => return Err(D::Error::custom("a dynamic-tool part without a toolName")),
        };
        Ok(Self { tool, call_id: wire.tool_call_id, state: wire.state, extra: raw })
    }
}
