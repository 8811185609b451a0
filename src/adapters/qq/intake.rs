//! From what happened to what the threads are told: who may speak, which files come along, what is answered at once.

use std::sync::{Arc, Mutex, PoisonError};

use super::event::{Happening, Heard, Press};
use super::fetch::Fetcher;
use super::http::Method;
use super::ledger::Key;
use super::options::{QqOptions, Threading};
use super::send::Sender;
use crate::adapters::chat::{
    Admission, Attention, Button, ChatParts, Facts, Gate, Handed, Hearing, decode, hand_in,
};
use crate::domain::{
    Author, AuthorId, BadId, ChatKind, Decision, IngressEvent, IngressKind, Language, Order, Platform, Said,
    Standing, ThreadId, Timestamp,
};
use crate::ports::{Door, Knock};
use crate::render::Phrase;

// What the platform is told of a pressed button.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const REPEATED: u8 = 3;
const REFUSED: u8 = 4;

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is safe with us, or nothing that we keep.
    Safe,
    /// It must come again.
    Again(String),
}

/// Takes events in.
#[derive(Debug)]
pub(super) struct Intake {
    platform: Platform,
    threading: Threading,
    gate: Gate,
    attention: Mutex<Attention>,
    parts: ChatParts,
    sender: Arc<Sender>,
    fetcher: Fetcher,
}

impl Intake {
    pub(super) fn new(
        platform: Platform,
        options: &QqOptions,
        parts: ChatParts,
        sender: Arc<Sender>,
    ) -> Self {
        Self {
            gate: Gate::new(platform.clone(), options.guests.clone(), Arc::clone(&parts.access)),
            platform,
            threading: options.threading,
            attention: Mutex::new(Attention::new(options.respond, options.followup)),
            fetcher: Fetcher::new(parts.http.clone(), parts.files.clone()),
            parts,
            sender,
        }
    }

    /// Takes one event in. It is safe to take the same one again.
    pub(super) async fn take(&self, door: &Door, happening: &Happening) -> Taken {
        match happening {
            Happening::Said(heard) => self.said(door, heard).await,
            Happening::Pressed(press) => self.pressed(door, press).await,
            Happening::Relation { name, chat } => {
                tracing::info!(event = name, chat, "a relation has changed");
                Taken::Safe
            }
            Happening::Nothing => Taken::Safe,
        }
    }

    async fn said(&self, door: &Door, heard: &Heard) -> Taken {
        if heard.from_bot {
            return Taken::Safe;
        }
        let now = self.parts.clock.now();
        let (Ok(thread), Ok(author)) = (self.thread_of(heard), self.author(&heard.user, heard.name.clone()))
        else {
            tracing::warn!(id = heard.id, "a message without usable ids was passed over");
            return Taken::Safe;
        };
        let admission = match self.gate.admit(&author, &heard.chat, heard.scene.kind(), now).await {
            Ok(admission) => admission,
            Err(error) => return Taken::Again(error.to_string()),
        };
        // The platform's clock may be ahead of ours; a window never begins in the future.
        let at = heard.at.unwrap_or(now).min(now);
        let language = self.parts.language_for(&heard.text);
        match admission {
            Admission::Welcome => {}
            Admission::Pair(Knock::Code { code, expires, fresh: true }) => {
                self.sender.clerk.heard(&thread, heard.scene, Key::Message(heard.id.clone()), at).await;
                let minutes = expires.millis_since(now).div_ceil(60_000);
                self.sender.tell(&thread, &heard.id, &Phrase::Pair { code, minutes }.say(language)).await;
                return Taken::Safe;
            }
            Admission::Pair(_) | Admission::Closed => return Taken::Safe,
        }
        self.sender.clerk.heard(&thread, heard.scene, Key::Message(heard.id.clone()), at).await;
        let overheard = self.hears(&thread, &author.id, heard, now) == Hearing::Overhear;
        let (files, lost) = self.fetcher.fetch(&thread, heard, language).await;
        if !lost.is_empty() {
            self.sender.tell(&thread, &heard.id, &lost.join("\n")).await;
        }
        if heard.text.is_empty() && files.is_empty() {
            return Taken::Safe;
        }
        let kind = match Order::parse(&heard.text).filter(|_| files.is_empty() && !overheard) {
            Some(order) => IngressKind::Command(order),
            None => IngressKind::Said(Said {
                text: heard.text.clone(),
                files,
                overheard,
                quoted: heard.quoted.clone(),
                forwarded_from: None,
            }),
        };
        self.hand_over(door, thread, author, &heard.id, at, heard.scene.kind(), kind, language).await
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an event, each of its own type")]
    async fn hand_over(
        &self,
        door: &Door,
        thread: ThreadId,
        author: Author,
        id: &str,
        at: Timestamp,
        chat: ChatKind,
        kind: IngressKind,
        language: Language,
    ) -> Taken {
        let Ok(message) = id.parse() else {
            tracing::warn!(id, "a message without a usable id was passed over");
            return Taken::Safe;
        };
        let event = IngressEvent {
            thread: thread.clone(),
            author,
            message,
            platform_message: id.to_owned(),
            at,
            chat,
            kind,
        };
        match hand_in(door, event, language).await {
            Handed::Kept => Taken::Safe,
            Handed::Tell(words) => {
                self.sender.tell(&thread, id, &words).await;
                Taken::Safe
            }
            Handed::Later(why) => Taken::Again(why),
        }
    }

    async fn pressed(&self, door: &Door, press: &Press) -> Taken {
        let (code, taken) = self.decided(door, press).await;
        if taken == Taken::Safe {
            self.acknowledge(press, code).await;
        }
        taken
    }

    /// What the platform is told of a pressed button, and whether it is safe.
    async fn decided(&self, door: &Door, press: &Press) -> (u8, Taken) {
        let Some((Button::Answer(answer), id)) = decode(&press.data) else { return (FAILED, Taken::Safe) };
        let approval = match self.parts.approvals.get(&id).await {
            Ok(Some(approval)) => approval,
            Ok(None) => return (FAILED, Taken::Safe),
            Err(error) => return (FAILED, Taken::Again(error.to_string())),
        };
        // A button works only where it was shown.
        if approval.thread.platform() != &self.platform || approval.thread.chat() != press.chat {
            return (REFUSED, Taken::Safe);
        }
        let Ok(author) = self.author(&press.user, None) else { return (FAILED, Taken::Safe) };
        let now = self.parts.clock.now();
        match self.gate.admit(&author, &press.chat, press.scene.kind(), now).await {
            Ok(Admission::Welcome) => {}
            Ok(Admission::Pair(_) | Admission::Closed) => return (REFUSED, Taken::Safe),
            Err(error) => return (FAILED, Taken::Again(error.to_string())),
        }
        let at = press.at.unwrap_or(now).min(now);
        let reply_to = press.event_id.clone().unwrap_or_else(|| press.interaction.clone());
        if press.event_id.is_some() {
            let key = Key::Event(reply_to.clone());
            self.sender.clerk.heard(&approval.thread, press.scene, key, at).await;
        }
        let Ok(message) = format!("press {}", press.interaction).parse() else {
            return (FAILED, Taken::Safe);
        };
        let language = self.parts.language_for(&approval.summary);
        let event = IngressEvent {
            thread: approval.thread.clone(),
            author,
            message,
            platform_message: reply_to.clone(),
            at,
            chat: press.scene.kind(),
            kind: IngressKind::Decision(Decision {
                approval: id,
                answer,
                reason: None,
                via: "button".to_owned(),
                operator: false,
            }),
        };
        match hand_in(door, event, language).await {
            Handed::Kept => (DONE, Taken::Safe),
            Handed::Tell(words) => {
                self.sender.tell(&approval.thread, &reply_to, &words).await;
                (REPEATED, Taken::Safe)
            }
            Handed::Later(why) => (FAILED, Taken::Again(why)),
        }
    }

    /// The client spins until it hears of it; nothing else depends on it.
    async fn acknowledge(&self, press: &Press, code: u8) {
        let path = format!("/interactions/{}", press.interaction);
        let body = serde_json::json!({ "code": code });
        if let Err(error) = self.sender.api.call(Method::PUT, &path, Some(&body)).await {
            tracing::warn!(%error, "a pressed button could not be acknowledged");
        }
    }

    fn hears(&self, thread: &ThreadId, author: &AuthorId, heard: &Heard, now: Timestamp) -> Hearing {
        let facts = Facts {
            mentions_me: heard.addressed,
            replies_to_me: false,
            commands_me: false,
            turns_to_another: false,
        };
        let mut attention = self.attention.lock().unwrap_or_else(PoisonError::into_inner);
        attention.hear(thread, author, heard.scene.kind(), facts, now)
    }

    fn thread_of(&self, heard: &Heard) -> Result<ThreadId, BadId> {
        let chat = ThreadId::of_chat(&self.platform, &heard.chat)?;
        match (self.threading, heard.scene.kind()) {
            (Threading::PerUser, ChatKind::Group) => chat.for_user(&heard.user),
            (Threading::Shared, _) | (_, ChatKind::Direct) => Ok(chat),
        }
    }

    fn author(&self, user: &str, name: Option<String>) -> Result<Author, BadId> {
        Ok(Author { id: AuthorId::new(&self.platform, user)?, name, standing: Standing::Person })
    }
}
