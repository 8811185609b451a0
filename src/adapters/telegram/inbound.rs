//! Telegram's part of the inbound pipeline: parsing, downloads, administrators, notices, and the answers to buttons.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{ApiError, BotApi};
use super::attachments::download;
use super::chat_target::ChatTarget;
use super::deliver::TelegramSender;
use super::poll::number_of;
use super::retry::with_retry;
use super::section::Acknowledge;
use super::update::{PlatformEvent, PressedMessage, TelegramPressDetail, UpdateReader};
use super::wire::{ChatMember, Update};
use crate::adapters::chat::inbound::{
    AdminAnswer, AdminCheck, AdminQuery, Attachment, Fetched, Followups, Inbound, InboundMessage,
    InboundPlatform, InboundProfile, LookupError, Press, PressAnswer, PressedIn, Urgency,
};
use crate::adapters::chat::{AccessPolicy, Admission, ChatParts, FetchError};
use crate::domain::{Approval, ApprovalState, Author, ChatKind, Language, StoredFile};
use crate::ports::{BoxFuture, StoreError};
use crate::render::Phrase;

/// Deadline of a follow-up call.
const FOLLOWUP_WITHIN: Duration = Duration::from_secs(20);
/// Deadline of an administrator look-up: a person waits for a button or a stop.
const DECISION_WITHIN: Duration = Duration::from_secs(5);
const END_WITHIN: Duration = Duration::from_millis(1500);

pub(super) const PROFILE: InboundProfile = InboundProfile {
    // Earlier versions kept raw updates there.
    inbox: "spool",
    recalls: false,
    fetches_edits: false,
    submits_lost_files: false,
    submits_empty: false,
    stores_presses: true,
    downloads: 8,
    download_within: Duration::from_secs(20),
};

#[derive(Debug)]
pub(super) struct TelegramInbound {
    pub(super) reader: UpdateReader,
    pub(super) api: BotApi,
    pub(super) sender: Arc<TelegramSender>,
    pub(super) parts: ChatParts,
    pub(super) access: AccessPolicy,
    pub(super) followups: Followups,
    pub(super) acknowledge: Acknowledge,
}

impl TelegramInbound {
    /// The bot was added to a group. It leaves one that is not served.
    async fn invited(&self, chat: i64, by: &Author, language: Option<Language>) -> Result<(), StoreError> {
        let now = self.parts.clock.now();
        for id in self.reader.chat_ids(chat) {
            // In a served group the bot stays, independent of who added it.
            if self.access.is_served(&id).await?
                || self.access.admit(by, &id, ChatKind::Group, now).await? == Admission::Welcome
            {
                tracing::info!(chat, by = %by.id, "bot added to a group");
                return Ok(());
            }
        }
        tracing::info!(chat, by = %by.id, "bot added to an unserved group, leaving");
        let words = Phrase::NotServed.say(self.parts.language.or(language).unwrap_or_default());
        let (api, sender) = (self.api.clone(), self.sender.clone());
        self.followups.run(async move { leave(&api, &sender, chat, &words).await });
        Ok(())
    }

    /// The chat of an approval, and the message of the pressed button where it can still be edited: one from before a
    /// migration cannot.
    fn message_of(&self, shown: Option<PressedMessage>, approval: &Approval) -> Option<(ChatTarget, i64)> {
        let asked = ChatTarget::of(&approval.thread, &self.reader.aliases)?;
        shown.filter(|shown| shown.place.chat == asked.chat).map(|shown| (shown.place, shown.message))
    }
}

async fn leave(api: &BotApi, sender: &TelegramSender, chat: i64, words: &str) {
    let place = ChatTarget { chat, topic: None };
    if tokio::time::timeout(FOLLOWUP_WITHIN / 2, sender.say(&place, None, words)).await.is_err() {
        tracing::warn!(chat, "notice to an unserved group timed out");
    }
    let body = json!({ "chat_id": chat });
    if let Err(error) = with_retry(|| api.ask::<Value>("leaveChat", &body, FOLLOWUP_WITHIN)).await {
        tracing::warn!(%error, chat, "leaveChat failed");
    }
}

impl InboundPlatform for TelegramInbound {
    /// An update that cannot be parsed now never can: it is ignored, so that it does not block the rest.
    fn parse(&self, raw: &Value) -> Vec<Inbound> {
        let number = number_of(raw).unwrap_or_default();
        let read = match Update::deserialize(raw) {
            Ok(update) => self.reader.read(number, update, self.parts.clock.now()).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let unreadable =
            |error: &String| tracing::warn!(update = number, error, "update not readable, ignored");
        read.inspect_err(unreadable).ok().flatten().into_iter().collect()
    }

    fn fetch<'a>(
        &'a self,
        _message: &'a InboundMessage,
        attachment: &'a Attachment,
        file: &'a StoredFile,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move {
            download(&self.api, &*self.parts.files, attachment, file).await?;
            Ok(Fetched::File { media_type: attachment.media_type.clone() })
        })
    }

    fn is_admin<'a>(&'a self, query: AdminQuery<'a>) -> BoxFuture<'a, Result<AdminAnswer, LookupError>> {
        let within = match query.check {
            AdminCheck::Decision => DECISION_WITHIN,
            AdminCheck::End => END_WITHIN,
        };
        Box::pin(async move {
            let number = |id: &str| id.parse::<i64>().unwrap_or_default();
            let body = json!({ "chat_id": number(query.chat), "user_id": number(query.user) });
            match self.api.ask::<ChatMember>("getChatMember", &body, within).await {
                Ok(member) => Ok(AdminAnswer::Is(member.is_admin())),
                Err(error @ ApiError::Refused { .. }) => Err(LookupError::Refused(error.to_string())),
                Err(error) => Err(LookupError::NoAnswer(error.to_string())),
            }
        })
    }

    fn tell<'a>(
        &'a self,
        message: &'a InboundMessage,
        words: &'a str,
        _urgency: Urgency,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(place) = ChatTarget::deserialize(&message.detail) else { return };
            let reply_to = message.platform_message.parse().ok().filter(|message| *message > 0);
            self.sender.say(&place, reply_to, words).await;
        })
    }

    fn accepted(&self, message: &InboundMessage) {
        let (Ok(place), Ok(id)) =
            (ChatTarget::deserialize(&message.detail), message.platform_message.parse())
        else {
            return;
        };
        if self.acknowledge == Acknowledge::Eyes {
            let sender = self.sender.clone();
            self.followups.run(async move { sender.acknowledge(&place, id).await });
        }
    }

    fn missing_file(&self, name: &str, _notice: &str) -> String {
        format!("[file: {name} — could not be fetched]")
    }

    /// A button works only in the chat where it was shown; without a chat in the query, in the approval's own.
    fn locate<'a>(&'a self, press: &'a Press, approval: &'a Approval) -> BoxFuture<'a, Option<PressedIn>> {
        Box::pin(async move {
            let shown = TelegramPressDetail::deserialize(&press.detail).ok()?.shown;
            let asked = ChatTarget::of(&approval.thread, &self.reader.aliases)?;
            let kind = if asked.is_group() { ChatKind::Group } else { ChatKind::Direct };
            let (chat, kind) = shown.map_or((asked.chat, kind), |shown| (shown.place.chat, shown.kind));
            let here = self.reader.aliases.current(chat) == asked.chat;
            here.then(|| PressedIn { chats: self.reader.chat_ids(chat), kind })
        })
    }

    /// Every press is answered, because the client shows a spinner until then. No event waits for it.
    fn answer_press<'a>(
        &'a self,
        press: &'a Press,
        approval: Option<&'a Approval>,
        answer: PressAnswer,
    ) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let TelegramPressDetail { id, shown } = TelegramPressDetail::deserialize(&press.detail).ok()?;
            let written = approval.map(|approval| Language::of(&approval.summary));
            let language = self.parts.language.or(press.language).or(written).unwrap_or_default();
            let message = approval.and_then(|approval| self.message_of(shown, approval));
            let menu = match (&answer, approval) {
                (PressAnswer::Menu(_, menu), Some(approval)) => Some((*menu, approval.clone())),
                _ => None,
            };
            let words = match answer {
                PressAnswer::Counted | PressAnswer::NoAccess => None,
                PressAnswer::Refused(words) | PressAnswer::NotTheirs(words) => Some(words),
                PressAnswer::Menu(..) if message.is_some() => None,
                PressAnswer::Menu(..) => approval.map(|it| Phrase::AnswerInWords(it.number).say(language)),
                PressAnswer::NotOpen | PressAnswer::OtherChat | PressAnswer::NotOurs => {
                    Some(Phrase::NotOpen.say(language))
                }
                PressAnswer::Later => Some(Phrase::Busy.say(language)),
            };
            // A duplicate of a question, from a send without a response, keeps its buttons until one is pressed.
            let is_stale = approval.is_some_and(|approval| approval.state != ApprovalState::Pending);
            let sender = self.sender.clone();
            let work = async move {
                sender.answer_callback(&id, words.as_deref()).await;
                match (message, menu) {
                    (Some((place, message)), Some((menu, approval))) => {
                        sender.show_menu(&place, message, &approval, menu).await;
                    }
                    (Some((place, message)), None) if is_stale => sender.remove_buttons(place, message).await,
                    _ => {}
                }
            };
            self.followups.run_surely(work).await;
            None
        })
    }

    fn handle<'a>(&'a self, event: &'a Value) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match PlatformEvent::deserialize(event) {
                Ok(PlatformEvent::Moved) => self.reader.aliases.save(&*self.parts.notes).await,
                Ok(PlatformEvent::Invited { chat, by, language }) => self.invited(chat, &by, language).await,
                Err(_) => Ok(()),
            }
        })
    }
}
