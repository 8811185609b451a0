//! Builds the policy of a daemon from its settings: the sandbox, the judge of calls, and who may answer approvals.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Approver, Sandbox, Settings};
use crate::domain::{AuthorId, Language};
use crate::environment::ShellEnvironment;
use crate::permissions::{ChangePreview, JudgeSettings, ObjectToReads, Preview, ProjectJudge};
use crate::policy::Rights;
use crate::policy::shell::{BadRule, ShellRules};
use crate::ports::{CallSite, CallToJudge, Clock, Memory, Tasks, TextChange, ToolBox};
use crate::sandbox;
use crate::store::State;
use crate::telemetry::Redactor;
use crate::tools::{
    ExecSettings, Redact, Scratch, hides_secrets, object_to_reads, programs_of, redacted_diff,
};

/// How long a command has between SIGTERM and SIGKILL.
pub(crate) const EXEC_GRACE: Duration = Duration::from_secs(2);

/// The sandbox mode of the settings.
pub fn sandbox_mode(settings: &Settings) -> sandbox::SandboxMode {
    match settings.permissions.exec_shell.sandbox {
        Sandbox::Auto => sandbox::SandboxMode::Auto,
        Sandbox::Require => sandbox::SandboxMode::Require,
        Sandbox::Off => sandbox::SandboxMode::Off,
    }
}

/// The settings of the shell tool.
pub(crate) fn exec_settings(
    settings: &Settings,
    state: &State,
    shell: ShellEnvironment,
    found: sandbox::ProbeResult,
) -> ExecSettings {
    let wanted = &settings.permissions.exec_shell;
    ExecSettings {
        outputs: state.outputs.clone(),
        helper: sandbox::own_binary(),
        mode: sandbox_mode(settings),
        found,
        readable: programs_of(&shell.environment),
        environment: shell.environment,
        sockets: wanted.sockets.clone(),
        scratch: Scratch::of(&settings.state),
        timeout: wanted.timeout,
        grace: EXEC_GRACE,
        limits: sandbox::ResourceLimits::default(),
        max_processes: settings.limits.max_processes,
        memory: sandbox::MemoryLimiter::new(sandbox::MemoryLimits::on_this_machine(
            settings.limits.command_memory_mb,
        )),
        redact: redact(&shell.redactor),
    }
}

/// The judge of calls.
pub(crate) fn project_judge(
    settings: &Settings,
    tools: &ToolBox,
    clock: Arc<dyn Clock>,
    state: &State,
    tasks: Arc<dyn Tasks>,
    redact: Redact,
    found: sandbox::ProbeResult,
) -> Result<ProjectJudge, BadRule> {
    let shell = &settings.permissions.exec_shell;
    let root = settings.project.to_string_lossy();
    let known = tools.clone();
    let judge = JudgeSettings {
        project: settings.project.clone(),
        shell: ShellRules::new(shell.mode, shell.compound, &shell.allow, &shell.deny, root)?,
        modes: settings.permissions.tools.clone(),
        effects_of: Arc::new(move |name| known.get(name).map(|(spec, _)| spec.effects)),
        preview: Previews {
            project: settings.project.clone(),
            tools: tools.clone(),
            memory: state.memory.clone(),
            tasks,
            clock: clock.clone(),
            language: settings.language.unwrap_or_default(),
            redact,
        }
        .into_preview(),
        object_to_reads: reads_in(settings.project.clone()),
        hides_secrets: {
            let mode = sandbox_mode(settings);
            Arc::new(move || Box::pin(hides_secrets(found.clone(), mode)))
        },
        grants: state.grants.clone(),
        language: settings.language.unwrap_or_default(),
    };
    Ok(ProjectJudge::new(judge, clock))
}

/// Checks the files that a command would read without approval.
fn reads_in(project: PathBuf) -> ObjectToReads {
    Arc::new(move |reads, hides| object_to_reads(&project, reads, hides))
}

/// Previews the changes of calls; each tool provides its own.
struct Previews {
    project: PathBuf,
    tools: ToolBox,
    memory: Arc<dyn Memory>,
    tasks: Arc<dyn Tasks>,
    clock: Arc<dyn Clock>,
    /// The language of a call that has none.
    language: Language,
    redact: Redact,
}

impl Previews {
    fn into_preview(self) -> Preview {
        Arc::new(move |call| self.of(call))
    }

    fn of(&self, call: &CallToJudge) -> Option<Result<ChangePreview, String>> {
        let (_, tool) = self.tools.get(&call.tool)?;
        let site = CallSite {
            project: &self.project,
            thread: &call.thread,
            scope: &call.scope,
            origin: call.origin,
            requester: call.requester.as_ref(),
            unattended: call.unattended,
            language: call.language.unwrap_or(self.language),
            now: self.clock.now(),
            memory: &*self.memory,
            tasks: &*self.tasks,
        };
        let planned = tool.preview(&call.input, site)?;
        let preview = |change: TextChange| ChangePreview {
            diff: redacted_diff(&change, &self.redact),
            explanation: change.explanation,
        };
        Some(planned.map(preview).map_err(|failure| failure.to_string()))
    }
}

/// The redaction of tool output.
pub(crate) fn redact(redactor: &Redactor) -> Redact {
    let (whole, growing) = (redactor.clone(), redactor.clone());
    Redact::new(move |text| whole.apply(text).into_owned())
        .with_settled(move |text, held| growing.settled(text, held))
}

/// Who may answer approvals.
pub(crate) fn rights(settings: &Settings) -> Rights {
    let operator =
        |platform: &str| AuthorId::new(&platform.parse().ok()?, crate::adapters::web::OPERATOR).ok();
    let operators = ["web", "api", "cli"].into_iter().filter_map(operator).collect();
    let mut rights = Rights { named_owners: settings.owners.clone(), operators, ..Rights::default() };
    for approver in &settings.approvals.approvers {
        match approver {
            Approver::Requester => rights.requester = true,
            Approver::Owners => {
                rights.people.extend(settings.owners.iter().cloned());
                rights.owners = true;
            }
            Approver::Person(person) => rights.people.push(person.clone()),
            Approver::Admins => rights.admins = true,
        }
    }
    rights
}
