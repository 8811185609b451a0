//! Adds a checkpoint to the thread and answers the pending `/compact`.

use serde_json::Map;

use super::check::{record_of, sizes};
use super::span::Span;
use super::summary::Draft;
use crate::domain::{CommandInvocation, CorrelationId, MessageId, Timestamp};
use crate::ports::Durability;
use crate::render::Phrase;
use crate::turn::exchange::Exchange;
use crate::turn::runs::run::Phase;
use crate::turn::{Conversation, Effect, Spoken};
use crate::uimessage::{
    CheckpointReason, CheckpointRecord, Metadata, Part, Role, RunStatus, UiMessage, WrittenBy,
};

/// A `/compact` that is not answered yet.
#[derive(Clone, Debug)]
pub(in crate::turn) struct ManualCompaction {
    pub(in crate::turn) correlation: CorrelationId,
    /// The command as it stands in the file; its reply is written when there is one.
    record: UiMessage,
}

/// What came of an attempt to compact.
#[derive(Clone, Debug)]
pub struct Compacted {
    pub reason: CheckpointReason,
    /// What was covered and what it came to; nothing where there was nothing to cover, or nothing to gain.
    pub result: Option<(Span, Draft)>,
    /// The notes that were taken from the same messages.
    pub flushed: Vec<String>,
    /// Tokens of the prompt before, as the server would count them.
    pub tokens_before: usize,
}

impl Conversation {
    /// Takes a `/compact` in: it is answered when the checkpoint is there.
    pub(in crate::turn) fn ask_to_compact(
        &mut self,
        order: &CommandInvocation,
        exchange: Exchange,
        correlation: CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let record = exchange.record;
        let mut lines: Vec<UiMessage> = self.place_held().into_iter().collect();
        lines.push(record.clone());
        let commit = self.commit(lines, Durability::Synced);
        out.push(commit);
        self.manual = Some(ManualCompaction { correlation, record });
        let focus = Some(order.words.trim().to_owned()).filter(|words| !words.is_empty());
        out.push(Effect::Compact { reason: CheckpointReason::Manual, focus });
    }

    /// Takes in what came of compacting. A run that waited for it goes on.
    pub(in crate::turn) fn compacted(
        &mut self,
        done: Compacted,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let reason = done.reason;
        let record =
            done.result.as_ref().filter(|(span, _)| self.still_holds(span)).and_then(|(span, draft)| {
                let mut record = record_of(span, draft)?;
                record.flushed.clone_from(&done.flushed);
                let ratio = self.token_ratio();
                let gained = scaled(span.tokens, ratio).saturating_sub(scaled(sizes(&record).1, ratio));
                record.tokens_before = u64::try_from(done.tokens_before).unwrap_or(u64::MAX);
                record.tokens_after = record.tokens_before.saturating_sub(gained);
                Some(record)
            });
        if let Some(record) = &record {
            self.add_checkpoint(record.clone(), fresh(), now, out);
        }
        if reason == CheckpointReason::Manual {
            self.answer_compact(record.as_ref(), out);
        }
        let Some(run) = self.run.as_mut().filter(|run| run.compacting) else { return };
        run.compacting = false;
        if run.phase != Phase::Thinking {
            return;
        }
        if record.is_none() && reason == CheckpointReason::Overflow {
            run.shrunk += 1;
        }
        out.push(Effect::CallModel);
    }

    /// Whether the messages that were summed up are still the oldest ones, as they were, and may be covered.
    fn still_holds(&self, span: &Span) -> bool {
        let covered = self.coverable();
        self.next_checkpoint == span.number
            && self.last_checkpoint() == span.prev.as_ref()
            && covered.len() >= span.messages.len()
            && span.messages.iter().zip(covered).all(|(one, other)| one == other)
    }

    fn add_checkpoint(
        &mut self,
        record: CheckpointRecord,
        correlation: CorrelationId,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let through = record.through.clone();
        let message = UiMessage {
            id: MessageId::made(correlation.as_str(), ".1"),
            role: Role::Assistant,
            metadata: Metadata {
                platform: self.thread.platform().as_str().to_owned(),
                thread_id: self.thread.clone(),
                author_id: None,
                author_name: None,
                message_id: None,
                timestamp: now,
                correlation_id: correlation,
                status: Some(RunStatus::Done),
                command: false,
                context: false,
                checkpoint: true,
                extra: Map::new(),
            },
            parts: vec![Part::Checkpoint(Box::new(record))],
        };
        let mut lines: Vec<UiMessage> = self.place_held().into_iter().collect();
        lines.push(message.clone());
        // Only a crash right behind it could lose it, and then it is made again.
        let commit = self.commit(lines, Durability::Written);
        out.push(commit);
        self.adopt_checkpoint(message, &through);
        out.push(Effect::Publish);
    }

    /// Lets go of what a checkpoint covers.
    fn adopt_checkpoint(&mut self, message: UiMessage, through: &MessageId) {
        let begins = |record: &CheckpointRecord| record.prev.is_none() || !record.supersedes.is_empty();
        if message.checkpoint().is_some_and(begins) {
            self.checkpoints.clear();
        }
        self.next_checkpoint = self.next_checkpoint.saturating_add(1);
        self.checkpoints.push(message);
        if let Some(at) = self.history.iter().position(|message| message.id == *through) {
            self.history.drain(..=at);
            self.has_older = true;
        }
    }

    fn answer_compact(&mut self, record: Option<&CheckpointRecord>, out: &mut Vec<Effect>) {
        let Some(ManualCompaction { correlation, record: mut command }) = self.manual.take() else { return };
        let phrase = match record {
            Some(record) => Phrase::Compacted {
                messages: record.messages,
                before: record.tokens_before,
                after: record.tokens_after,
                by_rules: record.by == WrittenBy::Rules,
            },
            None => Phrase::NothingToCompact,
        };
        let reply = phrase.say(self.language());
        if let [Part::Command(told)] = command.parts.as_mut_slice() {
            told.reply.clone_from(&reply);
        }
        let say = vec![Spoken {
            source: command.id.to_string(),
            correlation: correlation.clone(),
            reply_to: command.metadata.message_id.clone(),
            intent: crate::domain::Intent::AssistantText { text: reply },
        }];
        self.remember(&command);
        out.push(Effect::Commit { messages: vec![command], say, durability: Durability::Synced });
        out.push(Effect::Finished(correlation));
        out.push(Effect::Publish);
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
