//! One message: metadata and parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Part;
use crate::domain::{AuthorId, CorrelationId, MemoryScope, MessageId, Origin, ThreadId, Timestamp};

/// The key of the metadata of a spoken message: who transcribed it, and how long it is.
pub const VOICE: &str = "voice";
/// The key of the metadata of an answer that is spoken as well.
pub const SPEECH: &str = "speech";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    /// The agent, or the daemon.
    Assistant,
}

/// The status of an assistant message's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Not ended: resumed after a crash.
    Running,
    /// This message is full; the run continues in a further one.
    Continued,
    /// Ended normally.
    Done,
    /// Stopped by a person.
    Stopped,
    /// Ended with an error, which the message contains.
    Failed,
}

impl RunStatus {
    /// Whether the run has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Failed)
    }
}

/// Facts about a message beside its content. The model never sees them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub platform: String,
    pub thread_id: ThreadId,
    /// Absent for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_id: Option<AuthorId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_name: Option<String>,
    /// The platform's own id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// In milliseconds since the epoch.
    pub timestamp: Timestamp,
    pub correlation_id: CorrelationId,
    /// The status of the run; on assistant messages only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// A command or the daemon's reply to one: shown to people, never to a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub command: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub context: bool,
    /// A checkpoint: what earlier messages came to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checkpoint: bool,
    /// Unknown keys; preserved when the message is rewritten.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Metadata {
    /// The metadata of a message of the agent.
    pub fn of_agent(
        thread: &ThreadId,
        correlation_id: CorrelationId,
        timestamp: Timestamp,
        status: RunStatus,
    ) -> Self {
        Self {
            platform: thread.platform().as_str().to_owned(),
            thread_id: thread.clone(),
            author_id: None,
            author_name: None,
            message_id: None,
            timestamp,
            correlation_id,
            status: Some(status),
            command: false,
            context: false,
            checkpoint: false,
            extra: Map::new(),
        }
    }
}

/// One message of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UiMessage {
    /// Unique in its thread.
    pub id: MessageId,
    pub role: Role,
    pub metadata: Metadata,
    pub parts: Vec<Part>,
}

/// The key of the memory that a message may use.
const SCOPE: &str = "scope";
/// The key of how far its author is trusted.
const ORIGIN: &str = "origin";

impl UiMessage {
    /// The memory that its turn may use, as it was resolved when the message was accepted.
    pub fn memory_scope(&self) -> Option<MemoryScope> {
        MemoryScope::deserialize(self.metadata.extra.get(SCOPE)?).ok()
    }

    /// How far the words of its author are trusted.
    pub fn origin(&self) -> Origin {
        let stored = self.metadata.extra.get(ORIGIN).map(Origin::deserialize);
        // A word that is not known is not trusted.
        stored.map_or(Origin::Member, |origin| origin.unwrap_or(Origin::Guest))
    }

    /// Stores what was resolved when the message was accepted.
    pub fn set_memory_scope(&mut self, scope: &MemoryScope, origin: Origin) {
        if let Ok(scope) = serde_json::to_value(scope) {
            self.metadata.extra.insert(SCOPE.to_owned(), scope);
        }
        if origin != Origin::Member {
            self.metadata.extra.insert(ORIGIN.to_owned(), origin.as_str().into());
        }
    }

    /// Takes over what was resolved for an earlier version of the message.
    pub fn keep_memory_scope_of(&mut self, earlier: &Self) {
        for key in [SCOPE, ORIGIN] {
            match earlier.metadata.extra.get(key) {
                Some(value) => self.metadata.extra.insert(key.to_owned(), value.clone()),
                None => self.metadata.extra.remove(key),
            };
        }
    }

    /// All text of the message; steps are separated by a blank line.
    pub fn text(&self) -> String {
        let mut steps: Vec<String> = vec![String::new()];
        for part in &self.parts {
            match (part, steps.last_mut()) {
                (Part::StepStart, _) => steps.push(String::new()),
                (Part::Text(text), Some(step)) => step.push_str(&text.text),
                _ => {}
            }
        }
        steps.retain(|step| !step.trim().is_empty());
        steps.join("\n\n")
    }

    /// Its approximate size in bytes.
    pub fn size(&self) -> usize {
        self.parts.iter().map(Part::size).sum::<usize>() + 400
    }

    /// The number of steps in it.
    pub fn steps(&self) -> u32 {
        let steps = self.parts.iter().filter(|part| matches!(part, Part::StepStart));
        u32::try_from(steps.count()).unwrap_or(u32::MAX)
    }

    /// The text after the last tool call: the final answer.
    pub fn final_text(&self) -> String {
        let start = self.parts.iter().rposition(|part| matches!(part, Part::Tool(_))).map_or(0, |at| at + 1);
        let tail = self.parts.iter().skip(start).filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        tail.collect()
    }
}
