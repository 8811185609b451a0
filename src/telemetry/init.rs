//! Sets up the log outputs. Called once, by the composition root.

use std::io;
use std::io::IsTerminal;

use tracing::{Span, Subscriber};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use super::redact::Redactor;
use super::writer::{Redacting, SharedRedactor};
use crate::domain::{CorrelationId, ThreadId};

/// Lines that are buffered for a slow disk before logging calls block.
const WAITING_LINES: usize = 8_192;

/// The format on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Console {
    /// For people on a terminal, otherwise one JSON object per line.
    #[default]
    Auto,
    Human,
    /// One JSON object per line.
    Json,
    /// Nothing: the terminal is used by a conversation.
    Silent,
}

/// The writer of the log file.
pub type LogWriter = Box<dyn io::Write + Send>;

pub struct Options {
    /// What is logged: a level, or a list such as `info,shipagent::store=debug`; empty means `info`.
    pub filter: String,
    pub console: Console,
    /// The log file; `None` means no file.
    pub logs: Option<LogWriter>,
    pub redactor: Redactor,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("filter", &self.filter).finish_non_exhaustive()
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is invalid.
    #[error(
        "{asked:?} is not a log filter: use a level such as info, or a list such as info,shipagent=debug"
    )]
    Filter { asked: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// Logging was set up already.
    #[error("logs were set up twice")]
    Twice(#[from] TryInitError),
}

/// Keeps the log file writer running. Dropping it flushes the rest, so it must live until the end.
#[derive(Debug)]
#[must_use = "logs are written as long as this lives"]
pub struct Guard {
    _files: Option<WorkerGuard>,
    redactor: SharedRedactor,
}

impl Guard {
    /// From now on, these secrets are removed from the logs.
    pub fn redact_with(&self, redactor: Redactor) {
        self.redactor.replace(redactor);
    }
}

/// Sets up the logs of this process.
pub fn init(options: Options) -> Result<Guard, TelemetryError> {
    let terminal = io::stderr().is_terminal();
    let console = match options.console {
        Console::Auto if terminal => Console::Human,
        Console::Auto => Console::Json,
        chosen => chosen,
    };
    let (subscriber, guard) = subscriber(options, console, BoxMakeWriter::new(io::stderr))?;
    subscriber.try_init()?;
    Ok(guard)
}

/// The span of one run, which adds its ids to every line logged inside. Its level is the highest, so that no filter
/// removes the ids.
pub fn turn_span(correlation: &CorrelationId, thread: &ThreadId) -> Span {
    tracing::error_span!("turn", correlationId = %correlation, thread = %thread)
}

fn subscriber(
    options: Options,
    console: Console,
    stderr: BoxMakeWriter,
) -> Result<(impl Subscriber + Send + Sync + 'static, Guard), TelemetryError> {
    let redactor = SharedRedactor::new(options.redactor);
    let stderr = Redacting::new(stderr, redactor.clone());
    let console = match console {
        Console::Silent => None,
        Console::Human | Console::Auto => Some(human(stderr)),
        Console::Json => Some(json(stderr)),
    };
    let (files, worker) = match options.logs {
        Some(log) => {
            let (writer, worker) = in_background(log);
            (Some(json(Redacting::new(writer, redactor.clone()))), Some(worker))
        }
        None => (None, None),
    };
    let subscriber = Registry::default().with(filter(&options.filter)?).with(console).with(files);
    Ok((subscriber, Guard { _files: worker, redactor }))
}

/// Lines for people: time, level, the run's ids, the message, its fields.
fn human<S, W>(writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = fmt::layer().with_writer(writer).log_internal_errors(false);
    if io::stderr().is_terminal() { layer.boxed() } else { layer.with_ansi(false).boxed() }
}

/// Lines for machines. Every span is listed, not only the innermost, so that the run's ids are always there.
fn json<S, W>(writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(true)
        .with_writer(writer)
        // It would write to standard error, and panic where that is closed.
        .log_internal_errors(false)
        .boxed()
}

/// Writes on a separate thread: a slow disk blocks logging calls only when very many lines are queued.
fn in_background(log: LogWriter) -> (NonBlocking, WorkerGuard) {
    let builder = NonBlockingBuilder::default().lossy(false).buffered_lines_limit(WAITING_LINES);
    builder.thread_name("logs").finish(log)
}

/// Libraries with verbose logs. Naming one in the filter overrides this.
const QUIETER: &str = "hyper=warn,hyper_util=warn,h2=warn,reqwest=warn,rustls=warn,tower_http=warn,ignore=warn,\
                       globset=warn,rustyline=warn,mio=warn";

/// Logs complete bodies, including people's messages, when one cannot be parsed. Cannot be overridden.
const NEVER: &str = "async_openai";

/// The filter for the operator's setting, such as `debug` or `info,shipagent::store=trace`; an empty text means `info`.
pub(super) fn filter(asked: &str) -> Result<EnvFilter, TelemetryError> {
    let asked: Vec<&str> =
        asked.split(',').map(str::trim).filter(|part| !part.is_empty() && !part.starts_with(NEVER)).collect();
    let directives = format!("info,{QUIETER},{},{NEVER}=off", asked.join(","));
    EnvFilter::builder()
        .parse(directives)
        .map_err(|source| TelemetryError::Filter { asked: asked.join(","), source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::sync::{Arc, Mutex};

    const SECRET: &str = "c4nary/\"secret\"+value";

    /// A writer that records its output.
    #[derive(Clone, Debug, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for SharedBuffer {
        fn write(&mut self, part: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(part);
            Ok(part.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl SharedBuffer {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    /// Logs with `work` and returns the output on the console and in the file.
    fn logged(console: Console, filter: &str, work: impl FnOnce()) -> (String, String) {
        let kept = SharedBuffer::default();
        let options = Options {
            filter: filter.into(),
            console,
            logs: Some(Box::new(kept.clone())),
            redactor: Redactor::new([SECRET]).unwrap(),
        };
        let paper = SharedBuffer::default();
        let writer = paper.clone();
        let make = BoxMakeWriter::new(move || writer.clone());
        let (subscriber, guard) = subscriber(options, console, make).unwrap();
        tracing::subscriber::with_default(subscriber, work);
        drop(guard);
        (paper.text(), kept.text())
    }

    fn turn() -> Span {
        turn_span(&"run_7".parse().unwrap(), &"web:chat:1".parse().unwrap())
    }

    #[derive(Debug, thiserror::Error)]
    #[error("cannot use {0}")]
    struct Outer(&'static str, #[source] io::Error);

    #[derive(Debug)]
    #[expect(dead_code, reason = "only its Debug is looked at")]
    struct Settings {
        key: &'static str,
    }

    fn leak() {
        let secret = SECRET;
        let percent = percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC);
        let error = anyhow::Error::new(Outer(secret, io::Error::other(secret)));
        tracing::info!("message {secret}");
        tracing::info!(field = secret, display = %secret, debug = ?secret, "field");
        tracing::info!(settings = ?Settings { key: secret }, "struct");
        tracing::info!(chain = format!("{error:#}"), debug = ?error, "error");
        tracing::info!(url = %format_args!("https://x/?key={percent}"), "percent");
        tracing::info!(body = %serde_json::json!({"key": secret}), "json");
        tracing::info!("authorization: Bearer 0123456789abcdef0123");
        tracing::error_span!("inner", secret).in_scope(|| tracing::info!("span"));
    }

    #[test]
    fn a_secret_never_reaches_the_console_or_the_files() {
        for console in [Console::Human, Console::Json] {
            let (shown, files) = logged(console, "", leak);
            assert!(files.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{files}");
            assert_eq!(files.lines().count(), 8);
            for text in [&shown, &files] {
                assert!(text.contains("[redacted]"));
                for part in ["c4nary", "secret\\\"+", "+value", "%2Bvalue", "0123456789abcdef"] {
                    assert!(!text.contains(part), "{part} in {text}");
                }
            }
        }
    }

    #[test]
    fn the_ids_of_a_run_are_on_every_line_of_it() {
        let work = || {
            turn().in_scope(|| {
                tracing::warn!(attempt = 2, "model call failed");
                tracing::info_span!("tool", name = "read_file").in_scope(|| tracing::warn!("slow"));
            });
        };
        for filter in ["", "warn"] {
            let (human, files) = logged(Console::Human, filter, work);
            for line in human.lines().chain(files.lines()) {
                assert!(line.contains("run_7") && line.contains("web:chat:1"), "{filter}: {line}");
            }
            let lines: Vec<Value> = files.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines.len(), 2);
            assert_eq!(lines[0]["spans"][0]["correlationId"], "run_7");
            assert_eq!(lines[0]["spans"][0]["thread"], "web:chat:1");
            assert_eq!(
                (&lines[0]["message"], &lines[0]["attempt"]),
                (&"model call failed".into(), &2.into())
            );
            assert_eq!(lines[1]["spans"][0]["correlationId"], "run_7");
        }
    }

    #[test]
    fn a_silent_console_still_leaves_files() {
        let (shown, files) = logged(Console::Silent, "", || tracing::info!("kept"));
        assert_eq!(shown, "");
        assert!(files.contains("kept"));
    }

    #[test]
    fn every_line_is_in_the_file_once_the_guard_is_gone() {
        let (_, files) = logged(Console::Silent, "", || (0..10_000).for_each(|n| tracing::info!(n, "line")));
        assert_eq!(files.lines().count(), 10_000);
    }

    fn shown(asked: &str) -> String {
        filter(asked).unwrap().to_string()
    }

    #[test]
    fn what_was_asked_for_is_heard() {
        for (asked, expected) in [
            ("", "info"),
            ("debug", "debug"),
            ("warn,shipagent::store=trace", "shipagent::store=trace"),
            ("hyper=debug", "hyper=debug"),
        ] {
            assert!(shown(asked).split(',').any(|part| part == expected), "{asked}: {}", shown(asked));
        }
        assert!(!shown("debug").split(',').any(|part| part == "info"));
        assert!(matches!(filter("shipagent=loud"), Err(TelemetryError::Filter { .. })));
    }

    #[test]
    fn private_words_are_never_logged_by_a_library() {
        for asked in ["", "trace", "async_openai=trace", "async_openai::client=debug,info"] {
            let shown = shown(asked);
            assert!(shown.contains("async_openai=off") && !shown.contains("async_openai::"), "{shown}");
        }
    }
}
