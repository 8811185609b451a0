//! Detects a model that repeats the same call.

use std::collections::HashMap;

use serde_json::Value;

/// What to do with one more call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopVerdict {
    Run,
    /// Do not run it; tell the model that it repeats itself.
    Warn,
    /// End the turn.
    GiveUp,
}

const WARN_AT: u32 = 4;
const GIVE_UP_AT: u32 = 7;

/// Counts identical calls of one turn, and those that no tool could take.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopGuard {
    seen: HashMap<(String, String), u32>,
    unusable: HashMap<String, u32>,
}

impl LoopGuard {
    /// Counts a call and returns the verdict.
    pub(super) fn judge(&mut self, name: &str, arguments: &Value) -> LoopVerdict {
        let count = self.seen.entry((name.to_owned(), canonical(arguments).to_string())).or_default();
        *count += 1;
        match *count {
            GIVE_UP_AT.. => LoopVerdict::GiveUp,
            WARN_AT.. => LoopVerdict::Warn,
            _ => LoopVerdict::Run,
        }
    }

    /// Counts a call that cannot run: of an unknown tool, or with arguments that the tool does not take. However much
    /// the arguments differ, a model that never gets them right is going nowhere.
    pub(super) fn judge_unusable(&mut self, name: &str) -> LoopVerdict {
        let count = self.unusable.entry(name.to_owned()).or_default();
        *count += 1;
        if *count >= GIVE_UP_AT { LoopVerdict::GiveUp } else { LoopVerdict::Warn }
    }
}

/// The arguments with sorted keys, so that their order makes no difference.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> =
                map.iter().map(|(key, value)| (key.clone(), canonical(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn identical_calls_are_warned_of_and_then_given_up() {
        let mut guard = LoopGuard::default();
        let verdicts: Vec<_> =
            (0..7).map(|_| guard.judge("read_file", &json!({"path": "a", "n": 1}))).collect();
        use LoopVerdict::{GiveUp, Run, Warn};
        assert_eq!(verdicts, [Run, Run, Run, Warn, Warn, Warn, GiveUp]);
        assert_eq!(guard.judge("read_file", &json!({"path": "b"})), Run);
    }

    #[test]
    fn calls_that_cannot_run_are_given_up_however_they_differ() {
        let mut guard = LoopGuard::default();
        let verdicts: Vec<_> = (0..7).map(|_| guard.judge_unusable("write_file")).collect();
        assert_eq!(verdicts[..6], [LoopVerdict::Warn; 6]);
        assert_eq!(verdicts[6], LoopVerdict::GiveUp);
        assert_eq!(guard.judge_unusable("edit_file"), LoopVerdict::Warn);
        assert_eq!(guard.judge("write_file", &json!({"path": "a"})), LoopVerdict::Run);
    }

    #[test]
    fn the_order_of_arguments_does_not_hide_a_repetition() {
        let mut guard = LoopGuard::default();
        for _ in 0..3 {
            guard.judge("t", &json!({"a": 1, "b": {"c": 2, "d": 3}}));
        }
        assert_eq!(guard.judge("t", &json!({"b": {"d": 3, "c": 2}, "a": 1})), LoopVerdict::Warn);
    }
}
