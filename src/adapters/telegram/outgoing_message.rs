//! An outgoing message, its send plan, and the request bodies.

use serde::Serialize;
use serde_json::{Value, json};
use teloxide_core::payloads::{
    DeleteMessage, EditMessageReplyMarkup, EditMessageReplyMarkupSetters as _, EditMessageText,
    EditMessageTextSetters as _, SendMessage, SendMessageSetters as _,
};
use teloxide_core::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageId, ParseMode,
    ReplyParameters, ThreadId,
};

use super::chat_target::ChatTarget;
use super::html::Rendered;
use crate::adapters::chat::BlockButton;

/// The content of an outgoing message.
#[derive(Clone, Debug, Default)]
pub(super) struct OutgoingMessage {
    /// The text, with markup and without.
    pub(super) words: Rendered,
    pub(super) reply_to: Option<i64>,
    pub(super) keyboard: Option<InlineKeyboardMarkup>,
}

/// How a message is sent; each fallback changes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendPlan {
    pub(super) place: ChatTarget,
    /// The message that it replies to.
    pub(super) reply_to: Option<i64>,
    /// Whether the text is sent with markup.
    pub(super) markup: bool,
}

impl SendPlan {
    pub(super) const fn of(place: ChatTarget, outgoing: &OutgoingMessage) -> Self {
        Self { place, reply_to: outgoing.reply_to, markup: true }
    }

    fn text<'a>(&self, outgoing: &'a OutgoingMessage) -> &'a str {
        if self.markup { &outgoing.words.html } else { &outgoing.words.plain }
    }

    /// The body of `sendMessage`.
    pub(super) fn message(&self, outgoing: &OutgoingMessage) -> Value {
        let mut message = SendMessage::new(ChatId(self.place.chat), self.text(outgoing));
        message = message.link_preview_options(no_preview());
        if self.markup {
            message = message.parse_mode(ParseMode::Html);
        }
        if let Some(topic) = self.place.topic {
            message = message.message_thread_id(ThreadId(small(topic)));
        }
        if let Some(reply_to) = self.reply_to {
            let reply = ReplyParameters::new(small(reply_to));
            message = message.reply_parameters(reply.allow_sending_without_reply());
        }
        if let Some(keyboard) = &outgoing.keyboard {
            message = message.reply_markup(keyboard.clone());
        }
        let reply_to = ("/reply_parameters/message_id", self.reply_to);
        body(&message, &[("/message_thread_id", self.place.topic), reply_to])
    }

    /// The body of `editMessageText`.
    pub(super) fn change(&self, message: i64, outgoing: &OutgoingMessage) -> Value {
        let mut change = EditMessageText::new(ChatId(self.place.chat), small(message), self.text(outgoing));
        change = change.link_preview_options(no_preview());
        if self.markup {
            change = change.parse_mode(ParseMode::Html);
        }
        if let Some(keyboard) = &outgoing.keyboard {
            change = change.reply_markup(keyboard.clone());
        }
        body(&change, &[("/message_id", Some(message))])
    }

    /// The form fields of a file.
    pub(super) fn fields(&self, outgoing: &OutgoingMessage) -> Vec<(&'static str, String)> {
        let mut fields = vec![("chat_id", self.place.chat.to_string())];
        if let Some(topic) = self.place.topic {
            fields.push(("message_thread_id", topic.to_string()));
        }
        if let Some(reply_to) = self.reply_to {
            let reply = json!({ "message_id": reply_to, "allow_sending_without_reply": true });
            fields.push(("reply_parameters", reply.to_string()));
        }
        if !outgoing.words.plain.is_empty() {
            fields.push(("caption", self.text(outgoing).to_owned()));
            if self.markup {
                fields.push(("parse_mode", "HTML".to_owned()));
            }
        }
        fields
    }
}

/// The body of `deleteMessage`.
pub(super) fn deletion(chat: i64, message: i64) -> Value {
    body(&DeleteMessage::new(ChatId(chat), small(message)), &[("/message_id", Some(message))])
}

/// The body of `editMessageReplyMarkup`.
pub(super) fn new_buttons(chat: i64, message: i64, keyboard: InlineKeyboardMarkup) -> Value {
    let change = EditMessageReplyMarkup::new(ChatId(chat), small(message)).reply_markup(keyboard);
    body(&change, &[("/message_id", Some(message))])
}

/// Rows of buttons as a Telegram keyboard.
pub(super) fn keyboard(rows: Vec<Vec<BlockButton>>) -> InlineKeyboardMarkup {
    let button = |button: BlockButton| InlineKeyboardButton::callback(button.label, button.data);
    InlineKeyboardMarkup::new(rows.into_iter().map(|row| row.into_iter().map(button).collect::<Vec<_>>()))
}

/// A message id in teloxide's type: 32 bits, which the protocol does not guarantee.
fn small(message: i64) -> MessageId {
    MessageId(i32::try_from(message).unwrap_or_default())
}

/// A call's body with the full 64-bit ids.
fn body(call: &impl Serialize, numbers: &[(&str, Option<i64>)]) -> Value {
    let mut body = serde_json::to_value(call).unwrap_or_default();
    for (place, number) in numbers {
        if let (Some(number), Some(place)) = (number, body.pointer_mut(place)) {
            *place = json!(number);
        }
    }
    body
}

fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::chat::{Menu, approval_buttons};
    use crate::domain::{ApprovalId, ApprovalKind, Language, ScopeKind};

    #[test]
    fn numbers_of_52_bits_go_as_they_are() {
        let big = (1_i64 << 52) - 1;
        let place = ChatTarget { chat: -big, topic: Some(big - 1) };
        let outgoing = OutgoingMessage { reply_to: Some(big - 2), ..OutgoingMessage::default() };
        let plan = SendPlan::of(place, &outgoing);
        let sent = plan.message(&outgoing);
        assert_eq!(sent["chat_id"], -big);
        assert_eq!(sent["message_thread_id"], big - 1);
        assert_eq!(sent["reply_parameters"]["message_id"], big - 2);
        assert_eq!(sent["reply_parameters"]["allow_sending_without_reply"], true);
        assert_eq!(sent["link_preview_options"]["is_disabled"], true);
        assert_eq!(sent["parse_mode"], "HTML");
        assert_eq!(plan.change(big, &outgoing)["message_id"], big);
        assert_eq!(deletion(7, big), json!({ "chat_id": 7, "message_id": big }));
        let buttons = new_buttons(7, big, InlineKeyboardMarkup::default());
        assert_eq!(
            (&buttons["message_id"], &buttons["reply_markup"]),
            (&json!(big), &json!({ "inline_keyboard": [] }))
        );
    }

    #[test]
    fn buttons_say_what_they_do_and_carry_the_approvals_own_id() {
        let id: ApprovalId = "apr_0123456789abcdef".parse().unwrap();
        let scopes = [ScopeKind::Once, ScopeKind::Thread];
        let rows = approval_buttons(&id, ApprovalKind::Tool, Menu::First, &scopes, Language::En);
        let keyboard = keyboard(rows);
        assert_eq!(
            serde_json::to_value(keyboard).unwrap(),
            json!({ "inline_keyboard": [
                [
                    { "text": "✅ Approve", "callback_data": "y:apr_0123456789abcdef" },
                    { "text": "❌ Deny", "callback_data": "n:apr_0123456789abcdef" },
                ],
                [{ "text": "Approve for longer …", "callback_data": "o:apr_0123456789abcdef" }],
            ] })
        );
    }

    #[test]
    fn a_button_that_cannot_carry_its_meaning_is_not_shown() {
        let id: ApprovalId = "a".repeat(64).parse().unwrap();
        let keyboard = keyboard(approval_buttons(&id, ApprovalKind::Tool, Menu::First, &[], Language::Zh));
        assert!(keyboard.inline_keyboard.iter().all(Vec::is_empty));
    }
}
