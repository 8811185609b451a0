//! From an event to the threads: checks access and answers commands and buttons at once. A message that takes long, or
//! is behind such a message, is stored in the backlog and submitted later by [`unpack`](super::unpack).

use std::sync::{Arc, Mutex, PoisonError};

use super::admins::Admins;
use super::event::{Dispatch, InboundEvent, InboundMessage, Press, read};
use super::fetch::Fetcher;
use super::http::Method;
use super::options::QqOptions;
use super::reply_budget::{Key, Weight};
use super::scene::Scene;
use super::send::Sender;
use super::unpack::QueuedEvent;
use crate::adapters::chat::{
    AccessPolicy, Addressed, AddressingPolicy, Admission, Backlog, Button, ChatParts, Facts, Finished,
    Position, Speed, Submitted, Threading, decode, submit,
};
use crate::domain::{
    Approval, Author, AuthorId, AuthorRole, BadId, ChatKind, Command, CommandInvocation, Decision,
    IngressEvent, IngressKind, Platform, ThreadId, Timestamp,
};
use crate::ports::{PairingRequest, ThreadsHandle};
use crate::render::Phrase;

// The platform's acknowledgement codes of a pressed button.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const REPEATED: u8 = 3;
const REFUSED: u8 = 4;

/// The outcome of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Stored, or not worth storing.
    Safe,
    /// The platform must send it again.
    Again(String),
}

/// A dispatch with its parsed event.
#[derive(Clone, Debug)]
pub(super) struct Event {
    dispatch: Dispatch,
    me: Option<String>,
    pub(super) happening: InboundEvent,
}

impl Event {
    /// Parses an event. `me` is the bot's own id, if known.
    pub(super) fn new(dispatch: Dispatch, me: Option<&str>) -> Self {
        let happening = read(&dispatch, me);
        Self { dispatch, me: me.map(str::to_owned), happening }
    }
}

#[derive(Debug)]
pub(super) struct Intake {
    platform: Platform,
    threading: Threading,
    gate: AccessPolicy,
    admins: Admins,
    attention: Mutex<AddressingPolicy>,
    pub(super) parts: ChatParts,
    pub(super) sender: Arc<Sender>,
    pub(super) fetcher: Fetcher,
    backlog: Backlog,
}

impl Intake {
    pub(super) fn new(
        platform: Platform,
        options: &QqOptions,
        parts: ChatParts,
        sender: Arc<Sender>,
        backlog: Backlog,
    ) -> Self {
        Self {
            gate: AccessPolicy::new(platform.clone(), options.guests.clone(), Arc::clone(&parts.access)),
            platform,
            threading: options.threading,
            admins: Admins::new(sender.api.clone(), options.admins_decide),
            attention: Mutex::new(AddressingPolicy::new(options.respond, options.followup)),
            fetcher: Fetcher::new(parts.http.clone(), parts.files.clone()),
            parts,
            sender,
            backlog,
        }
    }

    /// Handles one event. Idempotent.
    pub(super) async fn take(&self, threads: &ThreadsHandle, event: &Event) -> Taken {
        match &event.happening {
            InboundEvent::Said(inbound) => self.said(threads, event, inbound).await,
            InboundEvent::Pressed(press) => self.pressed(threads, press).await,
            InboundEvent::Relation { name, chat } => {
                tracing::info!(event = name, chat, "bot relation changed");
                Taken::Safe
            }
            InboundEvent::Nothing => Taken::Safe,
        }
    }

    async fn said(&self, threads: &ThreadsHandle, event: &Event, inbound: &InboundMessage) -> Taken {
        if inbound.from_bot {
            return Taken::Safe;
        }
        let now = self.parts.clock.now();
        let (Ok(thread), Ok(author)) =
            (self.thread_of(inbound), self.author(&inbound.user, inbound.name.clone()))
        else {
            tracing::warn!(id = inbound.id, "message without valid ids ignored");
            return Taken::Safe;
        };
        let admission = match self.gate.admit(&author, &inbound.chat, inbound.scene.kind(), now).await {
            Ok(admission) => admission,
            Err(error) => return Taken::Again(error.to_string()),
        };
        let at = moment(inbound.at, now);
        match admission {
            Admission::Welcome => {}
            Admission::Pair(PairingRequest::Code { code, expires, fresh: true }) => {
                self.sender.budget.heard(&thread, inbound.scene, Key::Message(inbound.id.clone()), at).await;
                let minutes = expires.millis_since(now).div_ceil(60_000);
                let words = Phrase::Pair { code, minutes }.say(self.parts.language_for(&inbound.text));
                self.sender.tell(&thread, &inbound.id, &words, Weight::Needed).await;
                return Taken::Safe;
            }
            Admission::Pair(_) | Admission::Closed => return Taken::Safe,
        }
        self.sender.budget.heard(&thread, inbound.scene, Key::Message(inbound.id.clone()), at).await;
        self.admins.learn(&inbound.chat, &inbound.user, inbound.admin);
        let context_only = self.hears(&thread, &author.id, inbound, now) == Addressed::Overhear;
        let queued = QueuedEvent {
            dispatch: event.dispatch.clone(),
            me: event.me.clone(),
            context_only,
            admin: inbound.admin == Some(true),
        };
        match order_of(inbound).filter(|_| !context_only) {
            // `/new` separates two conversations, so it keeps its position; other commands wait for no message.
            Some(order) if order.command != Command::New => self.now(threads, queued, inbound, None).await,
            _ => {
                let slow = !inbound.attachments.is_empty() && !context_only;
                let speed = if slow { Speed::Slow } else { Speed::Quick };
                // By thread: where each person has a thread of their own, a person does not wait for the files of
                // another.
                let place = self.backlog.enter(thread.as_str(), speed);
                self.pass_on(threads, queued, inbound, place).await
            }
        }
    }

    /// Submits a quick message, and accepts a slow one into the backlog.
    async fn pass_on(
        &self,
        threads: &ThreadsHandle,
        queued: QueuedEvent,
        inbound: &InboundMessage,
        mut place: Position,
    ) -> Taken {
        match place.speed() {
            Speed::Quick => self.now(threads, queued, inbound, Some(&mut place)).await,
            Speed::Slow => match self.backlog.accept(&inbound.id, queued.into_value(), place).await {
                Ok(()) => Taken::Safe,
                Err(error) => Taken::Again(error.to_string()),
            },
        }
    }

    async fn now(
        &self,
        threads: &ThreadsHandle,
        queued: QueuedEvent,
        inbound: &InboundMessage,
        place: Option<&mut Position>,
    ) -> Taken {
        match self.deliver(threads, queued, inbound, place).await {
            Finished::Done => Taken::Safe,
            Finished::Again(why) => Taken::Again(why),
        }
    }

    async fn pressed(&self, threads: &ThreadsHandle, press: &Press) -> Taken {
        let (code, taken) = self.decided(threads, press).await;
        if taken == Taken::Safe {
            self.acknowledge(press, code).await;
        }
        taken
    }

    /// The acknowledgement code of a pressed button, and the outcome.
    async fn decided(&self, threads: &ThreadsHandle, press: &Press) -> (u8, Taken) {
        let Some((Button::Answer(answer), id)) = decode(&press.data) else { return (FAILED, Taken::Safe) };
        let approval = match self.parts.approvals.get(&id).await {
            Ok(Some(approval)) => approval,
            Ok(None) => return (FAILED, Taken::Safe),
            Err(error) => return (FAILED, Taken::Again(error.to_string())),
        };
        // A button works only in the chat where it was shown.
        let Some(scene) = self.place_of(press, &approval) else { return (REFUSED, Taken::Safe) };
        let Ok(author) = self.author(&press.user, None) else { return (FAILED, Taken::Safe) };
        let (chat, now) = (approval.thread.chat(), self.parts.clock.now());
        match self.gate.admit(&author, &chat, scene.kind(), now).await {
            Ok(Admission::Welcome) => {}
            Ok(Admission::Pair(_) | Admission::Closed) => return (REFUSED, Taken::Safe),
            Err(error) => return (FAILED, Taken::Again(error.to_string())),
        }
        let at = moment(press.at, now);
        let reply_to = press.event_id.clone().unwrap_or_else(|| press.interaction.clone());
        if press.event_id.is_some() {
            let key = Key::Event(reply_to.clone());
            self.sender.budget.heard(&approval.thread, scene, key, at).await;
        }
        let Ok(message) = format!("press {}", press.interaction).parse() else {
            return (FAILED, Taken::Safe);
        };
        let language = self.parts.language_for(&approval.summary);
        let decision =
            Decision { approval: id, answer, reason: None, via: "button".to_owned(), operator: false };
        let event = IngressEvent {
            thread: approval.thread.clone(),
            author: self.admins.vouched(author, press, &chat, scene.kind()).await,
            message,
            platform_message: reply_to.clone(),
            at,
            chat: scene.kind(),
            kind: IngressKind::Decision(decision),
        };
        match submit(threads, event, language).await {
            Submitted::Kept => (DONE, Taken::Safe),
            Submitted::Tell(words) => {
                self.sender.tell(&approval.thread, &reply_to, &words, Weight::Needed).await;
                (REPEATED, Taken::Safe)
            }
            Submitted::Later(why) => (FAILED, Taken::Again(why)),
        }
    }

    /// The scene of a pressed button, if it is the chat of its approval.
    fn place_of(&self, press: &Press, approval: &Approval) -> Option<Scene> {
        let chat = approval.thread.chat();
        let ours = approval.thread.platform() == &self.platform;
        press.places.iter().find(|(_, place)| ours && *place == chat).map(|(scene, _)| *scene)
    }

    /// The client shows a spinner until the acknowledgement; nothing else depends on it.
    async fn acknowledge(&self, press: &Press, code: u8) {
        let path = format!("/interactions/{}", press.interaction);
        let body = serde_json::json!({ "code": code });
        if let Err(error) = self.sender.api.call(Method::PUT, &path, Some(&body)).await {
            tracing::warn!(%error, "press acknowledgement failed");
        }
    }

    fn hears(
        &self,
        thread: &ThreadId,
        author: &AuthorId,
        inbound: &InboundMessage,
        now: Timestamp,
    ) -> Addressed {
        let facts = Facts {
            mentions_me: inbound.addressed,
            replies_to_me: false,
            commands_me: false,
            turns_to_another: false,
        };
        let mut attention = self.attention.lock().unwrap_or_else(PoisonError::into_inner);
        attention.hear(thread, author, inbound.scene.kind(), facts, now)
    }

    pub(super) fn thread_of(&self, inbound: &InboundMessage) -> Result<ThreadId, BadId> {
        let chat = ThreadId::of_chat(&self.platform, &inbound.chat)?;
        match (self.threading, inbound.scene.kind()) {
            (Threading::PerUser, ChatKind::Group) => chat.for_user(&inbound.user),
            (Threading::Shared | Threading::PerUser, _) => Ok(chat),
        }
    }

    pub(super) fn author(&self, user: &str, name: Option<String>) -> Result<Author, BadId> {
        Ok(Author { id: AuthorId::new(&self.platform, user)?, name, role: AuthorRole::Person })
    }
}

/// The time of an event, capped at `now`: the platform's clock may be ahead, and a reply window never begins in the
/// future.
pub(super) fn moment(told: Option<Timestamp>, now: Timestamp) -> Timestamp {
    told.unwrap_or(now).min(now)
}

/// The command in a message, if it is one. A message with files is none.
pub(super) fn order_of(inbound: &InboundMessage) -> Option<CommandInvocation> {
    CommandInvocation::parse(&inbound.text).filter(|_| inbound.attachments.is_empty())
}
