//! The whole command line: the one option of all commands, and the list of them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use super::access::AccessCommand;
use super::approvals::ApprovalsCommand;
use super::audit::AuditArgs;
use super::chat::{CHAT_EXIT_CODES, ChatArgs};
use super::config::ConfigCommand;
use super::exit::EXIT_CODES;
use super::grants::GrantsCommand;
use super::init::InitArgs;
use super::memory::{MemoryCommand, TasksCommand};
use super::output::Output;
use super::run::RunArgs;
use super::threads::ThreadsCommand;

/// Turns a project directory into an agent people talk to.
#[derive(Debug, Parser)]
#[command(name = "shipagent", version, after_help = EXIT_CODES, propagate_version = true)]
pub struct Cli {
    /// The project directory: where Agent.md is
    #[arg(short = 'C', long = "directory", value_name = "DIR", default_value = ".", global = true)]
    pub directory: PathBuf,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the agent: the web console and every adapter that ship.json turns on
    ///
    /// Stops gracefully on the first SIGINT or SIGTERM and at once on the second.
    Run(RunArgs),

    /// Make a project: write Agent.md and ship.json
    ///
    /// Asks on a terminal; files that exist are never overwritten without a yes.
    Init(InitArgs),

    /// Check everything the agent needs and say what to do
    ///
    /// Looks at Agent.md, the configuration, the model (with one real call of a single token), the state
    /// directory, disk, port, lock, sandbox and clock. Ends with 1 when something must be mended.
    Doctor(Output),

    /// Talk to the agent in this terminal
    ///
    /// Uses the running daemon; without one, the agent runs inside this process. Ctrl-C stops the turn. With a message,
    /// or with one piped in, prints the answer and ends; when the agent asks for approval first, it prints the number of
    /// the request and how to answer, and ends with 1.
    #[command(after_help = CHAT_EXIT_CODES)]
    Chat(ChatArgs),

    /// Look at conversations
    #[command(subcommand)]
    Threads(ThreadsCommand),

    /// Decide what the agent asks for
    #[command(subcommand)]
    Approvals(ApprovalsCommand),

    /// Look at what was allowed for longer than once, and take it back
    #[command(subcommand)]
    Grants(GrantsCommand),

    /// Look at what is remembered between conversations
    #[command(subcommand)]
    Memory(MemoryCommand),

    /// Look at the project's tasks
    #[command(subcommand)]
    Tasks(TasksCommand),

    /// Let people in, and out
    #[command(subcommand)]
    Access(AccessCommand),

    /// Read who was allowed what, and what came of it
    Audit(AuditArgs),

    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Print a completion script for a shell
    ///
    /// For example: shipagent completions bash > ~/.local/share/bash-completion/completions/shipagent
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Cli {
    /// The command line where `init --adapter` chooses among these adapters, each a name and what people call it.
    pub fn command_with(adapters: &[(&'static str, &'static str)]) -> clap::Command {
        let choices = adapters.iter().map(|(name, title)| PossibleValue::new(*name).help(*title));
        let parser = PossibleValuesParser::new(choices.collect::<Vec<_>>());
        // Changed in its place: `mut_subcommand` would move it to the end of the list.
        Self::command().mut_subcommands(|command| match command.get_name() {
            "init" => command.mut_arg("adapters", |adapter| adapter.value_parser(parser.clone())),
            _ => command,
        })
    }

    /// Reads the arguments of the program.
    ///
    /// # Errors
    /// With what the parser tells instead: help that was asked for, or a complaint.
    pub fn parse_with(
        args: impl IntoIterator<Item = OsString>,
        adapters: &[(&'static str, &'static str)],
    ) -> Result<Self, clap::Error> {
        let mut command = Self::command_with(adapters);
        let matches = command.try_get_matches_from_mut(args)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_directory_may_stand_before_or_behind_the_command() {
        for line in [&["shipagent", "-C", "x", "run"][..], &["shipagent", "run", "-C", "x"]] {
            assert_eq!(Cli::try_parse_from(line).unwrap().directory, PathBuf::from("x"));
        }
    }

    #[test]
    fn every_command_of_the_manual_is_understood() {
        for line in [
            "run",
            "init",
            "init --yes",
            "init --force --name a --adapter telegram --adapter qq",
            "doctor --json",
            "chat",
            "chat --thread t hello",
            "threads list --json",
            "threads show web:chat:1 --limit 5 --json",
            "threads export web:chat:1 -f markdown -o a.md",
            "approvals list",
            "approvals list --state all --json",
            "approvals show A1 --json",
            "approvals approve A1 --scope minutes=10 --reason fine",
            "approvals deny A1",
            "approvals done A1 --json",
            "grants list --json",
            "grants revoke G1",
            "access list --json",
            "access approve ABCD2345",
            "access approve ABCD2345 --role guest",
            "access role telegram:user:7 owner",
            "access invite --role guest",
            "access revoke telegram:chat:-100",
            "audit --since 2h --thread web:chat:1 --event decision --limit 5 --json",
            "memory show --user telegram:user:7 --json",
            "memory search when --scope project --limit 10 --json",
            "memory search -x",
            "memory import DIR --scope group:telegram:chat:-100",
            "memory reindex --json",
            "memory status",
            "config check --json",
            "config schema",
            "completions zsh",
        ] {
            let words = std::iter::once("shipagent").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(["shipagent", "runn"]).is_err());
    }
}
