//! The composition root: builds every part, starts the tasks, and stops them in order.
//!
//! Two apps can run in one process; nothing here is global.

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
use crate::adapters::{AdapterHealths, AdapterSet, supervise};
use crate::config::{AGENT_MD, Endpoint, ModelSettings, Provider, Settings, read_agent_md};
use crate::domain::Platform;
use crate::http_client::Http;
use crate::metrics::Metrics;
use crate::model::{ModelKind, ModelSpec, Shared, build};
use crate::permissions::ProjectJudge;
use crate::policy::shell::BadRule;
use crate::policy_setup::{EXEC_GRACE, exec_settings, project_judge, redact, rights, sandbox_mode};
use crate::ports::{
    AccessBook, Audit, BuiltAdapter, Changes, Clock, DirectChats, Ids, Model, RandomIds, SystemClock,
    TaskCommands, ThreadsHandle, ToolBox,
};
use crate::sandbox;
use crate::store::{InstructionsFile, State};
use crate::tasks::run::RunParts;
use crate::tasks::scheduler::{Scheduler, SchedulerParts};
use crate::tasks::{ChatTasks, TaskBook, TaskRequests};
use crate::telemetry::Redactor;
use crate::threads::{
    AgentFacts, Asking, DirectChatBook, FrozenMemory, HelperModel, Learning, Limits, RecallSettings,
    RedactingModel, Router, Runtime, SearchFollower, SearchFollowerHandle, TokenBook,
};
use crate::tools::{Scratch, all_tools, sweep};
use crate::turn::CompactionRules;

/// Deadline of one tool call.
const TOOL_DEADLINE: Duration = Duration::from_secs(120);
/// Deadline of one delivery: long enough for an edit, a deletion and a send to a server that stalls on each.
const DELIVERY_DEADLINE: Duration = Duration::from_secs(150);
/// The platform of the threads in which tasks run.
const TASK_PLATFORM: &str = "task";
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
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub shell: ShellWorld,
    pub http: Http,
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
        let model = model_with(settings, &http, &clock, &ids);
        let helper = settings.helper.as_ref().map(|provider| {
            let shared = Shared { http: http.clone(), ids: ids.clone(), clock: clock.clone() };
            build(&model_kind(provider), &[], &shared)
        });
        let helper = helper.unwrap_or_else(|| model.clone());
        Self { model, helper, clock, ids, shell, http }
    }
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
        temperature: endpoint.temperature,
    }
}

/// A bound listener and the token that its clients must send.
#[derive(Debug)]
pub struct BoundListener {
    pub listener: TcpListener,
    pub address: SocketAddr,
    pub token: SecretString,
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
    pub access: Arc<dyn AccessBook>,
    audit: Arc<dyn Audit>,
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
    pub fn start(
        settings: &Settings,
        state: State,
        world: Environment,
        web: Option<BoundListener>,
    ) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::default());
        let healths = AdapterHealths::default();
        let changes = Changes::default();
        let (recovered_sender, recovered) = watch::channel(false);
        let redactor = world.shell.redactor.clone();
        state.audit.redact_with(Box::new(move |text: &str| redactor.apply(text).into_owned()));
        let (ingress, actors) = (Phase::default(), Phase::default());
        let (found, sandbox) = sandbox::find_out(sandbox_mode(settings), recovered.clone(), &actors.tasks);
        // This process holds the lock, so scratch folders of earlier daemons are unused.
        let left_behind = Scratch::of(&settings.state).left_behind();
        actors.tasks.spawn_blocking(move || sweep(left_behind));
        let tools = all_tools(exec_settings(settings, &state, world.shell.clone(), found.clone()));
        let redact = redact(&world.shell.redactor);
        let judge = project_judge(settings, &tools, world.clock.clone(), &state, redact, found)?;
        let built = build_adapters(&AdapterInput {
            settings,
            state: state.clone(),
            metrics: metrics.clone(),
            clock: world.clock.clone(),
            ids: world.ids.clone(),
            http: world.http.clone(),
        })?;
        let (task_book, task_requests) = task_book(settings, &state, &world);
        let parts = WebParts {
            tasks: Arc::new(task_book.clone()),
            hooks: built.iter().filter_map(|built| built.hook.clone()).collect(),
            store: state.threads.clone(),
            approvals: state.approvals.clone(),
            grants: state.grants.clone(),
            access: state.access.clone(),
            memory: state.memory.clone(),
            search: state.search.clone(),
            audit: state.audit.clone(),
            files: state.files.clone(),
            ids: world.ids.clone(),
            healths: healths.clone(),
            recovered: recovered.clone(),
            metrics: metrics.clone(),
            changes: changes.clone(),
            sandbox: sandbox.clone(),
        };
        let adapters = adapter_set(settings, web, &world, parts, built);
        let (access, audit) = (state.access.clone(), state.audit.clone());
        let direct_chats: Arc<dyn DirectChats> = Arc::new(DirectChatBook::new(state.notes.shelf("direct")));
        let clock = world.clock.clone();
        let (follower, follower_handle) = SearchFollower::new(state.search.clone());
        actors.tasks.spawn(follower.run(actors.stop.clone()));
        let shared = SharedParts {
            changes,
            tasks: Arc::new(ChatTasks { tasks: Arc::new(task_book.clone()) }),
            direct_chats: direct_chats.clone(),
            metrics: metrics.clone(),
        };
        let parts = (tools, judge, follower_handle);
        let runtime = runtime(settings, state, world, parts, &adapters, shared);
        let (router, threads) = Router::new(Arc::new(runtime), actors.stop.clone());
        let cut = actors.tasks.spawn(router.run(recovered_sender)).abort_handle();
        if let Some(platform) = platform(TASK_PLATFORM) {
            let parts = SchedulerParts {
                files: task_book.files.clone(),
                states: task_book.states.clone(),
                run: RunParts {
                    threads: threads.clone(),
                    clock: clock.clone(),
                    access: access.clone(),
                    platform,
                    owners: settings.owners.clone(),
                    direct: direct_chats,
                    language: settings.language,
                },
                zone: settings.zone.clone(),
            };
            let scheduler = Scheduler::new(parts, task_requests, ingress.stop.clone());
            ingress.tasks.spawn(scheduler.run());
        }
        let (keeper_threads, keeper_healths, stop) = (threads.clone(), healths.clone(), ingress.stop.clone());
        ingress
            .tasks
            .spawn(async move { supervise(&adapters, keeper_threads, clock, keeper_healths, stop).await });
        Ok(Self { threads, healths, metrics, recovered, access, audit, sandbox, ingress, actors, cut })
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
    }
}

/// The tasks of the project, and the requests for their scheduler.
fn task_book(settings: &Settings, state: &State, world: &Environment) -> (TaskBook, TaskRequests) {
    let states = state.notes.shelf("tasks");
    TaskBook::new(state.tasks.clone(), states, world.clock.clone(), settings.zone.clone()).for_daemon()
}

fn platform(name: &str) -> Option<Platform> {
    name.parse().ok()
}

/// All adapters of this daemon: chat platforms, and the web listener.
fn adapter_set(
    settings: &Settings,
    web: Option<BoundListener>,
    world: &Environment,
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
        name: settings.name.clone(),
        language: settings.language,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: match settings.model.provider {
            Provider::Offline => "offline".to_owned(),
            Provider::OpenAi(_) => "openai".to_owned(),
        },
        model: world.model.name().to_owned(),
        operator_name: None,
        // The console distinguishes the logins stored in a browser by this path.
        project: settings.state.join("files"),
        stop_grace: settings.limits.stop,
    };
    set.with_adapter(Arc::new(WebAdapter::new(name, options, parts, web.listener)))
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
    direct_chats: Arc<dyn DirectChats>,
    metrics: Arc<Metrics>,
}

fn runtime(
    settings: &Settings,
    state: State,
    world: Environment,
    (tools, judge, follower): (ToolBox, ProjectJudge, SearchFollowerHandle),
    adapters: &AdapterSet,
    shared: SharedParts,
) -> Runtime {
    let patience = |provider: &Provider| match provider {
        Provider::Offline => Duration::from_secs(60),
        // A model call has its own time-outs; this is a backstop.
        Provider::OpenAi(endpoint) => endpoint.timeout.saturating_mul(12),
    };
    let fallbacks: Duration = settings.model.fallbacks.iter().map(patience).sum();
    Runtime {
        changes: shared.changes,
        tasks: shared.tasks,
        direct_chats: shared.direct_chats,
        store: state.threads,
        model: Arc::new(RedactingModel::new(world.model, &world.shell.redactor)),
        tools,
        judge: Arc::new(judge),
        approvals: state.approvals,
        shelf: state.files,
        access: state.access,
        grants: state.grants,
        memory: state.memory,
        scopes: settings.memory.scopes.clone(),
        search: state.search,
        follower,
        recall: RecallSettings { quiet: settings.memory.recall, reach: settings.memory.history },
        frozen: FrozenMemory::new(settings.memory.refresh),
        compaction: CompactionRules {
            keep_runs: settings.memory.keep_runs,
            idle_percent: settings.memory.compact_idle_percent,
            call_percent: settings.memory.compact_percent,
        },
        helper: HelperModel {
            model: Arc::new(RedactingModel::new(world.helper, &world.shell.redactor)),
            context_tokens: helper_window(&settings.model),
        },
        learning: Learning { auto: settings.memory.auto, distil_every: settings.memory.distil_every },
        tokens: TokenBook::new(state.notes.shelf("tokens")),
        audit: state.audit,
        asking: Asking {
            rights: rights(settings),
            expire: settings.approvals.expire,
            while_waiting: settings.approvals.while_waiting,
            read_replies: settings.approvals.read_replies,
        },
        adapters: adapters.all().map(|adapter| (adapter.platform(), adapter.clone())).collect(),
        clock: world.clock,
        ids: world.ids,
        agent: AgentFacts {
            name: settings.name.clone(),
            instructions: Arc::new(instructions_of(settings)),
            project: settings.project.clone(),
            context_tokens: usize::try_from(settings.model.context_tokens).unwrap_or(usize::MAX),
        },
        language: settings.language,
        limits: Limits {
            concurrent_runs: settings.limits.max_concurrent_runs,
            mailbox: settings.limits.mailbox,
            history_cache: settings.limits.history_cache,
            max_steps: settings.model.max_steps,
            merge_ms: u64::try_from(settings.queue.merge.as_millis()).unwrap_or(u64::MAX),
            while_running: settings.queue.while_running,
            model_deadline: patience(&settings.model.provider) + fallbacks,
            // A command may queue for as long as a command may run before another one ends.
            tool_deadline: TOOL_DEADLINE.max(settings.permissions.exec_shell.timeout * 2 + EXEC_GRACE * 8),
            delivery_deadline: DELIVERY_DEADLINE,
            idle: IDLE,
        },
        slots: Arc::new(Semaphore::new(settings.limits.max_concurrent_runs)),
        metrics: shared.metrics,
        redactor: world.shell.redactor,
    }
}

/// How much the model for the agent's own chores can read.
fn helper_window(settings: &ModelSettings) -> usize {
    let tokens = match &settings.helper {
        Some(Provider::OpenAi(endpoint)) => endpoint.context_tokens,
        Some(Provider::Offline) | None => settings.context_tokens,
    };
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
