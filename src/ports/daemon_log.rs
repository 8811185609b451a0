//! The port that reads the daemon's own log, for the console.

use serde_json::Value;

use super::{BoxFuture, StoreError};
use crate::domain::Timestamp;

/// Levels of log lines, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    /// The level of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "trace" => Self::Trace,
            "debug" => Self::Debug,
            "info" => Self::Info,
            "warn" => Self::Warn,
            "error" => Self::Error,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// This level and graver ones.
    pub level: Option<LogLevel>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Exclusive.
    pub until: Option<Timestamp>,
    /// Occurs in the line, in any case.
    pub text: Option<String>,
    pub thread: Option<String>,
    /// The position where an earlier page ended.
    pub before: Option<String>,
    pub limit: usize,
}

impl LogQuery {
    /// Whether a line matches; `facts` is the line parsed.
    pub fn fits(&self, line: &str, facts: &Value) -> bool {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default();
        let at = || Timestamp::parse_rfc3339(text("timestamp"));
        let in_thread = |thread: &String| {
            let spans = facts.get("spans").and_then(Value::as_array).into_iter().flatten();
            text("thread") == thread
                || spans.into_iter().any(|span| span.get("thread").is_some_and(|id| id == thread))
        };
        self.level.is_none_or(|level| LogLevel::named(text("level")).is_some_and(|own| own >= level))
            && self.since.is_none_or(|since| at().is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at().is_some_and(|at| at < until))
            && self.text.as_ref().is_none_or(|text| line.to_lowercase().contains(&text.to_lowercase()))
            && self.thread.as_ref().is_none_or(in_thread)
    }
}

/// Matching lines, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogPage {
    pub lines: Vec<Value>,
    /// Where the next page begins; `None` at the oldest line. A page may be short and still have a next one: a query
    /// searches a bounded part of the log at a time.
    pub next: Option<String>,
}

/// Reads the daemon's log. Secrets were removed when it was written.
pub trait DaemonLog: Send + Sync + std::fmt::Debug {
    fn read(&self, query: LogQuery) -> BoxFuture<'_, Result<LogPage, StoreError>>;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_told_apart_by_level_time_text_and_thread() {
        let facts = json!({
            "timestamp": "2026-11-16T12:00:00.5Z", "level": "WARN", "message": "Rate limited",
            "spans": [{ "name": "turn", "thread": "web:chat:1" }],
        });
        let line = facts.to_string();
        let all = LogQuery::default();
        let at = |text: &str| Timestamp::parse_rfc3339(text);
        for (query, expected) in [
            (all.clone(), true),
            (LogQuery { level: Some(LogLevel::Info), ..all.clone() }, true),
            (LogQuery { level: Some(LogLevel::Error), ..all.clone() }, false),
            (LogQuery { text: Some("rate LIMITED".to_owned()), ..all.clone() }, true),
            (LogQuery { text: Some("refused".to_owned()), ..all.clone() }, false),
            (LogQuery { thread: Some("web:chat:1".to_owned()), ..all.clone() }, true),
            (LogQuery { thread: Some("web:chat:2".to_owned()), ..all.clone() }, false),
            (LogQuery { since: at("2026-11-16T12:00:01Z"), ..all.clone() }, false),
            (LogQuery { until: at("2026-11-16T12:00:00Z"), ..all }, false),
        ] {
            assert_eq!(query.fits(&line, &facts), expected, "{query:?}");
        }
    }
}
