//! From an event to the door: who spoke, whether they may, whether it is for the agent. Says what the platform is to
//! be told once the event is on the disk, and not before.
//!
//! A message that takes a while, or stands behind one, is written down and handed in later; whatever is answered at
//! once - commands, buttons - waits for none of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::admins::Admins;
use super::api::Api;
use super::calls::{Bot, InTopic, PastMessage, Target};
use super::card::Outgoing;
use super::event::{InboundEvent, InboundMessage, read_event};
use super::notes::Notes;
use super::seen::Seen;
use super::unpack::{Pointed, QueuedEvent};
use crate::adapters::chat::{
    AccessPolicy, Addressed, AddressingPolicy, Admission, Backlog, ChatParts, Downloads, Facts, Finished,
    Position, Speed, Threading, Unaccepted,
};
use crate::domain::{
    Author, AuthorId, AuthorRole, BadId, ChatKind, Command, CommandInvocation, IngressEvent, Platform,
    ThreadId,
};
use crate::ports::{PairingRequest, StoreError, ThreadsHandle};
use crate::render::Phrase;

/// How long the platform is asked about what a message points at. An event has to be answered within 3 seconds.
const LOOK_WITHIN: Duration = Duration::from_millis(1500);
/// How long a polite word may take.
const TELL_WITHIN: Duration = Duration::from_millis(1500);
/// How many messages are remembered with their lines.
const LINES: usize = 1024;
/// How much of a quoted message is kept.
const QUOTED_CHARS: usize = 1000;

/// What the platform is to be told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Taken,
    /// It was received, and this is the answer to whoever pressed.
    Answered(Value),
    /// It has to come again.
    Again,
}

#[derive(Debug)]
pub(super) struct Intake {
    pub(super) platform: Platform,
    pub(super) app_id: String,
    pub(super) threading: Threading,
    pub(super) me: Bot,
    pub(super) api: Api,
    pub(super) parts: ChatParts,
    pub(super) gate: AccessPolicy,
    pub(super) admins: Admins,
    pub(super) attention: Arc<Mutex<AddressingPolicy>>,
    pub(super) notes: Notes,
    pub(super) door: ThreadsHandle,
    pub(super) backlog: Backlog,
    pub(super) downloads: Downloads,
    pub(super) seen: Seen,
    pub(super) recent: Mutex<VecDeque<IngressEvent>>,
    /// The lines of the latest messages: whoever takes one back is not told of with its thread.
    pub(super) lines: Mutex<VecDeque<(String, String)>>,
}

/// Why a message could not be taken in.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unaccepted(#[from] Unaccepted),
    #[error(transparent)]
    Id(#[from] BadId),
}

impl Intake {
    /// Takes an event in. Its place in the line of its thread is taken at once, the rest is up to the future.
    pub(super) fn take_in(this: &Arc<Self>, payload: &[u8]) -> impl Future<Output = Outcome> + Send + use<> {
        let event = serde_json::from_slice::<Value>(payload).unwrap_or_default();
        let happened = read_event(event.clone(), &this.me.open_id);
        let place = this.line_of(&happened).map(|(line, speed)| this.backlog.enter(&line, speed));
        let this = this.clone();
        async move { this.handle(event, happened, place).await }
    }

    async fn handle(&self, event: Value, happened: InboundEvent, place: Option<Position>) -> Outcome {
        let key = happened.key();
        let done = match happened {
            InboundEvent::InboundMessage(heard) => self.heard(event, key, *heard, place).await,
            InboundEvent::Recalled { ref chat, .. } => {
                let place = place.unwrap_or_else(|| self.backlog.enter(chat, Speed::Quick));
                self.pass_on(key, QueuedEvent::of(event), happened, place).await
            }
            InboundEvent::Pressed(pressed) => self.pressed(*pressed).await,
            InboundEvent::Nothing(what) => {
                tracing::debug!(what, "event passed over");
                Ok(Outcome::Taken)
            }
        };
        done.unwrap_or_else(|trouble| {
            tracing::warn!(%trouble, "an event could not be taken");
            match trouble {
                Trouble::Store(_) | Trouble::Unaccepted(_) => Outcome::Again,
                // It would be no better the next time.
                Trouble::Id(_) => Outcome::Taken,
            }
        })
    }

    async fn heard(
        &self,
        event: Value,
        key: String,
        heard: InboundMessage,
        mut place: Option<Position>,
    ) -> Result<Outcome, Trouble> {
        if !heard.sender_is_person {
            return Ok(Outcome::Taken);
        }
        let author = self.author(&heard.sender)?;
        let now = self.parts.clock.now();
        match self.gate.admit(&author, &heard.chat, heard.kind, now).await? {
            Admission::Welcome => {}
            Admission::Closed => return Ok(Outcome::Taken),
            Admission::Pair(knock) => {
                self.answer_knock(&heard, knock).await;
                return Ok(Outcome::Taken);
            }
        }
        self.notes.learn_chat(&heard.chat, heard.kind).await?;
        if let Some(topic) = &heard.topic {
            self.notes.learn_topic(topic, &heard.message).await?;
        }
        let thread = self.thread(&heard)?;
        let ends =
            order_of(&heard).is_some_and(|order| matches!(order.command, Command::Stop | Command::New));
        let (author, parent) = tokio::join!(
            self.admins.vouched(author, &heard.sender, &heard.chat, heard.kind, ends),
            self.parent(&heard)
        );
        // Whether it is for us depends on what was said before. Where somebody slow stands there, it cannot be waited for.
        if let Some(place) = place.as_mut().filter(|place| place.speed() == Speed::Quick) {
            place.reach().await;
        }
        let hearing = self.hearing(&heard, &thread, &author, parent.as_ref());
        let letter = QueuedEvent {
            event,
            context_only: hearing == Addressed::Overhear,
            admin: author.role == AuthorRole::Admin,
            quoted: parent.map(|parent| self.pointed(parent)),
        };
        let happened = InboundEvent::InboundMessage(Box::new(heard));
        match place {
            // A command that is not for us is a message like any other.
            None if hearing == Addressed::Overhear => {
                let place = self.backlog.enter(thread.as_str(), Speed::Quick);
                self.pass_on(key, letter, happened, place).await
            }
            None => self.now(letter, happened, None).await,
            Some(place) => self.pass_on(key, letter, happened, place).await,
        }
    }

    /// Hands in what is quick, and accepts what is not to be handed in later.
    async fn pass_on(
        &self,
        key: String,
        letter: QueuedEvent,
        happened: InboundEvent,
        mut place: Position,
    ) -> Result<Outcome, Trouble> {
        match place.speed() {
            Speed::Quick => self.now(letter, happened, Some(&mut place)).await,
            Speed::Slow => {
                self.backlog.accept(&key, letter.into_value(), place).await?;
                Ok(Outcome::Taken)
            }
        }
    }

    async fn now(
        &self,
        letter: QueuedEvent,
        happened: InboundEvent,
        place: Option<&mut Position>,
    ) -> Result<Outcome, Trouble> {
        Ok(match self.deliver(letter, happened, place).await? {
            Finished::Done => Outcome::Taken,
            Finished::Again(why) => {
                tracing::warn!(why, "a message has to come again");
                Outcome::Again
            }
        })
    }

    fn hearing(
        &self,
        heard: &InboundMessage,
        thread: &ThreadId,
        author: &Author,
        parent: Option<&PastMessage>,
    ) -> Addressed {
        let replies_to_me = parent.is_some_and(|parent| parent.sender == self.app_id);
        // In a topic every message points at its first one.
        let replies_to_another = heard.topic.is_none() && parent.is_some() && !replies_to_me;
        let facts = Facts {
            mentions_me: heard.mentions_me,
            replies_to_me,
            commands_me: order_of(heard).is_some() && !heard.mentions_others,
            turns_to_another: !heard.mentions_me && (heard.mentions_others || replies_to_another),
        };
        let mut attention = self.attention.lock().unwrap_or_else(PoisonError::into_inner);
        attention.hear(thread, &author.id, heard.kind, facts, self.parts.clock.now())
    }

    /// The message that this one answers; nothing where it answers none, or the platform is slow to tell. A command
    /// needs no other message to be understood.
    async fn parent(&self, heard: &InboundMessage) -> Option<PastMessage> {
        let parent = heard.parent.as_ref().filter(|_| order_of(heard).is_none())?;
        let messages = tokio::time::timeout(LOOK_WITHIN, self.api.message(parent)).await.ok()?.ok()?;
        messages.into_iter().next()
    }

    fn pointed(&self, parent: PastMessage) -> Pointed {
        Pointed {
            message: parent.id,
            author: parent.by_app.then(|| self.me.name.clone()),
            text: parent.text.chars().take(QUOTED_CHARS).collect(),
        }
    }

    async fn answer_knock(&self, heard: &InboundMessage, knock: PairingRequest) {
        let PairingRequest::Code { code, expires, fresh: true } = knock else { return };
        let minutes = expires.millis_since(self.parts.clock.now()) / 60_000;
        let language = self.parts.language_for(&heard.content.text);
        self.tell(heard, &Phrase::Pair { code, minutes: minutes.max(1) }.say(language)).await;
    }

    /// Tells whoever wrote something that is no part of the conversation. It may get lost.
    pub(super) async fn tell(&self, heard: &InboundMessage, words: &str) {
        let target = match heard.kind {
            ChatKind::Direct => Target::Chat(heard.chat.clone()),
            ChatKind::Group => Target::Reply {
                message: heard.message.clone(),
                topic: if heard.topic.is_some() { InTopic::Yes } else { InTopic::No },
            },
        };
        let uuid = super::delivery::uuid(&heard.message, "tell");
        let notice = Outgoing::text(words);
        let send = self.api.send(&target, &notice, &uuid);
        if let Ok(Err(error)) = tokio::time::timeout(TELL_WITHIN, send).await {
            tracing::warn!(%error, "a notice could not be sent");
        }
    }

    pub(super) fn author(&self, open_id: &str) -> Result<Author, BadId> {
        Ok(Author { id: AuthorId::new(&self.platform, open_id)?, name: None, role: AuthorRole::Person })
    }

    pub(super) fn thread(&self, heard: &InboundMessage) -> Result<ThreadId, BadId> {
        let thread = match &heard.topic {
            Some(topic) => ThreadId::of_topic(&self.platform, &heard.chat, topic)?,
            None => ThreadId::of_chat(&self.platform, &heard.chat)?,
        };
        if self.threading == Threading::PerUser && heard.kind == ChatKind::Group {
            thread.for_user(&heard.sender)
        } else {
            Ok(thread)
        }
    }

    /// The line that an event stands in, and how long it will take there.
    fn line_of(&self, happened: &InboundEvent) -> Option<(String, Speed)> {
        match happened {
            InboundEvent::InboundMessage(heard) => {
                let line = self.note_line(heard);
                match order_of(heard) {
                    // It cuts the conversation in two, so it has to stay in its place.
                    Some(order) if order.command == Command::New => Some((line, Speed::Quick)),
                    Some(_) => None,
                    None if heard.content.resources.is_empty() && !heard.content.bundle => {
                        Some((line, Speed::Quick))
                    }
                    None => Some((line, Speed::Slow)),
                }
            }
            InboundEvent::Recalled { message, chat } => {
                let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
                let known = lines.iter().rev().find(|(known, _)| known == message);
                Some((known.map_or_else(|| chat.clone(), |(_, line)| line.clone()), Speed::Quick))
            }
            // A press is an answer to a question: it does not wait for what else is said.
            InboundEvent::Pressed(_) | InboundEvent::Nothing(_) => None,
        }
    }

    /// The line of a message, by its thread: no topic waits for the files of another.
    pub(super) fn note_line(&self, heard: &InboundMessage) -> String {
        let line =
            self.thread(heard).map_or_else(|_| heard.chat.clone(), |thread| thread.as_str().to_owned());
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back((heard.message.clone(), line.clone()));
        line
    }
}

/// The command that a message is, if it is for us.
pub(super) fn order_of(heard: &InboundMessage) -> Option<CommandInvocation> {
    CommandInvocation::parse(&heard.content.text)
        .filter(|_| !heard.edited && heard.content.marked_up.is_none())
}
