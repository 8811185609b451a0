//! Sends deliveries to their chat or topic, with an idempotency key for retries, in the best format that the platform
//! accepts.

use std::time::Duration;

use super::adapter::capabilities;
use super::api::FeishuApi;
use super::attachments::{MOST_FILE, upload};
use super::calls::{CallTarget, InTopic};
use super::card::{ReadyMessage, calling, message_formats, question_card, settled_card};
use super::fault::FeishuError;
use super::notes::Notes;
use super::press::card_rows;
use super::streaming::Sequences;
use crate::adapters::chat::{
    ButtonsBlock, ChatParts, DraftTask, FeatureProbe, FileBlock, LiveMessage, Outbound, OutboundNotes,
    OutboundPlatform, Pace, PeerBook, PeerMention, Rate, SentQuestion, Superseded, UnsendableFile,
    is_first_part,
};
use crate::domain::{Capabilities, ChatKind, OutboundIntent, ThreadId, short_digest};
use crate::ports::{Attempt, DeliveryError, OutboxEntry, Receipt};
use crate::render::Phrase;

/// The platform's rate limit for one app, over all chats.
const OVERALL: Rate = Rate { burst: 20, every: Duration::from_millis(60) };
/// The platform's rate limit for one chat.
const CHAT: Rate = Rate { burst: 4, every: Duration::from_millis(220) };

const NOTES: OutboundNotes = OutboundNotes { live: "growing-", question: "question-" };

#[derive(Debug)]
pub(super) struct FeishuSender {
    pub(super) api: FeishuApi,
    pub(super) outbound: Outbound,
    pub(super) notes: Notes,
    pace: Pace,
    /// Whether the platform supports streaming cards, as far as known.
    pub(super) streaming: FeatureProbe,
    pub(super) sequences: Sequences,
    peers: PeerBook,
}

/// The platform's idempotency key: the same for the same part of the same delivery.
pub(super) fn uuid(delivery: &str, part: &str) -> String {
    short_digest(format!("{delivery}/{part}").as_bytes(), 20)
}

impl FeishuSender {
    /// A sender, and the task that must be run for it.
    pub(super) fn new(api: FeishuApi, parts: ChatParts, notes: Notes, peers: PeerBook) -> (Self, DraftTask) {
        let (outbound, task) = Outbound::new(parts, NOTES);
        let (streaming, sequences) = (FeatureProbe::default(), Sequences::default());
        (Self { api, outbound, notes, pace: Pace::new(OVERALL), streaming, sequences, peers }, task)
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

impl OutboundPlatform for FeishuSender {
    const LARGEST_FILE: u64 = MOST_FILE;

    fn outbound(&self) -> &Outbound {
        &self.outbound
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    /// The platform tells a bot of another bot's message only by a real mention.
    async fn called(&self, entry: &OutboxEntry, text: &str) -> Vec<PeerMention> {
        let mut mentions = self.peers.mentions(text);
        mentions.retain(|mention| mention.seen_as.is_some());
        if mentions.is_empty() || self.notes.chat(&entry.intent.thread_id.chat()).await != ChatKind::Group {
            return Vec::new();
        }
        mentions
    }

    async fn send_text(
        &self,
        entry: &OutboxEntry,
        text: &str,
        called: &[PeerMention],
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let formats = if called.is_empty() { message_formats(text) } else { calling(text, called) };
        self.say_by(&entry.intent, entry.id.as_str(), formats).await
    }

    async fn finish(
        &self,
        entry: &OutboxEntry,
        live: LiveMessage,
        text: &str,
        _attempt: Attempt,
    ) -> Result<Option<Receipt>, DeliveryError> {
        self.finish_card(entry, live, text).await
    }

    async fn supersede(&self, thread: &ThreadId, live: LiveMessage, by: Superseded) {
        let message = live.message.clone();
        self.close_card(thread, live).await;
        if let Some(message) = message.filter(|_| by == Superseded::ByItsText) {
            self.delete(thread, &message).await;
        }
    }

    async fn send_question(
        &self,
        entry: &OutboxEntry,
        block: &ButtonsBlock,
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let (intent, id) = (&entry.intent, entry.id.as_str());
        let target = self.target(intent, id).await;
        let card = ReadyMessage::card(&question_card(&block.markdown, card_rows(block.rows.clone())));
        match self.send(&intent.thread_id, &target, &card, id, "card").await {
            Ok(message) => Ok(Receipt { platform_message: Some(message) }),
            // The text says how to answer without buttons.
            Err(error) if error.allows_plainer_format() => self.say(intent, id, &block.markdown).await,
            Err(error) => Err(error.into()),
        }
    }

    /// The card of a settled question keeps all of it.
    fn kept_text(&self, block: &ButtonsBlock) -> String {
        block.markdown.clone()
    }

    async fn send_outcome(
        &self,
        entry: &OutboxEntry,
        question: Option<SentQuestion>,
        outcome: &str,
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        if let Some(SentQuestion { message: Some(message), question, .. }) = question {
            self.pace.wait(&entry.intent.thread_id.chat(), CHAT).await;
            match self.api.replace_card(&message, &settled_card(&question, outcome)).await {
                Ok(()) => return Ok(Receipt { platform_message: Some(message) }),
                // The card is deleted or too old to edit: the outcome is sent as a new message.
                Err(FeishuError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.say(&entry.intent, entry.id.as_str(), outcome).await
    }

    async fn send_file(
        &self,
        entry: &OutboxEntry,
        file: &FileBlock,
        content: Result<Vec<u8>, UnsendableFile>,
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let (intent, id) = (&entry.intent, entry.id.as_str());
        let caption = file.caption.as_deref().filter(|caption| !caption.trim().is_empty());
        let content = match content {
            Ok(content) => content,
            Err(error) => {
                let name = file.name.clone();
                let phrase = match error {
                    UnsendableFile::TooLong { limit, .. } => {
                        Phrase::FileTooBig { name, megabytes: limit >> 20 }
                    }
                    UnsendableFile::Unreadable(_) | UnsendableFile::Empty => Phrase::FileLost(name),
                };
                let language = self.outbound.parts.language_for(caption.unwrap_or_default());
                return self.say(intent, id, &phrase.say(language)).await;
            }
        };
        let message = upload(&self.api, file, content).await?;
        let target = self.target(intent, id).await;
        let sent = self.send(&intent.thread_id, &target, &message, id, "file").await?;
        if let Some(caption) = caption {
            self.say(intent, &format!("{id}/caption"), caption).await?;
        }
        Ok(Receipt { platform_message: Some(sent) })
    }

    async fn delete(&self, _thread: &ThreadId, message: &str) -> bool {
        match self.api.delete(message).await {
            Ok(()) => true,
            Err(error) => {
                tracing::info!(%error, "message not deleted");
                matches!(error, FeishuError::Refused { .. })
            }
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
