//! Sends outbox entries, ephemeral intents and short notices. One entry becomes one message.

use std::sync::Arc;

use serde_json::json;
use teloxide_core::payloads::{AnswerCallbackQuery, AnswerCallbackQuerySetters as _};
use teloxide_core::types::CallbackQueryId;

use super::adapter::capabilities;
use super::api::{ApiError, BotApi, Upload};
use super::change::Edited;
use super::chat_target::{Aliases, ChatTarget};
use super::classify::verdict;
use super::client::{BROKEN_TRIES, Client, OutgoingMessage};
use super::draft_renderer::DraftRenderer;
use super::html::{MESSAGE_LIMIT, Rendered, escape, render, render_one};
use super::limits::SendPriority;
use super::menu;
use super::retry::{with_counted_retry, with_retry};
use super::streamed_messages::{StreamedMessage, StreamedMessages};
use crate::adapters::chat::{
    Block, ChatParts, DraftScheduler, DraftTarget, DraftTask, PeerBook, PeerMention, is_first_part,
    lower_entry, with_mentions,
};
use crate::domain::{CorrelationId, LengthUnit, OutboundIntent, ThreadId};
use crate::metrics::Metrics;
use crate::ports::{Attempt, DeliveryError, OutboxEntry, Receipt};

/// The longest text of a callback answer.
const LONGEST_ANSWER: usize = 200;

/// Sends to Telegram. Clones are the same sender.
#[derive(Clone, Debug)]
pub struct TelegramSender {
    pub(super) client: Client,
    pub(super) parts: ChatParts,
    chats: Aliases,
    drafts: DraftScheduler,
    renderer: Arc<DraftRenderer>,
    streamed: Arc<StreamedMessages>,
    /// The other agents; `None` where none can be known.
    peers: Option<PeerBook>,
}

impl TelegramSender {
    /// A sender, and the draft scheduler that must be run for it, with its [`target`](Self::target).
    pub fn new(api: BotApi, parts: ChatParts, chats: Aliases) -> (Self, DraftTask) {
        let (drafts, task) = DraftScheduler::new();
        let client = Client::new(api, chats.clone(), parts.notes.clone());
        let streamed = Arc::new(StreamedMessages::new(parts.notes.clone()));
        let renderer = Arc::new(DraftRenderer::new(client.clone(), chats.clone(), streamed.clone()));
        (Self { client, parts, chats, drafts, renderer, streamed, peers: None }, task)
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

    /// A text that names other agents by a command, since a plain mention by a bot does not reach them; `None` where it
    /// names none.
    fn commanding(&self, place: ChatTarget, text: &str) -> Option<String> {
        let mentions = self.peers.as_ref().filter(|_| place.is_group())?.mentions(text);
        let command = |mention: &PeerMention| {
            let account = mention.account.as_ref().filter(|account| !account.name.is_empty())?;
            Some(format!("/ask@{}", account.name))
        };
        let named = with_mentions(text, &mentions, command);
        (named != text).then_some(named)
    }

    /// The renderer of ephemeral intents.
    pub fn target(&self) -> Arc<dyn DraftTarget> {
        self.renderer.clone()
    }

    pub async fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> Result<Receipt, DeliveryError> {
        let Some(place) = ChatTarget::of(&entry.intent.thread_id, &self.chats) else {
            let reason = format!("{} is not a chat", entry.intent.thread_id);
            return Err(DeliveryError::Permanent { reason });
        };
        if let Some(after) = self.client.rests_long(place) {
            let reason = "rate limited".to_owned();
            return Err(DeliveryError::Retry { after: Some(after), reason });
        }
        let live = self.take(&entry).await;
        let now = self.parts.clock.now();
        let block = lower_entry(&entry, &capabilities(), self.parts.language, now)?;
        let live = match &block {
            Block::Text(_) => live,
            Block::Buttons(_) | Block::File(_) | Block::EditOf { .. } => {
                self.clear(place, &entry, live).await;
                None
            }
        };
        let delivered = match block {
            Block::Text(text) => {
                let named = self.commanding(place, &text);
                // An edit reaches no other bot.
                let live = match live {
                    Some(live) if named.is_some() => {
                        self.clear(place, &entry, Some(live)).await;
                        None
                    }
                    live => live,
                };
                let text = named.unwrap_or(text);
                Box::pin(self.put_text(place, &entry, &text, live, attempt)).await
            }
            Block::Buttons(block) => Box::pin(self.ask(place, &entry, block, attempt)).await,
            Block::EditOf { question, outcome } => {
                Box::pin(self.resolve(place, &question, &outcome, &entry, attempt)).await
            }
            Block::File(file) => Box::pin(self.attach(place, &entry, &file, attempt)).await,
        };
        if delivered.is_ok() {
            self.client.delete_left_messages(place, &entry.intent.thread_id, &self.streamed).await;
        }
        match delivered {
            Ok(message) => Ok(Receipt { platform_message: message.map(|message| message.to_string()) }),
            Err(DeliveryFailure::Api(error)) => Err(verdict(&error)),
            Err(DeliveryFailure::Never(reason)) => Err(DeliveryError::Permanent { reason }),
        }
    }

    /// Shows an ephemeral intent. Never waits.
    pub fn show(&self, intent: OutboundIntent) {
        let reply_to = intent.reply_to.as_deref().and_then(|message| message.parse().ok());
        if let Some(reply_to) = reply_to.filter(|_| in_group(&intent, &self.chats)) {
            self.renderer.expect(&intent.thread_id, &intent.correlation_id, reply_to);
        }
        self.drafts.show(intent);
    }

    /// Removes what is shown of a turn that ended without text. Never waits.
    pub fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        self.drafts.over(thread, run);
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
        menu::register(self.client.api(), &*self.parts.notes, self.parts.language).await;
    }

    /// Ends the draft of the entry's turn, and returns the message that it left.
    async fn take(&self, entry: &OutboxEntry) -> Option<StreamedMessage> {
        let (thread, correlation) = (&entry.intent.thread_id, &entry.intent.correlation_id);
        // After this no frame of the turn is sent, and the note is final.
        self.drafts.take(thread, correlation).await;
        self.renderer.forget(thread, correlation);
        let live = self.streamed.get(thread).await?;
        (live.correlation == *correlation && live.takes(&entry.id)).then_some(live)
    }

    /// Deletes the draft message where another message replaces it.
    async fn clear(&self, place: ChatTarget, entry: &OutboxEntry, live: Option<StreamedMessage>) {
        if let Some(live) = live {
            self.client.take_away(place, &entry.intent.thread_id, live.message, &self.streamed).await;
        }
    }

    /// Writes a text into the streamed message, or sends a new one.
    async fn put_text(
        &self,
        place: ChatTarget,
        entry: &OutboxEntry,
        text: &str,
        live: Option<StreamedMessage>,
        attempt: Attempt,
    ) -> Result<Option<i64>, DeliveryFailure> {
        let words = render_one(text, MESSAGE_LIMIT);
        if is_cut(text, &words) {
            self.clear(place, entry, live).await;
            return self.put_file(place, entry, text, attempt).await;
        }
        let outgoing = OutgoingMessage { words, reply_to: reply_target(place, entry), keyboard: None };
        if let Some(live) = live {
            if self.changes(place, live.message, &outgoing, attempt).await? == Edited::Yes {
                let done = StreamedMessage { done: Some(entry.id.clone()), ..live };
                let message = done.message;
                self.streamed.put(&entry.intent.thread_id, done).await;
                return Ok(Some(message));
            }
            self.clear(place, entry, Some(live)).await;
        }
        match self.client.send_entry(place, &outgoing, entry, attempt).await {
            Err(error) if error.says("is too long") => self.put_file(place, entry, text, attempt).await,
            sent => Ok(sent?),
        }
    }

    /// Edits a message. A server that repeatedly gives no answer or an error to edits is treated as one without
    /// edits; so is one behind a proxy that blocks them.
    pub(super) async fn changes(
        &self,
        place: ChatTarget,
        message: i64,
        outgoing: &OutgoingMessage,
        attempt: Attempt,
    ) -> Result<Edited, ApiError> {
        let edited = self.client.edit(place, message, outgoing, SendPriority::Required).await;
        let last_try = match &edited {
            Err(ApiError::Unsure(_)) => 1,
            Err(ApiError::NotSent(_)) => BROKEN_TRIES,
            Err(error) if error.is_broken() => BROKEN_TRIES,
            _ => u32::MAX,
        };
        match edited {
            Err(error) if attempt.number > last_try => {
                tracing::warn!(
                    chat = place.chat,
                    message,
                    %error,
                    "edit failed repeatedly, sending a new message"
                );
                Ok(Edited::No)
            }
            edited => edited,
        }
    }

    /// Sends a text that exceeds every message as a file.
    async fn put_file(
        &self,
        place: ChatTarget,
        entry: &OutboxEntry,
        text: &str,
        attempt: Attempt,
    ) -> Result<Option<i64>, DeliveryFailure> {
        let outgoing = OutgoingMessage { reply_to: reply_target(place, entry), ..OutgoingMessage::default() };
        let file = text_file("answer.md", text);
        Ok(self.client.upload(place, "sendDocument", &file, &outgoing, entry, attempt).await?)
    }
}

/// Why a delivery failed.
#[derive(Debug)]
pub(super) enum DeliveryFailure {
    Api(ApiError),
    /// The entry can never be sent.
    Never(String),
}

impl From<ApiError> for DeliveryFailure {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

/// The message that an entry replies to: in groups, and only for the first part of an answer.
pub(super) fn reply_target(place: ChatTarget, entry: &OutboxEntry) -> Option<i64> {
    let replies = is_first_part(entry.id.as_str()) && place.is_group();
    entry.intent.reply_to.as_deref().filter(|_| replies)?.parse().ok()
}

pub(super) fn text_file(name: &str, text: &str) -> Upload {
    Upload {
        field: "document",
        name: name.to_owned(),
        media_type: "text/markdown".to_owned(),
        content: text.as_bytes().to_vec(),
        seconds: None,
    }
}

/// Whether the text was cut because nothing longer fits.
fn is_cut(text: &str, words: &Rendered) -> bool {
    words.html == escape(&words.plain) && LengthUnit::Utf16.measure(text.trim()) > MESSAGE_LIMIT
}

fn in_group(intent: &OutboundIntent, chats: &Aliases) -> bool {
    ChatTarget::of(&intent.thread_id, chats).is_some_and(ChatTarget::is_group)
}
