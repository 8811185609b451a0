//! The tool: arguments in, the command's output out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::aliases::aliases_in;
use super::capture::CommandTranscript;
use super::environment::{environment_of, git_hardened};
use super::hidden::hidden_in;
use super::outcome::Ran;
use super::quarantine::Quarantine;
use super::run_command::run_command;
use super::settings::ExecSettings;
use super::unasked::{Arranged, arrange_unasked};
use crate::domain::{Class, Effects, ThreadId, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};
use crate::sandbox::{Isolation, Spec};
use crate::tools::job::on_blocking_thread;
use crate::tools::open::must_be_directory;
use crate::tools::reserved::is_reserved_name;
use crate::tools::{Confinement, arguments, schema_of};

const SETTINGS_FILE: &str = "ship.json";

/// Longest command; longer ones are scripts, and belong into a file.
const COMMAND_BYTES: usize = 32 * 1024;

#[derive(Clone, Debug)]
pub struct ExecShell {
    settings: Arc<ExecSettings>,
    processes: Arc<Semaphore>,
}

impl ExecShell {
    pub fn new(settings: ExecSettings) -> Self {
        Self { processes: Arc::new(Semaphore::new(settings.max_processes)), settings: Arc::new(settings) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The command, for `sh -c`.
    command: String,
    /// The folder to run it in, relative to the project directory. Default: the project directory.
    cwd: Option<String>,
    /// After how many seconds it is ended. Default, and at most: what the operator allows.
    timeout_secs: Option<u64>,
}

impl Tool for ExecShell {
    fn spec(&self) -> ToolSpec {
        let most = self.settings.timeout.as_secs();
        ToolSpec {
            name: "exec_shell",
            description: format!(
                "Runs a shell command in the project, in a sandbox, for at most {most} seconds. Standard input is \
                 empty and processes left in the background end with the command. It sees the project and the \
                 system's programs; other files and other programs' sockets are not there. Of long output the \
                 beginning and the end are given."
            ),
            parameters: schema_of::<Arguments>(),
            effects: Effects::SideEffects,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        parsed(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let arguments = parsed(arguments)?;
            self.execute(arguments, context).await
        })
    }
}

impl ExecShell {
    async fn execute(&self, arguments: Arguments, context: ToolContext) -> ToolOutcome {
        let settings = &self.settings;
        let isolation = settings
            .found
            .isolation_for(settings.mode)
            .await
            .map_err(|refusal| ToolFailure::Refused(refusal.to_string()))?;
        let _process = self.process_slot().await?;
        let allowed = arguments
            .timeout_secs
            .map_or(settings.timeout, |secs| Duration::from_secs(secs.max(1)).min(settings.timeout));
        let Prepared { spec, quarantine, mut notes, _scratch } =
            self.prepare(arguments, &context, isolation).await?;
        let mut environment = environment_of(&settings.environment, &spec.scratch, &settings.redact);
        if spec.class == Class::ReadOnly {
            environment.extend(git_hardened(&spec.project));
        }
        let full = settings.outputs.begin(&context.call);
        let mut transcript = CommandTranscript::new(&settings.redact, full, context.progress);
        let ran = run_command(settings, &spec, &environment, allowed, &context.cancel, &mut transcript).await;
        let said = transcript.finish().await;
        let call = context.call.plain_name();
        notes.extend(blocking(&context.thread, move || Ok(quarantine.after(&call))).await?);
        let (why, ended, took) = ran?;
        Ok(Ran { why, ended, said, took, class: spec.class, isolation, notes }.into_output())
    }

    /// Waits until fewer than `limits.maxProcesses` commands run, at most as long as the deadline of a command.
    async fn process_slot(&self) -> Result<SemaphorePermit<'_>, ToolFailure> {
        let wait = self.settings.timeout;
        match tokio::time::timeout(wait, self.processes.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(ToolFailure::Failed(format!(
                "not run: {} other commands are running and none ended within {} seconds; try again later",
                self.settings.max_processes,
                wait.as_secs()
            ))),
        }
    }

    /// Scans the project and creates the command's private folder.
    async fn prepare(
        &self,
        arguments: Arguments,
        context: &ToolContext,
        isolation: Isolation,
    ) -> Result<Prepared, ToolFailure> {
        let (limits, grace) = (self.settings.limits, self.settings.grace);
        let (readable, own_folder) = (self.settings.readable.clone(), self.settings.scratch.clone());
        let (aliases, sockets) = (aliases_in(&self.settings.environment), self.settings.sockets.clone());
        let (confinement, permit) = (Confinement::new(context), context.permit);
        let memory = self.settings.memory.clone();
        let own_files = context.project.join(".ship/files").join(context.thread.file_name());
        blocking(&context.thread, move || {
            memory.prepare();
            let cwd = confinement.resolve(arguments.cwd.as_deref().unwrap_or_default())?;
            must_be_directory(&cwd, &confinement.absolute(&cwd))?;
            let scratch = own_folder.folder();
            let scratch =
                scratch.map_err(|error| ToolFailure::Failed(format!("no temporary folder: {error}")))?;
            let path = scratch.path().canonicalize();
            let path = path.map_err(|error| ToolFailure::Failed(format!("no temporary folder: {error}")))?;
            let project = confinement.project().to_owned();
            let Arranged { command, hidden, notes } = match permit.class {
                Class::ReadOnly => arrange_unasked(&project, cwd.relative(), arguments.command, isolation)?,
                Class::ProjectWritable => {
                    Arranged { command: arguments.command, hidden: hidden_in(&project), notes: Vec::new() }
                }
            };
            // An approved command may read the settings file, so that git works where it is tracked. For a command
            // without approval everything is read-only, and the file is hidden unless the command needs it.
            let (read_only, hidden) = hidden
                .into_iter()
                .partition(|path| permit.class == Class::ProjectWritable && is_settings_file(path, &project));
            let shown: Vec<PathBuf> = Some(own_files).filter(|folder| folder.is_dir()).into_iter().collect();
            let spec = Spec {
                command,
                isolation,
                class: permit.class,
                network: permit.network,
                cwd: confinement.absolute(&cwd),
                scratch: path,
                hidden,
                shown,
                read_only,
                readable,
                aliases,
                sockets,
                limits,
                grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX),
                project,
            };
            Ok(Prepared { quarantine: Quarantine::before(&spec.project), spec, notes, _scratch: scratch })
        })
        .await
    }
}

/// Whether a reserved file of the project is `ship.json`. Commands may read it, so that git works in a project that
/// tracks it; secrets in it belong into variables.
fn is_settings_file(path: &Path, project: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(SETTINGS_FILE));
    let is_led_to = || project.join(SETTINGS_FILE).canonicalize().is_ok_and(|place| place == *path);
    path.is_file() && (is_named || (!path.file_name().is_some_and(is_reserved_name) && is_led_to()))
}

/// A command that is ready to run.
#[derive(Debug)]
struct Prepared {
    spec: Spec,
    quarantine: Quarantine,
    notes: Vec<String>,
    /// Removed on drop.
    _scratch: tempfile::TempDir,
}

fn parsed(arguments: Value) -> Result<Arguments, ToolFailure> {
    let parsed: Arguments = arguments::read(arguments)?;
    let command = parsed.command.as_str();
    let wrong = if command.trim().is_empty() {
        "`command` is empty"
    } else if command.contains('\0') {
        "`command` cannot contain a NUL character"
    } else if command.len() > COMMAND_BYTES {
        "`command` is too long: write a script with write_file and run that"
    } else {
        return Ok(parsed);
    };
    Err(ToolFailure::BadArguments(wrong.to_owned()))
}

async fn blocking<T: Send + 'static>(
    thread: &ThreadId,
    job: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    on_blocking_thread(thread, job).await
}
