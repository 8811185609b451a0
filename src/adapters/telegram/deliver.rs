//! Sending: what the outbox holds, and a few words beside it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::aliases::Aliases;
use super::api::{Api, ApiError};
use super::place::Place;
use crate::adapters::chat::{ChatParts, Frame, Menu, Painter, Screen, ScreenTask};
use crate::domain::{Approval, CorrelationId, Intent, OutboundIntent, ThreadId};
use crate::ports::{BoxFuture, DeliveryError, OutboxEntry, Receipt};

const CALL: std::time::Duration = std::time::Duration::from_secs(20);

/// Sends to Telegram.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    api: Api,
    chats: Aliases,
    screen: Screen,
}

impl Sender {
    /// A sender, and the screen that must be run for it.
    pub(super) fn new(api: Api, _parts: ChatParts, chats: Aliases) -> (Self, ScreenTask) {
        let (screen, task) = Screen::new();
        (Self { api, chats, screen }, task)
    }

    /// Delivers one chunk.
    pub(super) async fn deliver(&self, entry: OutboxEntry, _attempt: u32) -> Result<Receipt, DeliveryError> {
        let Some(place) = Place::of(&entry.intent.thread_id, &self.chats) else {
            return Err(DeliveryError::Permanent { reason: "no such chat".to_owned() });
        };
        let text = match entry.intent.intent {
            Intent::AssistantText { text }
            | Intent::ApprovalResolved { text, .. }
            | Intent::Error { text, .. } => text,
            Intent::ApprovalRequest { summary, .. } => summary,
            _ => return Ok(Receipt::default()),
        };
        let reply_to = entry.intent.reply_to.and_then(|id| id.parse().ok());
        match self.send(&place, reply_to, &text).await {
            Ok(sent) => Ok(Receipt { platform_message: sent.get("message_id").map(Value::to_string) }),
            Err(error) => Err(DeliveryError::Retry { after: None, reason: error.to_string() }),
        }
    }

    async fn send(&self, place: &Place, reply_to: Option<i64>, text: &str) -> Result<Value, ApiError> {
        let mut body = json!({ "chat_id": place.chat, "text": text });
        if let (Some(topic), Some(body)) = (place.topic, body.as_object_mut()) {
            body.insert("message_thread_id".to_owned(), topic.into());
        }
        if let (Some(id), Some(body)) = (reply_to.filter(|_| place.is_group()), body.as_object_mut()) {
            let reply = json!({ "message_id": id, "allow_sending_without_reply": true });
            body.insert("reply_parameters".to_owned(), reply);
        }
        self.api.ask("sendMessage", &body, CALL).await
    }

    /// Shows something fleeting.
    pub(super) fn show(&self, intent: OutboundIntent) {
        self.screen.show(intent);
    }

    /// Says a few words beside the outbox, as well as it can.
    pub(super) async fn say(&self, place: &Place, reply_to: Option<i64>, markdown: &str) {
        if let Err(error) = self.send(place, reply_to, markdown).await {
            tracing::warn!(%error, chat = place.chat, "a few words could not be said");
        }
    }

    /// Ends the wait of whoever pressed a button.
    pub(super) async fn answer_callback(&self, id: &str, text: Option<&str>) {
        let body = json!({ "callback_query_id": id, "text": text.unwrap_or_default() });
        if let Err(error) = self.api.ask::<Value>("answerCallbackQuery", &body, CALL).await {
            tracing::debug!(%error, "a press could not be answered");
        }
    }

    /// Shows other buttons under a question.
    pub(super) async fn show_menu(
        &self,
        _place: &Place,
        _message_id: i64,
        _approval: &Approval,
        _menu: Menu,
    ) {
    }

    /// Whoever shows what is fleeting.
    pub(super) fn painter(&self) -> Arc<dyn Painter> {
        Arc::new(Blank)
    }
}

struct Blank;

impl Painter for Blank {
    fn paint(
        &self,
        _: ThreadId,
        _: CorrelationId,
        _: Frame,
        _: Option<String>,
    ) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn interval(&self, _: &ThreadId) -> std::time::Duration {
        std::time::Duration::from_secs(1)
    }
}
