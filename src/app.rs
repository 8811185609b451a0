//! The composition root: builds every part, starts the tasks, and stops them in order.
//!
//! Two apps can run in one process; nothing here is global.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapter_setup::{adapter_set, chat_adapters, reply_only, task_platform};
use crate::adapters::{AdapterHealths, supervise};
use crate::config::Settings;
use crate::daemon_parts::DaemonParts;
use crate::domain::Platform;
use crate::environment::Environment;
use crate::group_setup;
use crate::metrics::Metrics;
use crate::policy::shell::BadRule;
use crate::ports::{AccessStore, Audit, BuiltAdapter, Onboarding, ThreadsHandle};
use crate::reload::{LiveConfiguration, turn_settings};
use crate::sandbox;
use crate::store::State;
use crate::tasks::run::RunParts;
use crate::tasks::scheduler::{Scheduler, SchedulerParts};
use crate::tasks::{TaskBook, TaskRequests};
use crate::threads::{BudgetWatch, Router, SearchFollower};
use crate::tools::{Scratch, sweep};
use crate::usage::UsageMeter;

/// How long before the end of a stop the remaining waiters are released, so that the answer "it goes on later" reaches
/// them.
const FAREWELL: Duration = Duration::from_millis(500);

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
    pub fn start(
        settings: &Settings,
        state: State,
        environment: Environment,
        web: Option<BoundListener>,
    ) -> Result<Self, StartError> {
        let (recovered_sender, recovered) = watch::channel(false);
        let (ingress, actors) = (Phase::default(), Phase::default());
        sweep_scratch(settings, &actors.tasks);
        let (mut parts, task_requests) =
            DaemonParts::build(settings, state, environment, recovered, &actors.tasks)?;
        let built = chat_adapters(&parts)?;
        parts.task_book = parts.task_book.with_reply_only(reply_only(&built));
        let token = web.as_ref().map(|web| &web.token);
        let live = parts.live(built.clone().into_iter().collect());
        let configuration = LiveConfiguration::new(parts.environment.source.clone(), settings, token, live);
        let turn_settings = turn_settings(settings, configuration.parts())?;
        let built: Vec<BuiltAdapter> = built.iter().map(|(_, adapter)| adapter.built()).collect();
        let onboarding = web.as_ref().and_then(|web| web.onboarding.clone());
        let web_parts = parts.web(onboarding, &configuration, &built);
        let adapters = adapter_set(settings, web, web_parts, built);
        let meter = parts.meter.clone();
        // An error is in the log, and the first call reads again.
        actors.tasks.spawn(async move { meter.load().await.unwrap_or_default() });
        let (follower, follower_handle) = SearchFollower::new(parts.state.search.clone());
        actors.tasks.spawn(follower.run(actors.stop.clone()));
        let runtime = Arc::new(parts.runtime(turn_settings, follower_handle, &adapters));
        configuration.serve(runtime.clone());
        let (router, threads) = Router::new(runtime, actors.stop.clone());
        ingress.tasks.spawn(configuration.follow(ingress.stop.clone()));
        let clock = parts.environment.clock.clone();
        let store = &parts.state.threads;
        group_setup::follow(&parts.groups, &adapters, &threads, store, &clock, &ingress.tasks, &ingress.stop);
        let cut = actors.tasks.spawn(router.run(recovered_sender)).abort_handle();
        watch_budget(&parts, &threads, &ingress);
        schedule_tasks(&parts, &threads, task_requests, &ingress);
        let (healths, stop) = (parts.healths.clone(), ingress.stop.clone());
        let keeper = threads.clone();
        ingress.tasks.spawn(async move { supervise(&adapters, keeper, clock, healths, stop).await });
        let DaemonParts { healths, metrics, recovered, sandbox, meter, state, .. } = parts;
        let (access, audit) = (state.access, state.audit);
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

/// Removes the scratch folders of earlier daemons: this process holds the lock, so they are unused.
fn sweep_scratch(settings: &Settings, tasks: &TaskTracker) {
    let left_behind = Scratch::of(&settings.state).left_behind();
    tasks.spawn_blocking(move || sweep(left_behind));
}

/// Asks the owners about spend caps in their direct chats.
fn watch_budget(parts: &DaemonParts<'_>, threads: &ThreadsHandle, ingress: &Phase) {
    let Ok(from) = "task:chat:budget".parse() else { return };
    let watch = BudgetWatch {
        budget: Arc::new(parts.meter.clone()),
        threads: threads.clone(),
        direct: parts.direct_chats.clone(),
        ids: parts.environment.ids.clone(),
        clock: parts.environment.clock.clone(),
        owners: parts.owners.clone(),
        language: parts.settings.language.unwrap_or(parts.settings.operator_language),
        from,
    };
    ingress.tasks.spawn(watch.run(ingress.stop.clone()));
}

/// Runs the scheduled tasks.
fn schedule_tasks(parts: &DaemonParts<'_>, threads: &ThreadsHandle, requests: TaskRequests, ingress: &Phase) {
    let Some(platform) = task_platform() else { return };
    let run = RunParts {
        threads: threads.clone(),
        clock: parts.environment.clock.clone(),
        access: parts.state.access.clone(),
        platform,
        owners: parts.owners.clone(),
        direct: parts.direct_chats.clone(),
        budget: Arc::new(parts.meter.clone()),
        language: parts.settings.language,
    };
    let TaskBook { files, states, context, .. } = parts.task_book.clone();
    let parts = SchedulerParts { files, states, run, context };
    ingress.tasks.spawn(Scheduler::new(parts, requests, ingress.stop.clone()).run());
}
