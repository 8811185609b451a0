//! What the model is told of a command. Pure.

use std::time::Duration;

use serde_json::{Map, Value};

use super::capture::Said;
use crate::domain::Class;
use crate::sandbox::{Ended, Isolation};

/// Why a command came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It was done.
    Done,
    /// Its time was over.
    TimedOut,
    /// Somebody stopped it.
    Stopped,
}

/// A command that has run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) why: Why,
    /// How it ended; nothing where even killing it did not tell.
    pub(super) ended: Option<Ended>,
    pub(super) said: Said,
    pub(super) took: Duration,
    pub(super) class: Class,
    pub(super) isolation: Isolation,
    /// What else there is to know.
    pub(super) notes: Vec<String>,
}

impl Ran {
    /// As JSON.
    pub(super) fn into_output(self) -> Value {
        let mut output = Map::new();
        match self.ended {
            Some(Ended::Exited(code)) => drop(output.insert("exitCode".into(), code.into())),
            Some(Ended::Killed(signal)) => drop(output.insert("signal".into(), signal_name(signal).into())),
            None => {}
        }
        output.insert("stdout".into(), self.said.stdout.into());
        output.insert("stderr".into(), self.said.stderr.into());
        output.insert("truncated".into(), self.said.truncated.into());
        if let Some(path) = self.said.full {
            output.insert("fullOutput".into(), path.into());
        }
        output.insert("durationMs".into(), u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX).into());
        match self.why {
            Why::Done => {}
            Why::TimedOut => drop(output.insert("timedOut".into(), true.into())),
            Why::Stopped => drop(output.insert("stopped".into(), true.into())),
        }
        let sandbox = match (self.isolation, self.class) {
            (Isolation::Nothing, _) => "none",
            (Isolation::Namespaces | Isolation::Rules, Class::ReadOnly) => "read-only",
            (Isolation::Namespaces | Isolation::Rules, Class::ProjectWritable) => "project-writable",
        };
        output.insert("sandbox".into(), sandbox.into());
        if !self.notes.is_empty() {
            output.insert("note".into(), self.notes.join("; ").into());
        }
        Value::Object(output)
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_outcome_says_how_it_ended_and_what_was_said() {
        let said =
            Said { stdout: "o".into(), stderr: String::new(), truncated: true, full: Some("f.log".into()) };
        let ran = Ran {
            why: Why::TimedOut,
            ended: Some(Ended::Killed(9)),
            said,
            took: Duration::from_millis(1_500),
            class: Class::ReadOnly,
            isolation: Isolation::Rules,
            notes: vec!["one".into(), "two".into()],
        };
        assert_eq!(
            ran.into_output(),
            json!({"signal": "SIGKILL", "stdout": "o", "stderr": "", "truncated": true, "fullOutput": "f.log",
                   "durationMs": 1_500, "timedOut": true, "sandbox": "read-only", "note": "one; two"})
        );
    }
}
