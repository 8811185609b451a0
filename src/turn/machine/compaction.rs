//! Compaction of the conversation: takes `/compact` in, adds the checkpoint, and lets a run that waited go on.

use super::conversation::Conversation;
use crate::domain::{CommandInvocation, CorrelationId, Origin, Timestamp};
use crate::ports::Durability;
use crate::turn::Effect;
use crate::turn::compaction::{Compacted, CompactionSpan, ManualCompaction, checkpoint_message};
use crate::turn::exchange::Exchange;
use crate::uimessage::{CheckpointReason, CheckpointRecord, UiMessage};

impl Conversation {
    /// Takes a `/compact` in: it is answered when the checkpoint is there.
    pub(super) fn ask_to_compact(&mut self, order: &CommandInvocation, exchange: &Exchange) -> Vec<Effect> {
        let (record, correlation) = (exchange.record().clone(), exchange.correlation().clone());
        let mut lines = self.place_run();
        lines.push(record.clone());
        self.manual = Some(ManualCompaction { correlation, record });
        let focus = Some(order.words.trim().to_owned()).filter(|words| !words.is_empty());
        vec![
            self.recorded(Effect::commit(lines, Durability::Synced)),
            Effect::Compact { reason: CheckpointReason::Manual, focus },
        ]
    }

    /// Takes in what came of compacting. A run that waited for it goes on.
    pub(super) fn compacted(
        &mut self,
        done: Compacted,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let holds = done.result.as_ref().is_some_and(|(span, _)| self.still_holds(span));
        let record = done.record(self.token_ratio()).filter(|_| holds);
        let mut effects = Vec::new();
        if let Some(record) = &record {
            effects.extend(self.add_checkpoint(record.clone(), fresh(), now));
        }
        if done.reason == CheckpointReason::Manual
            && let Some(manual) = self.manual.take()
        {
            let (correlation, language) = (manual.correlation.clone(), self.language());
            let answer = self.recorded(manual.answer(record.as_ref(), language));
            effects.extend([answer, Effect::Finished(correlation), Effect::Publish]);
        }
        effects.extend(self.with_run(now, |run, _| run.compacted(record.is_some(), done.reason)));
        effects
    }

    /// Whether the messages that were summed up are still the oldest ones, as they were, and may be covered.
    fn still_holds(&self, span: &CompactionSpan) -> bool {
        span.follows(&self.history) && span.is_start_of(&self.coverable())
    }

    fn add_checkpoint(
        &mut self,
        record: CheckpointRecord,
        correlation: CorrelationId,
        now: Timestamp,
    ) -> [Effect; 2] {
        let through = record.through.clone();
        let mut message = checkpoint_message(record, &self.settings.thread, correlation, now);
        let mut covered = self.history.messages().iter().rev().skip_while(|covered| covered.id != through);
        if let Some(scope) = covered.find_map(UiMessage::memory_scope) {
            message.set_memory_scope(&scope, Origin::Member);
        }
        let mut lines = self.place_run();
        lines.push(message.clone());
        // Only a crash right behind it could lose it, and then it is made again.
        let commit = self.recorded(Effect::commit(lines, Durability::Written));
        self.history.adopt_checkpoint(message, &through);
        [commit, Effect::Publish]
    }
}
