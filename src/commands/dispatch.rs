//! From the command line to the command.

use std::io::{self, Write};

use clap::CommandFactory;

use super::{config, init, run as daemon};
use crate::cli::{Cli, Command, ConfigCommand, Exit};
use crate::config::Env;

/// Runs the command that was asked for. What people should read goes to `out`, trouble to the standard error
/// output.
///
/// # Errors
/// When something went wrong that has no exit code of its own.
pub fn run(cli: Cli, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let env = Env::of_process();
    let project = cli.directory;
    match cli.command {
        Command::Run => daemon::run(&project, &env, out, &mut io::stderr()),
        Command::Init(args) => Ok(init::init(&project, &env, &args, out)?),
        Command::Doctor(output) => todo_doctor(output),
        Command::Chat(args) => todo_chat(args),
        Command::Threads(command) => todo_threads(command),
        Command::Config(ConfigCommand::Check(output)) => Ok(config::check(&project, &env, output, out)?),
        Command::Config(ConfigCommand::Schema) => Ok(config::print_schema(out)?),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "shipagent", &mut io::BufWriter::new(out));
            Ok(Exit::Ok)
        }
    }
}
