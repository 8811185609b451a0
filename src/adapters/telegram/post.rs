//! Putting messages into a chat, and getting around what the server minds: a group that moved, a topic that is gone,
//! markup it does not understand. Knows no intents.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use teloxide_core::payloads::{
    DeleteMessage, EditMessageText, EditMessageTextSetters as _, SendMessage, SendMessageSetters as _,
};
use teloxide_core::types::{
    ChatId, InlineKeyboardMarkup, LinkPreviewOptions, MessageId, ParseMode, ReplyParameters, ThreadId,
};

use super::aliases::Aliases;
use super::api::{Api, ApiError, Upload};
use super::classify::{Obstacle, obstacle};
use super::html::Rendered;
use super::limits::{Limits, Weight};
use super::place::Place;
use super::trail::{Trace, Trail};
use crate::domain::DeliveryId;
use crate::ports::Notebook;

/// A call gets around so many obstacles.
const DETOURS: u32 = 4;
/// How many messages are looked at for one that was sent without an answer.
const LOOKED_AT: i64 = 8;

/// What is put into a chat.
#[derive(Clone, Debug, Default)]
pub(super) struct Letter {
    /// The words, with markup and without.
    pub(super) words: Rendered,
    /// The message it answers.
    pub(super) reply_to: Option<i64>,
    /// The buttons under it.
    pub(super) keyboard: Option<InlineKeyboardMarkup>,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// The message says it now.
    Yes,
    /// The message cannot say it.
    No,
}

/// Puts messages into chats. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Post {
    api: Api,
    limits: Arc<Limits>,
    chats: Aliases,
    notes: Arc<dyn Notebook>,
    trail: Arc<Trail>,
}

/// The way a letter goes; each obstacle changes it.
#[derive(Clone, Copy, Debug)]
struct Way {
    place: Place,
    reply_to: Option<i64>,
    markup: bool,
}

impl Post {
    pub(super) fn new(api: Api, chats: Aliases, notes: Arc<dyn Notebook>) -> Self {
        let trail = Arc::new(Trail::new(notes.clone()));
        Self { api, limits: Arc::new(Limits::new()), chats, notes, trail }
    }

    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    /// Sends a letter; gives the number of the message.
    pub(super) async fn send(
        &self,
        place: Place,
        letter: &Letter,
        weight: Weight,
    ) -> Result<Option<i64>, ApiError> {
        let message = self.put(place, letter, weight).await?;
        self.noted(place, message).await;
        Ok(message)
    }

    async fn noted(&self, place: Place, message: Option<i64>) {
        if let Some(message) = message.filter(|_| !place.is_group()) {
            self.trail.arrived(place.chat, message, None).await;
        }
    }

    async fn put(&self, place: Place, letter: &Letter, weight: Weight) -> Result<Option<i64>, ApiError> {
        let mut way = Way { place, reply_to: letter.reply_to, markup: true };
        for _ in 0..DETOURS {
            self.turn(way.place, weight).await?;
            match self.api.call(&way.message(letter)).await {
                Ok(sent) => return Ok(number(&sent)),
                Err(error) => self.go_around(&mut way, error).await?,
            }
        }
        Err(lost())
    }

    /// Sends a letter that must not be sent twice: one that set out before and got no answer is looked for first. A
    /// message that says the same already proves itself by refusing to change.
    pub(super) async fn send_once(
        &self,
        place: Place,
        letter: &Letter,
        delivery: &DeliveryId,
        answers: Option<i64>,
    ) -> Result<Option<i64>, ApiError> {
        // In a topic others of the bot's messages may stand in between.
        if place.is_group() || place.topic.is_some() {
            return self.send(place, letter, Weight::Must).await;
        }
        match self.trail.trace(place.chat, delivery, answers).await {
            Trace::None => {}
            Trace::Is(message) => return Ok(Some(message)),
            Trace::Behind(behind) => {
                for message in behind + 1..=behind + LOOKED_AT {
                    if self.edit(place, message, letter, Weight::Must).await? == Edited::Yes {
                        self.trail.arrived(place.chat, message, Some(delivery)).await;
                        return Ok(Some(message));
                    }
                }
            }
        }
        self.trail.sets_out(place.chat, delivery).await;
        let message = self.put(place, letter, Weight::Must).await?;
        if let Some(message) = message {
            self.trail.arrived(place.chat, message, Some(delivery)).await;
        }
        Ok(message)
    }

    /// Sends a file with a letter as its caption.
    pub(super) async fn upload(
        &self,
        place: Place,
        method: &str,
        file: &Upload,
        letter: &Letter,
    ) -> Result<Option<i64>, ApiError> {
        let mut way = Way { place, reply_to: letter.reply_to, markup: true };
        for _ in 0..DETOURS {
            self.turn(way.place, Weight::Must).await?;
            match self.api.upload(method, way.fields(letter), file.clone()).await {
                Ok(sent) => {
                    self.noted(way.place, number(&sent)).await;
                    return Ok(number(&sent));
                }
                Err(error) => self.go_around(&mut way, error).await?,
            }
        }
        Err(lost())
    }

    /// Changes a message. A keyboard that the letter does not name goes away.
    pub(super) async fn edit(
        &self,
        place: Place,
        message: i64,
        letter: &Letter,
        weight: Weight,
    ) -> Result<Edited, ApiError> {
        let mut way = Way { place, reply_to: None, markup: true };
        for _ in 0..DETOURS {
            self.turn(way.place, weight).await?;
            let Err(error) = self.api.call(&way.change(message, letter)).await else {
                return Ok(Edited::Yes);
            };
            match obstacle(&error) {
                Obstacle::Unchanged => return Ok(Edited::Yes),
                Obstacle::NotEditable | Obstacle::TooLong => return Ok(Edited::No),
                Obstacle::Moved(to) => {
                    // Its messages stayed behind.
                    self.moved(place.chat, to).await;
                    return Ok(Edited::No);
                }
                _ => self.go_around(&mut way, error).await?,
            }
        }
        Err(lost())
    }

    /// Takes a message away, as far as that can be done.
    pub(super) async fn delete(&self, place: Place, message: i64) {
        let deleted = self.api.call(&DeleteMessage::new(ChatId(place.chat), id(message))).await;
        if let Err(error) = deleted {
            self.note(place, &error);
            tracing::debug!(chat = place.chat, message, %error, "a message could not be taken away");
        }
    }

    /// Any call about a chat that may be left out.
    pub(super) async fn ask(&self, place: Place, method: &str, body: &Value) -> Result<Value, ApiError> {
        let asked = self.api.ask(method, body, Duration::from_secs(8)).await;
        asked.inspect_err(|error| self.note(place, error))
    }

    async fn turn(&self, place: Place, weight: Weight) -> Result<(), ApiError> {
        if self.limits.turn(place, weight).await {
            Ok(())
        } else {
            Err(ApiError::NotSent("the chat has had enough for now".to_owned()))
        }
    }

    async fn moved(&self, from: i64, to: i64) {
        self.chats.learn(from, to);
        if let Err(error) = self.chats.save(&*self.notes).await {
            tracing::warn!(from, to, %error, "the new number of a chat could not be noted");
        }
    }

    fn note(&self, place: Place, error: &ApiError) {
        if let ApiError::Refused { code: 429, retry_after, .. } = error {
            self.limits.complained(place, *retry_after);
        }
    }

    /// Changes the way so that it leads around what went wrong; the error itself where nothing does.
    async fn go_around(&self, way: &mut Way, error: ApiError) -> Result<(), ApiError> {
        self.note(way.place, &error);
        match obstacle(&error) {
            Obstacle::Moved(to) if to != way.place.chat => {
                self.moved(way.place.chat, to).await;
                way.place.chat = to;
                // The messages of the old group stayed behind.
                way.reply_to = None;
            }
            Obstacle::TopicGone if way.place.topic.is_some() => way.place.topic = None,
            Obstacle::ReplyGone if way.reply_to.is_some() => way.reply_to = None,
            Obstacle::BadMarkup if way.markup => way.markup = false,
            _ => return Err(error),
        }
        tracing::debug!(chat = way.place.chat, %error, "trying another way");
        Ok(())
    }
}

impl Way {
    fn text<'a>(&self, letter: &'a Letter) -> &'a str {
        if self.markup { &letter.words.html } else { &letter.words.plain }
    }

    fn message(&self, letter: &Letter) -> SendMessage {
        let mut message = SendMessage::new(ChatId(self.place.chat), self.text(letter));
        message = message.link_preview_options(no_preview());
        if self.markup {
            message = message.parse_mode(ParseMode::Html);
        }
        if let Some(topic) = self.place.topic {
            message = message.message_thread_id(ThreadId(id(topic)));
        }
        if let Some(reply_to) = self.reply_to {
            let reply = ReplyParameters::new(id(reply_to));
            message = message.reply_parameters(reply.allow_sending_without_reply());
        }
        if let Some(keyboard) = &letter.keyboard {
            message = message.reply_markup(keyboard.clone());
        }
        message
    }

    fn change(&self, message: i64, letter: &Letter) -> EditMessageText {
        let mut change = EditMessageText::new(ChatId(self.place.chat), id(message), self.text(letter));
        change = change.link_preview_options(no_preview());
        if self.markup {
            change = change.parse_mode(ParseMode::Html);
        }
        if let Some(keyboard) = &letter.keyboard {
            change = change.reply_markup(keyboard.clone());
        }
        change
    }

    fn fields(&self, letter: &Letter) -> Vec<(&'static str, String)> {
        let mut fields = vec![("chat_id", self.place.chat.to_string())];
        if let Some(topic) = self.place.topic {
            fields.push(("message_thread_id", topic.to_string()));
        }
        if let Some(reply_to) = self.reply_to {
            let reply = json!({ "message_id": reply_to, "allow_sending_without_reply": true });
            fields.push(("reply_parameters", reply.to_string()));
        }
        if !letter.words.plain.is_empty() {
            fields.push(("caption", self.text(letter).to_owned()));
            if self.markup {
                fields.push(("parse_mode", "HTML".to_owned()));
            }
        }
        fields
    }
}

/// A message's number as teloxide has it. One that is too large is no message's, and the server will say so.
pub(super) fn id(message: i64) -> MessageId {
    MessageId(i32::try_from(message).unwrap_or_default())
}

fn number(sent: &Value) -> Option<i64> {
    sent.get("message_id").and_then(Value::as_i64)
}

fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

fn lost() -> ApiError {
    ApiError::NotSent("too many obstacles".to_owned())
}
