//! Arguments in, exit code out. The one place that prints.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use shipagent::cli::{Cli, Exit};
use shipagent::{commands, sandbox};

fn main() -> ExitCode {
    if let Some(code) = sandbox::run_if_asked(std::env::args_os().skip(1)) {
        return code;
    }
    let cli = Cli::parse();
    let mut out = io::stdout().lock();
    let ended = commands::run(cli, &mut out);
    let flushed = out.flush();
    let exit = match (ended, flushed) {
        // Whoever read our output has seen enough: `shipagent threads list | head -1`.
        (Err(error), _) if is_broken_pipe(&error) => Exit::Ok,
        (Ok(exit), _) => exit,
        (Err(error), _) => {
            complain(&error);
            Exit::Failed
        }
    };
    ExitCode::from(exit.code())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn complain(error: &anyhow::Error) {
    // If even this cannot be said, the exit code still tells.
    drop(writeln!(io::stderr(), "shipagent: {error:#}"));
}
