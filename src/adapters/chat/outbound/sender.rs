//! Delivers outbox entries to chats: each becomes one block, which the platform sends. What is the same for all platforms
//! is here: the end of what is shown of the turn, the answer in its growing message, questions that are edited later, files.

use serde::{Deserialize, Serialize};

use super::draft_scheduler::{DraftScheduler, DraftTask};
use super::draft_worker::DraftTarget;
use super::live_messages::{LiveMessage, LiveMessages};
use super::lower::{Block, ButtonsBlock, FileBlock, QuestionSummary, lower_entry};
use crate::adapters::chat::PeerMention;
use crate::domain::{
    ApprovalId, ApprovalKind, Capabilities, Language, OutboundIntent, ScopeKind, StoredFile, ThreadId,
};
use crate::ports::{Attempt, ChatParts, DeliveryError, Durability, FileStore, OutboxEntry, Receipt};

/// How many failed deletions are retried at a time.
const DELETED_AT_ONCE: usize = 3;

/// A question that was sent, to find and edit its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentQuestion {
    #[serde(default, deserialize_with = "super::live_messages::id", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// As CommonMark: what stays of it when it is settled.
    #[serde(default, alias = "head")]
    pub question: String,
    #[serde(default = "tool")]
    pub kind: ApprovalKind,
    /// How far a yes can reach.
    #[serde(default)]
    pub scopes: Vec<ScopeKind>,
    #[serde(default)]
    pub language: Language,
}

const fn tool() -> ApprovalKind {
    ApprovalKind::Tool
}

/// The names of a platform's notes. They differ for historical reasons.
#[derive(Clone, Copy, Debug)]
pub struct OutboundNotes {
    /// Before a thread: its growing message.
    pub live: &'static str,
    /// Before an approval: its question.
    pub question: &'static str,
}

/// What the sender of every platform has.
#[derive(Debug)]
pub struct Outbound {
    pub parts: ChatParts,
    pub drafts: DraftScheduler,
    pub live: LiveMessages,
    names: OutboundNotes,
}

impl Outbound {
    /// With the task that shows drafts, to be run by its owner.
    pub fn new(parts: ChatParts, names: OutboundNotes) -> (Self, DraftTask) {
        let (drafts, task) = DraftScheduler::new();
        let live = LiveMessages::new(parts.notes.clone(), names.live);
        (Self { parts, drafts, live, names }, task)
    }

    /// The question of an approval in a chat.
    pub async fn question(&self, approval: &ApprovalId, thread: &ThreadId) -> Option<SentQuestion> {
        let note = self.parts.notes.get(&self.question_name(approval, thread)).await.ok().flatten()?;
        serde_json::from_value(note).ok()
    }

    async fn note_question(&self, thread: &ThreadId, approval: &ApprovalId, sent: &SentQuestion) {
        let note = serde_json::to_value(sent).unwrap_or_default();
        let name = self.question_name(approval, thread);
        if let Err(error) = self.parts.notes.put(&name, note, Durability::Written).await {
            // The buttons still work; only the outcome becomes a new message instead of an edit.
            tracing::warn!(%approval, %error, "approval message id not stored");
        }
    }

    /// One approval may be asked in several chats.
    fn question_name(&self, approval: &ApprovalId, thread: &ThreadId) -> String {
        format!("{}{approval}@{}", self.names.question, thread.chat())
    }
}

/// Why the content of a file cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsendableFile {
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    #[error("the file is empty, and the platform takes no empty files")]
    Empty,
    #[error("the file has {size} bytes, and the platform takes {limit}")]
    TooLong { size: u64, limit: u64 },
}

/// The content of a file of at most `limit` bytes.
async fn read_file(files: &dyn FileStore, file: &StoredFile, limit: u64) -> Result<Vec<u8>, UnsendableFile> {
    let unreadable = |why: &dyn std::fmt::Display| UnsendableFile::Unreadable(why.to_string());
    let found = files.open(file.thread(), file.name()).await.map_err(|error| unreadable(&error))?;
    let found = found.ok_or_else(|| unreadable(&"it is not there"))?;
    match found.length {
        0 => Err(UnsendableFile::Empty),
        size if size > limit => Err(UnsendableFile::TooLong { size, limit }),
        _ => found.bytes().await.map_err(|error| unreadable(&error)),
    }
}

/// What takes the place of a growing message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superseded {
    /// A question or a file, which follows.
    ByOther,
    /// The same text as a new message.
    ByItsText,
}

/// The sending side of a platform: its calls, its formats, and what its errors mean.
pub trait OutboundPlatform: DraftTarget {
    /// Most bytes of a file.
    const LARGEST_FILE: u64;

    fn outbound(&self) -> &Outbound;

    fn capabilities(&self) -> Capabilities;

    /// Whether an entry may be sent at all now.
    ///
    /// # Errors
    /// When the platform may not send it now.
    fn check(&self, _entry: &OutboxEntry) -> Result<(), DeliveryError> {
        Ok(())
    }

    /// The other agents that a text has to name in the platform's own way, so that they hear of it.
    fn called(&self, _entry: &OutboxEntry, _text: &str) -> impl Future<Output = Vec<PeerMention>> + Send {
        async { Vec::new() }
    }

    /// Sends a text in the best format that the platform takes.
    fn send_text(
        &self,
        entry: &OutboxEntry,
        text: &str,
        called: &[PeerMention],
        attempt: Attempt,
    ) -> impl Future<Output = Result<Receipt, DeliveryError>> + Send;

    /// Makes the growing message the answer; `None` where that is not possible, and the text has to be sent.
    fn finish(
        &self,
        _entry: &OutboxEntry,
        _live: LiveMessage,
        _text: &str,
        _attempt: Attempt,
    ) -> impl Future<Output = Result<Option<Receipt>, DeliveryError>> + Send {
        async { Ok(None) }
    }

    /// Takes the growing message out of the way of what is sent instead.
    fn supersede(
        &self,
        thread: &ThreadId,
        live: LiveMessage,
        _by: Superseded,
    ) -> impl Future<Output = ()> + Send {
        self.discard(thread, live)
    }

    /// Sends a text with buttons.
    fn send_question(
        &self,
        entry: &OutboxEntry,
        block: &ButtonsBlock,
        attempt: Attempt,
    ) -> impl Future<Output = Result<Receipt, DeliveryError>> + Send;

    /// What stays of a question when it is settled.
    fn kept_text(&self, block: &ButtonsBlock) -> String {
        block.question.as_ref().map(|question| question.head.clone()).unwrap_or_default()
    }

    /// Shows the outcome of a question, on its own message where that is known and can be edited.
    fn send_outcome(
        &self,
        entry: &OutboxEntry,
        question: Option<SentQuestion>,
        outcome: &str,
        attempt: Attempt,
    ) -> impl Future<Output = Result<Receipt, DeliveryError>> + Send;

    /// Sends a file, or says why it cannot be sent.
    fn send_file(
        &self,
        entry: &OutboxEntry,
        file: &FileBlock,
        content: Result<Vec<u8>, UnsendableFile>,
        attempt: Attempt,
    ) -> impl Future<Output = Result<Receipt, DeliveryError>> + Send;

    /// Deletes a message; false where a retry makes sense.
    fn delete(&self, _thread: &ThreadId, _message: &str) -> impl Future<Output = bool> + Send {
        async { true }
    }
}

/// Delivers an entry.
///
/// # Errors
/// When it was not sent, or that is unknown.
pub async fn deliver<P: OutboundPlatform>(
    platform: &P,
    entry: OutboxEntry,
    attempt: Attempt,
) -> Result<Receipt, DeliveryError> {
    platform.check(&entry)?;
    let Outbound { parts, drafts, .. } = platform.outbound();
    // After this nothing of the turn so far is shown, and its growing message is known.
    drafts.end(&entry.intent.thread_id, &entry.intent.correlation_id).await;
    let block = lower_entry(&entry, &platform.capabilities(), parts.language, parts.clock.now())?;
    let receipt = send(platform, &entry, block, attempt).await?;
    delete_left_messages(platform, &entry.intent.thread_id).await;
    Ok(receipt)
}

async fn send<P: OutboundPlatform>(
    platform: &P,
    entry: &OutboxEntry,
    block: Block,
    attempt: Attempt,
) -> Result<Receipt, DeliveryError> {
    let Outbound { parts, live, .. } = platform.outbound();
    let OutboundIntent { thread_id: thread, correlation_id: run, .. } = &entry.intent;
    let live = live.of_delivery(thread, run, &entry.id).await;
    match block {
        Block::Text(text) => {
            let called = platform.called(entry, &text).await;
            match live {
                // An edit reaches no other bot.
                Some(live) if !called.is_empty() => {
                    platform.supersede(thread, live, Superseded::ByItsText).await;
                }
                Some(live) => {
                    if let Some(receipt) = platform.finish(entry, live, &text, attempt).await? {
                        return Ok(receipt);
                    }
                }
                None => {}
            }
            platform.send_text(entry, &text, &called, attempt).await
        }
        Block::Buttons(block) => {
            supersede_by_other(platform, thread, live).await;
            let receipt = platform.send_question(entry, &block, attempt).await?;
            let question = platform.kept_text(&block);
            let edits = platform.capabilities().edits;
            if let Some(QuestionSummary { approval, kind, scopes, language, .. }) =
                block.question.filter(|_| edits)
            {
                let message = receipt.platform_message.clone();
                let sent = SentQuestion { message, question, kind, scopes, language };
                platform.outbound().note_question(thread, &approval, &sent).await;
            }
            Ok(receipt)
        }
        Block::EditOf { question, outcome } => {
            let question = platform.outbound().question(&question, thread).await;
            platform.send_outcome(entry, question, &outcome, attempt).await
        }
        Block::File(file) => {
            supersede_by_other(platform, thread, live).await;
            let content = read_file(&*parts.files, &file.file, P::LARGEST_FILE).await;
            platform.send_file(entry, &file, content, attempt).await
        }
    }
}

async fn supersede_by_other<P: OutboundPlatform>(platform: &P, thread: &ThreadId, live: Option<LiveMessage>) {
    if let Some(live) = live.filter(|live| live.done.is_none()) {
        platform.supersede(thread, live, Superseded::ByOther).await;
    }
}

/// Deletes a growing message, now or by a later retry.
pub async fn take_away<P: OutboundPlatform>(platform: &P, thread: &ThreadId, live: &LiveMessage) {
    let messages = &platform.outbound().live;
    if let Some(message) = &live.message
        && !platform.delete(thread, message).await
    {
        return messages.leave(thread, message).await;
    }
    messages.remove(thread, live).await;
}

/// Retries deletions that failed before.
async fn delete_left_messages<P: OutboundPlatform>(platform: &P, thread: &ThreadId) {
    let messages = &platform.outbound().live;
    for message in messages.left(thread).await.into_iter().take(DELETED_AT_ONCE) {
        if platform.delete(thread, &message).await {
            messages.gone(thread, &message).await;
        }
    }
}
