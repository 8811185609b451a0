//! Sends deliveries to their chat or topic, with an idempotency key for retries, in the best format that the platform
//! accepts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::adapter::capabilities;
use super::api::FeishuApi;
use super::attachments::{OutgoingFile, UploadError, upload};
use super::calls::{CallTarget, InTopic};
use super::card::{ReadyMessage, calling, message_formats, question_card, settled_card};
use super::fault::FeishuError;
use super::notes::{Notes, SentQuestion};
use super::press::card_rows;
use super::streaming::Sequences;
use crate::adapters::chat::{
    Block, ButtonsBlock, DraftScheduler, Pace, PeerBook, PeerMention, QuestionSummary, Rate, is_first_part,
    lower_entry,
};
use crate::domain::{ApprovalId, ChatKind, Language, OutboundIntent, ThreadId, short_digest};
use crate::ports::{Clock, DeliveryError, FileStore, OutboxEntry, Receipt};

/// The platform's rate limit for one app, over all chats.
pub(super) const OVERALL: Rate = Rate { burst: 20, every: Duration::from_millis(60) };
/// The platform's rate limit for one chat.
const CHAT: Rate = Rate { burst: 4, every: Duration::from_millis(220) };

#[derive(Debug)]
pub(super) struct FeishuSender {
    pub(super) api: FeishuApi,
    pub(super) notes: Notes,
    pub(super) files: Arc<dyn FileStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) language: Option<Language>,
    pub(super) pace: Pace,
    pub(super) drafts: DraftScheduler,
    /// Whether the platform supports streaming cards; cleared by the first refusal.
    pub(super) streaming_supported: AtomicBool,
    pub(super) sequences: Sequences,
    pub(super) peers: PeerBook,
}

/// The platform's idempotency key: the same for the same part of the same delivery.
pub(super) fn uuid(delivery: &str, part: &str) -> String {
    short_digest(format!("{delivery}/{part}").as_bytes(), 20)
}

impl FeishuSender {
    pub(super) async fn deliver(&self, entry: OutboxEntry) -> Result<Receipt, DeliveryError> {
        let block = lower_entry(&entry, &capabilities(), self.language, self.clock.now())?;
        let OutboxEntry { id, intent, .. } = entry;
        let id = id.as_str();
        match block {
            Block::Text(text) => {
                let called = self.called(&intent, &text).await;
                if !called.is_empty() {
                    self.withdraw_streaming(&intent).await;
                    return self.say_by(&intent, id, calling(&text, &called)).await;
                }
                if let Some(receipt) = self.finish_streaming(&intent, id, &text).await? {
                    return Ok(receipt);
                }
                self.say(&intent, id, &text).await
            }
            Block::Buttons(block) => {
                self.close_streaming(&intent).await;
                self.ask(&intent, id, block).await
            }
            Block::EditOf { question, outcome } => self.resolve(&intent, id, &question, &outcome).await,
            Block::File(file) => {
                self.close_streaming(&intent).await;
                let attachment = OutgoingFile { file: &file.file, name: &file.name, kind: file.kind };
                self.attach(&intent, id, &attachment, file.caption.as_deref()).await
            }
        }
    }

    /// The agents that a text in a group names and that can be mentioned. The platform tells a bot of another bot's
    /// message only by a real mention.
    async fn called(&self, intent: &OutboundIntent, text: &str) -> Vec<PeerMention> {
        let mut mentions = self.peers.mentions(text);
        mentions.retain(|mention| mention.seen_as.is_some());
        if mentions.is_empty() || self.notes.chat(&intent.thread_id.chat()).await != ChatKind::Group {
            return Vec::new();
        }
        mentions
    }

    /// Sends text in the best format that the platform accepts.
    async fn say(&self, intent: &OutboundIntent, id: &str, markdown: &str) -> Result<Receipt, DeliveryError> {
        self.say_by(intent, id, message_formats(markdown)).await
    }

    async fn say_by(
        &self,
        intent: &OutboundIntent,
        id: &str,
        formats: Vec<ReadyMessage>,
    ) -> Result<Receipt, DeliveryError> {
        let target = self.target(intent, id).await;
        let mut refused = None;
        for (index, message) in formats.iter().enumerate() {
            match self.send(&intent.thread_id, &target, message, id, &index.to_string()).await {
                Ok(sent) => return Ok(Receipt { platform_message: Some(sent) }),
                Err(error) if error.allows_plainer_format() => {
                    tracing::info!(kind = message.kind, %error, "message format refused, trying a plainer one");
                    refused = Some(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let nothing = || DeliveryError::Permanent { reason: "there is nothing to say".to_owned() };
        Err(refused.map_or_else(nothing, DeliveryError::from))
    }

    async fn ask(
        &self,
        intent: &OutboundIntent,
        id: &str,
        block: ButtonsBlock,
    ) -> Result<Receipt, DeliveryError> {
        let ButtonsBlock { markdown, rows, question } = block;
        let target = self.target(intent, id).await;
        let card = ReadyMessage::card(&question_card(&markdown, card_rows(rows)));
        match self.send(&intent.thread_id, &target, &card, id, "card").await {
            Ok(message) => {
                if let Some(QuestionSummary { approval, kind, scopes, language, .. }) = question {
                    let shown =
                        SentQuestion { message: message.clone(), question: markdown, kind, scopes, language };
                    if let Err(error) =
                        self.notes.learn_question(&approval, &intent.thread_id.chat(), &shown).await
                    {
                        // The buttons still work; only the outcome becomes a new message instead of an edit.
                        tracing::warn!(%error, "approval message id not stored");
                    }
                }
                Ok(Receipt { platform_message: Some(message) })
            }
            // The text says how to answer without buttons.
            Err(error) if error.allows_plainer_format() => self.say(intent, id, &markdown).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn resolve(
        &self,
        intent: &OutboundIntent,
        id: &str,
        approval: &ApprovalId,
        outcome: &str,
    ) -> Result<Receipt, DeliveryError> {
        let Some(shown) = self.notes.question(approval, &intent.thread_id.chat()).await else {
            return self.say(intent, id, outcome).await;
        };
        self.pace.wait(&intent.thread_id.chat(), CHAT).await;
        match self.api.replace_card(&shown.message, &settled_card(&shown.question, outcome)).await {
            Ok(()) => Ok(Receipt { platform_message: Some(shown.message) }),
            // The card is deleted or too old to edit: the outcome is sent as a new message.
            Err(FeishuError::Refused { .. }) => self.say(intent, id, outcome).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn attach(
        &self,
        intent: &OutboundIntent,
        id: &str,
        attachment: &OutgoingFile<'_>,
        caption: Option<&str>,
    ) -> Result<Receipt, DeliveryError> {
        let message = match upload(&self.api, &*self.files, attachment).await {
            Ok(message) => message,
            Err(UploadError::Unsendable(phrase)) => {
                let language = self.language.unwrap_or_else(|| Language::of(caption.unwrap_or_default()));
                return self.say(intent, id, &phrase.say(language)).await;
            }
            Err(UploadError::Api(error)) => return Err(error.into()),
        };
        let target = self.target(intent, id).await;
        let sent = self.send(&intent.thread_id, &target, &message, id, "file").await?;
        if let Some(caption) = caption.filter(|caption| !caption.trim().is_empty()) {
            self.say(intent, &format!("{id}/caption"), caption).await?;
        }
        Ok(Receipt { platform_message: Some(sent) })
    }

    /// Sends a message; into the chat itself where the replied-to message is gone.
    pub(super) async fn send(
        &self,
        thread: &ThreadId,
        target: &CallTarget,
        message: &ReadyMessage,
        id: &str,
        part: &str,
    ) -> Result<String, FeishuError> {
        let chat = thread.chat();
        self.pace.wait(&chat, CHAT).await;
        let sent = self.api.send(target, message, &uuid(id, part)).await;
        match sent {
            Err(error) if error.is_target_gone() && matches!(target, CallTarget::Reply { .. }) => {
                let fresh = uuid(id, &format!("{part}/fresh"));
                self.api.send(&CallTarget::Chat(chat), message, &fresh).await
            }
            Err(FeishuError::Busy { after, .. }) => {
                self.pace.pause(&chat, CHAT, after.unwrap_or(Duration::from_secs(1)));
                sent
            }
            other => other,
        }
    }

    /// The target of a delivery: in a topic a reply to one of its messages, in a group a reply to the question, in a
    /// direct chat the chat.
    pub(super) async fn target(&self, intent: &OutboundIntent, id: &str) -> CallTarget {
        let chat = intent.thread_id.chat();
        let question = intent.reply_to.as_ref().filter(|message| message.starts_with("om_"));
        if let Some(topic) = intent.thread_id.topic() {
            let anchor = match question {
                Some(question) => Some(question.clone()),
                None => self.notes.topic(&topic).await,
            };
            return anchor.map_or(CallTarget::Chat(chat), |message| CallTarget::Reply {
                message,
                topic: InTopic::Yes,
            });
        }
        match question {
            Some(message) if is_first_part(id) && self.notes.chat(&chat).await == ChatKind::Group => {
                CallTarget::Reply { message: message.clone(), topic: InTopic::No }
            }
            _ => CallTarget::Chat(chat),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_and_tells_parts_apart() {
        assert_eq!(uuid("msg_1#0", "0"), uuid("msg_1#0", "0"));
        assert_ne!(uuid("msg_1#0", "0"), uuid("msg_1#0", "1"));
        assert_ne!(uuid("msg_1#0", "0"), uuid("msg_1#1", "0"));
        assert!(uuid(&"x".repeat(500), "0").len() <= 50);
    }
}
