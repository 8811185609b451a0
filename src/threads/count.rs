//! Maps acceptances and delivery results to metrics.

use crate::metrics::Metrics;
use crate::ports::{Acceptance, DeliveryError, Receipt, Usage};
use crate::uimessage::{RunStatus, WrittenBy};

pub(super) fn acceptance(metrics: &Metrics, acceptance: &Acceptance) {
    match acceptance {
        Acceptance::Accepted { .. } => metrics.messages_accepted.count(),
        Acceptance::Duplicate { .. } => metrics.messages_duplicate.count(),
        Acceptance::Busy | Acceptance::Refused(_) | Acceptance::StorageFailed(_) | Acceptance::Stopping => {
            metrics.messages_refused.count();
        }
    }
}

pub(super) fn turn_end(metrics: &Metrics, status: Option<RunStatus>) {
    match status {
        Some(RunStatus::Done) => metrics.turns_done.count(),
        Some(RunStatus::Stopped) => metrics.turns_stopped.count(),
        Some(RunStatus::Failed) => metrics.turns_failed.count(),
        Some(RunStatus::Running | RunStatus::Continued) | None => {}
    }
}

pub(super) fn delivery(metrics: &Metrics, result: Result<&Receipt, &DeliveryError>) {
    match result {
        Ok(_) => metrics.deliveries.count(),
        Err(DeliveryError::Retry { .. }) => metrics.delivery_retries.count(),
        // Held deliveries were not attempted.
        Err(DeliveryError::Hold { .. }) => {}
        Err(DeliveryError::Permanent { .. }) => metrics.dead_letters.count(),
    }
}

/// Counts what a call for the agent's own notes cost, where the server said.
pub(super) fn memory_usage(metrics: &Metrics, usage: Option<Usage>) {
    let Some(usage) = usage else { return };
    metrics.memory_tokens_in.add(usage.input);
    metrics.memory_tokens_out.add(usage.output);
    metrics.memory_tokens_cached.add(usage.cached);
}

/// Counts a checkpoint that was written.
pub(super) fn checkpoint(metrics: &Metrics, by: WrittenBy) {
    match by {
        WrittenBy::Model => metrics.checkpoints_by_model.count(),
        WrittenBy::Rules => metrics.checkpoints_by_rules.count(),
    }
}
