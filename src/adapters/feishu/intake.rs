//! From an event to the threads: resolves the author, checks access, and decides whether the message is for the agent.
//! An event is acknowledged only after it is stored.
//!
//! A message that takes long, or is behind such a message, is stored in the backlog and submitted later. Commands and
//! buttons, which are answered at once, wait for neither.

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

/// Deadline of the look-up of a replied-to message. An event has to be answered within 3 seconds.
const LOOK_WITHIN: Duration = Duration::from_millis(1500);
/// Deadline of a notice.
const TELL_WITHIN: Duration = Duration::from_millis(1500);
/// How many messages are cached with their order keys.
const LINES: usize = 1024;
/// Most characters of a quoted message.
const QUOTED_CHARS: usize = 1000;

/// The acknowledgement of an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Taken,
    /// Accepted, with this response to the pressed button.
    Answered(Value),
    /// The platform must send the event again.
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
    pub(super) threads: ThreadsHandle,
    pub(super) backlog: Backlog,
    pub(super) downloads: Downloads,
    pub(super) seen: Seen,
    pub(super) recent: Mutex<VecDeque<IngressEvent>>,
    /// The order keys of the latest messages: a recall event does not name the thread.
    pub(super) lines: Mutex<VecDeque<(String, String)>>,
}

/// Why an event was not accepted.
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
    /// Handles an event. Its position in the order of its thread is taken by this call, before the future runs.
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
            InboundEvent::InboundMessage(inbound) => self.handle_message(event, key, *inbound, place).await,
            InboundEvent::Recalled { ref chat, .. } => {
                let place = place.unwrap_or_else(|| self.backlog.enter(chat, Speed::Quick));
                self.pass_on(key, QueuedEvent::of(event), happened, place).await
            }
            InboundEvent::Pressed(pressed) => self.pressed(*pressed).await,
            InboundEvent::Nothing(what) => {
                tracing::debug!(what, "event ignored");
                Ok(Outcome::Taken)
            }
        };
        done.unwrap_or_else(|trouble| {
            tracing::warn!(%trouble, "event not accepted");
            match trouble {
                Trouble::Store(_) | Trouble::Unaccepted(_) => Outcome::Again,
                // A redelivery would fail in the same way.
                Trouble::Id(_) => Outcome::Taken,
            }
        })
    }

    async fn handle_message(
        &self,
        event: Value,
        key: String,
        inbound: InboundMessage,
        mut place: Option<Position>,
    ) -> Result<Outcome, Trouble> {
        if !inbound.sender_is_person {
            return Ok(Outcome::Taken);
        }
        let author = self.author(&inbound.sender)?;
        let now = self.parts.clock.now();
        match self.gate.admit(&author, &inbound.chat, inbound.kind, now).await? {
            Admission::Welcome => {}
            Admission::Closed => return Ok(Outcome::Taken),
            Admission::Pair(knock) => {
                self.answer_knock(&inbound, knock).await;
                return Ok(Outcome::Taken);
            }
        }
        self.notes.learn_chat(&inbound.chat, inbound.kind).await?;
        if let Some(topic) = &inbound.topic {
            self.notes.learn_topic(topic, &inbound.message).await?;
        }
        let thread = self.thread(&inbound)?;
        let ends =
            order_of(&inbound).is_some_and(|order| matches!(order.command, Command::Stop | Command::New));
        let (author, parent) = tokio::join!(
            self.admins.vouched(author, &inbound.sender, &inbound.chat, inbound.kind, ends),
            self.parent(&inbound)
        );
        // Whether the message is for the agent depends on the messages before it. Behind a slow one that cannot be
        // awaited.
        if let Some(place) = place.as_mut().filter(|place| place.speed() == Speed::Quick) {
            place.reach().await;
        }
        let hearing = self.hearing(&inbound, &thread, &author, parent.as_ref());
        let queued = QueuedEvent {
            event,
            context_only: hearing == Addressed::Overhear,
            admin: author.role == AuthorRole::Admin,
            quoted: parent.map(|parent| self.pointed(parent)),
        };
        let happened = InboundEvent::InboundMessage(Box::new(inbound));
        match place {
            // A command that is not for the agent is an ordinary message.
            None if hearing == Addressed::Overhear => {
                let place = self.backlog.enter(thread.as_str(), Speed::Quick);
                self.pass_on(key, queued, happened, place).await
            }
            None => self.now(queued, happened, None).await,
            Some(place) => self.pass_on(key, queued, happened, place).await,
        }
    }

    /// Submits a quick event, and accepts a slow one into the backlog.
    async fn pass_on(
        &self,
        key: String,
        queued: QueuedEvent,
        happened: InboundEvent,
        mut place: Position,
    ) -> Result<Outcome, Trouble> {
        match place.speed() {
            Speed::Quick => self.now(queued, happened, Some(&mut place)).await,
            Speed::Slow => {
                self.backlog.accept(&key, queued.into_value(), place).await?;
                Ok(Outcome::Taken)
            }
        }
    }

    async fn now(
        &self,
        queued: QueuedEvent,
        happened: InboundEvent,
        place: Option<&mut Position>,
    ) -> Result<Outcome, Trouble> {
        Ok(match self.deliver(queued, happened, place).await? {
            Finished::Done => Outcome::Taken,
            Finished::Again(why) => {
                tracing::warn!(why, "message not accepted, redelivery requested");
                Outcome::Again
            }
        })
    }

    fn hearing(
        &self,
        inbound: &InboundMessage,
        thread: &ThreadId,
        author: &Author,
        parent: Option<&PastMessage>,
    ) -> Addressed {
        let replies_to_me = parent.is_some_and(|parent| parent.sender == self.app_id);
        // In a topic every message is a reply to its first one.
        let replies_to_another = inbound.topic.is_none() && parent.is_some() && !replies_to_me;
        let facts = Facts {
            mentions_me: inbound.mentions_me,
            replies_to_me,
            commands_me: order_of(inbound).is_some() && !inbound.mentions_others,
            turns_to_another: !inbound.mentions_me && (inbound.mentions_others || replies_to_another),
        };
        let mut attention = self.attention.lock().unwrap_or_else(PoisonError::into_inner);
        attention.hear(thread, &author.id, inbound.kind, facts, self.parts.clock.now())
    }

    /// The message that this one replies to; `None` where there is none, or the platform does not answer in time. A
    /// command is understood without it.
    async fn parent(&self, inbound: &InboundMessage) -> Option<PastMessage> {
        let parent = inbound.parent.as_ref().filter(|_| order_of(inbound).is_none())?;
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

    async fn answer_knock(&self, inbound: &InboundMessage, knock: PairingRequest) {
        let PairingRequest::Code { code, expires, fresh: true } = knock else { return };
        let minutes = expires.millis_since(self.parts.clock.now()) / 60_000;
        let language = self.parts.language_for(&inbound.content.text);
        self.tell(inbound, &Phrase::Pair { code, minutes: minutes.max(1) }.say(language)).await;
    }

    /// Sends a notice to the author, outside the conversation. It may get lost.
    pub(super) async fn tell(&self, inbound: &InboundMessage, words: &str) {
        let target = match inbound.kind {
            ChatKind::Direct | ChatKind::Operator | ChatKind::Program => Target::Chat(inbound.chat.clone()),
            ChatKind::Group => Target::Reply {
                message: inbound.message.clone(),
                topic: if inbound.topic.is_some() { InTopic::Yes } else { InTopic::No },
            },
        };
        let uuid = super::delivery::uuid(&inbound.message, "tell");
        let notice = Outgoing::text(words);
        let send = self.api.send(&target, &notice, &uuid);
        if let Ok(Err(error)) = tokio::time::timeout(TELL_WITHIN, send).await {
            tracing::warn!(%error, "notice not sent");
        }
    }

    pub(super) fn author(&self, open_id: &str) -> Result<Author, BadId> {
        Ok(Author { id: AuthorId::new(&self.platform, open_id)?, name: None, role: AuthorRole::Person })
    }

    pub(super) fn thread(&self, inbound: &InboundMessage) -> Result<ThreadId, BadId> {
        let thread = match &inbound.topic {
            Some(topic) => ThreadId::of_topic(&self.platform, &inbound.chat, topic)?,
            None => ThreadId::of_chat(&self.platform, &inbound.chat)?,
        };
        if self.threading == Threading::PerUser && inbound.kind == ChatKind::Group {
            thread.for_user(&inbound.sender)
        } else {
            Ok(thread)
        }
    }

    /// The order key of an event, and how long it takes.
    fn line_of(&self, happened: &InboundEvent) -> Option<(String, Speed)> {
        match happened {
            InboundEvent::InboundMessage(inbound) => {
                let line = self.note_line(inbound);
                match order_of(inbound) {
                    // `/new` separates two conversations, so it keeps its position.
                    Some(order) if order.command == Command::New => Some((line, Speed::Quick)),
                    Some(_) => None,
                    None if inbound.content.resources.is_empty() && !inbound.content.bundle => {
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
            // A press decides an approval: it does not wait for other messages.
            InboundEvent::Pressed(_) | InboundEvent::Nothing(_) => None,
        }
    }

    /// Records the order key of a message: its thread, so that no topic waits for the files of another.
    pub(super) fn note_line(&self, inbound: &InboundMessage) -> String {
        let line =
            self.thread(inbound).map_or_else(|_| inbound.chat.clone(), |thread| thread.as_str().to_owned());
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back((inbound.message.clone(), line.clone()));
        line
    }
}

/// The command in a message, if it is one.
pub(super) fn order_of(inbound: &InboundMessage) -> Option<CommandInvocation> {
    CommandInvocation::parse(&inbound.content.text)
        .filter(|_| !inbound.edited && inbound.content.marked_up.is_none())
}
