//! Messages that another agent reports: context in the thread file, without any right.

use serde_json::{Map, Value};

use crate::domain::{AuthorId, CorrelationId, LineKind, RoomLine, ThreadId};
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

/// A reported message as its author has changed it: with other words, or hidden where it was removed. `None` where
/// nothing has changed, or where the platform vouches for the message and tells of its changes itself.
pub fn changed_report(known: &UiMessage, change: &RoomLine) -> Option<UiMessage> {
    if !known.metadata.context || !is_reported(known) || known.metadata.command {
        return None;
    }
    // What an agent said, it alone changes.
    let reported_by = known.metadata.extra.get(REPORTED_BY).and_then(Value::as_str);
    if known.metadata.extra.contains_key(PEER) && reported_by != Some(change.by.as_str()) {
        return None;
    }
    let mut message = known.clone();
    match change.kind {
        LineKind::Edited if message.text() != change.text => {
            message.parts = vec![Part::Text(TextPart::plain(change.text.clone()))];
            message.metadata.extra.insert("edited".to_owned(), true.into());
        }
        LineKind::Gone => message.metadata.command = true,
        LineKind::Edited | LineKind::Said | LineKind::Claim => return None,
    }
    Some(message)
}

/// The author of a line under an id that no person has: a forged line must not speak as a person with rights.
fn author_of(line: &RoomLine, thread: &ThreadId) -> Option<AuthorId> {
    let named = AuthorId::new(thread.platform(), &format!("reported-{}", line.author.id));
    named.or_else(|_| AuthorId::new(thread.platform(), "reported")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LineAuthor, SpeakerKind, Via};
    use crate::groups::claims::tests::line;

    #[test]
    fn a_change_replaces_what_was_reported_and_nothing_that_the_platform_vouches_for() {
        let thread: ThreadId = "feishu:chat:oc_1".parse().unwrap();
        let of = |line: &RoomLine| reported_message(line, &thread, CorrelationId::made("", "c"));
        let said = line("k", "a", 5);
        let edit = RoomLine { kind: LineKind::Edited, text: "other words".to_owned(), ..line("k", "b", 9) };
        let known = of(&said);
        let changed = changed_report(&known, &edit).unwrap();
        assert_eq!((changed.text().as_str(), &changed.id), ("other words", &known.id));
        assert!(changed.metadata.context && changed.metadata.timestamp == known.metadata.timestamp);
        assert_eq!(changed_report(&changed, &edit), None, "it is taken over once");
        let gone = changed_report(&known, &RoomLine { kind: LineKind::Gone, ..edit.clone() }).unwrap();
        assert!(gone.metadata.command, "hidden from the model");
        let mut native = known;
        native.metadata.extra.remove(VIA);
        assert_eq!(changed_report(&native, &edit), None);
        let agent = LineAuthor { id: "a".to_owned(), name: "A".to_owned(), kind: SpeakerKind::Agent };
        let of_agent = of(&RoomLine { author: agent, via: Via::Outbound, ..said });
        assert_eq!(changed_report(&of_agent, &edit), None, "another agent's words are its own");
    }
}
