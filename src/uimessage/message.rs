//! One message: who, when, and its parts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Part;
use crate::domain::{AuthorId, CorrelationId, MessageId, ThreadId, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    /// The agent, or the daemon in its name.
    Assistant,
}

/// How far an assistant message's run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Not at its end: after a crash it goes on.
    Running,
    /// This message is full; the run goes on in a further one.
    Continued,
    /// Ended as it should.
    Done,
    /// Ended by a person.
    Stopped,
    /// Ended by trouble, which the message tells.
    Failed,
}

impl RunStatus {
    /// Whether the run is at its end.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Failed)
    }
}

/// What we know about a message beside its content. The model never sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub platform: String,
    /// The thread it is in.
    pub thread_id: ThreadId,
    /// Who said it; absent for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_id: Option<AuthorId>,
    /// What people call them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_name: Option<String>,
    /// The platform's own id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// When, in milliseconds since the epoch.
    pub timestamp: Timestamp,
    /// The run it belongs to.
    pub correlation_id: CorrelationId,
    /// How far the run has come; on assistant messages only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// A word for the daemon or the daemon's reply to one: people see it, no model does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub command: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub context: bool,
    /// Whatever else stood there; it survives a rewrite.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One message of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UiMessage {
    /// Unique in its thread.
    pub id: MessageId,
    pub role: Role,
    /// What we know about it.
    pub metadata: Metadata,
    /// What it says and does.
    pub parts: Vec<Part>,
}

impl UiMessage {
    /// All text of the message, steps apart by a blank line.
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

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        self.parts.iter().map(Part::size).sum::<usize>() + 400
    }

    /// How many steps it tells of.
    pub fn steps(&self) -> u32 {
        let steps = self.parts.iter().filter(|part| matches!(part, Part::StepStart));
        u32::try_from(steps.count()).unwrap_or(u32::MAX)
    }

    /// The text after the last tool call: the answer proper.
    pub fn final_text(&self) -> String {
        let start = self.parts.iter().rposition(|part| matches!(part, Part::Tool(_))).map_or(0, |at| at + 1);
        let tail = self.parts.iter().skip(start).filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        tail.collect()
    }
}
