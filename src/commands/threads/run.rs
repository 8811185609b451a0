//! From the arguments of `threads` to its commands.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use super::{export, list, show, words};
use crate::cli::{Exit, ThreadsCommand};
use crate::commands::cli_context::no_project;
use crate::commands::terminal::Surface;
use crate::config::{Env, operator_language};
use crate::domain::{Language, ThreadId};
use crate::store::Reader;

/// Where and how a command looks.
#[derive(Debug)]
pub(super) struct CliContext {
    pub(super) reader: Reader,
    /// Where the daemon keeps what it knows.
    pub(super) state: PathBuf,
    /// The language of whoever looks.
    pub(super) language: Language,
    /// The clock of whoever looks.
    pub(super) zone: TimeZone,
    /// What it is shown on.
    pub(super) surface: Surface,
}

/// Runs one of the commands. What was found goes to `out`, trouble to `err`.
///
/// # Errors
/// When something went wrong that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    command: ThreadsCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    // A mistake in the configuration is no reason to keep people from their conversations.
    let language = operator_language(project, env);
    if !project.is_dir() {
        writeln!(err, "{}", no_project(project, language))?;
        return Ok(Exit::Failed);
    }
    let state = project.join(".ship");
    let look = CliContext {
        reader: Reader::read_only(&state),
        state,
        language,
        zone: TimeZone::system(),
        surface: Surface::of(&io::stdout(), env),
    };
    match command {
        ThreadsCommand::List(output) => list::list(&look, output, out),
        ThreadsCommand::Show { thread, limit, output } => match find(&look, &thread, err)? {
            Some(thread) => show::show(&look, &thread, limit, output, out),
            None => Ok(Exit::Failed),
        },
        ThreadsCommand::Export { thread, format, output } => match find(&look, &thread, err)? {
            Some(thread) => export::export(&look, &thread, format, output.as_deref(), out, err),
            None => Ok(Exit::Failed),
        },
    }
}

/// The thread of this name, if there is one.
fn find(look: &CliContext, name: &str, err: &mut dyn Write) -> io::Result<Option<ThreadId>> {
    let thread = name.parse().ok().filter(|thread| look.reader.has(thread));
    if thread.is_none() {
        writeln!(err, "{}", words::unknown(name, look.language))?;
    }
    Ok(thread)
}
