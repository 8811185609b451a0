//! Counters and gauges of the daemon, printed for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::{ErrorKind, Purpose, UsageEntry};

/// A number that only increases.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn count(&self) {
        self.add(1);
    }

    pub fn add(&self, several: u64) {
        self.0.fetch_add(several, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Most models that are counted apart; calls of further ones are counted together.
const MODELS: usize = 64;

/// What calls of models used, by model.
#[derive(Debug, Default)]
pub struct ModelCounters(Mutex<BTreeMap<Arc<str>, ModelTotals>>);

#[derive(Debug, Default)]
struct ModelTotals {
    calls: u64,
    milliseconds: u64,
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    cost: BTreeMap<Purpose, u64>,
    errors: BTreeMap<String, u64>,
}

/// The samples of a family for one model: labels and numbers.
type Samples<'a> = &'a dyn Fn(&str, &ModelTotals) -> Vec<(String, u64)>;

impl ModelCounters {
    /// Counts a call that has ended.
    pub fn count(&self, entry: &UsageEntry) {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = models.len() >= MODELS && !models.contains_key(&entry.model);
        let model = if full { Arc::from("other") } else { entry.model.clone() };
        let totals = models.entry(model).or_default();
        for (sum, more) in [
            (&mut totals.calls, 1),
            (&mut totals.milliseconds, entry.ms),
            (&mut totals.input, entry.input),
            (&mut totals.cached, entry.cached),
            (&mut totals.cache_write, entry.cache_write),
            (&mut totals.output, entry.output),
            (&mut totals.reasoning, entry.reasoning),
            (totals.cost.entry(entry.purpose).or_default(), entry.cost.unwrap_or(0)),
        ] {
            *sum = sum.saturating_add(more);
        }
        if let Some(error) = entry.error {
            *totals.errors.entry(error_label(error)).or_default() += 1;
        }
    }

    fn render(&self, out: &mut String) {
        let models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut family = |name: &str, help: &str, samples: Samples<'_>| {
            // Writing into a string cannot fail.
            let _written =
                writeln!(out, "# HELP shipagent_llm_{name} {help}\n# TYPE shipagent_llm_{name} counter");
            for (model, totals) in models.iter() {
                for (labels, number) in samples(&label_text(model), totals) {
                    let _written = writeln!(out, "shipagent_llm_{name}{{{labels}}} {number}");
                }
            }
        };
        family("calls_total", "Attempts of model calls.", &|model, totals| {
            vec![(format!("model=\"{model}\""), totals.calls)]
        });
        family("milliseconds_total", "How long they took together.", &|model, totals| {
            vec![(format!("model=\"{model}\""), totals.milliseconds)]
        });
        family(
            "tokens_total",
            "Tokens of model calls; `in` and `out` contain the other kinds.",
            &|model, totals| {
                let kinds = [
                    ("in", totals.input),
                    ("cached", totals.cached),
                    ("cache_write", totals.cache_write),
                    ("out", totals.output),
                    ("reasoning", totals.reasoning),
                ];
                kinds.map(|(kind, number)| (format!("model=\"{model}\",kind=\"{kind}\""), number)).into()
            },
        );
        family("cost_microusd_total", "Cost of model calls, where the price is known.", &|model, totals| {
            let label = |purpose: &Purpose| format!("model=\"{model}\",purpose=\"{}\"", purpose.as_str());
            totals.cost.iter().map(|(purpose, cost)| (label(purpose), *cost)).collect()
        });
        family("errors_total", "Attempts that failed, by kind of error.", &|model, totals| {
            let label = |kind: &String| format!("model=\"{model}\",kind=\"{kind}\"");
            totals.errors.iter().map(|(kind, count)| (label(kind), *count)).collect()
        });
    }
}

/// The name of an error kind, as in files.
fn error_label(kind: ErrorKind) -> String {
    serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A label's value as Prometheus expects it.
fn label_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Decisions about messages of groups without a mention, by what decided.
#[derive(Debug, Default)]
pub struct GateCounters {
    pub by_rule: Counter,
    pub no_claims: Counter,
    pub over_budget: Counter,
    pub model_yes: Counter,
    pub model_no: Counter,
    pub model_failed: Counter,
    /// Yes, and another agent answers.
    pub claims_lost: Counter,
    /// How long the model took together.
    pub model_micros: Counter,
}

impl GateCounters {
    fn render(&self, out: &mut String) {
        let decisions = [
            (r#"{by="rule"}"#, &self.by_rule),
            (r#"{by="no-claims"}"#, &self.no_claims),
            (r#"{by="budget"}"#, &self.over_budget),
            (r#"{by="model-yes"}"#, &self.model_yes),
            (r#"{by="model-no"}"#, &self.model_no),
            (r#"{by="model-failed"}"#, &self.model_failed),
            (r#"{by="claim-lost"}"#, &self.claims_lost),
        ];
        let help = "Decisions about messages of groups without a mention.";
        write_family(out, "gate_decisions_total", help, &decisions);
        let help = "Time that the model took for these decisions.";
        write_family(out, "gate_model_microseconds_total", help, &[("", &self.model_micros)]);
    }
}

fn write_family(out: &mut String, name: &str, help: &str, samples: &[(&str, &Counter)]) {
    // Writing into a string cannot fail.
    let _written = writeln!(out, "# HELP shipagent_{name} {help}\n# TYPE shipagent_{name} counter");
    for (labels, counter) in samples {
        let _written = writeln!(out, "shipagent_{name}{labels} {}", counter.get());
    }
}

#[derive(Debug, Default)]
pub struct Metrics {
    /// Messages that were accepted.
    pub messages_accepted: Counter,
    /// Messages that the thread had already.
    pub messages_duplicate: Counter,
    /// Messages that were refused: full mailbox, full disk.
    pub messages_refused: Counter,
    pub turns_started: Counter,
    /// Turns that ended normally.
    pub turns_done: Counter,
    /// Turns that a person stopped.
    pub turns_stopped: Counter,
    /// Turns that ended with an error.
    pub turns_failed: Counter,
    pub model_calls: Counter,
    /// Calls of a model for a checkpoint.
    pub checkpoint_calls: Counter,
    /// Calls of a model that look for what is worth remembering.
    pub distil_calls: Counter,
    /// Tokens of both, where the server said.
    pub memory_tokens_in: Counter,
    pub memory_tokens_out: Counter,
    pub memory_tokens_cached: Counter,
    /// Notes that were taken when a conversation was distilled, and when a part of it was summed up.
    pub notes_distilled: Counter,
    pub notes_flushed: Counter,
    /// What calls of models used, by model.
    pub llm: ModelCounters,
    /// Checkpoints that a model wrote.
    pub checkpoints_by_model: Counter,
    /// Checkpoints that rules wrote.
    pub checkpoints_by_rules: Counter,
    /// Searches before a turn.
    pub recalls: Counter,
    /// How long they took together.
    pub recall_micros: Counter,
    /// Decisions about messages of groups without a mention.
    pub gate: GateCounters,
    pub tool_calls: Counter,
    /// Deliveries with a receipt.
    pub deliveries: Counter,
    /// Deliveries that were retried; on a platform without idempotency keys each may show twice.
    pub delivery_retries: Counter,
    /// Sends that were cut off and tried again, on a platform without idempotency keys: each may show twice, and
    /// nothing else may.
    pub deliveries_repeated: Counter,
    /// Deliveries that failed permanently.
    pub dead_letters: Counter,
}

impl Metrics {
    /// All counters in the text format of Prometheus.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let mut family = |name: &str, help: &str, samples: &[(&str, &Counter)]| {
            write_family(&mut out, name, help, samples)
        };
        family(
            "messages_total",
            "Inbound messages by what became of them.",
            &[
                (r#"{result="accepted"}"#, &self.messages_accepted),
                (r#"{result="duplicate"}"#, &self.messages_duplicate),
                (r#"{result="refused"}"#, &self.messages_refused),
            ],
        );
        family("turns_started_total", "Turns that began.", &[("", &self.turns_started)]);
        family(
            "turns_finished_total",
            "Turns that ended, by how.",
            &[
                (r#"{status="done"}"#, &self.turns_done),
                (r#"{status="stopped"}"#, &self.turns_stopped),
                (r#"{status="failed"}"#, &self.turns_failed),
            ],
        );
        family("model_calls_total", "Calls of the model.", &[("", &self.model_calls)]);
        family(
            "memory_calls_total",
            "Calls of a model for the agent's own notes.",
            &[(r#"{kind="checkpoint"}"#, &self.checkpoint_calls), (r#"{kind="distil"}"#, &self.distil_calls)],
        );
        family(
            "memory_tokens_total",
            "Tokens of these calls, as the servers counted them.",
            &[
                (r#"{kind="in"}"#, &self.memory_tokens_in),
                (r#"{kind="out"}"#, &self.memory_tokens_out),
                (r#"{kind="cached"}"#, &self.memory_tokens_cached),
            ],
        );
        family(
            "memory_notes_total",
            "Notes that were taken from conversations, by when.",
            &[(r#"{kind="distil"}"#, &self.notes_distilled), (r#"{kind="flush"}"#, &self.notes_flushed)],
        );
        family(
            "checkpoints_total",
            "Summaries of long conversations, by what wrote them.",
            &[
                (r#"{by="model"}"#, &self.checkpoints_by_model),
                (r#"{by="rules"}"#, &self.checkpoints_by_rules),
            ],
        );
        family("recalls_total", "Searches of memory before a turn.", &[("", &self.recalls)]);
        family(
            "recall_microseconds_total",
            "Time that searches of memory before a turn took.",
            &[("", &self.recall_micros)],
        );
        family("tool_calls_total", "Calls of tools.", &[("", &self.tool_calls)]);
        family("deliveries_total", "Deliveries with a receipt.", &[("", &self.deliveries)]);
        family(
            "delivery_retries_total",
            "Deliveries that were tried again.",
            &[("", &self.delivery_retries)],
        );
        family(
            "deliveries_repeated_total",
            "Sends without an answer, tried again: each may show twice.",
            &[("", &self.deliveries_repeated)],
        );
        family("dead_letters_total", "Deliveries that were given up.", &[("", &self.dead_letters)]);
        self.gate.render(&mut out);
        self.llm.render(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_comment_or_a_sample_with_a_number() {
        let metrics = Metrics::default();
        metrics.turns_failed.add(3);
        metrics.dead_letters.count();
        let at = crate::domain::Timestamp::from_millis(0);
        let kind = crate::domain::EntryKind::Settle;
        let entry = UsageEntry::new(kind, "a".into(), at, &crate::domain::Payer::default());
        let error = Some(ErrorKind::ContextLength);
        metrics.llm.count(&UsageEntry { model: "a\"b".into(), input: 7, cost: Some(5), error, ..entry });
        let text = metrics.render();
        for line in text.lines() {
            let number = line.rsplit(' ').next().and_then(|last| last.parse::<u64>().ok());
            assert!(line.starts_with("# ") || (line.starts_with("shipagent_") && number.is_some()), "{line}");
        }
        assert!(text.contains("shipagent_turns_finished_total{status=\"failed\"} 3\n"), "{text}");
        assert!(text.contains("shipagent_dead_letters_total 1\n"), "{text}");
        for sample in [
            r#"shipagent_llm_tokens_total{model="a\"b",kind="in"} 7"#,
            r#"shipagent_llm_cost_microusd_total{model="a\"b",purpose="other"} 5"#,
            r#"shipagent_llm_errors_total{model="a\"b",kind="context-length"} 1"#,
        ] {
            assert!(text.contains(sample), "{sample}: {text}");
        }
    }
}
