//! Whether observations may take the place of the messages they are taken from.

use super::identifiers::lost;
use super::shown::shown;
use super::span::Span;
use super::summary::Draft;
use crate::turn::budget::estimate_messages;
use crate::uimessage::{CHECKPOINT_BYTES, CHECKPOINT_VERSION, CheckpointRecord};

/// What is wrong with a draft, in words for the model that wrote it.
pub(super) fn faults_of(span: &Span, draft: &Draft) -> Vec<String> {
    let mut faults = Vec::new();
    if draft.observations.is_empty() {
        faults.push("there are no observations".to_owned());
    }
    for ask in &span.asks {
        let kept = draft.open.iter().find(|open| open.ids.iter().any(|id| ask.ids.contains(id)));
        match kept {
            None => faults.push(format!("`open` lacks this: {}", ask.text)),
            Some(kept) => {
                let lost = lost(&ask.text, &kept.text);
                if !lost.is_empty() {
                    faults.push(format!("`open` lost the names {} of: {}", lost.join(", "), ask.text));
                }
            }
        }
    }
    if let Some(record) = record_of(span, draft) {
        let (bytes, tokens) = sizes(&record);
        if bytes > CHECKPOINT_BYTES || tokens > span.most_tokens {
            let most = span.most_tokens / 2;
            faults.push(format!("it is too long: {tokens} tokens; write at most {most} words altogether"));
        } else if tokens > span.tokens / 2 {
            faults.push("it is not much shorter than the conversation: write less than half".to_owned());
        }
    }
    faults
}

/// Bytes of the record and tokens of the prompt that a checkpoint takes.
pub(super) fn sizes(record: &CheckpointRecord) -> (usize, usize) {
    let bytes = serde_json::to_vec(record).map_or(usize::MAX, |bytes| bytes.len());
    (bytes, estimate_messages(&[shown(record)]))
}

/// The record that a draft makes, without what only its commit knows.
pub(super) fn record_of(span: &Span, draft: &Draft) -> Option<CheckpointRecord> {
    Some(CheckpointRecord {
        version: CHECKPOINT_VERSION,
        number: span.number,
        from: span.from()?.clone(),
        through: span.through()?.clone(),
        prev: span.prev.clone(),
        supersedes: span.retold.iter().map(|record| record.number).collect(),
        reason: span.reason,
        messages: span.covered(),
        observations: draft.observations.clone(),
        open: draft.open.clone(),
        flushed: Vec::new(),
        tokens_before: 0,
        tokens_after: 0,
        by: draft.by,
    })
}
