//! The result of a command for the model. Pure.

use std::time::Duration;

use serde_json::{Map, Value};

use super::capture::CommandOutput;
use crate::domain::Class;
use crate::sandbox::{CommandEnd, Exceeded, ExceededLimit, Isolation};

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Done,
    /// It reached its deadline.
    TimedOut,
    Stopped,
    /// It exceeded a memory limit.
    OutOfMemory(Exceeded),
}

/// A command that has ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) why: Why,
    /// How it ended; `None` where even killing it brought no report.
    pub(super) ended: Option<CommandEnd>,
    pub(super) said: CommandOutput,
    pub(super) took: Duration,
    pub(super) class: Class,
    pub(super) isolation: Isolation,
    /// Further notes for the model.
    pub(super) notes: Vec<String>,
}

impl Ran {
    pub(super) fn into_output(mut self) -> Value {
        let mut output = Map::new();
        match self.ended {
            Some(CommandEnd::Exited(code)) => drop(output.insert("exitCode".into(), code.into())),
            Some(CommandEnd::Killed(signal)) => {
                drop(output.insert("signal".into(), signal_name(signal).into()))
            }
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
            Why::OutOfMemory(exceeded) => {
                output.insert("outOfMemory".into(), true.into());
                self.notes.insert(0, told(exceeded));
            }
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

fn told(exceeded: Exceeded) -> String {
    let megabytes = exceeded.limit >> 20;
    match exceeded.scope {
        ExceededLimit::Command => format!(
            "the command was ended because it used more than {megabytes} MB of memory, which is the limit for one \
             command (limits.commandMemoryMb)"
        ),
        ExceededLimit::Together => format!(
            "the command was ended because all running commands together used more than {megabytes} MB of memory, \
             and this one used the most"
        ),
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
    fn a_command_that_used_too_much_memory_is_told_so_with_the_limit() {
        for (scope, expected) in [
            (ExceededLimit::Command, "used more than 512 MB of memory, which is the limit for one command"),
            (ExceededLimit::Together, "all running commands together used more than 512 MB of memory"),
        ] {
            let ran = Ran {
                why: Why::OutOfMemory(Exceeded { scope, limit: 512 << 20 }),
                ended: None,
                said: CommandOutput {
                    stdout: String::new(),
                    stderr: String::new(),
                    truncated: false,
                    full: None,
                },
                took: Duration::ZERO,
                class: Class::ProjectWritable,
                isolation: Isolation::Namespaces,
                notes: vec!["another".into()],
            };
            let output = ran.into_output();
            assert_eq!(output["outOfMemory"], true);
            let note = output["note"].as_str().unwrap();
            assert!(note.contains(expected) && note.ends_with("; another"), "{note}");
        }
    }

    #[test]
    fn the_outcome_says_how_it_ended_and_what_was_said() {
        let said = CommandOutput {
            stdout: "o".into(),
            stderr: String::new(),
            truncated: true,
            full: Some("f.log".into()),
        };
        let ran = Ran {
            why: Why::TimedOut,
            ended: Some(CommandEnd::Killed(9)),
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
