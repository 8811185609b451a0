//! From an event to the door: who spoke, whether they may, whether it is for the agent, what came with it. Says what
//! the platform is to be told once the event is on the disk, and not before.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::api::Api;
use super::attachments::fetch_files;
use super::calls::{Bot, InTopic, PastMessage, Target};
use super::card::Outgoing;
use super::event::{Happened, Heard, Pressed, read_event};
use super::line::{Lines, Place};
use super::notes::Notes;
use super::press::{menu_card, pressed_button, shown_again};
use super::words::Words;
use crate::adapters::chat::{
    Admission, Attention, Button, ChatParts, Facts, Gate, Handed, Hearing, Menu, hand_in,
};
use crate::domain::{
    Author, AuthorId, BadId, ChatKind, Decision, IngressEvent, IngressKind, MessageId, Order, Platform,
    Quoted, Said, Standing, ThreadId,
};
use crate::ports::{Door, Knock, StoreError};
use crate::render::Phrase;

/// How long the platform is asked about what a message points at. An event has to be answered within 3 seconds.
const LOOK_WITHIN: Duration = Duration::from_millis(1500);
/// How much of a quoted message is kept.
const QUOTED_CHARS: usize = 1000;
/// How many messages of a bundle are kept.
const BUNDLE: usize = 50;
/// How many messages are remembered in case they are taken back.
const RECENT: usize = 512;

/// What the platform is to be told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// It was received.
    Taken,
    /// It was received, and this is the answer to whoever pressed.
    Answered(Value),
    /// It has to come again.
    Again,
}

/// Takes events in.
#[derive(Debug)]
pub(super) struct Intake {
    pub(super) platform: Platform,
    pub(super) app_id: String,
    pub(super) per_user: bool,
    pub(super) me: Bot,
    pub(super) api: Api,
    pub(super) parts: ChatParts,
    pub(super) gate: Gate,
    pub(super) attention: Arc<Mutex<Attention>>,
    pub(super) notes: Notes,
    pub(super) door: Door,
    pub(super) lines: Lines,
    pub(super) recent: Mutex<VecDeque<IngressEvent>>,
}

/// Why a message could not be taken in.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Id(#[from] BadId),
}

impl Intake {
    /// Takes an event in. Its place in the line of its chat is taken at once, the rest is up to the future.
    pub(super) fn take_in(this: &Arc<Self>, payload: &[u8]) -> impl Future<Output = Outcome> + Send + use<> {
        let event = serde_json::from_slice::<Value>(payload).unwrap_or_default();
        let happened = read_event(event, &this.me.open_id);
        let place = match &happened {
            Happened::Heard(heard) => Some(this.lines.enter(&heard.chat)),
            Happened::Recalled { chat, .. } => Some(this.lines.enter(chat)),
            // A press is an answer to a question: it does not wait for what else is said.
            Happened::Pressed(_) | Happened::Nothing(_) => None,
        };
        let this = this.clone();
        async move { this.handle(happened, place).await }
    }

    async fn handle(&self, happened: Happened, place: Option<Place>) -> Outcome {
        let done = match happened {
            Happened::Heard(heard) => self.heard(*heard, place).await,
            Happened::Recalled { message, .. } => self.recalled(&message, place).await,
            Happened::Pressed(pressed) => self.pressed(*pressed).await,
            Happened::Nothing(what) => {
                tracing::debug!(what, "event passed over");
                Ok(Outcome::Taken)
            }
        };
        done.unwrap_or_else(|trouble| {
            tracing::warn!(%trouble, "an event could not be taken");
            match trouble {
                Trouble::Store(_) => Outcome::Again,
                // It would be no better the next time.
                Trouble::Id(_) => Outcome::Taken,
            }
        })
    }

    async fn heard(&self, heard: Heard, mut place: Option<Place>) -> Result<Outcome, Trouble> {
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
        let parent = self.parent(&heard).await;
        let order = Order::parse(&heard.content.text).filter(|_| !heard.edited);
        let hearing = self.hearing(&heard, &thread, &author, parent.as_ref(), order.is_some());
        let event = IngressEvent {
            message: message_id(&heard.message)?,
            platform_message: heard.message.clone(),
            at: heard.at,
            chat: heard.kind,
            kind: match order {
                Some(order) if hearing == Hearing::Answer => IngressKind::Command(order),
                _ => {
                    let said = self.said(&heard, &thread, hearing, parent).await;
                    if heard.edited { IngressKind::Edited(said) } else { IngressKind::Said(said) }
                }
            },
            thread,
            author,
        };
        if let Some(place) = &mut place {
            place.reach().await;
        }
        self.remember(&event);
        let language = self.parts.language_for(&heard.content.text);
        Ok(match hand_in(&self.door, event, language).await {
            Handed::Kept => Outcome::Taken,
            Handed::Tell(words) => {
                self.tell(&heard, &words).await;
                Outcome::Taken
            }
            Handed::Later(why) => {
                tracing::warn!(why, "a message has to come again");
                Outcome::Again
            }
        })
    }

    fn hearing(
        &self,
        heard: &Heard,
        thread: &ThreadId,
        author: &Author,
        parent: Option<&PastMessage>,
        commands: bool,
    ) -> Hearing {
        let replies_to_me = parent.is_some_and(|parent| parent.sender == self.app_id);
        // In a topic every message points at its first one.
        let replies_to_another = heard.topic.is_none() && parent.is_some() && !replies_to_me;
        let facts = Facts {
            mentions_me: heard.mentions_me,
            replies_to_me,
            commands_me: commands && !heard.mentions_others,
            turns_to_another: !heard.mentions_me && (heard.mentions_others || replies_to_another),
        };
        let mut attention = self.attention.lock().unwrap_or_else(PoisonError::into_inner);
        attention.hear(thread, &author.id, heard.kind, facts, self.parts.clock.now())
    }

    async fn said(
        &self,
        heard: &Heard,
        thread: &ThreadId,
        hearing: Hearing,
        parent: Option<PastMessage>,
    ) -> Said {
        let overheard = hearing == Hearing::Overhear;
        let mut words = vec![heard.content.text.clone()];
        if heard.content.bundle {
            words = vec![self.bundle(&heard.message).await.unwrap_or_else(|| heard.content.text.clone())];
        }
        let mut files = Vec::new();
        if overheard {
            words
                .extend(heard.content.resources.iter().map(|file| format!("[{}]", file.kind.default_name())));
        } else {
            let language = self.parts.language_for(&heard.content.text);
            let fetched = fetch_files(&self.api, &self.parts.files, thread, heard, language).await;
            files = fetched.files;
            words.extend(fetched.troubles);
        }
        words.retain(|words| !words.is_empty());
        let quoted = parent.map(|parent| Quoted {
            platform_message: parent.id,
            author: if parent.by_app { Some(self.me.name.clone()) } else { None },
            text: parent.text.chars().take(QUOTED_CHARS).collect(),
        });
        Said { text: words.join("\n"), files, overheard, quoted, forwarded_from: None }
    }

    /// The message that this one answers; nothing where it answers none, or the platform is slow to tell.
    async fn parent(&self, heard: &Heard) -> Option<PastMessage> {
        let parent = heard.parent.as_ref()?;
        let messages = tokio::time::timeout(LOOK_WITHIN, self.api.message(parent)).await.ok()?.ok()?;
        messages.into_iter().next()
    }

    /// The messages of a bundle, one to a line.
    async fn bundle(&self, message: &str) -> Option<String> {
        let messages = tokio::time::timeout(LOOK_WITHIN, self.api.message(message)).await.ok()?.ok()?;
        let lines: Vec<String> = messages
            .into_iter()
            .filter(|inner| inner.id != message)
            .take(BUNDLE)
            .map(|inner| format!("{}: {}", inner.sender, inner.text))
            .collect();
        (!lines.is_empty()).then(|| format!("[merge forward]\n{}", lines.join("\n")))
    }

    async fn recalled(&self, message: &str, mut place: Option<Place>) -> Result<Outcome, Trouble> {
        if let Some(place) = &mut place {
            place.reach().await;
        }
        let known = {
            let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.iter().find(|event| event.platform_message == message).cloned()
        };
        let Some(mut event) = known else { return Ok(Outcome::Taken) };
        let IngressKind::Said(said) = &event.kind else { return Ok(Outcome::Taken) };
        let language = self.parts.language_for(&said.text);
        let text = Words::Recalled.say(language).to_owned();
        event.kind = IngressKind::Edited(Said { text, overheard: said.overheard, ..Said::default() });
        Ok(match hand_in(&self.door, event, language).await {
            Handed::Kept | Handed::Tell(_) => Outcome::Taken,
            Handed::Later(_) => Outcome::Again,
        })
    }

    async fn pressed(&self, pressed: Pressed) -> Result<Outcome, Trouble> {
        let Some((button, approval)) = pressed_button(&pressed.value) else { return Ok(Outcome::Taken) };
        let Some(known) = self.parts.approvals.get(&approval).await? else {
            let language = self.parts.language.unwrap_or_default();
            return Ok(toast("warning", Words::NoQuestion.say(language)));
        };
        // A button works only on its own platform, and only for those who may speak there.
        let author = self.author(&pressed.by)?;
        let (place, now) = (known.thread.chat(), self.parts.clock.now());
        let kind = self.notes.chat(&place).await;
        let ours = *known.thread.platform() == self.platform;
        if !ours || self.gate.admit(&author, &place, kind, now).await? != Admission::Welcome {
            return Ok(Outcome::Taken);
        }
        // Somebody may press before it is noted where the question stands.
        let shown = self.notes.question(&approval).await;
        let shown = shown.unwrap_or_else(|| shown_again(&known, self.parts.clock.now()));
        let language = self.parts.language.unwrap_or(shown.language);
        let menu = match button {
            Button::Scopes => Menu::Scopes,
            Button::Back => Menu::First,
            Button::Answer(answer) => {
                let decision =
                    Decision { approval, answer, reason: None, via: "button".to_owned(), operator: false };
                let event = IngressEvent {
                    chat: kind,
                    thread: known.thread,
                    author,
                    message: format!("{}:event:{}", self.platform, pressed.event).parse()?,
                    platform_message: pressed.message,
                    at: self.parts.clock.now(),
                    kind: IngressKind::Decision(decision),
                };
                return Ok(match hand_in(&self.door, event, language).await {
                    Handed::Kept => toast("success", Words::Counted.say(language)),
                    Handed::Tell(words) => toast("warning", &words),
                    Handed::Later(why) => {
                        tracing::warn!(why, "a press could not be taken");
                        toast("error", Words::TryAgain.say(language))
                    }
                });
            }
        };
        let card = menu_card(&shown, &approval, menu, language);
        Ok(Outcome::Answered(json!({ "card": { "type": "raw", "data": card } })))
    }

    async fn answer_knock(&self, heard: &Heard, knock: Knock) {
        let Knock::Code { code, expires, fresh: true } = knock else { return };
        let minutes = expires.millis_since(self.parts.clock.now()) / 60_000;
        let language = self.parts.language_for(&heard.content.text);
        self.tell(heard, &Phrase::Pair { code, minutes: minutes.max(1) }.say(language)).await;
    }

    /// Tells whoever wrote something that is no part of the conversation. It may get lost.
    async fn tell(&self, heard: &Heard, words: &str) {
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
        if let Ok(Err(error)) = tokio::time::timeout(LOOK_WITHIN, send).await {
            tracing::warn!(%error, "a notice could not be sent");
        }
    }

    fn author(&self, open_id: &str) -> Result<Author, BadId> {
        Ok(Author { id: AuthorId::new(&self.platform, open_id)?, name: None, standing: Standing::Person })
    }

    fn thread(&self, heard: &Heard) -> Result<ThreadId, BadId> {
        let thread = match &heard.topic {
            Some(topic) => ThreadId::of_topic(&self.platform, &heard.chat, topic)?,
            None => ThreadId::of_chat(&self.platform, &heard.chat)?,
        };
        if self.per_user && heard.kind == ChatKind::Group {
            thread.for_user(&heard.sender)
        } else {
            Ok(thread)
        }
    }

    fn remember(&self, event: &IngressEvent) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= RECENT {
            recent.pop_front();
        }
        recent.push_back(event.clone());
    }
}

/// The dedupe key of a message: the platform's ids are unique over all chats.
fn message_id(message: &str) -> Result<MessageId, BadId> {
    message.parse()
}

fn toast(kind: &str, words: &str) -> Outcome {
    Outcome::Answered(json!({ "toast": { "type": kind, "content": words } }))
}
