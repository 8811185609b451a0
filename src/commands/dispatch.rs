//! From the command line to the command.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use super::doctor::{DoctorInput, doctor};
use super::{access, approvals, audit, chat, config, grants, init, memory, run as daemon, threads};
use crate::app::model_of;
use crate::cli::{Cli, Command, ConfigCommand, Exit, Output};
use crate::config::{Endpoint, Env, ModelSettings};
use crate::http_client::{Http, install_tls};
use crate::model::list_models;
use crate::ports::{AdapterTable, BoxFuture, SystemClock};
use crate::sandbox;

/// Runs the command that was asked for. What people should read goes to `out`, trouble to the standard error
/// output.
///
/// # Errors
/// When something went wrong that has no exit code of its own.
pub fn run(cli: Cli, adapters: &AdapterTable, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let env = Env::process();
    let project = cli.directory;
    match cli.command {
        Command::Run(args) => daemon::run(&project, &env, adapters, args, out, &mut io::stderr()),
        Command::Init(args) => {
            let mut input = io::stdin().lock();
            let asks = input.is_terminal();
            let terminal = asks.then_some(&mut input as &mut dyn BufRead);
            init::init(&project, &args, adapters, env.language(), terminal, out).or_else(|error| {
                let exit = error.exit();
                writeln!(io::stderr(), "{:#}", anyhow::Error::new(error))?;
                Ok(exit)
            })
        }
        Command::Doctor(output) => examine(&project, &env, adapters, output, out),
        Command::Chat(args) => chat::run(&project, &env, adapters, &args, out, &mut io::stderr()),
        Command::Threads(command) => threads::run(&project, &env, command, out, &mut io::stderr()),
        Command::Approvals(command) => {
            approvals::run(&project, &env, adapters, command, out, &mut io::stderr())
        }
        Command::Grants(command) => grants::run(&project, &env, command, out, &mut io::stderr()),
        Command::Memory(command) => memory::run(&project, &env, command, out, &mut io::stderr()),
        Command::Tasks(command) => memory::tasks(&project, &env, &command, out, &mut io::stderr()),
        Command::Access(command) => access::run(&project, &env, adapters, command, out, &mut io::stderr()),
        Command::Audit(args) => audit::run(&project, &env, &args, out, &mut io::stderr()),
        Command::Config(ConfigCommand::Check(output)) => {
            Ok(config::check(&project, &env, adapters, output, out)?)
        }
        Command::Config(ConfigCommand::Schema) => Ok(config::print_schema(adapters, out)?),
        Command::Completions { shell } => {
            // It panics where it cannot write.
            let mut script = Vec::new();
            clap_complete::generate(
                shell,
                &mut Cli::command_with(&choices(adapters)),
                "shipagent",
                &mut script,
            );
            out.write_all(&script)?;
            Ok(Exit::Ok)
        }
    }
}

/// What the command line must know of the adapters: their names and what people call them.
pub fn choices(adapters: &AdapterTable) -> Vec<(&'static str, &'static str)> {
    adapters.iter().map(|def| (def.name, def.title)).collect()
}

/// Runs the doctor, with the models and platforms that the daemon itself would ask.
fn examine(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    install_tls();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let model = |settings: &ModelSettings| Ok(model_of(settings));
    let sandbox = || sandbox::probe(&sandbox::own_binary());
    let connections = Http::new();
    let models = |endpoint: Endpoint| -> BoxFuture<'_, _> {
        let connections = &connections;
        Box::pin(async move { list_models(connections, &endpoint.base_url, endpoint.api_key.as_ref()).await })
    };
    let http = || connections.far().map_err(|error| error.to_string());
    let clock = Arc::new(SystemClock);
    let surgery = DoctorInput {
        project,
        env,
        adapters,
        clock,
        model: &model,
        models: &models,
        http: &http,
        sandbox: &sandbox,
    };
    Ok(runtime.block_on(doctor(surgery, output, out))?)
}
