//! The composition root: builds every part, starts the tasks, and ends them in order.
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
    AccessBook, Audit, BuiltAdapter, Clock, Ids, Model, RandomIds, SystemClock, ThreadsHandle, ToolBox,
};
use crate::sandbox;
use crate::store::{InstructionsFile, State};
use crate::telemetry::Redactor;
use crate::threads::{AgentFacts, Asking, FrozenMemory, Limits, RedactingModel, Router, Runtime};
use crate::tools::{Scratch, all_tools, sweep};

/// How long one call of a tool may take.
const TOOL_DEADLINE: Duration = Duration::from_secs(120);
/// How long one delivery may take: long enough for an edit, a deletion and a send of a server that stalls on each.
const DELIVERY_DEADLINE: Duration = Duration::from_secs(150);
/// How long an idle thread stays in memory.
const IDLE: Duration = Duration::from_secs(60);

/// How long before the end of a stop whoever still waits for a turn is let go, so that the answer "it goes on
/// later" reaches them.
const FAREWELL: Duration = Duration::from_millis(500);

/// What the outside world gives, and what tests replace.
#[derive(Clone, Debug)]
pub struct Environment {
    pub model: Arc<dyn Model>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    /// What commands are run with.
    pub shell: ShellWorld,
    /// The connections to servers.
    pub http: Http,
}

/// What commands are run with.
#[derive(Clone, Debug)]
pub struct ShellWorld {
    /// The daemon's environment; little of it is passed on.
    pub environment: Vec<(String, String)>,
    /// Takes secrets out of what commands say.
    pub redactor: Redactor,
}

impl Environment {
    /// The real one, as the settings describe it. Does no IO.
    pub fn real(settings: &ModelSettings, shell: ShellWorld) -> Self {
        let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(RandomIds));
        let http = Http::new();
        let model = model_with(settings, &http, &clock, &ids);
        Self { model, clock, ids, shell, http }
    }
}

/// The model that the settings describe. Does no IO.
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

/// An address that is bound already, and what opens the door behind it.
#[derive(Debug)]
pub struct BoundListener {
    pub listener: TcpListener,
    pub address: SocketAddr,
    pub token: SecretString,
}

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A rule for the shell cannot be understood.
    #[error("ship.json: permissions.exec_shell: {0}")]
    Rule(#[from] BadRule),
    /// No connection could ever be made.
    #[error("cannot set up http for the chat platforms: {0}")]
    Http(#[from] reqwest::Error),
}

/// A daemon at work.
#[derive(Debug)]
pub struct App {
    /// The way to its threads.
    pub door: ThreadsHandle,
    /// How its adapters fare.
    pub healths: AdapterHealths,
    /// What it has counted.
    pub metrics: Arc<Metrics>,
    /// Turns true once the threads that the last daemon left open have been taken up.
    pub recovered: watch::Receiver<bool>,
    /// Who was let in beyond the settings.
    pub access: Arc<dyn AccessBook>,
    audit: Arc<dyn Audit>,
    /// What keeps its commands in, as soon as that is known.
    pub sandbox: sandbox::SandboxUpdates,
    ingress: Phase,
    threads: Phase,
    /// Ends the router at once, and with it every actor and every wait.
    cut: AbortHandle,
}

/// Tasks that end together.
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
    /// When a rule for the shell cannot be understood, or no connection could ever be made.
    pub fn start(
        settings: &Settings,
        state: State,
        world: Environment,
        web: Option<BoundListener>,
    ) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::default());
        let healths = AdapterHealths::default();
        let (recovered_sender, recovered) = watch::channel(false);
        let redactor = world.shell.redactor.clone();
        state.audit.redact_with(Box::new(move |text: &str| redactor.apply(text).into_owned()));
        let (ingress, threads) = (Phase::default(), Phase::default());
        let (found, sandbox) = sandbox::find_out(sandbox_mode(settings), recovered.clone(), &threads.tasks);
        // Whoever has the lock is alone here: what commands of an earlier daemon left is nobody's any more.
        let left_behind = Scratch::of(&settings.state).left_behind();
        threads.tasks.spawn_blocking(move || sweep(left_behind));
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
        let parts = WebParts {
            hooks: built.iter().filter_map(|built| built.hook.clone()).collect(),
            store: state.threads.clone(),
            approvals: state.approvals.clone(),
            grants: state.grants.clone(),
            access: state.access.clone(),
            audit: state.audit.clone(),
            files: state.files.clone(),
            ids: world.ids.clone(),
            healths: healths.clone(),
            recovered: recovered.clone(),
            metrics: metrics.clone(),
            sandbox: sandbox.clone(),
        };
        let adapters = adapter_set(settings, web, &world, parts, built);
        let (access, audit) = (state.access.clone(), state.audit.clone());
        let clock = world.clock.clone();
        let runtime = runtime(settings, state, world, (tools, judge), &adapters, metrics.clone());
        let (router, door) = Router::new(Arc::new(runtime), threads.stop.clone());
        let cut = threads.tasks.spawn(router.run(recovered_sender)).abort_handle();
        let (keeper_threads, keeper_healths, stop) = (door.clone(), healths.clone(), ingress.stop.clone());
        ingress
            .tasks
            .spawn(async move { supervise(&adapters, keeper_threads, clock, keeper_healths, stop).await });
        Ok(Self { door, healths, metrics, recovered, access, audit, sandbox, ingress, threads, cut })
    }

    /// Waits until everything that was open has been taken up and every adapter is past its first check, for the
    /// adapters no longer than `patience`: their platforms may be out of reach for as long as they please. Gives those that
    /// are still starting then.
    pub async fn wait_until_ready(&self, patience: Duration) -> Vec<Platform> {
        // The router tells of its recovery before anything else; if it is gone, so is the daemon.
        let _recovered = self.recovered.clone().wait_for(|recovered| *recovered).await.is_ok();
        match tokio::time::timeout(patience, self.healths.wait_until_settled()).await {
            Ok(()) => Vec::new(),
            Err(_) => self.healths.unsettled(),
        }
    }

    /// Ends the daemon: nothing new is taken in, running turns get until shortly before `grace` is over, then
    /// whoever waits for an answer is let go. What is not finished is on the disk and goes on at the next start.
    pub async fn stop(self, grace: Duration) {
        let deadline = tokio::time::Instant::now() + grace;
        // Whoever is turned away by the threads must know by then that it is because of the stop.
        self.ingress.stop.cancel();
        // Requests that wait for a running turn are answered by it, so both phases end side by side.
        let threads = async {
            self.threads.end("threads", deadline - FAREWELL.min(grace / 2)).await;
            self.cut.abort();
        };
        tokio::join!(threads, self.ingress.end("ingress", deadline));
        // What was cut off has its line by now. A disk that hangs must not keep the daemon from ending.
        if tokio::time::timeout(FAREWELL, self.audit.flush()).await.is_err() {
            tracing::warn!("the audit trail did not reach the disk in time");
        }
    }
}

fn platform(name: &str) -> Option<Platform> {
    name.parse().ok()
}

/// Every platform of this daemon: the chat adapters, and those that the web listener serves.
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
        // Logins that a browser stored with earlier versions are told apart by this path.
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

fn runtime(
    settings: &Settings,
    state: State,
    world: Environment,
    (tools, judge): (ToolBox, ProjectJudge),
    adapters: &AdapterSet,
    metrics: Arc<Metrics>,
) -> Runtime {
    let patience = |provider: &Provider| match provider {
        Provider::Offline => Duration::from_secs(60),
        // A model call bounds itself; this is the line it never reaches unless something is very wrong.
        Provider::OpenAi(endpoint) => endpoint.timeout.saturating_mul(12),
    };
    let fallbacks: Duration = settings.model.fallbacks.iter().map(patience).sum();
    Runtime {
        store: state.threads,
        model: Arc::new(RedactingModel::new(world.model, &world.shell.redactor)),
        tools,
        judge: Arc::new(judge),
        approvals: state.approvals,
        shelf: state.files,
        access: state.access,
        grants: state.grants,
        memory: state.memory,
        frozen: FrozenMemory::new(settings.memory.refresh),
        audit: state.audit,
        asking: Asking {
            rights: rights(settings),
            expire: settings.approvals.expire,
            while_waiting: settings.approvals.while_waiting,
            read_replies: settings.approvals.read_replies,
        },
        adapters: adapters.to_run().map(|adapter| (adapter.platform(), adapter.clone())).collect(),
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
            // A command may wait as long as it may run before one of the other commands has ended.
            tool_deadline: TOOL_DEADLINE.max(settings.permissions.exec_shell.timeout * 2 + EXEC_GRACE * 8),
            delivery_deadline: DELIVERY_DEADLINE,
            idle: IDLE,
        },
        slots: Arc::new(Semaphore::new(settings.limits.max_concurrent_runs)),
        metrics,
        redactor: world.shell.redactor,
    }
}
