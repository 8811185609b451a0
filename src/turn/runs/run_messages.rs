//! Messages of runs beside their own answer: of a tool call in this thread, of a call or a result in another thread.
//!
//! The message is committed together with its delivery, so one that is repeated after a crash posts nothing twice.

use serde_json::{Map, json};

use super::run::{Run, TOOL_METADATA};
use crate::domain::{CorrelationId, Intent, MessageId, ThreadId, Timestamp};
use crate::ports::{RunMessage, RunMessageSource};
use crate::uimessage::{FilePart, Metadata, Part, Role, RunStatus, TextPart, UiMessage};

/// Marks a call that has posted its message.
const SAID: &str = "said";

impl Run {
    /// Marks a call that posts its message now, and returns the line. `None` means that it had posted before.
    pub(in crate::turn) fn post(&mut self, run_message: &RunMessage) -> Option<UiMessage> {
        let part = self.tool_mut(run_message.call()?)?;
        let facts = part.extra.entry(TOOL_METADATA).or_insert_with(|| json!({}));
        if facts.get(SAID).is_some() {
            return None;
        }
        if let Some(facts) = facts.as_object_mut() {
            facts.insert(SAID.to_owned(), true.into());
        }
        self.message.parts.extend(file_part(&run_message.intent));
        self.placed = true;
        Some(self.snapshot())
    }
}

/// The id under which a thread stores a message of a run in another thread.
pub(in crate::turn) fn said_by(run_message: &RunMessage) -> MessageId {
    let source = match &run_message.source {
        RunMessageSource::Call(call) => format!(".said.{call}"),
        RunMessageSource::Result { .. } => ".result".to_owned(),
        RunMessageSource::Question { approval, settled: false } => format!(".asks.{approval}"),
        RunMessageSource::Question { approval, settled: true } => format!(".settled.{approval}"),
    };
    MessageId::made(run_message.correlation.as_str(), &source)
}

/// The stored message of a run in another thread, as an assistant message that this thread's model reads too.
pub(in crate::turn) fn message_from(
    run_message: &RunMessage,
    thread: &ThreadId,
    correlation: &CorrelationId,
    now: Timestamp,
) -> UiMessage {
    let mut extra = Map::new();
    extra.insert("sentFrom".to_owned(), run_message.from.as_str().into());
    let words = match &run_message.intent {
        Intent::AssistantText { text }
        | Intent::Error { text, .. }
        | Intent::ApprovalResolved { text, .. } => Some(text.clone()),
        Intent::Attachment { caption, .. } => caption.clone(),
        Intent::ApprovalRequest { number, summary, .. } => Some(format!("{number}: {summary}")),
        _ => None,
    };
    let words = words.map(|text| Part::Text(TextPart::plain(text)));
    UiMessage {
        id: said_by(run_message),
        role: Role::Assistant,
        metadata: Metadata { extra, ..Metadata::of_agent(thread, correlation.clone(), now, RunStatus::Done) },
        parts: words.into_iter().chain(file_part(&run_message.intent)).collect(),
    }
}

/// The part of a message that shows a file.
pub(super) fn file_part(intent: &Intent) -> Option<Part> {
    let Intent::Attachment { file, name, media_type, .. } = intent else { return None };
    Some(Part::File(FilePart {
        media_type: media_type.clone(),
        url: file.url(),
        filename: Some(name.clone()),
        extra: Map::new(),
    }))
}
