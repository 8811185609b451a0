//! Runs `init`: asks, then writes.

use std::io::{self, Write};
use std::path::Path;

use super::answers::default_answers;
use super::prompt::{Terminal, TerminalPrompt};
use super::steps::ask;
use crate::cli::{Exit, InitArgs};
use crate::commands::cli_context::operator;
use crate::config::{Env, Settings, project_env};
use crate::domain::{Language, Role};
use crate::onboarding::{
    Checks, FileWritten, IfExists, NewProject, OverwriteRules, WriteError, WriteResult, variables,
    write_project,
};
use crate::phrases::start as words;
use crate::ports::{AdapterTable, BoxFuture, Clock as _, Invited, SystemClock};
use crate::store::State;

/// Why `init` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InitError {
    /// There is no terminal to ask at.
    #[error("standard input is not a terminal, so nothing can be asked; use --yes to take the defaults")]
    NotATerminal,
    #[error("the input ended before everything was answered; nothing was written")]
    InputEnded,
    #[error("{option}: {why}")]
    BadAnswer {
        option: &'static str,
        /// The expected form.
        why: String,
    },
    /// The terminal cannot be read.
    #[error("the terminal cannot be read")]
    Input(#[source] io::Error),
    /// The terminal cannot be written.
    #[error("the terminal cannot be written")]
    Output(#[source] io::Error),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl InitError {
    pub(crate) fn words(&self, language: Language) -> String {
        match self {
            Self::NotATerminal => words::no_terminal(language).to_owned(),
            Self::InputEnded => words::input_ended(language).to_owned(),
            Self::BadAnswer { option, why } => words::bad_option(option, why, language),
            Self::Input(cause) => words::terminal_unreadable(cause, language),
            Self::Output(cause) => words::terminal_unwritable(cause, language),
            Self::Write(error) => words::cannot_write(error.path.display(), &error.source, language),
        }
    }

    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::NotATerminal | Self::BadAnswer { .. } => Exit::Usage,
            Self::InputEnded | Self::Input(_) | Self::Output(_) | Self::Write(_) => Exit::Failed,
        }
    }
}

/// What `init` works with.
#[derive(Debug)]
pub(crate) struct InitParts<'a> {
    pub(crate) adapters: &'a AdapterTable,
    pub(crate) env: &'a Env,
    pub(crate) checks: &'a dyn Checks,
    pub(crate) runtime: &'a tokio::runtime::Runtime,
}

impl InitParts<'_> {
    /// Runs a check to its end.
    pub(super) fn wait<T>(&self, check: BoxFuture<'_, T>) -> T {
        self.runtime.block_on(check)
    }
}

/// Creates a project in a directory, which is created where it is missing. Answers are read from `terminal`;
/// without one, `--yes` or `--force` must say what to do.
pub(crate) fn init(
    project: &Path,
    args: &InitArgs,
    parts: &InitParts<'_>,
    terminal: Option<&mut dyn Terminal>,
    out: &mut dyn Write,
) -> Result<Exit, InitError> {
    let language = args.language.unwrap_or_else(|| parts.env.language());
    if args.yes || args.force {
        let answers = default_answers(project, args, parts.adapters, language)?;
        let rule = if args.force { IfExists::Replace } else { IfExists::Keep };
        let rules = OverwriteRules { agent_md: rule, ship_json: rule, env_example: rule };
        let written = write_project(project, &answers, rules)?;
        report(project, &answers, &written, parts, language, out).map_err(InitError::Output)?;
        return Ok(Exit::Ok);
    }
    let Some(input) = terminal else { return Err(InitError::NotATerminal) };
    let mut prompt = TerminalPrompt { input, out, language };
    // Asked first: a person who keeps the file need not answer the rest.
    let ship_json = rule(project, "ship.json", &mut prompt)?;
    let keeps = ship_json == IfExists::Keep && project.join("ship.json").exists();
    let answers = if keeps {
        default_answers(project, args, parts.adapters, language)?
    } else {
        ask(project, args, parts, &mut prompt)?
    };
    let agent_md = rule(project, "Agent.md", &mut prompt)?;
    let language = prompt.language;
    let rules = OverwriteRules { agent_md, ship_json, env_example: IfExists::Keep };
    let written = write_project(project, &answers, rules)?;
    report(project, &answers, &written, parts, language, out).map_err(InitError::Output)?;
    if !keeps {
        tell_owner(project, &answers, parts, language, out).map_err(InitError::Output)?;
    }
    Ok(Exit::Ok)
}

fn rule(project: &Path, name: &str, prompt: &mut TerminalPrompt<'_>) -> Result<IfExists, InitError> {
    if project.join(name).symlink_metadata().is_err() {
        return Ok(IfExists::Keep);
    }
    let question = words::ask_overwrite(name, prompt.language);
    Ok(if prompt.confirm(&question)? { IfExists::Replace } else { IfExists::Keep })
}

fn report(
    project: &Path,
    answers: &NewProject,
    written: &[FileWritten],
    parts: &InitParts<'_>,
    language: Language,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (name, result) in written {
        let line = match result {
            WriteResult::Written => words::wrote(name, language),
            WriteResult::Replaced => words::changed(name, language),
            WriteResult::Kept => words::kept(name, language),
        };
        writeln!(out, "{line}")?;
    }
    let env = project_env(project, parts.env);
    let stored = |name: &str| answers.secrets.iter().any(|(known, _)| known.starts_with(name));
    let unset: Vec<String> =
        variables(answers).into_iter().filter(|name| env.filled(name).is_none() && !stored(name)).collect();
    let next = match unset.join(", ").as_str() {
        "" => words::next_steps(language).to_owned(),
        variables => words::next_steps_with(variables, language),
    };
    writeln!(out, "\n{next}")
}

/// Says how the first owner is paired on each platform: by an invitation where the platform can redeem one, otherwise by
/// the code that the bot answers with.
fn tell_owner(
    project: &Path,
    answers: &NewProject,
    parts: &InitParts<'_>,
    language: Language,
    out: &mut dyn Write,
) -> io::Result<()> {
    for section in &answers.adapters {
        let invited =
            section.def.invitation.and_then(|way| Some(way(&invitation(project, parts)?, language)));
        let line = match invited {
            Some(Invited { bot, message, link }) => {
                words::owner_by_invitation(&bot, &message, &link, language)
            }
            None => words::owner_by_code(section.def.title, language),
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A new invitation for an owner; `None` where the project cannot be opened yet.
fn invitation(project: &Path, parts: &InitParts<'_>) -> Option<String> {
    let settings = Settings::load(project, parts.env, parts.adapters).ok()?;
    let by = operator().ok()?;
    parts.runtime.block_on(async {
        let state = State::files(&settings.state).ok()?;
        let invitation = state.access.invite(Role::Owner, &by, SystemClock.now()).await;
        state.threads.close().await;
        invitation.ok().map(|invitation| invitation.code)
    })
}
