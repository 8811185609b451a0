//! Dispatches the command line to its command.

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::doctor::{DoctorInput, doctor};
use super::{access, approvals, audit, chat, config, grants, init, memory, run as daemon, tasks, threads};
use crate::app::model_of;
use crate::cli::{Cli, Command, ConfigCommand, Exit, Output};
use crate::config::{Endpoint, Env, ModelSettings, check_config};
use crate::domain::Language;
use crate::http_client::{Http, install_tls};
use crate::model::list_models;
use crate::ports::{AdapterTable, BoxFuture, SystemClock};
use crate::sandbox;

/// Runs the command. Results go to `out`, errors to the standard error
/// output.
///
/// # Errors
/// When something fails that has no exit code of its own.
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
                writeln!(io::stderr(), "{}", error.words(env.language()))?;
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
        Command::Tasks(command) => tasks::run(&project, &env, adapters, command, out, &mut io::stderr()),
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
                &mut Cli::command_with(&choices(adapters), env.language()),
                "shipagent",
                &mut script,
            );
            out.write_all(&script)?;
            Ok(Exit::Ok)
        }
    }
}

/// The adapters for `init --adapter`: names and display names.
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

/// The language of help and argument errors: that of the project which the arguments name.
pub fn language_of(args: &[OsString], adapters: &AdapterTable) -> Language {
    check_config(&directory_of(args), &Env::process(), adapters).language
}

/// The value of `-C`, which may stand anywhere in arguments that could not be read.
fn directory_of(args: &[OsString]) -> PathBuf {
    let mut args = args.iter().filter_map(|arg| arg.to_str());
    let mut found = None;
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--directory=").or_else(|| arg.strip_prefix("-C")) {
            Some("") => found = args.next(),
            None if arg == "--directory" => found = args.next(),
            None => {}
            attached => found = attached,
        }
    }
    PathBuf::from(found.unwrap_or("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_found_in_arguments_that_cannot_be_read() {
        for (line, expected) in [
            ("shipagent --help", "."),
            ("shipagent -C a run --help", "a"),
            ("shipagent run -Cb -h", "b"),
            ("shipagent --directory c runn", "c"),
            ("shipagent --directory=d", "d"),
            ("shipagent -C", "."),
        ] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(directory_of(&args), PathBuf::from(expected), "{line}");
        }
    }
}
