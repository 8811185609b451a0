//! Maps acceptances and delivery results to metrics.

use crate::metrics::Metrics;
use crate::ports::{Acceptance, DeliveryError, Receipt, Usage};
use crate::turn::GateDecision;
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

/// Counts decisions about messages without a mention.
pub(super) fn gate(metrics: &Metrics, decisions: &[GateDecision]) {
    let gate = &metrics.gate;
    for decision in decisions {
        let text =
            |key: &str| decision.reason.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
        match (text("by"), text("rule"), text("claim")) {
            ("model", _, "lost") => gate.claims_lost.count(),
            ("model", _, "failed") => gate.no_claims.count(),
            ("model", ..) if decision.answer => gate.model_yes.count(),
            ("model", ..) => gate.model_no.count(),
            (_, "failed", _) => gate.model_failed.count(),
            (_, "budget", _) => gate.over_budget.count(),
            (_, "no-claims", _) => gate.no_claims.count(),
            _ => gate.by_rule.count(),
        }
    }
}
