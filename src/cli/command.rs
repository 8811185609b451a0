//! The command line: the option that all commands share, and the list of commands.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use super::approvals_args::ApprovalsCommand;
use super::args::{
    AccessCommand, AuditArgs, ChatArgs, ConfigCommand, GrantsCommand, InitArgs, Output, RunArgs,
    ThreadsCommand, UsageArgs,
};
use super::help::localized;
use super::memory_args::MemoryCommand;
use super::service_args::{OpenArgs, ServiceCommand};
use super::tasks_args::TasksCommand;
use crate::domain::Language;

#[derive(Debug, Parser)]
#[command(name = "shipagent", version, propagate_version = true)]
pub struct Cli {
    #[arg(short = 'C', long = "directory", value_name = "DIR", default_value = ".", global = true)]
    pub directory: PathBuf,

    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    Run(RunArgs),

    Init(InitArgs),

    Doctor(Output),

    #[command(subcommand)]
    Service(ServiceCommand),

    Open(OpenArgs),

    Chat(ChatArgs),

    #[command(subcommand)]
    Threads(ThreadsCommand),

    #[command(subcommand)]
    Approvals(ApprovalsCommand),

    #[command(subcommand)]
    Grants(GrantsCommand),

    #[command(subcommand)]
    Memory(MemoryCommand),

    #[command(subcommand)]
    Tasks(TasksCommand),

    #[command(subcommand)]
    Access(AccessCommand),

    Audit(AuditArgs),

    Usage(UsageArgs),

    #[command(subcommand)]
    Config(ConfigCommand),

    Completions {
        shell: Shell,
    },

    #[command(hide = true)]
    Man {
        dir: PathBuf,
    },
}

impl Cli {
    /// The command line with its help in this language, where `init --adapter` chooses among these adapters, each a
    /// name and its display name.
    pub fn command_with(adapters: &[(&'static str, &'static str)], language: Language) -> clap::Command {
        let choices = adapters.iter().map(|(name, title)| PossibleValue::new(*name).help(*title));
        let parser = PossibleValuesParser::new(choices.collect::<Vec<_>>());
        // Changed in its place: `mut_subcommand` would move it to the end of the list.
        let command = Self::command().mut_subcommands(|command| match command.get_name() {
            "init" => command.mut_arg("adapters", |adapter| adapter.value_parser(parser.clone())),
            _ => command,
        });
        localized(command, language)
    }

    /// Reads arguments, the first of them the program's name.
    ///
    /// # Errors
    /// With the parser's output in this language: requested help, or an error message.
    pub fn parse_with(
        args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
        adapters: &[(&'static str, &'static str)],
        language: Language,
    ) -> Result<Self, clap::Error> {
        let mut command = Self::command_with(adapters, language);
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
            "run --setup --listen 7718",
            "init --yes",
            "init --yes --provider deepseek --key-env KEY --language zh --purpose x",
            "init --force --name a --adapter telegram --adapter qq",
            "doctor --json",
            "service install --run-as agent --name bot --print",
            "service install --user",
            "service uninstall --user --name bot",
            "service status",
            "service logs -f -n 20",
            "service restart",
            "open",
            "open --print --base https://agent.example.org --json",
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
            "usage --by model,day --since 7d --until 2026-11-18 --csv",
            "usage --json",
            "config check --json",
            "config get",
            "config get llm.model --json",
            "config set llm.model gpt-6-luna --json",
            "config set adapters.telegram.allowedChats [-100123]",
            "config set limits.stopSecs -1",
            "config set llm.apiKey",
            "config unset llm.model",
            "config schema",
            "config reference",
            "completions zsh",
            "man DIR",
        ] {
            let words = std::iter::once("shipagent").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(["shipagent", "runn"]).is_err());
    }
}
