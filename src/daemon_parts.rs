//! The parts of a daemon that threads, the console and the scheduler share, built from the settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::adapters::web::WebParts;
use crate::adapters::{AdapterHealths, AdapterSet, ReloadableAdapter};
use crate::app::StartError;
use crate::commands::doctor::DaemonCheckup;
use crate::config::{AGENT_MD, Settings, read_agent_md};
use crate::domain::{Owners, Replaceable};
use crate::environment::{Environment, ReloadableModels};
use crate::group_setup;
use crate::metrics::Metrics;
use crate::model::{EmbeddingSpec, OpenAiEmbedder};
use crate::model_setup::{helper_window, thread_models};
use crate::policy_setup::{EXEC_GRACE, exec_settings, sandbox_mode};
use crate::ports::{BuiltAdapter, Changes, Checkup, DirectChats, Grants, Onboarding, ThreadMarks, ToolBox};
use crate::reload::{LiveConfiguration, LiveParts};
use crate::sandbox::{ProbeResult, SandboxUpdates, start_probe};
use crate::store::{FileBackup, HybridSearch, InstructionsFile, InstructionsHistory, LogFiles, State};
use crate::tasks::{ChatTasks, TaskBook, TaskRequests};
use crate::threads::{
    AgentFacts, AllGrants, CapQuestions, FrozenMemory, Groups, HelperModel, Limits, RedactingModel, Runtime,
    SearchFollowerHandle, StoredDirectChats, ThreadModels, TokenRatios, TurnSettings,
};
use crate::tools::all_tools;
use crate::usage::{MeterParts, PriceList, UsageMeter};
use crate::voice_setup::{BuiltVoice, VoiceInput, build_voice};

/// Deadline of one tool call.
const TOOL_DEADLINE: Duration = Duration::from_secs(120);
/// Deadline of one delivery: long enough for an edit, a deletion and a send to a server that stalls on each.
const DELIVERY_DEADLINE: Duration = Duration::from_secs(150);
/// How long a search waits for the embedding of its query.
const EMBEDDING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an idle thread stays in memory.
const IDLE: Duration = Duration::from_secs(60);

pub(crate) struct DaemonParts<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) state: State,
    pub(crate) environment: Environment,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) healths: AdapterHealths,
    /// Becomes true once the unfinished threads of the last daemon have actors.
    pub(crate) recovered: watch::Receiver<bool>,
    /// The sandbox of commands, as soon as it was probed.
    pub(crate) sandbox: SandboxUpdates,
    pub(crate) voice: BuiltVoice,
    pub(crate) task_book: TaskBook,
    pub(crate) groups: Arc<Groups>,
    pub(crate) owners: Owners,
    pub(crate) direct_chats: Arc<dyn DirectChats>,
    pub(crate) meter: UsageMeter,
    probe: ProbeResult,
    tools: ToolBox,
    changes: Changes,
    grants: Arc<dyn Grants>,
    models: ThreadModels,
    thread_marks: Arc<ThreadMarks>,
}

impl<'a> DaemonParts<'a> {
    /// Builds the parts, and probes the sandbox in `tasks`. The requests are for the scheduler of tasks.
    ///
    /// # Errors
    /// When an HTTP client cannot be built.
    pub(crate) fn build(
        settings: &'a Settings,
        state: State,
        environment: Environment,
        recovered: watch::Receiver<bool>,
        tasks: &TaskTracker,
    ) -> Result<(Self, TaskRequests), StartError> {
        let metrics = Arc::new(Metrics::default());
        let meter = usage_meter(settings, &state, &environment, &metrics);
        let state = prepared(settings, state, &environment, &meter);
        let (probe, sandbox) = start_probe(sandbox_mode(settings), recovered.clone(), tasks);
        let shell = exec_settings(settings, &state, environment.shell.clone(), probe.clone());
        let voice = build_voice(&VoiceInput {
            settings,
            state: &state,
            environment: &environment,
            meter: Arc::new(meter.clone()),
            shell: &shell,
        })?;
        let (task_book, requests) = task_book(settings, &state, &environment);
        let grants =
            AllGrants::new(state.grants.clone(), Arc::new(meter.clone()), settings.operator_language);
        let parts = Self {
            settings,
            metrics,
            healths: AdapterHealths::default(),
            recovered,
            sandbox,
            probe,
            voice,
            tools: all_tools(shell),
            task_book,
            groups: group_setup::groups(settings, &environment.clock),
            grants: Arc::new(grants),
            models: thread_models(settings, &state, &environment),
            thread_marks: Arc::new(ThreadMarks::new(state.notes.nested("threads"))),
            owners: Arc::new(Replaceable::new(settings.owners.clone())),
            direct_chats: Arc::new(StoredDirectChats::new(state.notes.nested("direct"))),
            changes: Changes::default(),
            meter,
            state,
            environment,
        };
        Ok((parts, requests))
    }

    /// What takes up changed settings.
    pub(crate) fn live(&self, adapters: BTreeMap<&'static str, Arc<ReloadableAdapter>>) -> LiveParts {
        LiveParts {
            models: ReloadableModels::of(&self.environment),
            owners: self.owners.clone(),
            http: self.environment.http.clone(),
            clock: self.environment.clock.clone(),
            ids: self.environment.ids.clone(),
            redactor: self.environment.shell.redactor.clone(),
            tools: self.tools.clone(),
            state: self.state.clone(),
            tasks: Arc::new(self.task_book.clone()),
            sandbox: self.probe.clone(),
            metrics: self.metrics.clone(),
            enrich: self.voice.enrich.clone(),
            groups: self.groups.clone(),
            adapters,
        }
    }

    /// What the HTTP interface and the console work on.
    pub(crate) fn web(
        &self,
        onboarding: Option<Arc<dyn Onboarding>>,
        configuration: &LiveConfiguration,
        built: &[BuiltAdapter],
    ) -> WebParts {
        let (settings, state, environment) = (self.settings, &self.state, &self.environment);
        WebParts {
            onboarding,
            models: Arc::new(self.models.clone()),
            spending: Arc::new(self.meter.clone()),
            configuration: Arc::new(configuration.clone()),
            instructions: Arc::new(InstructionsHistory::new(
                settings.project.join(AGENT_MD),
                state.notes.nested("instructions"),
            )),
            log: Arc::new(LogFiles::new(&settings.state)),
            backup: Arc::new(FileBackup::new(&settings.project, &settings.state)),
            checkup: environment
                .source
                .clone()
                .map(|source| Arc::new(DaemonCheckup::new(source)) as Arc<dyn Checkup>),
            rooms: self.groups.rooms(),
            tasks: Arc::new(self.task_book.clone()),
            hooks: built.iter().filter_map(|built| built.hook.clone()).collect(),
            store: state.threads.clone(),
            approvals: state.approvals.clone(),
            grants: self.grants.clone(),
            access: state.access.clone(),
            memory: state.memory.clone(),
            search: state.search.clone(),
            audit: state.audit.clone(),
            thread_marks: self.thread_marks.clone(),
            files: state.files.clone(),
            enrich: self.voice.enrich.clone(),
            speech: self.voice.speech.as_ref().map(|speech| speech.speaker.clone()),
            ids: environment.ids.clone(),
            healths: self.healths.clone(),
            recovered: self.recovered.clone(),
            metrics: self.metrics.clone(),
            changes: self.changes.clone(),
            sandbox: self.sandbox.clone(),
        }
    }

    /// What the actors of threads share.
    pub(crate) fn runtime(
        &self,
        turn_settings: TurnSettings,
        follower: SearchFollowerHandle,
        adapters: &AdapterSet,
    ) -> Runtime {
        let (settings, state, environment) = (self.settings, &self.state, &self.environment);
        Runtime {
            changes: self.changes.clone(),
            tasks: Arc::new(ChatTasks {
                tasks: Arc::new(self.task_book.clone()),
                currency: settings.budget.rules.currency.clone(),
            }),
            task_book: Arc::new(self.task_book.clone()),
            direct_chats: self.direct_chats.clone(),
            store: state.threads.clone(),
            models: self.models.clone(),
            marks: self.thread_marks.clone(),
            tools: self.tools.clone(),
            settings: Replaceable::new(turn_settings),
            approvals: state.approvals.clone(),
            files: state.files.clone(),
            access: state.access.clone(),
            grants: self.grants.clone(),
            memory: state.memory.clone(),
            search: state.search.clone(),
            follower,
            frozen: FrozenMemory::new(settings.memory.refresh),
            helper: HelperModel {
                model: Arc::new(RedactingModel::new(environment.helper.clone(), &environment.shell.redactor)),
                context_tokens: helper_window(&settings.model),
            },
            groups: self.groups.clone(),
            tokens: TokenRatios::new(state.notes.nested("tokens")),
            audit: state.audit.clone(),
            adapters: adapters.all().map(|adapter| (adapter.platform(), adapter.clone())).collect(),
            clock: environment.clock.clone(),
            ids: environment.ids.clone(),
            agent: AgentFacts {
                name: settings.name.clone(),
                instructions: Arc::new(instructions_of(settings)),
                project: settings.project.clone(),
            },
            limits: limits_of(settings),
            slots: Arc::new(Semaphore::new(settings.limits.max_concurrent_runs)),
            metrics: self.metrics.clone(),
            meter: Arc::new(self.meter.clone()),
            budget: Arc::new(self.meter.clone()),
            cap_questions: CapQuestions::default(),
            owners: self.owners.clone(),
            footer: settings.budget.footer,
            spending: Arc::new(self.meter.clone()),
            speech: self.voice.speech.clone(),
            redactor: environment.shell.redactor.clone(),
        }
    }
}

fn limits_of(settings: &Settings) -> Limits {
    Limits {
        concurrent_runs: settings.limits.max_concurrent_runs,
        mailbox: settings.limits.mailbox,
        history_cache: settings.limits.history_cache,
        // A command may queue for as long as a command may run before another one ends.
        tool_deadline: TOOL_DEADLINE.max(settings.permissions.exec_shell.timeout * 2 + EXEC_GRACE * 8),
        delivery_deadline: DELIVERY_DEADLINE,
        idle: IDLE,
    }
}

/// What counts the calls of models.
fn usage_meter(
    settings: &Settings,
    state: &State,
    environment: &Environment,
    metrics: &Arc<Metrics>,
) -> UsageMeter {
    UsageMeter::new(MeterParts {
        ledger: state.usage.clone(),
        notes: state.notes.nested("usage"),
        clock: environment.clock.clone(),
        ids: environment.ids.clone(),
        metrics: metrics.clone(),
        prices: PriceList::new(settings.budget.prices.clone()),
        rules: settings.budget.rules.clone(),
        zone: settings.budget.zone.clone(),
    })
}

/// The tasks of the project, and the requests for their scheduler.
fn task_book(settings: &Settings, state: &State, environment: &Environment) -> (TaskBook, TaskRequests) {
    let states = state.notes.nested("tasks");
    TaskBook::new(state.tasks.clone(), states, environment.clock.clone(), settings.zone.clone())
        .with_models(settings.model.named.keys())
        .for_daemon()
}

/// The state as the daemon uses it: its audit log has no secrets, and its search also finds texts by their meaning where an
/// embedding model is configured.
fn prepared(settings: &Settings, state: State, environment: &Environment, meter: &UsageMeter) -> State {
    let redactor = environment.shell.redactor.clone();
    state.audit.redact_with(Box::new(move |text: &str| redactor.apply(text).into_owned()));
    let (Some(model), Some(vectors)) = (&settings.memory.embeddings, state.vectors.clone()) else {
        return state;
    };
    let spec = EmbeddingSpec {
        base_url: model.base_url.clone(),
        api_key: model.api_key.clone(),
        model: model.model.clone(),
        dimensions: model.dimensions,
        timeout: EMBEDDING_TIMEOUT,
    };
    let redactor = environment.shell.redactor.clone();
    let search = HybridSearch::new(
        state.search.clone(),
        vectors,
        Arc::new(OpenAiEmbedder::new(spec, environment.http.clone(), Arc::new(meter.clone()))),
        Arc::new(move |text: &str| redactor.apply(text).into_owned()),
    );
    State { search: Arc::new(search), ..state }
}

/// `Agent.md`, read again when it changes.
fn instructions_of(settings: &Settings) -> InstructionsFile {
    let project = settings.project.clone();
    let read = Box::new(move || read_agent_md(&project).map_err(|error| error.to_string()));
    InstructionsFile::new(settings.project.join(AGENT_MD), &settings.agent_md, read)
}
