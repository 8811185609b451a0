//! Parses updates into events. Pure: the caller passes the context.

use super::aliases::Aliases;
use super::chat_target::ChatTarget;
use super::contents::{Attachment, described, files, origin, quoted};
use super::entities::{self, Words};
use super::identity::Me;
use super::wire::{CallbackQuery, Chat, MemberChange, Message, StoppedDraft, Update, User};
use crate::adapters::chat::{Facts, Threading};
use crate::domain::{
    Author, AuthorId, AuthorRole, BadId, ChatKind, Command, CommandInvocation, Language, MessageId, Platform,
    Said, ThreadId, Timestamp,
};

#[derive(Clone, Debug)]
pub(super) enum InboundEvent {
    /// A person sent or edited a message, or gave a command.
    InboundMessage(Box<InboundMessage>),
    /// A person pressed a button.
    Pressed(Box<Press>),
    /// The bot was added to a chat.
    Invited(Invitation),
    /// The bot was removed from a chat, or blocked.
    Expelled(i64),
    /// A group migrated to a new id.
    Moved { from: i64, to: i64 },
    /// An update without effect, with the reason.
    Nothing(&'static str),
}

/// A message, an edit or a command.
#[derive(Clone, Debug)]
pub(super) struct InboundMessage {
    pub(super) thread: ThreadId,
    pub(super) place: ChatTarget,
    pub(super) author: Author,
    pub(super) chat: ChatKind,
    pub(super) message: MessageId,
    pub(super) message_id: i64,
    pub(super) at: Timestamp,
    pub(super) facts: Facts,
    pub(super) language: Option<Language>,
    /// The album that it belongs to.
    pub(super) album: Option<String>,
    pub(super) what: What,
}

/// The kind of a message.
#[derive(Clone, Debug)]
pub(super) enum What {
    Said(MessageContent),
    /// An edit of an earlier message.
    Edited(MessageContent),
    Ordered(CommandInvocation),
    /// `/start` in the chat with the bot, with the code of the link.
    Started(Option<String>),
}

/// Text, and files that are not downloaded yet.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageContent {
    pub(super) said: Said,
    pub(super) files: Vec<Attachment>,
}

#[derive(Clone, Debug)]
pub(super) struct Press {
    pub(super) id: String,
    pub(super) author: Author,
    pub(super) data: String,
    /// The message of the button; Telegram omits it for old ones.
    pub(super) shown: Option<Shown>,
    pub(super) language: Option<Language>,
}

/// The message of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) place: ChatTarget,
    pub(super) chat: ChatKind,
    pub(super) message_id: Option<i64>,
}

/// The bot was added to a chat.
#[derive(Clone, Debug)]
pub(super) struct Invitation {
    pub(super) chat: i64,
    pub(super) by: Author,
    pub(super) language: Option<Language>,
}

/// The context for parsing updates.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) platform: Platform,
    pub(super) me: Me,
    pub(super) aliases: Aliases,
    pub(super) threading: Threading,
}

impl Reader {
    pub(super) fn read(&self, number: i64, update: Update, now: Timestamp) -> Result<InboundEvent, BadId> {
        if let Some(message) = update.message {
            return self.message(&message, false, now);
        }
        if let Some(message) = update.edited_message {
            return self.message(&message, true, now);
        }
        if let Some(query) = update.callback_query {
            return self.pressed(query);
        }
        if let Some(change) = update.my_chat_member {
            return self.member(&change);
        }
        if let Some(stopped) = update.stopped_message_generation {
            return self.stopped(number, &stopped, now);
        }
        Ok(InboundEvent::Nothing("a kind of update that is not served"))
    }

    fn message(&self, message: &Message, edited: bool, now: Timestamp) -> Result<InboundEvent, BadId> {
        let chat = &message.chat;
        if let Some(to) = message.migrate_to_chat_id {
            return Ok(InboundEvent::Moved { from: chat.id, to });
        }
        if let Some(from) = message.migrate_from_chat_id {
            return Ok(InboundEvent::Moved { from, to: chat.id });
        }
        let Some(kind) = kind_of(chat) else { return Ok(InboundEvent::Nothing("a post in a channel")) };
        let Some(author) = self.author(message, kind)? else {
            return Ok(InboundEvent::Nothing("a message of another bot or of nobody"));
        };
        if edited && message.media_group_id.is_some() {
            // The other parts are missing, so it could only be recorded without them.
            return Ok(InboundEvent::Nothing("a correction of a part of an album"));
        }
        let (text, marked) = match (&message.text, &message.caption) {
            (Some(text), _) => (text.as_str(), message.entities.as_slice()),
            (None, Some(caption)) => (caption.as_str(), message.caption_entities.as_slice()),
            (None, None) => ("", [].as_slice()),
        };
        let words = entities::read(text, marked, &self.me);
        let files = files(message);
        let told = described(message);
        if words.text.is_empty() && files.is_empty() && told.is_none() {
            return Ok(InboundEvent::Nothing("a message without content"));
        }
        let place = ChatTarget { chat: chat.id, topic: self.topic(message, kind) };
        let at = message.edit_date.filter(|_| edited).unwrap_or(message.date);
        let at = if at > 0 { Timestamp::from_millis(at.saturating_mul(1000)) } else { now };
        let facts = self.facts(message, &words);
        let what = what(words, files, told, message, edited);
        Ok(InboundEvent::InboundMessage(Box::new(InboundMessage {
            thread: self.thread(place, kind, &author)?,
            place,
            chat: kind,
            message: self.message_id(&format!("{}:{}", chat.id, message.message_id))?,
            message_id: message.message_id,
            at,
            facts,
            language: message.from.as_ref().and_then(language_of),
            album: message.media_group_id.clone(),
            what,
            author,
        })))
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
        let thread = match place.topic {
            Some(topic) => ThreadId::of_topic(&self.platform, &chat, &topic.to_string())?,
            None => ThreadId::of_chat(&self.platform, &chat)?,
        };
        if self.threading == Threading::Shared || kind == ChatKind::Direct {
            return Ok(thread);
        }
        thread.for_user(author.id.as_str().rsplit(':').next().unwrap_or_default())
    }

    /// The author of a message. A message in the name of a chat has no identifiable person.
    fn author(&self, message: &Message, kind: ChatKind) -> Result<Option<Author>, BadId> {
        if let Some(chat) = &message.sender_chat {
            let id = AuthorId::new(&self.platform, &chat.id.to_string())?;
            return Ok(Some(Author { id, name: chat.title.clone(), role: AuthorRole::Anonymous }));
        }
        match message.from.as_ref().filter(|user| !user.is_bot) {
            Some(user) => self.person(user).map(Some),
            // A direct chat has one person, whose id is the chat id.
            None if kind == ChatKind::Direct && message.from.is_none() => {
                let id = AuthorId::new(&self.platform, &message.chat.id.to_string())?;
                Ok(Some(Author { id, name: None, role: AuthorRole::Person }))
            }
            None => Ok(None),
        }
    }

    fn person(&self, user: &User) -> Result<Author, BadId> {
        let role = if user.is_bot { AuthorRole::Anonymous } else { AuthorRole::Person };
        let name = Some(user.name()).filter(|name| !name.trim().is_empty());
        Ok(Author { id: AuthorId::new(&self.platform, &user.id.to_string())?, name, role })
    }

    fn facts(&self, message: &Message, words: &Words) -> Facts {
        let earlier =
            message.reply_to_message.as_deref().filter(|earlier| earlier.forum_topic_created.is_none());
        let replied = earlier.map(|earlier| earlier.from.as_ref().is_some_and(|user| user.id == self.me.id));
        Facts {
            mentions_me: words.mentions_me,
            replies_to_me: replied == Some(true),
            commands_me: words.commands_me,
            turns_to_another: words.names_another || replied == Some(false),
        }
    }

    fn pressed(&self, query: CallbackQuery) -> Result<InboundEvent, BadId> {
        let shown = query.message.map(|shown| Shown {
            place: ChatTarget {
                chat: shown.chat.id,
                topic: shown.message_thread_id.filter(|_| shown.is_topic_message),
            },
            // A channel is not served; a press there is answered all the same.
            chat: kind_of(&shown.chat).unwrap_or(ChatKind::Group),
            message_id: Some(shown.message_id),
        });
        Ok(InboundEvent::Pressed(Box::new(Press {
            author: self.person(&query.from)?,
            language: language_of(&query.from),
            id: query.id,
            data: query.data.unwrap_or_default(),
            shown,
        })))
    }

    fn member(&self, change: &MemberChange) -> Result<InboundEvent, BadId> {
        let (before, now) = (change.old_chat_member.is_in(), change.new_chat_member.is_in());
        match (before, now) {
            (false, true) if kind_of(&change.chat) != Some(ChatKind::Direct) => {
                Ok(InboundEvent::Invited(Invitation {
                    chat: change.chat.id,
                    by: self.person(&change.from)?,
                    language: language_of(&change.from),
                }))
            }
            (true, false) => Ok(InboundEvent::Expelled(change.chat.id)),
            _ => Ok(InboundEvent::Nothing("a change that changes nothing for us")),
        }
    }

    fn stopped(&self, number: i64, stopped: &StoppedDraft, now: Timestamp) -> Result<InboundEvent, BadId> {
        let id = stopped.chat.id;
        // Drafts exist only in direct chats, where the chat id is the person's id.
        let person = AuthorId::new(&self.platform, &id.to_string())?;
        let author = Author { id: person, name: None, role: AuthorRole::Person };
        let topic = stopped.message_thread_id.filter(|_| self.me.topics);
        let place = ChatTarget { chat: id, topic };
        Ok(InboundEvent::InboundMessage(Box::new(InboundMessage {
            thread: self.thread(place, ChatKind::Direct, &author)?,
            place,
            author,
            chat: ChatKind::Direct,
            message: self.message_id(&format!("{id}:stop:{number}"))?,
            message_id: 0,
            at: now,
            facts: Facts::default(),
            language: None,
            album: None,
            what: What::Ordered(Command::Stop.into()),
        })))
    }
}

/// The author of a forwarded message where Telegram omits it.
const UNKNOWN: &str = "unknown";

fn what(words: Words, files: Vec<Attachment>, told: Option<String>, message: &Message, edited: bool) -> What {
    // A forwarded text is no command of the person who forwarded it.
    let forwarded =
        message.forward_origin.is_some() || message.forward_date.is_some() || message.is_automatic_forward;
    let automatic =
        message.via_bot.is_some() || message.sender_business_bot.is_some() || message.is_from_offline;
    let own = !forwarded && !automatic && words.marked_up.is_none();
    let alone = files.is_empty() && !edited && !words.for_another_bot && own;
    if alone && let Some(order) = CommandInvocation::parse(&words.text) {
        return What::Ordered(order);
    }
    let (word, rest) = first_word(&words.text);
    if alone && word == "/start" {
        return What::Started(Some(rest).filter(|code| !code.is_empty()));
    }
    // `/ask` works in a group where the bot receives only commands.
    let asked = word == "/ask" && !rest.is_empty() && !words.for_another_bot;
    // Text with an added description is never read as a decision.
    let marked_up = words.marked_up.filter(|_| told.is_none() && files.is_empty());
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
        ..Said::default()
    };
    let parcel = MessageContent { said, files };
    if edited { What::Edited(parcel) } else { What::Said(parcel) }
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
