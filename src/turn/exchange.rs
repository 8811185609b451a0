//! The daemon's own replies: to commands, to decisions, and questions back.
//!
//! The text and the reply are stored as one message under the inbound message's id: a duplicate is recognised, people
//! see it, and no model reads it.

use serde_json::Map;

use super::Effect;
use super::event::Spoken;
use super::history::{BEGINS_ANEW, REFUSED};
use crate::domain::{Approval, ApprovalChoice, CorrelationId, IngressEvent, Intent, Language, Timestamp};
use crate::ports::Durability;
use crate::uimessage::{CommandRecord, Metadata, Part, Role, RunStatus, UiMessage};

/// The daemon's reply to a text: plain words, or a question back.
#[derive(Clone)]
pub(super) struct DaemonReply {
    text: String,
    /// The approvals that a question back is about; empty for plain words.
    choices: Vec<ApprovalChoice>,
}

impl DaemonReply {
    /// A question back about these approvals.
    pub(super) fn asking<'a>(text: String, about: impl IntoIterator<Item = &'a Approval>) -> Self {
        Self { text, choices: about.into_iter().map(ApprovalChoice::from).collect() }
    }

    pub(super) fn intent(self, language: Language) -> Intent {
        let Self { text, choices } = self;
        if choices.is_empty() {
            Intent::AssistantText { text }
        } else {
            Intent::ApprovalAskBack { text, language, choices }
        }
    }
}

impl From<String> for DaemonReply {
    fn from(text: String) -> Self {
        Self { text, choices: Vec::new() }
    }
}

/// A text for the daemon and its reply.
pub(super) struct Exchange {
    record: UiMessage,
    reply: DaemonReply,
}

impl Exchange {
    /// An exchange about a new message.
    pub(super) fn new(
        words: &str,
        event: &IngressEvent,
        reply: impl Into<DaemonReply>,
        correlation: CorrelationId,
        now: Timestamp,
    ) -> Self {
        let reply = reply.into();
        let metadata = Metadata {
            message_id: Some(event.platform_message.clone()),
            command: true,
            ..Metadata::of_agent(&event.thread, correlation, now, RunStatus::Done)
        };
        let said = CommandRecord {
            command: words.to_owned(),
            author: event.author.id.clone(),
            reply: reply.text.clone(),
            choices: reply.choices.clone(),
        };
        let record = UiMessage {
            id: event.message.clone(),
            role: Role::Assistant,
            metadata,
            parts: vec![Part::Command(said)],
        };
        Self { record, reply }
    }

    /// Marks the command as refused.
    pub(super) fn refused(mut self) -> Self {
        self.record.metadata.extra.insert(REFUSED.to_owned(), true.into());
        self
    }

    /// Marks the command as the beginning of a new conversation.
    pub(super) fn begins_anew(mut self) -> Self {
        self.record.metadata.extra.insert(BEGINS_ANEW.to_owned(), true.into());
        self
    }

    /// An exchange about a message that was first stored as an ordinary one: the line that hides it from the model, and
    /// the reply after it. A line cannot change its role, so the reply has its own line.
    pub(super) fn instead_of(
        message: &UiMessage,
        reply: DaemonReply,
        correlation: CorrelationId,
        now: Timestamp,
    ) -> Option<(UiMessage, Self)> {
        let mut words = message.clone();
        words.metadata.command = true;
        words.metadata.correlation_id = correlation;
        let said = CommandRecord {
            command: message.text(),
            author: message.metadata.author_id.clone()?,
            reply: reply.text.clone(),
            choices: reply.choices.clone(),
        };
        let metadata = Metadata {
            author_id: None,
            author_name: None,
            timestamp: now,
            status: Some(RunStatus::Done),
            extra: Map::new(),
            ..words.metadata.clone()
        };
        let id = format!("{}.reply", message.id).parse().ok()?;
        let record = UiMessage { id, role: Role::Assistant, metadata, parts: vec![Part::Command(said)] };
        Some((words, Self { record, reply }))
    }

    pub(super) const fn record(&self) -> &UiMessage {
        &self.record
    }

    pub(super) const fn correlation(&self) -> &CorrelationId {
        &self.record.metadata.correlation_id
    }

    /// Commits it after the `lines` that belong before it, and sends the reply.
    pub(super) fn commit(self, mut lines: Vec<UiMessage>, language: Language) -> Effect {
        let Self { record, reply } = self;
        let say = vec![Spoken {
            source: record.id.to_string(),
            correlation: record.metadata.correlation_id.clone(),
            reply_to: record.metadata.message_id.clone(),
            intent: reply.intent(language),
        }];
        lines.push(record);
        Effect::Commit { messages: lines, say, durability: Durability::Synced }
    }
}
