//! Runs `init`: asks, then writes.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use super::answers::{Answers, TerminalPrompt, ask, default_answers};
use super::files::{IfExists, WriteResult, agent_md, env_example, gitignore, place, ship_json, variables};
use crate::cli::{Exit, InitArgs};
use crate::domain::Language;
use crate::phrases::start as words;
use crate::ports::AdapterTable;

/// Why `init` failed.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// There is no terminal to ask at.
    #[error("standard input is not a terminal, so nothing can be asked; use --yes to take the defaults")]
    NotATerminal,
    #[error("the input ended before everything was answered; nothing was written")]
    InputEnded,
    /// An invalid argument.
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
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl InitError {
    /// The error message.
    pub fn words(&self, language: Language) -> String {
        match self {
            Self::NotATerminal => words::no_terminal(language).to_owned(),
            Self::InputEnded => words::input_ended(language).to_owned(),
            Self::BadAnswer { option, why } => words::bad_option(option, why, language),
            Self::Input(cause) => words::terminal_unreadable(cause, language),
            Self::Output(cause) => words::terminal_unwritable(cause, language),
            Self::Write { path, source } => words::cannot_write(path.display(), source, language),
        }
    }

    /// The exit code.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::NotATerminal | Self::BadAnswer { .. } => Exit::Usage,
            Self::InputEnded | Self::Input(_) | Self::Output(_) | Self::Write { .. } => Exit::Failed,
        }
    }
}

/// Creates a project in a directory, which is created where it is missing. Answers are read from `terminal`;
/// without one, `--yes` or `--force` must say what to do.
pub fn init(
    project: &Path,
    args: &InitArgs,
    adapters: &AdapterTable,
    language: Language,
    terminal: Option<&mut dyn BufRead>,
    out: &mut dyn Write,
) -> Result<Exit, InitError> {
    let silent = args.yes || args.force;
    let (answers, rules) = match terminal {
        _ if silent => {
            let rule = if args.force { IfExists::Replace } else { IfExists::Keep };
            (
                default_answers(project, args, adapters, language)?,
                OverwriteRules { agent_md: rule, ship_json: rule, env_example: rule },
            )
        }
        Some(input) => {
            let mut questions = TerminalPrompt { input, out, language };
            let answers = ask(project, args, adapters, &mut questions)?;
            let rules = OverwriteRules {
                agent_md: rule(project, "Agent.md", &mut questions)?,
                ship_json: rule(project, "ship.json", &mut questions)?,
                env_example: rule(project, ".env.example", &mut questions)?,
            };
            (answers, rules)
        }
        None => return Err(InitError::NotATerminal),
    };
    let placed = write_all(project, &answers, &rules)?;
    report(&answers, &placed, language, out).map_err(InitError::Output)?;
    Ok(Exit::Ok)
}

/// How to treat each file that exists.
struct OverwriteRules {
    agent_md: IfExists,
    ship_json: IfExists,
    env_example: IfExists,
}

fn rule(project: &Path, name: &str, questions: &mut TerminalPrompt<'_>) -> Result<IfExists, InitError> {
    if project.join(name).symlink_metadata().is_err() {
        return Ok(IfExists::Keep);
    }
    let question = words::ask_overwrite(name, questions.language);
    Ok(if questions.confirm(&question)? { IfExists::Replace } else { IfExists::Keep })
}

fn write_all(
    project: &Path,
    answers: &Answers,
    rules: &OverwriteRules,
) -> Result<Vec<(&'static str, WriteResult)>, InitError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| InitError::Write { path, source }
    };
    fs::create_dir_all(project).map_err(failed(project))?;
    let mut files = vec![
        ("Agent.md", agent_md(answers), rules.agent_md),
        ("ship.json", ship_json(answers), rules.ship_json),
    ];
    if !variables(answers).is_empty() {
        files.push((".env.example", env_example(answers), rules.env_example));
    }
    if in_git_repository(project) {
        let existing = match fs::read_to_string(project.join(".gitignore")) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(&project.join(".gitignore"))(error)),
        };
        if let Some(text) = gitignore(&existing) {
            // Lines are only added.
            files.push((".gitignore", text, IfExists::Replace));
        }
    }
    let mut placed = Vec::new();
    for (name, text, existing) in files {
        let path = project.join(name);
        placed.push((name, place(&path, &text, existing).map_err(failed(&path))?));
    }
    Ok(placed)
}

fn in_git_repository(project: &Path) -> bool {
    let resolved = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    resolved.ancestors().any(|dir| dir.join(".git").exists())
}

fn report(
    answers: &Answers,
    placed: &[(&'static str, WriteResult)],
    language: Language,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (name, placed) in placed {
        let line = match placed {
            WriteResult::Written => words::wrote(name, language),
            WriteResult::Replaced => words::changed(name, language),
            WriteResult::Kept => words::kept(name, language),
        };
        writeln!(out, "{line}")?;
    }
    let variables = variables(answers).join(", ");
    let next = match variables.as_str() {
        "" => words::next_steps(language).to_owned(),
        variables => words::next_steps_with(variables, language),
    };
    writeln!(out, "\n{next}")
}
