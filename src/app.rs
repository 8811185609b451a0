//! The composition root: builds every part, starts the tasks, and stops them in order.
//!
//! Two apps can run in one process; nothing here is global.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapter_setup::{AdapterInput, build_adapters};
use crate::adapters::web::{WebAdapter, WebOptions, WebParts};
use crate::adapters::{AdapterHealths, AdapterSet, ReloadableAdapter, supervise};
use crate::commands::doctor::DaemonCheckup;
use crate::config::{AGENT_MD, Endpoint, ModelSettings, Provider, Settings, read_agent_md};
use crate::domain::{Owners, Platform, Replaceable};
use crate::group_setup;
use crate::http_client::Http;
use crate::metrics::Metrics;
use crate::model::{EmbeddingSpec, ModelKind, ModelSpec, OpenAiEmbedder, ReloadableModel, Shared, build};
use crate::policy::shell::BadRule;
use crate::policy_setup::{EXEC_GRACE, exec_settings, sandbox_mode};
use crate::ports::{
    AccessStore, Audit, Budget, BuiltAdapter, Changes, Checkup, Clock, DirectChats, Grants, Ids, Meter,
    Model, Onboarding, RandomIds, SystemClock, TaskCommands, Tasks, ThreadsHandle, ToolBox, UsageReports,
};
use crate::reload::{ConfigSource, LiveConfiguration, LiveParts, turn_settings};
use crate::sandbox;
use crate::store::{FileBackup, HybridSearch, InstructionsFile, InstructionsHistory, LogFiles, State};
use crate::tasks::run::RunParts;
use crate::tasks::scheduler::{Scheduler, SchedulerParts};
use crate::tasks::{ChatTasks, TaskBook, TaskRequests};
use crate::telemetry::Redactor;
use crate::threads::{
    AgentFacts, AllGrants, BudgetWatch, CapQuestions, FrozenMemory, Groups, HelperModel, Limits,
    RedactingModel, Router, Runtime, SearchFollower, SearchFollowerHandle, SpokenAnswers, StoredDirectChats,
    ThreadModel, ThreadModels, TokenRatios, TurnSettings,
};
use crate::tools::{Scratch, all_tools, sweep};
use crate::usage::{MeterParts, PriceList, UsageMeter};
use crate::voice_setup::{BuiltVoice, VoiceInput, build_voice};

/// Deadline of one tool call.
const TOOL_DEADLINE: Duration = Duration::from_secs(120);
/// Deadline of one delivery: long enough for an edit, a deletion and a send to a server that stalls on each.
const DELIVERY_DEADLINE: Duration = Duration::from_secs(150);
/// The platform of the threads in which tasks run.
const TASK_PLATFORM: &str = "task";
/// How long a search waits for the embedding of its query.
const EMBEDDING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle thread stays in memory.
const IDLE: Duration = Duration::from_secs(60);

/// How long before the end of a stop the remaining waiters are released, so that the answer "it goes on later" reaches
/// them.
const FAREWELL: Duration = Duration::from_millis(500);

/// External dependencies of the daemon; tests replace them.
#[derive(Clone, Debug)]
pub struct Environment {
    pub model: Arc<dyn Model>,
    /// The model for the agent's own chores.
    pub helper: Arc<dyn Model>,
    /// The models of `llm.models`.
    pub named: BTreeMap<String, Arc<dyn Model>>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub shell: ShellWorld,
    pub http: Http,
    /// Takes up changed settings in `model`, `helper` and `named`; `None` where a test provides them.
    pub models: Option<ReloadableModels>,
    /// Where changed settings come from; `None` keeps the first ones.
    pub source: Option<ConfigSource>,
}

/// The models of an environment, to be replaced when their settings change.
#[derive(Clone, Debug)]
pub struct ReloadableModels {
    pub model: Arc<ReloadableModel>,
    pub helper: Arc<ReloadableModel>,
    /// The models of `llm.models`.
    pub named: BTreeMap<String, Arc<ReloadableModel>>,
}

impl ReloadableModels {
    /// The models of an environment. Those that a test provides are not replaced.
    fn of(world: &Environment) -> Self {
        world.models.clone().unwrap_or_else(|| Self {
            model: ReloadableModel::new(world.model.clone()),
            helper: ReloadableModel::new(world.helper.clone()),
            named: BTreeMap::new(),
        })
    }
}

/// The models of the settings.
pub(crate) struct BuiltModels {
    /// Answers where no other model was chosen.
    pub(crate) model: Arc<dyn Model>,
    /// For the agent's own chores.
    pub(crate) helper: Arc<dyn Model>,
    /// Those of `llm.models`.
    pub(crate) named: BTreeMap<String, Arc<dyn Model>>,
}

/// Environment variables and redaction for commands.
#[derive(Clone, Debug)]
pub struct ShellWorld {
    /// The daemon's environment; commands get only a small part of it.
    pub environment: Vec<(String, String)>,
    /// Redacts secrets from command output.
    pub redactor: Redactor,
}

impl Environment {
    /// The production environment for these settings. Does no IO.
    pub fn real(settings: &ModelSettings, shell: ShellWorld) -> Self {
        let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(RandomIds));
        let http = Http::new();
        let BuiltModels { model, helper, named } = models_of(settings, &http, &clock, &ids);
        let (model, helper) = (ReloadableModel::new(model), ReloadableModel::new(helper));
        let named = named.into_iter().map(|(name, model)| (name, ReloadableModel::new(model)));
        let models = ReloadableModels { model, helper, named: named.collect() };
        let named = models.named.iter().map(|(name, model)| (name.clone(), model.clone() as Arc<dyn Model>));
        Self {
            model: models.model.clone(),
            helper: models.helper.clone(),
            named: named.collect(),
            clock,
            ids,
            shell,
            http,
            models: Some(models),
            source: None,
        }
    }

    /// The same, with settings that are read again when their files change.
    #[must_use]
    pub fn reading(self, source: ConfigSource) -> Self {
        Self { source: Some(source), ..self }
    }
}

/// Builds the models of the settings. Does no IO.
pub(crate) fn models_of(
    settings: &ModelSettings,
    http: &Http,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn Ids>,
) -> BuiltModels {
    let model = model_with(settings, http, clock, ids);
    let helper = settings.helper.as_ref().map(|provider| {
        let shared = Shared { http: http.clone(), ids: ids.clone(), clock: clock.clone() };
        build(&model_kind(provider), &[], &shared)
    });
    let helper = helper.unwrap_or_else(|| model.clone());
    let fallbacks: Vec<ModelKind> = settings.fallbacks.iter().map(model_kind).collect();
    let named = settings.named.iter().map(|(name, provider)| {
        let shared = Shared { http: http.clone(), ids: ids.clone(), clock: clock.clone() };
        (name.clone(), build(&model_kind(provider), &fallbacks, &shared))
    });
    BuiltModels { model, helper, named: named.collect() }
}

/// The model of the settings. Does no IO.
pub fn model_of(settings: &ModelSettings) -> Arc<dyn Model> {
    let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(RandomIds));
    model_with(settings, &Http::new(), &clock, &ids)
}

fn model_with(
    settings: &ModelSettings,
    http: &Http,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn Ids>,
) -> Arc<dyn Model> {
    let shared = Shared { http: http.clone(), ids: ids.clone(), clock: clock.clone() };
    let fallbacks: Vec<ModelKind> = settings.fallbacks.iter().map(model_kind).collect();
    build(&model_kind(&settings.provider), &fallbacks, &shared)
}

fn model_kind(provider: &Provider) -> ModelKind {
    match provider {
        Provider::Offline => ModelKind::Offline,
        Provider::OpenAi(endpoint) => ModelKind::Server(model_spec(endpoint)),
    }
}

fn model_spec(endpoint: &Endpoint) -> ModelSpec {
    ModelSpec {
        base_url: endpoint.base_url.clone(),
        api_key: endpoint.api_key.clone(),
        model: endpoint.model.clone(),
        timeout: endpoint.timeout,
        send_reasoning: endpoint.send_reasoning,
        max_output_tokens: endpoint.max_output_tokens,
        at_caps: endpoint.at_caps,
        temperature: endpoint.temperature,
    }
}

/// A bound listener and the token that its clients must send.
#[derive(Debug)]
pub struct BoundListener {
    pub listener: TcpListener,
    pub address: SocketAddr,
    pub token: SecretString,
    /// The first configuration; `None` where the project has one.
    pub onboarding: Option<Arc<dyn Onboarding>>,
}

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A shell rule is invalid.
    #[error("ship.json: permissions.exec_shell: {0}")]
    Rule(#[from] BadRule),
    /// The HTTP client could not be built.
    #[error("cannot set up http for the chat platforms: {0}")]
    Http(#[from] reqwest::Error),
}

#[derive(Debug)]
pub struct App {
    /// The handle for requests to its threads.
    pub threads: ThreadsHandle,
    /// The health of its adapters.
    pub healths: AdapterHealths,
    pub metrics: Arc<Metrics>,
    /// Becomes true once the unfinished threads of the last daemon have actors.
    pub recovered: watch::Receiver<bool>,
    /// People who were let in beyond the settings.
    pub access: Arc<dyn AccessStore>,
    audit: Arc<dyn Audit>,
    meter: UsageMeter,
    /// The sandbox of its commands, as soon as it was probed.
    pub sandbox: sandbox::SandboxUpdates,
    ingress: Phase,
    actors: Phase,
    /// Aborts the router, and with it every actor and every waiter.
    cut: AbortHandle,
}

/// Tasks that stop together.
#[derive(Debug, Default)]
struct Phase {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Phase {
    /// Tells the tasks to stop and waits for them, at most until `deadline`.
    async fn end(&self, name: &str, deadline: tokio::time::Instant) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::warn!(phase = name, left = self.tasks.len(), "phase did not end in time");
        }
    }
}

impl App {
    /// Starts the threads on this state, and the adapters if there is an address to serve them on.
    ///
    /// # Errors
    /// When a shell rule is invalid, or the HTTP client cannot be built.
    #[expect(clippy::too_many_lines, reason = "the one place where all parts are joined")]
    pub fn start(
        settings: &Settings,
        state: State,
        world: Environment,
        web: Option<BoundListener>,
    ) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::default());
        let (healths, changes) = (AdapterHealths::default(), Changes::default());
        let (recovered_sender, recovered) = watch::channel(false);
        let meter = usage_meter(settings, &state, &world, &metrics);
        let state = prepared(settings, state, &world, &meter);
        let (ingress, actors) = (Phase::default(), Phase::default());
        let (found, sandbox) = sandbox::start_probe(sandbox_mode(settings), recovered.clone(), &actors.tasks);
        sweep_scratch(settings, &actors.tasks);
        let shell = exec_settings(settings, &state, world.shell.clone(), found.clone());
        let voice = build_voice(&VoiceInput {
            settings,
            state: &state,
            world: &world,
            meter: Arc::new(meter.clone()),
            shell: &shell,
        })?;
        let tools = all_tools(shell);
        let (task_book, task_requests) = task_book(settings, &state, &world);
        let built = chat_adapters(settings, &state, &world, &metrics, &voice)?;
        let groups = group_setup::groups(settings, &world.clock);
        let grants: Arc<dyn Grants> = Arc::new(AllGrants::new(
            state.grants.clone(),
            Arc::new(meter.clone()),
            settings.operator_language,
        ));
        let models = thread_models(settings, &state, &world);
        let owners: Owners = Arc::new(Replaceable::new(settings.owners.clone()));
        let live = LiveParts {
            models: ReloadableModels::of(&world),
            owners: owners.clone(),
            http: world.http.clone(),
            clock: world.clock.clone(),
            ids: world.ids.clone(),
            redactor: world.shell.redactor.clone(),
            tools: tools.clone(),
            state: state.clone(),
            tasks: Arc::new(task_book.clone()),
            sandbox: found,
            metrics: metrics.clone(),
            enrich: voice.enrich.clone(),
            groups: groups.clone(),
            adapters: built.clone().into_iter().collect(),
        };
        let token = web.as_ref().map(|web| &web.token);
        let configuration = LiveConfiguration::new(world.source.clone(), settings, token, live);
        let turn_settings = turn_settings(settings, configuration.parts())?;
        let built: Vec<BuiltAdapter> = built.iter().map(|(_, adapter)| adapter.built()).collect();
        let parts = WebParts {
            onboarding: web.as_ref().and_then(|web| web.onboarding.clone()),
            models: Arc::new(models.clone()),
            spending: Arc::new(meter.clone()),
            configuration: Arc::new(configuration.clone()),
            instructions: Arc::new(InstructionsHistory::new(
                settings.project.join(AGENT_MD),
                state.notes.nested("instructions"),
            )),
            log: Arc::new(LogFiles::new(&settings.state)),
            backup: Arc::new(FileBackup::new(&settings.project, &settings.state)),
            checkup: world
                .source
                .clone()
                .map(|source| Arc::new(DaemonCheckup::new(source)) as Arc<dyn Checkup>),
            rooms: groups.rooms(),
            tasks: Arc::new(task_book.clone()),
            hooks: built.iter().filter_map(|built| built.hook.clone()).collect(),
            store: state.threads.clone(),
            approvals: state.approvals.clone(),
            grants: grants.clone(),
            access: state.access.clone(),
            memory: state.memory.clone(),
            search: state.search.clone(),
            audit: state.audit.clone(),
            thread_marks: state.notes.nested("threads"),
            files: state.files.clone(),
            enrich: voice.enrich,
            speech: voice.speech.as_ref().map(|speech| speech.speaker.clone()),
            ids: world.ids.clone(),
            healths: healths.clone(),
            recovered: recovered.clone(),
            metrics: metrics.clone(),
            changes: changes.clone(),
            sandbox: sandbox.clone(),
        };
        let adapters = adapter_set(settings, web, parts, built);
        let (access, audit, clock) = (state.access.clone(), state.audit.clone(), world.clock.clone());
        let ids = world.ids.clone();
        let direct_chats: Arc<dyn DirectChats> =
            Arc::new(StoredDirectChats::new(state.notes.nested("direct")));
        let reading = meter.clone();
        // An error is in the log, and the first call reads again.
        actors.tasks.spawn(async move { reading.load().await.unwrap_or_default() });
        let (follower, follower_handle) = SearchFollower::new(state.search.clone());
        actors.tasks.spawn(follower.run(actors.stop.clone()));
        let shared = SharedParts {
            changes,
            tasks: Arc::new(ChatTasks { tasks: Arc::new(task_book.clone()) }),
            task_book: Arc::new(task_book.clone()),
            direct_chats: direct_chats.clone(),
            groups: groups.clone(),
            metrics: metrics.clone(),
            meter: Arc::new(meter.clone()),
            budget: Arc::new(meter.clone()),
            grants,
            owners: owners.clone(),
            spending: Arc::new(meter.clone()),
            models,
            speech: voice.speech,
        };
        let store = state.threads.clone();
        let parts = (tools, turn_settings, follower_handle);
        let runtime = Arc::new(runtime(settings, state, world, parts, &adapters, shared));
        configuration.serve(runtime.clone());
        let (router, threads) = Router::new(runtime, actors.stop.clone());
        ingress.tasks.spawn(configuration.follow(ingress.stop.clone()));
        group_setup::follow(&groups, &adapters, &threads, &store, &clock, &ingress.tasks, &ingress.stop);
        let cut = actors.tasks.spawn(router.run(recovered_sender)).abort_handle();
        if let Ok(from) = "task:chat:budget".parse() {
            let watch = BudgetWatch {
                budget: Arc::new(meter.clone()),
                threads: threads.clone(),
                direct: direct_chats.clone(),
                ids: ids.clone(),
                clock: clock.clone(),
                owners: owners.clone(),
                language: settings.language.unwrap_or(settings.operator_language),
                from,
            };
            ingress.tasks.spawn(watch.run(ingress.stop.clone()));
        }
        if let Some(platform) = platform(TASK_PLATFORM) {
            let run = RunParts {
                threads: threads.clone(),
                clock: clock.clone(),
                access: access.clone(),
                platform,
                owners,
                direct: direct_chats,
                budget: Arc::new(meter.clone()),
                language: settings.language,
            };
            let parts = scheduler_parts(&task_book, run);
            let scheduler = Scheduler::new(parts, task_requests, ingress.stop.clone());
            ingress.tasks.spawn(scheduler.run());
        }
        let keeper = (threads.clone(), healths.clone(), ingress.stop.clone());
        ingress.tasks.spawn(async move { supervise(&adapters, keeper.0, clock, keeper.1, keeper.2).await });
        Ok(Self { threads, healths, metrics, recovered, access, audit, meter, sandbox, ingress, actors, cut })
    }

    /// Waits until every unfinished thread has an actor and every adapter has finished its first check; for the
    /// adapters at most `patience`, because a platform may be unreachable. Returns the adapters that are still starting
    /// then.
    pub async fn wait_until_ready(&self, patience: Duration) -> Vec<Platform> {
        // The router sets `recovered` first; if the router is gone, so is the daemon.
        let _recovered = self.recovered.clone().wait_for(|recovered| *recovered).await.is_ok();
        match tokio::time::timeout(patience, self.healths.wait_until_settled()).await {
            Ok(()) => Vec::new(),
            Err(_) => self.healths.unsettled(),
        }
    }

    /// Stops the daemon: no new messages are accepted, running turns get until shortly before `grace` is over, then
    /// waiters are released. Unfinished work is on the disk and resumes at the next start.
    pub async fn stop(self, grace: Duration) {
        let deadline = tokio::time::Instant::now() + grace;
        // Set before the threads refuse messages, so that adapters report the stop as the reason.
        self.ingress.stop.cancel();
        // Requests that wait for a running turn are answered by it, so both phases end side by side.
        let actors = async {
            self.actors.end("threads", deadline - FAREWELL.min(grace / 2)).await;
            self.cut.abort();
        };
        tokio::join!(actors, self.ingress.end("ingress", deadline));
        // Aborted calls have their audit lines by now. A disk that hangs must not block the exit.
        if tokio::time::timeout(FAREWELL, self.audit.flush()).await.is_err() {
            tracing::warn!("audit flush timed out");
        }
        if tokio::time::timeout(FAREWELL, self.meter.save()).await.is_err() {
            tracing::warn!("saving the usage sums timed out");
        }
    }
}

/// What counts the calls of models.
fn usage_meter(
    settings: &Settings,
    state: &State,
    world: &Environment,
    metrics: &Arc<Metrics>,
) -> UsageMeter {
    UsageMeter::new(MeterParts {
        ledger: state.usage.clone(),
        notes: state.notes.nested("usage"),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        metrics: metrics.clone(),
        prices: PriceList::new(settings.budget.prices.clone()),
        rules: settings.budget.rules.clone(),
        zone: settings.budget.zone.clone(),
    })
}

/// The chat adapters that the settings enable.
fn chat_adapters(
    settings: &Settings,
    state: &State,
    world: &Environment,
    metrics: &Arc<Metrics>,
    voice: &BuiltVoice,
) -> Result<Vec<(&'static str, Arc<ReloadableAdapter>)>, reqwest::Error> {
    let built = build_adapters(&AdapterInput {
        settings,
        state: state.clone(),
        metrics: metrics.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        http: world.http.clone(),
        enrich: voice.enrich.clone(),
    })?;
    Ok(built.into_iter().map(|(name, built)| (name, ReloadableAdapter::new(built))).collect())
}

/// Removes the scratch folders of earlier daemons: this process holds the lock, so they are unused.
fn sweep_scratch(settings: &Settings, tasks: &TaskTracker) {
    let left_behind = Scratch::of(&settings.state).left_behind();
    tasks.spawn_blocking(move || sweep(left_behind));
}

/// The tasks of the project, and the requests for their scheduler.
fn task_book(settings: &Settings, state: &State, world: &Environment) -> (TaskBook, TaskRequests) {
    let states = state.notes.nested("tasks");
    TaskBook::new(state.tasks.clone(), states, world.clock.clone(), settings.zone.clone())
        .with_models(settings.model.named.keys())
        .for_daemon()
}

fn scheduler_parts(book: &TaskBook, run: RunParts) -> SchedulerParts {
    let (files, states) = (book.files.clone(), book.states.clone());
    SchedulerParts { files, states, run, context: book.context.clone() }
}

fn platform(name: &str) -> Option<Platform> {
    name.parse().ok()
}

/// All adapters of this daemon: chat platforms, and the web listener.
fn adapter_set(
    settings: &Settings,
    web: Option<BoundListener>,
    parts: WebParts,
    built: Vec<BuiltAdapter>,
) -> AdapterSet {
    let mut set =
        built.into_iter().map(|built| built.adapter).fold(AdapterSet::default(), AdapterSet::with_adapter);
    for name in ["api", "cli", "web"] {
        set = platform(name).into_iter().fold(set, AdapterSet::with_surface);
    }
    set = platform(TASK_PLATFORM).into_iter().fold(set, AdapterSet::with_unattended);
    let (Some(web), Some(name)) = (web, platform("web")) else { return set };
    let options = WebOptions {
        listen: web.address,
        token: web.token,
        allowed_hosts: settings.web.as_ref().map(|web| web.allowed_hosts.clone()).unwrap_or_default(),
        allowed_origins: settings.web.as_ref().map(|web| web.allowed_origins.clone()).unwrap_or_default(),
        name: settings.name.clone(),
        language: settings.language,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: match settings.model.provider {
            Provider::Offline => "offline".to_owned(),
            Provider::OpenAi(_) => "openai".to_owned(),
        },
        operator_name: None,
        listens: settings.voice.stt.is_some(),
        // The console distinguishes the logins stored in a browser by this path.
        project: settings.state.join("files"),
        stop_grace: settings.limits.stop,
    };
    set.with_adapter(Arc::new(WebAdapter::new(name, options, parts, web.listener)))
}

/// The state as the daemon uses it: its audit log has no secrets, and its search also finds texts by their meaning where an
/// embedding model is configured.
fn prepared(settings: &Settings, state: State, world: &Environment, meter: &UsageMeter) -> State {
    let redactor = world.shell.redactor.clone();
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
    let redactor = world.shell.redactor.clone();
    let search = HybridSearch::new(
        state.search.clone(),
        vectors,
        Arc::new(OpenAiEmbedder::new(spec, world.http.clone(), Arc::new(meter.clone()))),
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

/// Parts that threads share with the console and the scheduler.
struct SharedParts {
    changes: Changes,
    tasks: Arc<dyn TaskCommands>,
    task_book: Arc<dyn Tasks>,
    direct_chats: Arc<dyn DirectChats>,
    groups: Arc<Groups>,
    metrics: Arc<Metrics>,
    meter: Arc<dyn Meter>,
    budget: Arc<dyn Budget>,
    grants: Arc<dyn Grants>,
    owners: Owners,
    spending: Arc<dyn UsageReports>,
    models: ThreadModels,
    speech: Option<SpokenAnswers>,
}

fn runtime(
    settings: &Settings,
    state: State,
    world: Environment,
    (tools, turn_settings, follower): (ToolBox, TurnSettings, SearchFollowerHandle),
    adapters: &AdapterSet,
    shared: SharedParts,
) -> Runtime {
    Runtime {
        changes: shared.changes,
        tasks: shared.tasks,
        task_book: shared.task_book,
        direct_chats: shared.direct_chats,
        store: state.threads,
        models: shared.models,
        tools,
        settings: Replaceable::new(turn_settings),
        approvals: state.approvals,
        shelf: state.files,
        access: state.access,
        grants: shared.grants,
        memory: state.memory,
        search: state.search,
        follower,
        frozen: FrozenMemory::new(settings.memory.refresh),
        helper: HelperModel {
            model: Arc::new(RedactingModel::new(world.helper, &world.shell.redactor)),
            context_tokens: helper_window(&settings.model),
        },
        groups: shared.groups,
        tokens: TokenRatios::new(state.notes.nested("tokens")),
        audit: state.audit,
        adapters: adapters.all().map(|adapter| (adapter.platform(), adapter.clone())).collect(),
        clock: world.clock,
        ids: world.ids,
        agent: AgentFacts {
            name: settings.name.clone(),
            instructions: Arc::new(instructions_of(settings)),
            project: settings.project.clone(),
        },
        limits: Limits {
            concurrent_runs: settings.limits.max_concurrent_runs,
            mailbox: settings.limits.mailbox,
            history_cache: settings.limits.history_cache,
            // A command may queue for as long as a command may run before another one ends.
            tool_deadline: TOOL_DEADLINE.max(settings.permissions.exec_shell.timeout * 2 + EXEC_GRACE * 8),
            delivery_deadline: DELIVERY_DEADLINE,
            idle: IDLE,
        },
        slots: Arc::new(Semaphore::new(settings.limits.max_concurrent_runs)),
        metrics: shared.metrics,
        meter: shared.meter,
        budget: shared.budget,
        cap_questions: CapQuestions::default(),
        owners: shared.owners,
        footer: settings.budget.footer,
        spending: shared.spending,
        speech: shared.speech,
        redactor: world.shell.redactor,
    }
}

/// The models of threads, with the choices of earlier daemons.
fn thread_models(settings: &Settings, state: &State, world: &Environment) -> ThreadModels {
    let patience = |provider: &Provider| match provider {
        Provider::Offline => Duration::from_secs(60),
        // A model call has its own time-outs; this is a backstop.
        Provider::OpenAi(endpoint) => endpoint.timeout.saturating_mul(12),
    };
    let fallbacks: Duration = settings.model.fallbacks.iter().map(patience).sum();
    let limited = |model: &Arc<dyn Model>, provider: &Provider, context_tokens: u64| ThreadModel {
        model: Arc::new(RedactingModel::new(model.clone(), &world.shell.redactor)),
        context_tokens: usize::try_from(context_tokens).unwrap_or(usize::MAX),
        deadline: patience(provider) + fallbacks,
    };
    let named = settings.model.named.iter().filter_map(|(name, provider)| {
        let tokens = match provider {
            Provider::OpenAi(endpoint) => endpoint.context_tokens,
            Provider::Offline => settings.model.context_tokens,
        };
        Some((name.clone(), limited(world.named.get(name)?, provider, tokens)))
    });
    let default = limited(&world.model, &settings.model.provider, settings.model.context_tokens);
    ThreadModels::new(default, named.collect(), settings.model.choosers, state.notes.nested("models"))
}

/// How much the model for the agent's own chores can read.
fn helper_window(settings: &ModelSettings) -> usize {
    let tokens = match &settings.helper {
        Some(Provider::OpenAi(endpoint)) => endpoint.context_tokens,
        Some(Provider::Offline) | None => settings.context_tokens,
    };
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
