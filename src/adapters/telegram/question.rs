//! Approvals with buttons, and their outcome on the same message.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::ApiError;
use super::change::Edited;
use super::chat_target::ChatTarget;
use super::client::OutgoingMessage;
use super::deliver::{DeliveryFailure, TelegramSender, reply_target};
use super::html::{MESSAGE_LIMIT, render_one};
use super::outgoing_message::{keyboard, new_buttons};
use super::retry::with_retry;
use crate::adapters::chat::{ButtonsBlock, Menu, QuestionSummary, approval_buttons};
use crate::domain::{Approval, ApprovalId, Language};
use crate::ports::{Attempt, Durability, OutboxEntry};

/// The stored message of an approval, to find and edit it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SentMenu {
    /// The message with the buttons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<i64>,
    /// The beginning of the approval's text, as CommonMark.
    #[serde(default)]
    head: String,
    #[serde(default)]
    language: Language,
}

impl TelegramSender {
    /// Sends a text with buttons. The file of an approval, if any, is a separate delivery before it.
    pub(super) async fn ask(
        &self,
        place: ChatTarget,
        entry: &OutboxEntry,
        block: ButtonsBlock,
        attempt: Attempt,
    ) -> Result<Option<i64>, DeliveryFailure> {
        let outgoing = OutgoingMessage {
            words: render_one(&block.markdown, MESSAGE_LIMIT),
            reply_to: reply_target(place, entry),
            keyboard: Some(keyboard(block.rows)),
        };
        let message = self.client.send_entry(place, &outgoing, entry, attempt).await?;
        if let Some(QuestionSummary { approval, head, language, .. }) = block.question {
            self.note(&approval, place, &SentMenu { message, head, language }).await;
        }
        Ok(message)
    }

    /// Shows the outcome of an approval, on its own message where that is known.
    pub(super) async fn resolve(
        &self,
        place: ChatTarget,
        approval: &ApprovalId,
        outcome: &str,
        entry: &OutboxEntry,
        attempt: Attempt,
    ) -> Result<Option<i64>, DeliveryFailure> {
        if let Some(SentMenu { message: Some(message), head, .. }) = self.asked(approval, place).await {
            let words = render_one(&format!("{head}\n\n{outcome}"), MESSAGE_LIMIT);
            let outgoing = OutgoingMessage { words, ..OutgoingMessage::default() };
            if self.changes(place, message, &outgoing, attempt).await? == Edited::Yes {
                return Ok(Some(message));
            }
        }
        let outgoing =
            OutgoingMessage { words: render_one(outcome, MESSAGE_LIMIT), ..OutgoingMessage::default() };
        Ok(self.client.send_entry(place, &outgoing, entry, attempt).await?)
    }

    /// Shows another menu under an approval.
    pub async fn show_menu(&self, place: &ChatTarget, message: i64, approval: &Approval, menu: Menu) {
        let language = match self.asked(&approval.id, *place).await {
            Some(asked) => asked.language,
            None => self.parts.language_for(&approval.summary),
        };
        let rows = approval_buttons(&approval.id, approval.kind, menu, &approval.scopes, language);
        let keyboard = keyboard(rows);
        let change = new_buttons(place.chat, message, keyboard);
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

    async fn asked(&self, approval: &ApprovalId, place: ChatTarget) -> Option<SentMenu> {
        let note = self.parts.notes.get(&name(approval, place)).await.ok().flatten()?;
        serde_json::from_value(note).ok()
    }

    async fn note(&self, approval: &ApprovalId, place: ChatTarget, asked: &SentMenu) {
        let note = serde_json::to_value(asked).unwrap_or_default();
        if let Err(error) = self.parts.notes.put(&name(approval, place), note, Durability::Written).await {
            tracing::warn!(%approval, %error, "approval message id not stored");
        }
    }
}

/// One approval may be asked in several chats.
fn name(approval: &ApprovalId, place: ChatTarget) -> String {
    format!("approval:{approval}@{}", place.chat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::chat::question;
    use crate::adapters::telegram::capabilities;
    use crate::domain::{ApprovalKind, Intent, LengthUnit, Risk, Timestamp};
    use crate::render::fit_question;

    fn asked(summary: &str, details: &str) -> Intent {
        Intent::ApprovalRequest {
            approval_id: "apr_0123456789abcdef".parse().unwrap(),
            number: "A1".to_owned(),
            kind: ApprovalKind::Tool,
            language: Language::En,
            summary: summary.to_owned(),
            risk: Risk::Low,
            details: Some(details.to_owned()),
            scopes: Vec::new(),
            suggested_replies: vec!["approve A1".to_owned()],
            expires_at: Timestamp::from_millis(60_000).rfc3339(),
        }
    }

    #[test]
    fn a_question_always_fits_into_one_message() {
        let diff = format!("```diff\n{}```", "+ a line of the diff\n".repeat(2000));
        for (summary, details, shorter) in [
            ("ls", "short", false),
            ("ls", diff.as_str(), true),
            (&"x ".repeat(5000), "short", true),
            (&"😀".repeat(3000), diff.as_str(), true),
        ] {
            let intent = asked(summary, details);
            let short = fit_question(&intent, &capabilities());
            assert_eq!(short.is_some(), shorter, "{}", summary.len());
            let text = question(short.as_ref().unwrap_or(&intent), Timestamp::from_millis(0)).unwrap();
            assert!(LengthUnit::Utf16.measure(&text) < MESSAGE_LIMIT, "{}", text.len());
            assert_eq!(text.matches("```").count() % 2, 0, "{text}");
            assert!(text.contains("Answer `approve A1`"), "{text}");
        }
    }
}
