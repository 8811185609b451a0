//! The contents of a message beside its text: files to download, and other contents described as text.

use serde_json::Value;

use super::wire::{File, ForwardOrigin, Message};
use crate::adapters::chat::inbound::{Attachment, InboundFileKind};
use crate::domain::Quoted;

/// Telegram's limit for downloads by a bot.
pub(super) const LARGEST_FILE: u64 = 20 << 20;
/// Most characters of a quoted message.
const LONGEST_QUOTE: usize = 2000;

/// The files of a message. `moved_to` is the new id of a migrated chat: there message ids restart and the folder stays,
/// so the stored names include it.
pub(super) fn attachments(message: &Message, moved_to: Option<i64>) -> Vec<Attachment> {
    let prefix = match moved_to {
        Some(chat) => format!("{chat}-{}-", message.message_id),
        None => format!("{}-", message.message_id),
    };
    let attachment = |(file, name, media_type): (&File, &str, &str)| Attachment {
        kind: InboundFileKind::File,
        name: file.file_name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| name.to_owned()),
        media_type: file.mime_type.clone().unwrap_or_else(|| media_type.to_owned()),
        size: file.file_size,
        prefix: prefix.clone(),
        locator: Value::String(file.file_id.clone()),
    };
    files(message).map(attachment).collect()
}

/// The files of a message, each with its default name and type.
fn files(message: &Message) -> impl Iterator<Item = (&File, &'static str, &'static str)> {
    // The sizes are in ascending order; the largest that can be downloaded is the best.
    let fits = |photo: &&File| photo.file_size.is_none_or(|size| size <= LARGEST_FILE);
    let photo = message.photo.iter().rev().find(fits).or(message.photo.first());
    // Telegram sends an animation also as a document.
    let document = message.document.as_ref().filter(|_| message.animation.is_none());
    let kinds = [
        (photo, "photo.jpg", "image/jpeg"),
        (document, "document", "application/octet-stream"),
        (message.voice.as_ref(), "voice.ogg", "audio/ogg"),
        (message.audio.as_ref(), "audio.mp3", "audio/mpeg"),
        (message.video.as_ref(), "video.mp4", "video/mp4"),
        (message.video_note.as_ref(), "video-note.mp4", "video/mp4"),
        (message.animation.as_ref(), "animation.mp4", "video/mp4"),
    ];
    kinds.into_iter().filter_map(|(file, name, media_type)| Some((file?, name, media_type)))
}

/// A description of contents that are neither text nor a file.
pub(super) fn described(message: &Message) -> Option<String> {
    if let Some(sticker) = &message.sticker {
        return Some(format!("[sticker {}]", sticker.emoji.as_deref().unwrap_or("without emoji")));
    }
    // A venue also has a location, so it comes first.
    if let Some(venue) = &message.venue {
        let place = &venue.location;
        return Some(format!(
            "[venue: {}, {} ({}, {})]",
            venue.title, venue.address, place.latitude, place.longitude
        ));
    }
    if let Some(place) = &message.location {
        return Some(format!("[location: {}, {}]", place.latitude, place.longitude));
    }
    if let Some(contact) = &message.contact {
        let last = contact.last_name.as_deref().map(|last| format!(" {last}")).unwrap_or_default();
        return Some(format!("[contact: {}{last}, {}]", contact.first_name, contact.phone_number));
    }
    if let Some(poll) = &message.poll {
        let options: Vec<&str> = poll.options.iter().map(|option| option.text.as_str()).collect();
        return Some(format!("[poll: {} — {}]", poll.question, options.join(" / ")));
    }
    message.dice.as_ref().map(|dice| format!("[dice {}: {}]", dice.emoji, dice.value))
}

pub(super) fn quoted(message: &Message) -> Option<Quoted> {
    // Every message in a topic is a reply to the message that created the topic; that is no quote.
    let earlier = message.reply_to_message.as_deref().filter(|earlier| earlier.forum_topic_created.is_none());
    let part = message.quote.as_ref().map(|quote| quote.text.clone()).filter(|text| !text.is_empty());
    let Some(earlier) = earlier else {
        // A quote from another chat has text and nothing that could be looked up.
        return part.map(|text| Quoted { text: clipped(&text), ..Quoted::default() });
    };
    let whole = || earlier.text.clone().or_else(|| earlier.caption.clone());
    let other = || {
        described(earlier)
            .or_else(|| attachments(earlier, None).first().map(|file| format!("[file: {}]", file.name)))
    };
    let sender = earlier.sender_chat.as_ref().and_then(|chat| chat.title.clone());
    Some(Quoted {
        platform_message: earlier.message_id.to_string(),
        author: sender.or_else(|| earlier.from.as_ref().map(super::wire::User::name)),
        text: clipped(&part.or_else(whole).or_else(other).unwrap_or_default()),
    })
}

/// The original author of a forwarded message.
pub(super) fn origin(origin: &ForwardOrigin) -> Option<String> {
    let title = |chat: &Option<super::wire::Chat>| chat.as_ref().and_then(|chat| chat.title.clone());
    let user = origin.sender_user.as_ref().map(super::wire::User::name);
    user.or_else(|| origin.sender_user_name.clone())
        .or_else(|| title(&origin.sender_chat))
        .or_else(|| title(&origin.chat))
}

fn clipped(text: &str) -> String {
    if text.chars().nth(LONGEST_QUOTE).is_none() {
        return text.to_owned();
    }
    text.chars().take(LONGEST_QUOTE).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(fields: Value) -> Message {
        let mut whole = json!({ "message_id": 5, "chat": { "id": 7 } });
        whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn every_sort_of_file_has_a_name_and_a_type() {
        let file = json!({ "file_id": "F", "file_size": 9 });
        let named = json!({ "file_id": "F", "file_name": "报告.pdf", "mime_type": "application/pdf" });
        let huge = json!({ "file_id": "H", "file_size": LARGEST_FILE + 1 });
        for (fields, name, media_type) in [
            (json!({ "photo": [{ "file_id": "s" }, file, huge] }), "photo.jpg", "image/jpeg"),
            (json!({ "document": named }), "报告.pdf", "application/pdf"),
            (json!({ "voice": file }), "voice.ogg", "audio/ogg"),
            (json!({ "audio": file }), "audio.mp3", "audio/mpeg"),
            (json!({ "video": file }), "video.mp4", "video/mp4"),
            (json!({ "video_note": file }), "video-note.mp4", "video/mp4"),
            (json!({ "animation": file, "document": file }), "animation.mp4", "video/mp4"),
        ] {
            let found = attachments(&message(fields.clone()), None);
            assert_eq!(found.len(), 1, "{fields}");
            assert_eq!((found[0].locator.as_str(), found[0].name.as_str()), (Some("F"), name), "{fields}");
            assert_eq!(
                (found[0].media_type.as_str(), found[0].prefix.as_str()),
                (media_type, "5-"),
                "{fields}"
            );
        }
        let moved = attachments(&message(json!({ "voice": file })), Some(-100));
        assert_eq!(moved[0].prefix, "-100-5-");
        assert_eq!(attachments(&message(json!({ "text": "x" })), None), []);
    }

    #[test]
    fn what_has_no_words_is_told_in_words() {
        for (fields, told) in [
            (json!({ "sticker": { "emoji": "🚢" } }), "[sticker 🚢]"),
            (json!({ "location": { "latitude": 1.5, "longitude": -2.0 } }), "[location: 1.5, -2]"),
            (
                json!({ "venue": { "title": "Pier", "address": "Quay 1", "location": { "latitude": 1.0, "longitude": 2.0 } },
                    "location": { "latitude": 1.0, "longitude": 2.0 } }),
                "[venue: Pier, Quay 1 (1, 2)]",
            ),
            (json!({ "contact": { "first_name": "Ann", "phone_number": "+1" } }), "[contact: Ann, +1]"),
            (
                json!({ "poll": { "question": "Tea?", "options": [{ "text": "yes" }, { "text": "no" }] } }),
                "[poll: Tea? — yes / no]",
            ),
            (json!({ "dice": { "emoji": "🎲", "value": 4 } }), "[dice 🎲: 4]"),
        ] {
            assert_eq!(described(&message(fields)).as_deref(), Some(told));
        }
        assert_eq!(described(&message(json!({ "text": "x" }))), None);
    }

    #[test]
    fn a_reply_tells_what_it_replies_to_and_a_topic_is_no_reply() {
        let earlier = json!({ "message_id": 3, "chat": { "id": 7 }, "from": { "id": 8, "first_name": "Bo" },
            "text": "the whole" });
        let reply = message(json!({ "reply_to_message": earlier, "quote": { "text": "whole" } }));
        let expected = |text: &str| Quoted {
            platform_message: "3".into(),
            author: Some("Bo".into()),
            text: text.into(),
        };
        assert_eq!(quoted(&reply), Some(expected("whole")));
        assert_eq!(quoted(&message(json!({ "reply_to_message": earlier }))), Some(expected("the whole")));
        let mut opened = earlier;
        opened["forum_topic_created"] = json!({ "name": "t" });
        assert_eq!(quoted(&message(json!({ "reply_to_message": opened }))), None);
        let long = message(json!({ "quote": { "text": "长".repeat(3000) } }));
        assert_eq!(quoted(&long).unwrap().text.chars().count(), LONGEST_QUOTE + 1);
    }

    #[test]
    fn whoever_wrote_what_is_passed_on_is_named() {
        for (fields, name) in [
            (
                json!({ "type": "user", "sender_user": { "id": 1, "first_name": "A", "last_name": "B" } }),
                "A B",
            ),
            (json!({ "type": "hidden_user", "sender_user_name": "Hidden" }), "Hidden"),
            (json!({ "type": "chat", "sender_chat": { "id": -1, "title": "Group" } }), "Group"),
            (json!({ "type": "channel", "chat": { "id": -2, "title": "SandboxUpdates" } }), "SandboxUpdates"),
        ] {
            assert_eq!(origin(&serde_json::from_value(fields).unwrap()).as_deref(), Some(name));
        }
    }
}
