//! Parses updates into events of the inbound pipeline. Without I/O: the caller passes the context.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chat_target::{Aliases, ChatTarget};
use super::content::{ParsedText, attachments, described, origin, quoted, read_text};
use super::wire::{CallbackQuery, Chat, Me, MemberChange, Message, StoppedDraft, Update, User};
use crate::adapters::chat::inbound::{Content, Inbound, InboundMessage, Press, thread_of};
use crate::adapters::chat::{AddressingFacts, PeerBook, Threading};
use crate::domain::{
    Author, AuthorId, AuthorRole, BadId, ChatKind, Command, CommandInvocation, Language, MessageId,
    PeerWords, Platform, Said, SpeakerKind, ThreadId, Timestamp,
};

/// What the pipeline keeps for the adapter with a press.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TelegramPressDetail {
    pub(super) id: String,
    /// The message of the button; Telegram omits it for old ones.
    pub(super) shown: Option<PressedMessage>,
}

/// The message of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PressedMessage {
    pub(super) place: ChatTarget,
    pub(super) kind: ChatKind,
    pub(super) message: i64,
}

/// An event that concerns Telegram alone: [`Inbound::Platform`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PlatformEvent {
    /// The bot was added to a chat.
    Invited { chat: i64, by: Author, language: Option<Language> },
    /// A group migrated to a new id; the aliases in memory know it already.
    Moved,
}

/// The context for parsing updates.
#[derive(Clone, Debug)]
pub(super) struct UpdateReader {
    pub(super) platform: Platform,
    pub(super) me: Me,
    pub(super) aliases: Aliases,
    pub(super) threading: Threading,
    pub(super) peers: PeerBook,
}

impl UpdateReader {
    /// The event of an update; `None` where it has no effect.
    pub(super) fn read(&self, number: i64, update: Update, now: Timestamp) -> Result<Option<Inbound>, BadId> {
        if let Some(message) = update.message {
            return self.message(number, &message, false, now);
        }
        if let Some(message) = update.edited_message {
            return self.message(number, &message, true, now);
        }
        if let Some(query) = update.callback_query {
            return self.pressed(query).map(|press| Some(Inbound::Press(Box::new(press))));
        }
        if let Some(change) = update.my_chat_member {
            return self.member(number, &change);
        }
        if let Some(stopped) = update.stopped_message_generation {
            return self
                .stopped(number, &stopped, now)
                .map(|message| Some(Inbound::Message(Box::new(message))));
        }
        Ok(ignored("a kind of update that is not served"))
    }

    fn message(
        &self,
        number: i64,
        message: &Message,
        edited: bool,
        now: Timestamp,
    ) -> Result<Option<Inbound>, BadId> {
        let chat = &message.chat;
        let moved = message.migrate_to_chat_id.map(|to| (chat.id, to));
        if let Some((from, to)) = moved.or(message.migrate_from_chat_id.map(|from| (from, chat.id))) {
            // In memory at once, so that the next update finds its thread; stored before the update is confirmed.
            self.aliases.learn(from, to);
            return Ok(Some(platform_event(format!("moved {number}"), &PlatformEvent::Moved)));
        }
        let Some(kind) = kind_of(chat) else { return Ok(ignored("a post in a channel")) };
        let Some(author) = self.author(message, kind)? else {
            return Ok(ignored("a message of another bot or of nobody"));
        };
        let peer = self.other_bot(message, kind).map(|_| unknown_program());
        if edited && peer.is_some() {
            return Ok(ignored("a correction of another bot"));
        }
        if edited && message.media_group_id.is_some() {
            // The other parts are missing, so it could only be recorded without them.
            return Ok(ignored("a correction of a part of an album"));
        }
        let (text, marked) = match (&message.text, &message.caption) {
            (Some(text), _) => (text.as_str(), message.entities.as_slice()),
            (None, Some(caption)) => (caption.as_str(), message.caption_entities.as_slice()),
            (None, None) => ("", [].as_slice()),
        };
        let words = read_text(text, marked, &self.me);
        let moved_to = Some(chat.id).filter(|id| self.aliases.original(*id) != *id);
        let attachments = attachments(message, moved_to);
        let told = described(message);
        if words.text.is_empty() && attachments.is_empty() && told.is_none() {
            return Ok(ignored("a message without content"));
        }
        let place = ChatTarget { chat: chat.id, topic: self.topic(message, kind) };
        let at = message.edit_date.filter(|_| edited).unwrap_or(message.date);
        let at = if at > 0 { Timestamp::from_millis(at.saturating_mul(1000)) } else { now };
        if peer.is_some() {
            self.peers.heard_bot(at);
        }
        let facts = self.facts(message, &words);
        let id = format!("{}:{}", chat.id, message.message_id);
        Ok(Some(Inbound::Message(Box::new(InboundMessage {
            key: if edited { format!("edit {id} {number}") } else { format!("message {id}") },
            thread: self.thread(place, kind, &author)?,
            chats: self.chat_ids(chat.id),
            kind,
            message: self.message_id(&id)?,
            platform_message: message.message_id.to_string(),
            at,
            facts,
            language: message.from.as_ref().and_then(language_of),
            admin: None,
            album: message.media_group_id.clone(),
            content: content(words, !attachments.is_empty(), told, message, edited, peer),
            attachments,
            detail: serde_json::to_value(place).unwrap_or_default(),
            author,
        }))))
    }

    /// All ids that a chat has had, the current one last: the settings may name any of them.
    pub(super) fn chat_ids(&self, chat: i64) -> Vec<String> {
        let mut ids = vec![self.aliases.original(chat), chat, self.aliases.current(chat)];
        ids.dedup();
        ids.iter().map(i64::to_string).collect()
    }

    fn message_id(&self, text: &str) -> Result<MessageId, BadId> {
        format!("{}:{text}", self.platform.as_str()).parse()
    }

    fn topic(&self, message: &Message, kind: ChatKind) -> Option<i64> {
        // A plain reply in a group without topics has a `message_thread_id` too.
        let allowed = kind == ChatKind::Group || self.me.topics;
        let plain = message.reply_to_message.is_some() || !message.chat.is_forum;
        message.message_thread_id.filter(|_| allowed && (message.is_topic_message || !plain))
    }

    fn thread(&self, place: ChatTarget, kind: ChatKind, author: &Author) -> Result<ThreadId, BadId> {
        let chat = self.aliases.original(place.chat).to_string();
        let topic = place.topic.map(|topic| topic.to_string());
        let user = author.id.as_str().rsplit(':').next().unwrap_or_default();
        thread_of(&self.platform, self.threading, &chat, topic.as_deref(), kind, user)
    }

    /// The author of a message. A message in the name of a chat has no identifiable person.
    fn author(&self, message: &Message, kind: ChatKind) -> Result<Option<Author>, BadId> {
        if let Some(chat) = &message.sender_chat {
            let id = AuthorId::new(&self.platform, &chat.id.to_string())?;
            return Ok(Some(Author { id, name: chat.title.clone(), role: AuthorRole::Anonymous }));
        }
        match message.from.as_ref().filter(|user| !user.is_bot).or_else(|| self.other_bot(message, kind)) {
            Some(user) => self.person(user).map(Some),
            // A direct chat has one person, whose id is the chat id.
            None if kind == ChatKind::Direct && message.from.is_none() => {
                let id = AuthorId::new(&self.platform, &message.chat.id.to_string())?;
                Ok(Some(Author { id, name: None, role: AuthorRole::Person }))
            }
            None => Ok(None),
        }
    }

    /// Another bot that writes in a group, where bots are heard.
    fn other_bot<'a>(&self, message: &'a Message, kind: ChatKind) -> Option<&'a User> {
        let heard = kind == ChatKind::Group && message.sender_chat.is_none() && self.peers.hears_bots();
        message.from.as_ref().filter(|user| heard && user.is_bot && user.id != self.me.id)
    }

    fn person(&self, user: &User) -> Result<Author, BadId> {
        let role = if user.is_bot { AuthorRole::Anonymous } else { AuthorRole::Person };
        let name = Some(user.name()).filter(|name| !name.trim().is_empty());
        Ok(Author { id: AuthorId::new(&self.platform, &user.id.to_string())?, name, role })
    }

    fn facts(&self, message: &Message, words: &ParsedText) -> AddressingFacts {
        let earlier =
            message.reply_to_message.as_deref().filter(|earlier| earlier.forum_topic_created.is_none());
        let replied = earlier.map(|earlier| earlier.from.as_ref().is_some_and(|user| user.id == self.me.id));
        AddressingFacts {
            mentions_me: words.mentions_me,
            replies_to_me: replied == Some(true),
            commands_me: words.commands_me,
            turns_to_another: words.names_another || replied == Some(false),
        }
    }

    fn pressed(&self, query: CallbackQuery) -> Result<Press, BadId> {
        let shown = query.message.map(|shown| PressedMessage {
            place: ChatTarget {
                chat: shown.chat.id,
                topic: shown.message_thread_id.filter(|_| shown.is_topic_message),
            },
            // A channel is not served; a press there is answered all the same.
            kind: kind_of(&shown.chat).unwrap_or(ChatKind::Group),
            message: shown.message_id,
        });
        Ok(Press {
            key: format!("press {}", query.id),
            author: self.person(&query.from)?,
            message: self.message_id(&format!("press:{}", query.id))?,
            platform_message: shown.map_or(0, |shown| shown.message).to_string(),
            data: query.data.unwrap_or_default(),
            at: None,
            language: language_of(&query.from),
            admin: None,
            detail: serde_json::to_value(TelegramPressDetail { id: query.id, shown }).unwrap_or_default(),
        })
    }

    fn member(&self, number: i64, change: &MemberChange) -> Result<Option<Inbound>, BadId> {
        let (before, now) = (change.old_chat_member.is_in(), change.new_chat_member.is_in());
        match (before, now) {
            (false, true) if kind_of(&change.chat) != Some(ChatKind::Direct) => {
                let (by, language) = (self.person(&change.from)?, language_of(&change.from));
                let invited = PlatformEvent::Invited { chat: change.chat.id, by, language };
                Ok(Some(platform_event(format!("invited {number}"), &invited)))
            }
            (true, false) => {
                tracing::warn!(chat = change.chat.id, "bot removed or blocked");
                Ok(None)
            }
            _ => Ok(ignored("membership change without effect")),
        }
    }

    fn stopped(&self, number: i64, stopped: &StoppedDraft, now: Timestamp) -> Result<InboundMessage, BadId> {
        let id = stopped.chat.id;
        // Drafts exist only in direct chats, where the chat id is the person's id.
        let person = AuthorId::new(&self.platform, &id.to_string())?;
        let author = Author { id: person, name: None, role: AuthorRole::Person };
        let topic = stopped.message_thread_id.filter(|_| self.me.topics);
        let place = ChatTarget { chat: id, topic };
        let key = format!("{id}:stop:{number}");
        Ok(InboundMessage {
            thread: self.thread(place, ChatKind::Direct, &author)?,
            chats: self.chat_ids(id),
            kind: ChatKind::Direct,
            message: self.message_id(&key)?,
            platform_message: "0".to_owned(),
            at: now,
            facts: AddressingFacts::default(),
            language: None,
            admin: None,
            album: None,
            content: Content::Command(Command::Stop.into()),
            attachments: Vec::new(),
            detail: serde_json::to_value(place).unwrap_or_default(),
            author,
            key,
        })
    }
}

fn platform_event(key: String, event: &PlatformEvent) -> Inbound {
    Inbound::Platform { key, event: serde_json::to_value(event).unwrap_or(Value::Null) }
}

/// An update without effect, with the reason.
fn ignored(why: &str) -> Option<Inbound> {
    tracing::debug!(why, "update ignored");
    None
}

/// The author of a forwarded message where Telegram omits it.
const UNKNOWN: &str = "unknown";

/// Another bot; who it is the core finds out.
const fn unknown_program() -> PeerWords {
    PeerWords { kind: SpeakerKind::Bot, agent: None, via: None, chain: None, depth: 1 }
}

fn content(
    words: ParsedText,
    has_files: bool,
    told: Option<String>,
    message: &Message,
    edited: bool,
    peer: Option<PeerWords>,
) -> Content {
    // A forwarded text is no command of the person who forwarded it.
    let forwarded =
        message.forward_origin.is_some() || message.forward_date.is_some() || message.is_automatic_forward;
    let automatic =
        message.via_bot.is_some() || message.sender_business_bot.is_some() || message.is_from_offline;
    let own = !forwarded && !automatic && words.marked_up.is_none();
    // A program gives no commands.
    let alone = !has_files && !edited && !words.for_another_bot && own && peer.is_none();
    if alone && let Some(order) = CommandInvocation::parse(&words.text) {
        return Content::Command(order);
    }
    let (word, rest) = first_word(&words.text);
    if alone && word == "/start" {
        return Content::Started(Some(rest).filter(|code| !code.is_empty()));
    }
    // `/ask` works in a group where the bot receives only commands.
    let asked = word == "/ask" && !rest.is_empty() && !words.for_another_bot;
    // Text with an added description is never read as a decision.
    let marked_up = words.marked_up.filter(|_| told.is_none() && !has_files);
    let mut text = if asked { rest } else { words.text };
    if let Some(told) = told {
        text = if text.is_empty() { told } else { format!("{text}\n\n{told}") };
    }
    let from = message.forward_origin.as_ref().and_then(origin);
    let said = Said {
        text,
        quoted: quoted(message),
        forwarded_from: forwarded.then(|| from.unwrap_or_else(|| UNKNOWN.to_owned())),
        marked_up,
        automatic,
        peer,
        ..Said::default()
    };
    if edited { Content::Edited(said) } else { Content::Said(said) }
}

/// The first word, without a bot's name after it, and the rest.
fn first_word(text: &str) -> (String, String) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word.split('@').next().unwrap_or_default().to_ascii_lowercase(), rest.trim().to_owned())
}

fn kind_of(chat: &Chat) -> Option<ChatKind> {
    match chat.kind.as_str() {
        "private" => Some(ChatKind::Direct),
        "group" | "supergroup" => Some(ChatKind::Group),
        // The sign of the id also tells the kind.
        "" => Some(if chat.id > 0 { ChatKind::Direct } else { ChatKind::Group }),
        _ => None,
    }
}

fn language_of(user: &User) -> Option<Language> {
    let code = user.language_code.as_deref()?;
    Some(if code.starts_with("zh") { Language::Zh } else { Language::En })
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
