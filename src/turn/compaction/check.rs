//! Whether observations may take the place of the messages they are taken from.

use super::shown::shown;
use super::span::CompactionSpan;
use super::summary::Draft;
use crate::turn::budget::estimate_messages;
use crate::uimessage::{CHECKPOINT_BYTES, CHECKPOINT_VERSION, CheckpointRecord};

/// What is wrong with a draft, in words for the model that wrote it.
pub(super) fn faults_of(span: &CompactionSpan, draft: &Draft) -> Vec<String> {
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
pub(super) fn record_of(span: &CompactionSpan, draft: &Draft) -> Option<CheckpointRecord> {
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

/// How many of a text's identifiers are looked after.
const MOST: usize = 16;

/// The identifiers of a text, in their order, each once.
pub(super) fn identifiers(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let quoted =
        text.split('`').skip(1).step_by(2).map(str::trim).filter(|name| !name.is_empty() && name.len() <= 80);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-' | '@' | '#');
    let words =
        text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '/', ':', '-', '#', '@']));
    let named = words.filter(|word| {
        let inner_dot = word.contains('.') && word.chars().any(char::is_alphanumeric);
        word.chars().any(|c| c.is_ascii_digit()) || word.contains(['/', '_']) || inner_dot
    });
    for name in quoted.chain(named) {
        if found.len() < MOST && found.iter().all(|known| !known.contains(name)) {
            found.push(name.to_owned());
        }
    }
    found
}

/// The identifiers of `text` that `shorter` lacks.
pub(super) fn lost(text: &str, shorter: &str) -> Vec<String> {
    identifiers(text).into_iter().filter(|name| !shorter.contains(name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_numbers_and_quoted_names_are_found_in_any_writing() {
        for (text, expected) in [
            ("please fix `cargo test` in src/main.rs, line 42.", vec!["cargo test", "src/main.rs", "42"]),
            ("请看src/store/mod.rs第42行，端口8080", vec!["src/store/mod.rs", "42", "8080"]),
            ("nothing here. Really.", vec![]),
            ("run gen_itgc on v1.2 and v1.2 again", vec!["gen_itgc", "v1.2"]),
        ] {
            assert_eq!(identifiers(text), expected, "{text}");
        }
        assert_eq!(lost("look at a/b and c/d", "c/d is done"), ["a/b"]);
    }
}
