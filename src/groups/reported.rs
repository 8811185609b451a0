//! Messages that another agent reports: context in the thread file, without any right.

use serde_json::{Map, Value};

use crate::domain::{AuthorId, CorrelationId, RoomLine, ThreadId};
use crate::uimessage::{Metadata, PEER, Part, Role, SPEAKER, TextPart, UiMessage, VIA};

/// The key of the agent that reported it.
pub const REPORTED_BY: &str = "reportedBy";

/// Whether a message was reported and is not vouched for by the platform.
pub fn is_reported(message: &UiMessage) -> bool {
    message.metadata.extra.contains_key(VIA)
}

/// The message of a line, as context.
pub fn reported_message(line: &RoomLine, thread: &ThreadId, correlation: CorrelationId) -> UiMessage {
    let mut extra = Map::new();
    extra.insert(SPEAKER.to_owned(), line.author.name.clone().into());
    if line.author.kind.is_program() {
        extra.insert(PEER.to_owned(), line.author.kind.as_str().into());
    }
    if let Some(reply) = &line.reply_to {
        let quoted = serde_json::json!({
            "messageId": reply.message_id, "author": reply.author, "text": reply.text,
        });
        extra.insert("replyTo".to_owned(), quoted);
    }
    extra.insert(VIA.to_owned(), line.via.as_str().into());
    extra.insert(REPORTED_BY.to_owned(), line.by.clone().into());
    extra.insert("origin".to_owned(), Value::from("guest"));
    UiMessage {
        id: line.key.clone(),
        role: Role::User,
        metadata: Metadata {
            platform: thread.platform().as_str().to_owned(),
            thread_id: thread.clone(),
            author_id: author_of(line, thread),
            author_name: Some(line.author.name.clone()),
            message_id: Some(line.message_id.clone().unwrap_or_else(|| line.key.to_string())),
            timestamp: line.at,
            correlation_id: correlation,
            status: None,
            command: false,
            context: true,
            checkpoint: false,
            extra,
        },
        parts: vec![Part::Text(TextPart::plain(line.text.clone()))],
    }
}

/// The author of a line under an id that no person has: a forged line must not speak as a person with rights.
fn author_of(line: &RoomLine, thread: &ThreadId) -> Option<AuthorId> {
    let named = AuthorId::new(thread.platform(), &format!("reported-{}", line.author.id));
    named.or_else(|_| AuthorId::new(thread.platform(), "reported")).ok()
}
