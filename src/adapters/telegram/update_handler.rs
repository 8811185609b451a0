//! Handles parsed updates: checks access, downloads files, and submits. Notices and other follow-ups run afterwards, so
//! that no update waits for them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::adapter::TelegramAdapter;
use super::admins::{AdminCheck, Admins};
use super::aliases::Aliases;
use super::api::Api;
use super::attachments::{Fetched, Fetcher};
use super::chat_target::ChatTarget;
use super::contents::named;
use super::deliver::Sender;
use super::options::{Acknowledge, Strangers};
use super::retry::with_retry;
use super::update::{InboundMessage, Invitation, MessageContent, Press, What};
use crate::adapters::chat::inbound::{Submitted, submit};
use crate::adapters::chat::{AccessPolicy, Addressed, Admission, ChatParts, Menu};
use crate::domain::{
    Approval, Author, ChatKind, Command, IngressEvent, IngressKind, Language, Platform, Said, ThreadId,
};
use crate::metrics::Metrics;
use crate::ports::{PairingRequest, StoreError, ThreadsHandle};
use crate::render::Phrase;

/// Deadline of a follow-up call.
const POLITE: std::time::Duration = std::time::Duration::from_secs(20);

/// A parsed update to handle.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// A message, and whether it is for the agent.
    InboundMessage(Box<InboundMessage>, Addressed),
    Pressed(Box<Press>),
    /// The bot was added to a chat.
    Invited(Invitation),
    /// A group migrated to a new id.
    Moved,
}

/// Whether an update is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Accepted, or nothing to accept.
    Kept,
    /// Not accepted: has to be retried.
    Again,
}

/// A best-effort action after an update.
#[derive(Debug)]
pub(super) enum Followup {
    /// A notice outside of the outbox.
    Say(ChatTarget, Option<i64>, String),
    /// The acknowledgement reaction.
    Eyes(ChatTarget, i64),
    /// The answer to a pressed button, which ends its spinner.
    Answer(String, Option<String>),
    /// Another menu under an approval.
    Buttons(ChatTarget, i64, Box<Approval>, Menu),
    /// Removes the buttons of a message.
    Bare(ChatTarget, i64),
    /// A notice, after which the bot leaves the chat.
    Leave(i64, String),
    /// A notice that an update was refused because the queue is full.
    TooMuch(Work),
}

/// The result of handling an update.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) asides: Vec<Followup>,
}

impl Done {
    pub(super) const fn kept(asides: Vec<Followup>) -> Self {
        Self { outcome: Outcome::Kept, asides }
    }

    pub(super) fn again(why: &str) -> Self {
        tracing::warn!(why, "update not accepted, retrying");
        Self { outcome: Outcome::Again, asides: Vec::new() }
    }
}

#[derive(Debug)]
pub(super) struct UpdateHandler {
    pub(super) platform: Platform,
    pub(super) api: Api,
    pub(super) sender: Arc<Sender>,
    pub(super) parts: ChatParts,
    pub(super) gate: AccessPolicy,
    pub(super) threads: ThreadsHandle,
    pub(super) admins: Admins,
    pub(super) aliases: Aliases,
    pub(super) metrics: Arc<Metrics>,
    fetcher: Fetcher,
    acknowledge: Acknowledge,
    strangers: Strangers,
}

impl UpdateHandler {
    pub(super) fn new(adapter: &TelegramAdapter, threads: ThreadsHandle) -> Self {
        let TelegramAdapter { platform, options, parts, api, aliases, sender, metrics, .. } = adapter;
        Self {
            platform: platform.clone(),
            fetcher: Fetcher::new(api.clone()),
            admins: Admins::new(api.clone(), options.admins_decide),
            gate: AccessPolicy::new(platform.clone(), options.guests.clone(), parts.access.clone()),
            threads,
            metrics: metrics.clone(),
            sender: sender.clone(),
            parts: parts.clone(),
            aliases: aliases.clone(),
            api: api.clone(),
            acknowledge: options.acknowledge,
            strangers: options.strangers,
        }
    }

    pub(super) async fn receive(&self, work: Work) -> Done {
        let done = match work {
            Work::InboundMessage(inbound, hearing) => self.handle_message(*inbound, hearing).await,
            Work::Pressed(press) => self.pressed(*press).await,
            Work::Invited(invitation) => self.invited(invitation).await,
            Work::Moved => self.aliases.save(&*self.parts.notes).await.map(|()| Done::kept(Vec::new())),
        };
        done.unwrap_or_else(|error| Done::again(&error.to_string()))
    }

    /// Runs a follow-up.
    pub(super) async fn perform(&self, aside: Followup) {
        let work = async {
            match aside {
                Followup::Say(place, reply_to, words) => self.sender.say(&place, reply_to, &words).await,
                Followup::Eyes(place, message) => self.sender.acknowledge(&place, message).await,
                Followup::Answer(id, words) => self.sender.answer_callback(&id, words.as_deref()).await,
                Followup::Buttons(place, message, approval, menu) => {
                    self.sender.show_menu(&place, message, &approval, menu).await;
                }
                Followup::Bare(place, message) => self.bare(place, message).await,
                Followup::Leave(chat, words) => self.leave(chat, &words).await,
                Followup::TooMuch(work) => self.turn_away(work).await,
            }
        };
        if tokio::time::timeout(POLITE * 2, work).await.is_err() {
            tracing::warn!("follow-up timed out");
        }
    }

    /// The language for the author of this text.
    pub(super) fn language(&self, text: &str, known: Option<Language>) -> Language {
        let theirs =
            || if Language::of(text) == Language::Zh { Language::Zh } else { known.unwrap_or_default() };
        self.parts.language.unwrap_or_else(theirs)
    }

    /// Whether a person may write in a chat. A migrated group is known by both its ids.
    pub(super) async fn admit(
        &self,
        author: &Author,
        chat: i64,
        kind: ChatKind,
    ) -> Result<Admission, StoreError> {
        let now = self.parts.clock.now();
        let mut admission = Admission::Closed;
        for number in self.numbers(chat) {
            admission = self.gate.admit(author, &number.to_string(), kind, now).await?;
            if admission != Admission::Closed {
                break;
            }
        }
        Ok(admission)
    }

    /// All ids that a chat has had: the settings may name any of them.
    fn numbers(&self, chat: i64) -> Vec<i64> {
        let mut numbers = vec![self.aliases.original(chat), chat, self.aliases.current(chat)];
        numbers.dedup();
        numbers
    }

    /// Whether a group is served, by any of its ids.
    async fn is_served(&self, chat: i64) -> Result<bool, StoreError> {
        for number in self.numbers(chat) {
            if self.gate.is_served(&number.to_string()).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn handle_message(&self, inbound: InboundMessage, hearing: Addressed) -> Result<Done, StoreError> {
        let text = match &inbound.what {
            What::Said(parcel) | What::Edited(parcel) => parcel.said.text.as_str(),
            What::Ordered(_) | What::Started(_) => "",
        };
        let language = self.language(text, inbound.language);
        // A link to the bot carries the invitation code.
        if let (What::Started(Some(code)), ChatKind::Direct) = (&inbound.what, inbound.chat) {
            self.gate.redeem(&inbound.author, code, self.parts.clock.now()).await?;
        }
        match self.admit(&inbound.author, inbound.place.chat, inbound.chat).await? {
            Admission::Welcome => Ok(self.submit(inbound, hearing, language).await),
            Admission::Pair(knock) => Ok(Done::kept(self.pair(inbound.place, knock, language))),
            Admission::Closed => {
                tracing::debug!(chat = inbound.place.chat, "message of an unserved chat ignored");
                Ok(Done::kept(Vec::new()))
            }
        }
    }

    fn pair(&self, place: ChatTarget, knock: PairingRequest, language: Language) -> Vec<Followup> {
        let PairingRequest::Code { code, expires, fresh: true } = knock else { return Vec::new() };
        if self.strangers == Strangers::Silence {
            return Vec::new();
        }
        let minutes = (expires.millis_since(self.parts.clock.now()) / 60_000).max(1);
        vec![Followup::Say(place, None, Phrase::Pair { code, minutes }.say(language))]
    }

    async fn submit(&self, inbound: InboundMessage, hearing: Addressed, language: Language) -> Done {
        let InboundMessage { thread, place, author, chat, message, message_id, at, what, .. } = inbound;
        let context_only = hearing == Addressed::Overhear;
        let mut asides = Vec::new();
        let kind = match what {
            What::Ordered(order) => IngressKind::Command(order),
            What::Started(_) => IngressKind::Command(Command::Help.into()),
            What::Said(parcel) => {
                let Some(said) =
                    self.unpack(parcel, context_only, &thread, place, language, &mut asides).await
                else {
                    return Done::kept(asides);
                };
                IngressKind::Said(Said { context_only, ..said })
            }
            What::Edited(parcel) => {
                IngressKind::Edited(Said { context_only, ..self.corrected(parcel, &thread, place).await })
            }
        };
        let author = match matter_of(&kind) {
            Some(matter) => self.admins.resolve_role(author, place.chat, chat, matter).await,
            None => author,
        };
        let fresh = matches!(kind, IngressKind::Said(_)) && !context_only;
        let platform_message = message_id.to_string();
        let event = IngressEvent { thread, author, message, platform_message, at, chat, kind };
        match submit(&self.threads, event, language).await {
            Submitted::Kept => {
                if fresh && self.acknowledge == Acknowledge::Eyes {
                    asides.push(Followup::Eyes(place, message_id));
                }
                Done::kept(asides)
            }
            Submitted::Tell(words) => {
                asides.push(Followup::Say(place, Some(message_id), words));
                Done::kept(asides)
            }
            Submitted::Later(why) => Done::again(&why),
        }
    }

    /// Downloads the files; `None` where neither text nor files are left.
    async fn unpack(
        &self,
        parcel: MessageContent,
        context_only: bool,
        thread: &ThreadId,
        place: ChatTarget,
        language: Language,
        asides: &mut Vec<Followup>,
    ) -> Option<Said> {
        let MessageContent { mut said, files } = parcel;
        let reply_to = files.first().map(|file| file.message_id);
        if context_only {
            // Files of a context-only message are named, not downloaded.
            let names: Vec<String> = files.iter().map(named).collect();
            add_lines(&mut said.text, &names);
            return Some(said);
        }
        let moved = self.moved(place);
        let Fetched { files, missing } = self.fetcher.fetch(&*self.parts.files, thread, moved, files).await;
        for (_, phrase) in &missing {
            asides.push(Followup::Say(place, reply_to, phrase.say(language)));
        }
        if said.text.is_empty() && files.is_empty() && !missing.is_empty() {
            return None;
        }
        let names: Vec<String> =
            missing.iter().map(|(name, _)| format!("[file: {name} — could not be fetched]")).collect();
        add_lines(&mut said.text, &names);
        said.files = files;
        Some(said)
    }

    /// An edit changes the text. Its files are those that were downloaded before.
    async fn corrected(&self, parcel: MessageContent, thread: &ThreadId, place: ChatTarget) -> Said {
        let MessageContent { mut said, files } = parcel;
        let (files, others) = self.fetcher.find(&*self.parts.files, thread, self.moved(place), files).await;
        add_lines(&mut said.text, &others.iter().map(named).collect::<Vec<_>>());
        Said { files, ..said }
    }

    /// The new id of a migrated chat.
    fn moved(&self, place: ChatTarget) -> Option<i64> {
        Some(place.chat).filter(|chat| self.aliases.original(*chat) != *chat)
    }

    async fn invited(&self, invitation: Invitation) -> Result<Done, StoreError> {
        let Invitation { chat, by, language } = invitation;
        // In a served group the bot stays, independent of who added it.
        if self.is_served(chat).await? {
            return Ok(Done::kept(Vec::new()));
        }
        match self.admit(&by, chat, ChatKind::Group).await? {
            Admission::Welcome => {
                tracing::info!(chat, by = %by.id, "bot added to a group");
                Ok(Done::kept(Vec::new()))
            }
            Admission::Pair(_) | Admission::Closed => {
                tracing::info!(chat, by = %by.id, "bot added to an unserved group, leaving");
                let words = Phrase::NotServed.say(self.language("", language));
                Ok(Done::kept(vec![Followup::Leave(chat, words)]))
            }
        }
    }

    /// Sends the notice that an update was refused. A person without access gets none.
    async fn turn_away(&self, work: Work) {
        match work {
            Work::Pressed(press) => {
                let words = Phrase::Busy.say(self.language("", press.language));
                self.sender.answer_callback(&press.id, Some(&words)).await;
            }
            Work::InboundMessage(inbound, _) => {
                let admission = self.admit(&inbound.author, inbound.place.chat, inbound.chat).await;
                if matches!(admission, Ok(Admission::Welcome)) {
                    let words = Phrase::Busy.say(self.language("", inbound.language));
                    let reply_to = Some(inbound.message_id).filter(|message| *message > 0);
                    self.sender.say(&inbound.place, reply_to, &words).await;
                }
            }
            Work::Invited(_) | Work::Moved => {}
        }
    }

    async fn bare(&self, place: ChatTarget, message: i64) {
        let body = json!({ "chat_id": place.chat, "message_id": message });
        if let Err(error) = self.sender.change_buttons(place, &body).await {
            // The original lost its buttons when the approval was decided.
            tracing::debug!(%error, "button removal failed");
        }
    }

    async fn leave(&self, chat: i64, words: &str) {
        let place = ChatTarget { chat, topic: None };
        if tokio::time::timeout(POLITE, self.sender.say(&place, None, words)).await.is_err() {
            tracing::warn!(chat, "notice to an unserved group timed out");
        }
        let body = json!({ "chat_id": chat });
        let left = with_retry(|| self.api.ask::<Value>("leaveChat", &body, POLITE)).await;
        if let Err(error) = left {
            tracing::warn!(%error, chat, "leaveChat failed");
        }
    }
}

/// The administrator check that an event needs.
const fn matter_of(kind: &IngressKind) -> Option<AdminCheck> {
    match kind {
        IngressKind::Said(_) | IngressKind::Decision(_) => Some(AdminCheck::Decision),
        IngressKind::Command(order) => match order.command {
            Command::Approve | Command::Deny | Command::Cancel | Command::Grants => {
                Some(AdminCheck::Decision)
            }
            Command::Stop | Command::New => Some(AdminCheck::End),
            _ => None,
        },
        IngressKind::Edited(_) | IngressKind::Revised(_) | IngressKind::Regenerate(_) => None,
    }
}

fn add_lines(text: &mut String, lines: &[String]) {
    for line in lines {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(line);
    }
}
