//! Telegram's part of the outbound side: texts, questions with buttons, and what is said outside of the outbox. One entry
//! becomes one message.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use teloxide_core::payloads::{AnswerCallbackQuery, AnswerCallbackQuerySetters as _};
use teloxide_core::types::CallbackQueryId;

use super::adapter::capabilities;
use super::api::{ApiError, BotApi, Upload};
use super::attachments::LARGEST_UPLOAD;
use super::chat_target::{Aliases, ChatTarget};
use super::client::{Client, Edited};
use super::html::{MESSAGE_LIMIT, Rendered, escape, render, render_one};
use super::limits::SendPriority;
use super::menu;
use super::outgoing_message::{OutgoingMessage, keyboard, new_buttons};
use super::retry::{with_counted_retry, with_retry};
use crate::adapters::chat::{
    ButtonsBlock, ChatParts, DraftTask, FeatureProbe, FileBlock, LiveMessage, Menu, Outbound, OutboundNotes,
    OutboundPlatform, PeerBook, PeerMention, SentQuestion, UnsendableFile, approval_buttons, deliver,
    is_first_part, take_away, with_mentions,
};
use crate::domain::{Approval, Capabilities, CorrelationId, LengthUnit, OutboundIntent, ThreadId};
use crate::metrics::Metrics;
use crate::ports::{Attempt, DeliveryError, Durability, OutboxEntry, Receipt};

/// After how long a chat action is sent again; Telegram shows one for five seconds.
const ACTION_LASTS: Duration = Duration::from_secs(4);
/// The longest text of a callback answer.
const LONGEST_ANSWER: usize = 200;
const NOTES: OutboundNotes = OutboundNotes { live: "live:", question: "approval:" };

/// Sends to Telegram. Clones are the same sender.
#[derive(Clone, Debug)]
pub struct TelegramSender {
    pub(super) client: Client,
    pub(super) outbound: Arc<Outbound>,
    pub(super) chats: Aliases,
    /// Whether the server supports drafts, as far as known.
    pub(super) drafts: Arc<FeatureProbe>,
    /// The other agents; `None` where none can be known.
    peers: Option<PeerBook>,
}

impl TelegramSender {
    /// A sender, and the task that must be run for it, with a clone of it.
    pub fn new(api: BotApi, parts: ChatParts, chats: Aliases) -> (Self, DraftTask) {
        let client = Client::new(api, chats.clone(), parts.notes.clone());
        let (outbound, task) = Outbound::new(parts, NOTES);
        (Self { client, outbound: Arc::new(outbound), chats, drafts: Arc::default(), peers: None }, task)
    }

    #[must_use]
    pub fn counting(self, metrics: Arc<Metrics>) -> Self {
        Self { client: self.client.counting(metrics), ..self }
    }

    /// Lets texts name the agents of this book so that they are heard.
    #[must_use]
    pub fn naming(self, peers: PeerBook) -> Self {
        Self { peers: Some(peers), ..self }
    }

    /// Delivers an outbox entry.
    ///
    /// # Errors
    /// When it was not sent, or that is unknown.
    pub async fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> Result<Receipt, DeliveryError> {
        Box::pin(deliver(self, entry, attempt)).await
    }

    /// What the draft task shows drafts with.
    pub fn target(&self) -> Arc<Self> {
        Arc::new(self.clone())
    }

    /// Shows an ephemeral intent. Never waits.
    pub fn show(&self, intent: OutboundIntent) {
        self.outbound.drafts.show(intent);
    }

    /// Shows the sign of a voice message that is being recorded, until this is dropped.
    pub async fn show_recording(&self, thread: ThreadId) -> Infallible {
        if let Some(place) = ChatTarget::of(&thread, &self.chats) {
            loop {
                self.act(place, "record_voice").await;
                tokio::time::sleep(ACTION_LASTS).await;
            }
        }
        std::future::pending().await
    }

    /// Removes what is shown of a turn that ended without text. Never waits.
    pub fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        self.outbound.drafts.remove(thread, run);
    }

    /// Sends a short notice outside of the outbox, best effort.
    pub async fn say(&self, place: &ChatTarget, reply_to: Option<i64>, markdown: &str) {
        let reply_to = reply_to.filter(|_| place.is_group());
        for (index, words) in render(markdown, MESSAGE_LIMIT).into_iter().enumerate() {
            let outgoing =
                OutgoingMessage { words, reply_to: reply_to.filter(|_| index == 0), keyboard: None };
            let send = || self.client.send(*place, &outgoing, SendPriority::Required);
            if let Err(error) = with_counted_retry(send, || self.client.count_repeated_notice(*place)).await {
                tracing::warn!(chat = place.chat, %error, "notice not sent");
                return;
            }
        }
    }

    /// Answers a callback query, which ends the button's spinner.
    pub async fn answer_callback(&self, id: &str, text: Option<&str>) {
        let mut answer = AnswerCallbackQuery::new(CallbackQueryId(id.to_owned()));
        if let Some(text) = text {
            answer = answer.text(render_one(text, LONGEST_ANSWER).plain);
        }
        if let Err(error) = with_retry(|| self.client.api().call(&answer)).await {
            tracing::debug!(%error, "callback answer failed");
        }
    }

    /// Sets the acknowledgement reaction, best effort.
    pub async fn acknowledge(&self, place: &ChatTarget, message: i64) {
        let eyes = json!([{ "type": "emoji", "emoji": "👀" }]);
        let body = json!({ "chat_id": place.chat, "message_id": message, "reaction": eyes });
        if let Err(error) = self.client.ask(*place, "setMessageReaction", &body).await {
            tracing::debug!(chat = place.chat, %error, "acknowledgement reaction failed");
        }
    }

    /// Registers the command menu, if it changed.
    pub async fn register_menu(&self) {
        let parts = &self.outbound.parts;
        menu::register(self.client.api(), &*parts.notes, parts.language).await;
    }

    /// Shows another menu under an approval.
    pub async fn show_menu(&self, place: &ChatTarget, message: i64, approval: &Approval, menu: Menu) {
        let language = match self.outbound.question(&approval.id, &approval.thread).await {
            Some(asked) => asked.language,
            None => self.outbound.parts.language_for(&approval.summary),
        };
        let rows = approval_buttons(&approval.id, approval.kind, menu, &approval.scopes, language);
        let change = new_buttons(place.chat, message, keyboard(rows));
        if let Err(error) = self.change_buttons(*place, &change).await {
            tracing::debug!(chat = place.chat, %error, "approval menu edit failed");
        }
    }

    /// Removes the buttons of a message.
    pub(super) async fn remove_buttons(&self, place: ChatTarget, message: i64) {
        let body = json!({ "chat_id": place.chat, "message_id": message });
        if let Err(error) = self.change_buttons(place, &body).await {
            // The original lost its buttons when the approval was decided.
            tracing::debug!(%error, "button removal failed");
        }
    }

    /// Edits only the buttons of a message.
    async fn change_buttons(&self, place: ChatTarget, body: &Value) -> Result<(), ApiError> {
        with_retry(|| self.client.call_unpaced(place, "editMessageReplyMarkup", body)).await.map(drop)
    }

    /// The chat of an entry. [`OutboundPlatform::check`] has refused entries without one.
    pub(super) fn place(&self, entry: &OutboxEntry) -> Result<ChatTarget, DeliveryError> {
        let thread = &entry.intent.thread_id;
        ChatTarget::of(thread, &self.chats)
            .ok_or_else(|| DeliveryError::Permanent { reason: format!("{thread} is not a chat") })
    }

    /// Sends a text that exceeds every message as a file.
    async fn send_as_file(
        &self,
        place: ChatTarget,
        entry: &OutboxEntry,
        text: &str,
        attempt: Attempt,
    ) -> Result<Option<i64>, ApiError> {
        let outgoing = OutgoingMessage { reply_to: reply_target(place, entry), ..OutgoingMessage::default() };
        let file = Upload {
            field: "document",
            name: "answer.md".to_owned(),
            media_type: "text/markdown".to_owned(),
            content: text.as_bytes().to_vec(),
            seconds: None,
        };
        self.client.upload(place, "sendDocument", &file, &outgoing, entry, attempt).await
    }
}

impl OutboundPlatform for TelegramSender {
    const LARGEST_FILE: u64 = LARGEST_UPLOAD;

    fn outbound(&self) -> &Outbound {
        &self.outbound
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn check(&self, entry: &OutboxEntry) -> Result<(), DeliveryError> {
        match self.client.rests_long(self.place(entry)?) {
            Some(after) => {
                Err(DeliveryError::Retry { after: Some(after), reason: "rate limited".to_owned() })
            }
            None => Ok(()),
        }
    }

    /// A plain mention by a bot reaches no other bot; a command that names it does.
    async fn called(&self, entry: &OutboxEntry, text: &str) -> Vec<PeerMention> {
        let in_group = self.place(entry).is_ok_and(ChatTarget::is_group);
        let peers = self.peers.as_ref().filter(|_| in_group);
        let mut called = peers.map(|peers| peers.mentions(text)).unwrap_or_default();
        called.retain(|mention| command_for(mention).is_some());
        called
    }

    async fn send_text(
        &self,
        entry: &OutboxEntry,
        text: &str,
        called: &[PeerMention],
        attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let place = self.place(entry)?;
        let text = with_mentions(text, called, command_for);
        let words = render_one(&text, MESSAGE_LIMIT);
        if is_cut(&text, &words) {
            return Ok(receipt(self.send_as_file(place, entry, &text, attempt).await?));
        }
        let outgoing = OutgoingMessage { words, reply_to: reply_target(place, entry), keyboard: None };
        match self.client.send_entry(place, &outgoing, entry, attempt).await {
            Err(error) if error.says("is too long") => {
                Ok(receipt(self.send_as_file(place, entry, &text, attempt).await?))
            }
            sent => Ok(receipt(sent?)),
        }
    }

    /// Edits the growing message; deletes one that cannot be edited.
    async fn finish(
        &self,
        entry: &OutboxEntry,
        live: LiveMessage,
        text: &str,
        attempt: Attempt,
    ) -> Result<Option<Receipt>, DeliveryError> {
        let (place, thread) = (self.place(entry)?, &entry.intent.thread_id);
        let words = render_one(text, MESSAGE_LIMIT);
        let message = live.message.as_deref().and_then(|message| message.parse().ok());
        if let Some(message) = message.filter(|_| !is_cut(text, &words)) {
            let outgoing = OutgoingMessage { words, ..OutgoingMessage::default() };
            if self.client.edit_for_entry(place, message, &outgoing, attempt).await? == Edited::Yes {
                let done = LiveMessage { done: Some(entry.id.as_str().to_owned()), ..live };
                if let Err(error) = self.outbound.live.put(thread, done, Durability::Written).await {
                    tracing::debug!(%thread, %error, "end of the growing message not stored");
                }
                return Ok(Some(receipt(Some(message))));
            }
        }
        take_away(self, thread, &live).await;
        Ok(None)
    }

    async fn send_question(
        &self,
        entry: &OutboxEntry,
        block: &ButtonsBlock,
        attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let place = self.place(entry)?;
        let outgoing = OutgoingMessage {
            words: render_one(&block.markdown, MESSAGE_LIMIT),
            reply_to: reply_target(place, entry),
            keyboard: Some(keyboard(block.rows.clone())),
        };
        Ok(receipt(self.client.send_entry(place, &outgoing, entry, attempt).await?))
    }

    async fn send_outcome(
        &self,
        entry: &OutboxEntry,
        question: Option<SentQuestion>,
        outcome: &str,
        attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let place = self.place(entry)?;
        let of = |text: &str| OutgoingMessage {
            words: render_one(text, MESSAGE_LIMIT),
            ..OutgoingMessage::default()
        };
        let asked = question.and_then(|asked| Some((asked.message?.parse().ok()?, asked.question)));
        if let Some((message, head)) = asked {
            let outgoing = of(&format!("{head}\n\n{outcome}"));
            if self.client.edit_for_entry(place, message, &outgoing, attempt).await? == Edited::Yes {
                return Ok(receipt(Some(message)));
            }
        }
        Ok(receipt(self.client.send_entry(place, &of(outcome), entry, attempt).await?))
    }

    async fn send_file(
        &self,
        entry: &OutboxEntry,
        file: &FileBlock,
        content: Result<Vec<u8>, UnsendableFile>,
        attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let content = content.map_err(|error| DeliveryError::Permanent { reason: error.to_string() })?;
        Ok(receipt(Box::pin(self.upload(entry, file, content, attempt)).await?))
    }

    async fn delete(&self, thread: &ThreadId, message: &str) -> bool {
        let Some(place) = ChatTarget::of(thread, &self.chats) else { return true };
        match message.parse() {
            Ok(message) => self.client.delete(place, message).await,
            Err(_) => true,
        }
    }
}

fn command_for(mention: &PeerMention) -> Option<String> {
    let account = mention.account.as_ref().filter(|account| !account.name.is_empty())?;
    Some(format!("/ask@{}", account.name))
}

fn receipt(message: Option<i64>) -> Receipt {
    Receipt { platform_message: message.map(|message| message.to_string()) }
}

/// The message that an entry replies to: in groups, and only for the first part of an answer.
pub(super) fn reply_target(place: ChatTarget, entry: &OutboxEntry) -> Option<i64> {
    let replies = is_first_part(entry.id.as_str()) && place.is_group();
    entry.intent.reply_to.as_deref().filter(|_| replies)?.parse().ok()
}

/// Whether the text was cut because nothing longer fits.
fn is_cut(text: &str, words: &Rendered) -> bool {
    words.html == escape(&words.plain) && LengthUnit::Utf16.measure(text.trim()) > MESSAGE_LIMIT
}
