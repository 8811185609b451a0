//! The whole program for a given adapter table: arguments in, exit code out. The only module that prints.
//!
//! `main.rs` runs it with the platforms of this crate. A program outside this crate runs it with a table of its own:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     let adapters = shipagent::adapters::builtin(); // .with(MY_ADAPTER)
//!     shipagent::program::run(&adapters)
//! }
//! ```

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::{Cli, Exit, complaint};
use crate::domain::Language;
use crate::ports::AdapterTable;
use crate::{commands, sandbox};

/// Runs the command of this process's arguments.
pub fn run(adapters: &AdapterTable) -> ExitCode {
    // The sandbox starts this binary as its helper.
    if let Some(code) = sandbox::run_if_asked(std::env::args_os().skip(1)) {
        return code;
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    let choices = commands::choices(adapters);
    // The language matters only where there is something to tell instead.
    let parsed = Cli::parse_with(&args, &choices, Language::En).or_else(|_| {
        let language = commands::language_of(&args, adapters);
        Cli::parse_with(&args, &choices, language).map_err(|told| (told, language))
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err((told, language)) => {
            return end(tell(&told, language).map(|()| of_parser(&told)).map_err(Into::into), Ok(()));
        }
    };
    let mut out = io::stdout().lock();
    let ended = commands::run(cli, adapters, &mut out);
    end(ended, out.flush())
}

/// Prints help that was asked for, or a complaint.
fn tell(told: &clap::Error, language: Language) -> io::Result<()> {
    match complaint(told, language) {
        Some(text) => writeln!(io::stderr(), "{text}"),
        None => told.print(),
    }
}

/// The parser's message is either requested help or a usage error.
fn of_parser(told: &clap::Error) -> Exit {
    if told.use_stderr() { Exit::Usage } else { Exit::Ok }
}

fn end(ended: anyhow::Result<Exit>, flushed: io::Result<()>) -> ExitCode {
    let exit = judge(ended, flushed).unwrap_or_else(|error| {
        // If stderr cannot be written, the exit code still reports the failure.
        drop(writeln!(io::stderr(), "shipagent: {error:#}"));
        Exit::Failed
    });
    ExitCode::from(exit.code())
}

/// The result of a command after its output was flushed. Incomplete output is a failure, unless the reader closed the
/// pipe: `shipagent threads list | head -1`.
fn judge(ended: anyhow::Result<Exit>, flushed: io::Result<()>) -> anyhow::Result<Exit> {
    match (ended, flushed) {
        (Err(error), _) if is_broken_pipe(&error) => Ok(Exit::Ok),
        (Ok(Exit::Ok), Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        // The command's own error is more useful than the failed flush.
        (ended, _) => ended,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn output_that_was_cut_short_is_a_failure_unless_nobody_wanted_the_rest() {
        let failed = |kind: ErrorKind| io::Error::from(kind);
        for (ended, flushed, expected) in [
            (Ok(Exit::Ok), Ok(()), Some(Exit::Ok)),
            (Ok(Exit::Ok), Err(failed(ErrorKind::BrokenPipe)), Some(Exit::Ok)),
            (Ok(Exit::Ok), Err(failed(ErrorKind::StorageFull)), None),
            (Ok(Exit::Configuration), Err(failed(ErrorKind::StorageFull)), Some(Exit::Configuration)),
            (Err(failed(ErrorKind::BrokenPipe).into()), Ok(()), Some(Exit::Ok)),
            (Err(failed(ErrorKind::StorageFull).into()), Ok(()), None),
            (Err(anyhow::anyhow!("something else")), Err(failed(ErrorKind::BrokenPipe)), None),
        ] {
            let case = format!("{ended:?} {flushed:?}");
            assert_eq!(judge(ended, flushed).ok(), expected, "{case}");
        }
    }
}
