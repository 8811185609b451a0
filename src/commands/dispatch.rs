//! Dispatches the command line to its command.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::doctor::doctor_here;
use super::init::{InitParts, StdinTerminal, Terminal};
use super::{
    access, approvals, audit, chat, config, config_keys, grants, init, man, memory, open, run_daemon,
    service, tasks, threads, usage,
};
use crate::cli::{Cli, CliCommand, ConfigCommand, Exit, InitArgs, Output};
use crate::config::{ConfigEdit, Env, NewValue, check_config};
use crate::domain::Language;
use crate::http_client::{Http, install_tls};
use crate::onboarding::RealChecks;
use crate::ports::{AdapterTable, RandomIds, SystemClock};

/// Runs the command. Results go to `out`, errors to the standard error
/// output.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(cli: Cli, adapters: &AdapterTable, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let env = Env::process();
    let project = cli.directory;
    match cli.command {
        CliCommand::Run(args) => run_daemon::run(&project, &env, adapters, args, out, &mut io::stderr()),
        CliCommand::Init(args) => start_project(&project, &env, adapters, &args, out),
        CliCommand::Doctor(output) => examine(&project, &env, adapters, output, out),
        CliCommand::Service(command) => {
            service::run(&project, &env, adapters, command, out, &mut io::stderr())
        }
        CliCommand::Open(args) => open::run(&project, &env, adapters, &args, out, &mut io::stderr()),
        CliCommand::Chat(args) => chat::run(&project, &env, adapters, &args, out, &mut io::stderr()),
        CliCommand::Threads(command) => threads::run(&project, &env, command, out, &mut io::stderr()),
        CliCommand::Approvals(command) => {
            approvals::run(&project, &env, adapters, command, out, &mut io::stderr())
        }
        CliCommand::Grants(command) => grants::run(&project, &env, adapters, command, out, &mut io::stderr()),
        CliCommand::Memory(command) => memory::run(&project, &env, command, out, &mut io::stderr()),
        CliCommand::Tasks(command) => tasks::run(&project, &env, adapters, command, out, &mut io::stderr()),
        CliCommand::Access(command) => access::run(&project, &env, adapters, command, out, &mut io::stderr()),
        CliCommand::Audit(args) => audit::run(&project, &env, &args, out, &mut io::stderr()),
        CliCommand::Usage(args) => usage::run(&project, &env, adapters, &args, out, &mut io::stderr()),
        CliCommand::Config(ConfigCommand::Check(output)) => {
            Ok(config::check(&project, &env, adapters, output, out)?)
        }
        CliCommand::Config(ConfigCommand::Get { key, output }) => {
            Ok(config_keys::get(&project, &env, adapters, key.as_deref(), output, out, &mut io::stderr())?)
        }
        CliCommand::Config(ConfigCommand::Set { key, value, output }) => {
            let value = match value {
                Some(value) => value,
                None => config_keys::read_value(&mut io::stdin().lock())?,
            };
            let edit = ConfigEdit { key, value: NewValue::Typed(value) };
            Ok(config_keys::change(&project, &env, adapters, &edit, output, out, &mut io::stderr())?)
        }
        CliCommand::Config(ConfigCommand::Unset { key, output }) => {
            let edit = ConfigEdit::remove(&key);
            Ok(config_keys::change(&project, &env, adapters, &edit, output, out, &mut io::stderr())?)
        }
        CliCommand::Config(ConfigCommand::Schema) => Ok(config::print_schema(adapters, out)?),
        CliCommand::Config(ConfigCommand::Reference) => Ok(config::print_reference(adapters, out)?),
        CliCommand::Man { dir } => Ok(man::write_pages(&dir, &choices(adapters))?),
        CliCommand::Completions { shell } => {
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

/// Runs `init` at the terminal, where there is one.
fn start_project(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    args: &InitArgs,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let checks = RealChecks { http: Http::new(), clock: Arc::new(SystemClock), ids: Arc::new(RandomIds) };
    let parts = InitParts { adapters, env, checks: &checks, runtime: &runtime };
    let mut terminal = StdinTerminal::open();
    let terminal = terminal.as_mut().map(|terminal| terminal as &mut dyn Terminal);
    init::init(project, args, &parts, terminal, out).or_else(|error| {
        let exit = error.exit();
        writeln!(io::stderr(), "{}", error.words(args.language.unwrap_or_else(|| env.language())))?;
        Ok(exit)
    })
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
    Ok(runtime.block_on(doctor_here(project, env, adapters, output, out))?)
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
