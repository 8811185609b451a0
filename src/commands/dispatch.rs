//! From the command line to the command.

use std::io::{self, BufRead, IsTerminal, Write};

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
    let env = Env::process();
    let project = cli.directory;
    match cli.command {
        Command::Run => daemon::run(&project, &env, out, &mut io::stderr()),
        Command::Init(args) => {
            let mut input = io::stdin().lock();
            let asks = input.is_terminal();
            let terminal = asks.then_some(&mut input as &mut dyn BufRead);
            init::init(&project, &args, env.language(), terminal, out).or_else(|error| {
                let exit = error.exit();
                writeln!(io::stderr(), "{:#}", anyhow::Error::new(error))?;
                Ok(exit)
            })
        }
        Command::Doctor(_) | Command::Chat(_) | Command::Threads(_) => Ok(Exit::Failed),
        Command::Config(ConfigCommand::Check(output)) => Ok(config::check(&project, &env, output, out)?),
        Command::Config(ConfigCommand::Schema) => Ok(config::print_schema(out)?),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "shipagent", &mut io::BufWriter::new(out));
            Ok(Exit::Ok)
        }
    }
}
