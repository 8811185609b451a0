//! The message of a checkpoint, and the answer to a `/compact` that waits for it.

use super::check::{record_of, sizes};
use super::span::CompactionSpan;
use super::summary::Draft;
use crate::domain::{CorrelationId, Intent, Language, MessageId, ThreadId, Timestamp};
use crate::ports::Durability;
use crate::render::Phrase;
use crate::turn::{Effect, Spoken};
use crate::uimessage::{
    CheckpointReason, CheckpointRecord, Metadata, Part, Role, RunStatus, UiMessage, WrittenBy,
};

/// A `/compact` that is not answered yet.
#[derive(Clone, Debug)]
pub(in crate::turn) struct ManualCompaction {
    pub(in crate::turn) correlation: CorrelationId,
    /// The command as it stands in the file; its reply is written when there is one.
    pub(in crate::turn) record: UiMessage,
}

/// What came of an attempt to compact.
#[derive(Clone, Debug)]
pub struct Compacted {
    pub reason: CheckpointReason,
    /// What was covered and what it came to; nothing where there was nothing to cover, or nothing to gain.
    pub result: Option<(CompactionSpan, Draft)>,
    /// The notes that were taken from the same messages.
    pub flushed: Vec<String>,
    /// Tokens of the prompt before, as the server would count them.
    pub tokens_before: usize,
}

impl Compacted {
    /// The record of the checkpoint, where there is a result. `ratio` is real tokens per estimated token.
    pub(in crate::turn) fn record(&self, ratio: f64) -> Option<CheckpointRecord> {
        let (span, draft) = self.result.as_ref()?;
        let mut record = record_of(span, draft)?;
        record.flushed.clone_from(&self.flushed);
        let gained = scaled(span.tokens, ratio).saturating_sub(scaled(sizes(&record).1, ratio));
        record.tokens_before = u64::try_from(self.tokens_before).unwrap_or(u64::MAX);
        record.tokens_after = record.tokens_before.saturating_sub(gained);
        Some(record)
    }
}

pub(in crate::turn) fn checkpoint_message(
    record: CheckpointRecord,
    thread: &ThreadId,
    correlation: CorrelationId,
    now: Timestamp,
) -> UiMessage {
    UiMessage {
        id: MessageId::made(correlation.as_str(), ".1"),
        role: Role::Assistant,
        metadata: Metadata {
            checkpoint: true,
            ..Metadata::of_agent(thread, correlation, now, RunStatus::Done)
        },
        parts: vec![Part::Checkpoint(Box::new(record))],
    }
}

impl ManualCompaction {
    /// Commits the command with its reply, and sends the reply.
    pub(in crate::turn) fn answer(self, record: Option<&CheckpointRecord>, language: Language) -> Effect {
        let Self { correlation, record: mut command } = self;
        let phrase = match record {
            Some(record) => Phrase::Compacted {
                messages: record.messages,
                before: record.tokens_before,
                after: record.tokens_after,
                by_rules: record.by == WrittenBy::Rules,
            },
            None => Phrase::NothingToCompact,
        };
        let text = phrase.say(language);
        if let [Part::Command(exchange)] = command.parts.as_mut_slice() {
            exchange.reply.clone_from(&text);
        }
        let say = vec![Spoken {
            source: command.id.to_string(),
            correlation,
            reply_to: command.metadata.message_id.clone(),
            intent: Intent::AssistantText { text },
        }];
        Effect::Commit { messages: vec![command], say, durability: Durability::Synced }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small positive numbers"
)]
fn scaled(estimate: usize, ratio: f64) -> u64 {
    (estimate as f64 * ratio) as u64
}
