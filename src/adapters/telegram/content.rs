//! The content of a message: its text with mentions and commands, files to download, and other contents described as text.
//!
//! Telegram counts in UTF-16 units, and so does this module; an offset inside a character matches nothing. Text without
//! entities, from a server that leaves them out, is searched for names as whole words.

use std::ops::Range;

use serde_json::Value;

use super::wire::{Chat, Entity, File, ForwardOrigin, Me, Message, User};
use crate::adapters::chat::inbound::{Attachment, InboundFileKind};
use crate::domain::Quoted;

/// The minimum length of a Telegram user name.
const SHORTEST_NAME: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedText {
    /// The text without the agent's own name.
    pub(super) text: String,
    pub(super) mentions_me: bool,
    /// It begins with a command for the agent, or contains one that names it.
    pub(super) commands_me: bool,
    /// It mentions another, or contains a command for another bot.
    pub(super) names_another: bool,
    /// Its first word is a command for another bot.
    pub(super) for_another_bot: bool,
    /// The text with strike-through, quotes and code as Markdown, if there is such formatting.
    pub(super) marked_up: Option<String>,
}

/// Parses a text with its entities.
pub(super) fn read_text(text: &str, entities: &[Entity], me: &Me) -> ParsedText {
    let mut words = ParsedText::default();
    let mut mine: Vec<Range<usize>> = Vec::new();
    for entity in entities {
        let Some(range) = range(text, entity.offset, entity.length) else { continue };
        let part = text.get(range.clone()).unwrap_or_default();
        let is_me = match entity.kind.as_str() {
            "mention" => me.is_called(part),
            "text_mention" => entity.user.as_ref().is_some_and(|user| user.id == me.id),
            "bot_command" => {
                command(&mut words, part, is_first(text, &range, &mine), me);
                continue;
            }
            _ => continue,
        };
        if is_me {
            words.mentions_me = true;
            mine.push(range);
        } else {
            words.names_another = true;
        }
    }
    if !words.mentions_me {
        mine.extend(unmarked(&mut words, text, entities, me));
    }
    let first = text.trim_start();
    let begins = |entity: &&Entity| entity.kind == "bot_command";
    if first.starts_with('/') && !entities.iter().any(|entity| begins(&entity)) {
        let word = first.split_whitespace().next().unwrap_or_default();
        if is_command(word) {
            command(&mut words, word, true, me);
        }
    }
    words.marked_up = marked_up(text, entities, &mine);
    words.text = without(text, mine);
    words
}

/// The text with its formatting as Markdown, and without the agent's own name. `None` if no part of it is struck
/// through, quoted, code or hidden; mentions, links and emphasis do not matter.
fn marked_up(text: &str, entities: &[Entity], mine: &[Range<usize>]) -> Option<String> {
    let mut signs: Vec<(usize, &str)> = Vec::new();
    for entity in entities {
        let part = range(text, entity.offset, entity.length);
        let inner = part.clone().and_then(|part| text.get(part)).unwrap_or_default();
        let sign = match entity.kind.as_str() {
            "strikethrough" => "~~",
            "code" if !inner.contains(['`', '\n']) => "`",
            "code" | "pre" | "blockquote" | "expandable_blockquote" | "spoiler" | "unreadable" => "```",
            _ => continue,
        };
        let part = part.unwrap_or(0..text.len());
        signs.extend([(part.start, sign), (part.end, sign)]);
    }
    if signs.is_empty() {
        return None;
    }
    signs.sort_by_key(|(at, _)| *at);
    let mut out = String::new();
    let mut from = 0;
    for (at, sign) in &signs {
        out.push_str(text.get(from..*at).unwrap_or_default());
        out.push_str(sign);
        from = *at;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    let shifted = |at: usize, until: usize| {
        at + signs.iter().filter(|(place, _)| *place < until).map(|(_, sign)| sign.len()).sum::<usize>()
    };
    let mine =
        mine.iter().map(|name| shifted(name.start, name.start + 1)..shifted(name.end, name.end)).collect();
    Some(without(&out, mine))
}

/// Finds names without an entity. Returns the ranges of the agent's own.
fn unmarked(words: &mut ParsedText, text: &str, entities: &[Entity], me: &Me) -> Vec<Range<usize>> {
    let quoted: Vec<Range<usize>> = entities
        .iter()
        .filter(|entity| !matches!(entity.kind.as_str(), "bold" | "italic" | "underline" | "spoiler"))
        .filter_map(|entity| range(text, entity.offset, entity.length))
        .collect();
    let mut mine = Vec::new();
    let mut before = None;
    for (at, letter) in text.char_indices() {
        let alone =
            before.is_none_or(|before: char| !before.is_ascii_alphanumeric() && !"@_/.".contains(before));
        before = Some(letter);
        if letter != '@' || !alone || quoted.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let rest = text.get(at + 1..).unwrap_or_default();
        let length = rest.find(|c: char| !is_of_a_name(c)).unwrap_or(rest.len());
        let end = at + 1 + length;
        if me.is_called(text.get(at..end).unwrap_or_default()) {
            words.mentions_me = true;
            mine.push(at..end);
        } else if entities.is_empty() && length >= SHORTEST_NAME {
            words.names_another = true;
        }
    }
    mine
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Whether a word can be a command; a path cannot.
fn is_command(word: &str) -> bool {
    let word = word.strip_prefix('/').unwrap_or_default();
    let (name, bot) = word.split_once('@').unwrap_or((word, "bot"));
    let fits = |part: &str| !part.is_empty() && part.chars().all(is_of_a_name);
    fits(name) && fits(bot)
}

fn command(words: &mut ParsedText, part: &str, first: bool, me: &Me) {
    match part.find('@').and_then(|at| part.get(at..)) {
        // A path such as /usr looks like a command; only the first word can be one.
        None => words.commands_me |= first,
        Some(name) if me.is_called(name) => words.commands_me = true,
        Some(_) => {
            words.names_another = true;
            words.for_another_bot |= first;
        }
    }
}

/// Whether only the agent's own name precedes a part.
fn is_first(text: &str, part: &Range<usize>, mine: &[Range<usize>]) -> bool {
    let begin = mine.iter().map(|range| range.end).max().filter(|end| *end <= part.start).unwrap_or(0);
    let before = mine.iter().map(|range| range.start).min().unwrap_or(0);
    let blank = |range| text.get(range).is_some_and(|between: &str| between.trim().is_empty());
    blank(begin..part.start) && (begin == 0 || blank(0..before))
}

/// Converts a range of UTF-16 units to bytes.
pub(super) fn range(text: &str, offset: usize, length: usize) -> Option<Range<usize>> {
    let (start, end) = (offset, offset.checked_add(length)?);
    let mut units = 0;
    let mut begin = None;
    for (at, letter) in text.char_indices().map(|(at, c)| (at, Some(c))).chain([(text.len(), None)]) {
        if units == start && begin.is_none() {
            begin = Some(at);
        }
        if units == end {
            return begin.map(|begin| begin..at);
        }
        units += letter.map_or(1, char::len_utf16);
    }
    None
}

/// Removes these parts and the blanks that they leave. A text that consists of names only stays unchanged.
fn without(text: &str, mut parts: Vec<Range<usize>>) -> String {
    if parts.is_empty() {
        return text.to_owned();
    }
    parts.sort_by_key(|part| part.start);
    let mut out = String::new();
    let mut from = 0;
    for part in parts {
        out.push_str(text.get(from..part.start).unwrap_or_default());
        from = from.max(part.end);
        // The blank before a name is removed where another follows it.
        if out.ends_with(' ') && text.get(from..).is_some_and(|rest| rest.starts_with(' ')) {
            out.pop();
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    let trimmed = out.trim();
    if trimmed.is_empty() { text.to_owned() } else { trimmed.to_owned() }
}

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

/// The replied-to message.
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
        author: sender.or_else(|| earlier.from.as_ref().map(User::name)),
        text: clipped(&part.or_else(whole).or_else(other).unwrap_or_default()),
    })
}

/// The original author of a forwarded message.
pub(super) fn origin(origin: &ForwardOrigin) -> Option<String> {
    let title = |chat: &Option<Chat>| chat.as_ref().and_then(|chat| chat.title.clone());
    let user = origin.sender_user.as_ref().map(User::name);
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
mod text_tests {
    use proptest::prelude::*;

    use super::*;

    fn me() -> Me {
        Me { id: 42, username: "ship_bot".into(), ..Me::default() }
    }

    fn entity(kind: &str, text: &str, part: &str) -> Entity {
        let before = text.split_once(part).unwrap().0;
        Entity {
            kind: kind.to_owned(),
            offset: before.encode_utf16().count(),
            length: part.encode_utf16().count(),
            user: None,
        }
    }

    #[test]
    fn the_agents_name_is_found_and_taken_out() {
        for (text, part, kind, left, mentions, commands, another) in [
            ("@ship_bot hello", "@ship_bot", "mention", "hello", true, false, false),
            ("👨‍👩‍👧 hi @Ship_Bot there", "@Ship_Bot", "mention", "👨‍👩‍👧 hi there", true, false, false),
            ("@ship_bot", "@ship_bot", "mention", "@ship_bot", true, false, false),
            ("hello @bob", "@bob", "mention", "hello @bob", false, false, true),
            ("/stop", "/stop", "bot_command", "/stop", false, true, false),
            ("/stop@SHIP_bot now", "/stop@SHIP_bot", "bot_command", "/stop@SHIP_bot now", false, true, false),
            ("/stop@other_bot", "/stop@other_bot", "bot_command", "/stop@other_bot", false, false, true),
            ("look at /usr please", "/usr", "bot_command", "look at /usr please", false, false, false),
            ("a #tag", "#tag", "hashtag", "a #tag", false, false, false),
        ] {
            let words = read_text(text, &[entity(kind, text, part)], &me());
            assert_eq!(
                (words.text.as_str(), words.mentions_me, words.commands_me, words.names_another),
                (left, mentions, commands, another),
                "{text}"
            );
        }
    }

    #[test]
    fn a_command_behind_the_name_is_first_and_a_person_is_known_by_number() {
        let text = "@ship_bot /stop";
        let words = read_text(
            text,
            &[entity("mention", text, "@ship_bot"), entity("bot_command", text, "/stop")],
            &me(),
        );
        assert_eq!((words.text.as_str(), words.commands_me), ("/stop", true));
        let text = "ask Ship about it";
        let user =
            |id| User { id, is_bot: true, first_name: "Ship".into(), last_name: None, language_code: None };
        for (id, mentions) in [(42, true), (43, false)] {
            let named = Entity { user: Some(user(id)), ..entity("text_mention", text, "Ship") };
            let words = read_text(text, &[named], &me());
            assert_eq!((words.mentions_me, words.names_another), (mentions, !mentions));
        }
    }

    #[test]
    fn what_is_struck_through_quoted_or_code_is_marked_in_what_a_decision_is_read_from() {
        for (kind, text, part, expected) in [
            ("strikethrough", "yes", "yes", Some("~~yes~~")),
            ("strikethrough", "approve A1", "A1", Some("approve ~~A1~~")),
            ("code", "approve git status", "git status", Some("approve `git status`")),
            ("code", "x` approve `y", "x` approve `y", Some("```x` approve `y```")),
            ("pre", "yes", "yes", Some("```yes```")),
            ("blockquote", "yes", "yes", Some("```yes```")),
            ("expandable_blockquote", "好 yes", "yes", Some("好 ```yes```")),
            ("spoiler", "yes", "yes", Some("```yes```")),
            ("bold", "yes", "yes", None),
            ("italic", "yes", "yes", None),
            ("url", "yes", "yes", None),
        ] {
            let words = read_text(text, &[entity(kind, text, part)], &me());
            assert_eq!(words.marked_up.as_deref(), expected, "{kind} {text}");
            assert_eq!(words.text, text, "{kind}: the text stays as it is");
        }
        // A part outside of the text may be all of it.
        let lost = Entity { offset: 90, ..entity("strikethrough", "yes", "yes") };
        assert_eq!(read_text("yes", &[lost], &me()).marked_up.as_deref(), Some("~~yes~~"));
        let text = "@ship_bot 😀 yes";
        let both = [entity("mention", text, "@ship_bot"), entity("strikethrough", text, "yes")];
        assert_eq!(read_text(text, &both, &me()).marked_up.as_deref(), Some("😀 ~~yes~~"));
    }

    #[test]
    fn names_and_commands_are_known_without_entities_too() {
        for (text, left, mentions, commands, another) in [
            ("@ship_bot hello", "hello", true, false, false),
            ("你好@Ship_Bot，在吗", "你好，在吗", true, false, false),
            ("你好 @Ship_Bot，在吗", "你好 ，在吗", true, false, false),
            ("(@ship_bot)", "()", true, false, false),
            ("@ship_bot2 hello", "@ship_bot2 hello", false, false, true),
            ("mail me@ship_bot.com", "mail me@ship_bot.com", false, false, false),
            ("@bob hello", "@bob hello", false, false, false),
            ("@other_bot hello", "@other_bot hello", false, false, true),
            ("/stop", "/stop", false, true, false),
            ("/stop@ship_bot", "/stop@ship_bot", false, true, false),
            ("/stop@other_bot", "/stop@other_bot", false, false, true),
            ("/usr/bin is full", "/usr/bin is full", false, false, false),
        ] {
            let words = read_text(text, &[], &me());
            assert_eq!(
                (words.text.as_str(), words.mentions_me, words.commands_me, words.names_another),
                (left, mentions, commands, another),
                "{text}"
            );
        }
        let text = "run `@ship_bot` there";
        let code = entity("code", text, "@ship_bot");
        assert!(!read_text(text, &[code], &me()).mentions_me, "a name in code is no name");
    }

    #[test]
    fn a_count_inside_a_character_names_nothing() {
        assert_eq!(range("😀a", 1, 1), None);
        assert_eq!(range("😀a", 0, 1), None);
        assert_eq!(range("😀a", 2, 1), Some(4..5));
        assert_eq!(range("", 0, 0), Some(0..0));
        assert_eq!(range("a", 1, usize::MAX), None);
    }

    proptest! {
        #[test]
        fn whatever_stands_around_it_the_name_is_found_and_only_it_is_taken_out(
            before in "\\PC{0,20}", after in "\\PC{0,20}",
        ) {
            let text = format!("{before}@ship_bot{after}");
            let named = Entity {
                kind: "mention".to_owned(), offset: before.encode_utf16().count(), length: 9, user: None,
            };
            let words = read_text(&text, &[named], &me());
            prop_assert!(words.mentions_me);
            let squeeze = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let expected = squeeze(&format!("{before}{after}"));
            if expected.is_empty() {
                prop_assert_eq!(words.text, text);
            } else {
                prop_assert_eq!(squeeze(&words.text), expected);
            }
        }

        #[test]
        fn no_entity_does_harm(
            text in any::<String>(),
            entities in proptest::collection::vec((0..4_usize, 0..40_usize, 0..40_usize), 0..6),
        ) {
            let kinds = ["mention", "text_mention", "bot_command", "bold"];
            let entities: Vec<Entity> = entities.into_iter().map(|(kind, offset, length)| {
                Entity { kind: kinds[kind].to_owned(), offset, length, user: None }
            }).collect();
            let words = read_text(&text, &entities, &me());
            prop_assert!(words.text.len() <= text.len());
        }

        #[test]
        fn a_range_is_what_utf16_says(text in any::<String>(), offset in 0..30_usize, length in 0..30_usize) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let expected = units.get(offset..offset + length).and_then(|part| String::from_utf16(part).ok());
            let part = range(&text, offset, length).and_then(|range| text.get(range).map(str::to_owned));
            // Half characters on both sides may form a whole one that is not in the text.
            if let Some(part) = part {
                prop_assert_eq!(Some(part), expected);
            }
        }
    }
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
