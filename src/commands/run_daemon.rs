//! `shipagent run`: starts the daemon, announces it, and stops it.

use std::io::{self, IsTerminal, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Resource, getrlimit, setrlimit};
use secrecy::SecretString;
use tokio::sync::watch;

use super::setup::{
    bind_error_text, change_redaction, load_or_say, open_error_text, start_error_text, start_logging,
};
use super::summary::{Summary, names};
use crate::adapters::web::{BindError, WebAdapter};
use crate::app::{App, BoundListener, StartError};
use crate::blocking::PoolProbe;
use crate::cli::{Exit, RunArgs};
use crate::config::{AGENT_MD, Env, Settings, WebSettings};
use crate::environment::{Environment, ShellEnvironment};
use crate::memory_release::limit_heaps;
use crate::notify;
use crate::onboarding::{ProjectOnboarding, RealChecks, WriteError, write_template};
use crate::phrases::start::{cannot_write, console_is_off};
use crate::ports::{AdapterTable, Onboarding, ThreadStore, ThreadsHandle};
use crate::reload::ConfigSource;
use crate::signals::Signals;
use crate::store::{OpenError, State, address, survive_file_size_limits};
use crate::telemetry::{Console, Guard};

/// Most worker threads of the runtime. A daemon that mostly waits gains nothing from one per core,
/// and each costs memory.
const WORKER_THREADS: usize = 4;

/// The wanted limit of open files.
const OPEN_FILES: u64 = 16_384;

/// Threads for blocking work: reads, searches. More would only cost memory.
const BLOCKING_THREADS: usize = 16;

/// How many ports after the default one are tried where it is in use.
const PORTS: u16 = 100;

/// How long the daemon waits for its adapters before it announces itself. Reachable platforms are ready by then; a
/// platform that is down must not delay the others and the console, nor let a service manager give up on the start,
/// which it does after 90 s or less.
const FIRST_CHECKS: Duration = Duration::from_secs(10);

/// Runs the daemon until it is told to stop. The summary goes to `out`, errors to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    args: RunArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if args.setup
        && let Err(error) = begin_project(project, env)
    {
        writeln!(err, "{}", cannot_write(error.path.display(), &error.source, env.language()))?;
        return Ok(Exit::Failed);
    }
    limit_heaps();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(WORKER_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(workers)
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    let ended = runtime.block_on(serve_projects(project, env, adapters, args, out, err));
    // After a second signal, tasks may be left; they are not awaited.
    runtime.shutdown_background();
    ended
}

/// An `Agent.md` for a project that has neither that nor a configuration; the console asks for the rest.
fn begin_project(project: &Path, env: &Env) -> Result<(), WriteError> {
    let has = |name: &str| project.join(name).symlink_metadata().is_ok();
    if has(AGENT_MD) || has("ship.json") {
        return Ok(());
    }
    write_template(project, env.language())
}

/// What outlives a daemon that starts over with other settings in the same process.
#[derive(Debug, Default)]
struct KeptResources {
    listener: Option<TcpListener>,
    logs: Option<Guard>,
}

impl KeptResources {
    /// Starts the log, or goes on with that of the daemon before.
    fn log(
        &mut self,
        settings: &Settings,
        env: &Env,
        token: Option<&SecretString>,
    ) -> anyhow::Result<ShellEnvironment> {
        if let Some(logs) = &self.logs {
            return change_redaction(settings, env, token, logs);
        }
        let (shell, logs) = start_logging(settings, env, token, Console::Auto)?;
        self.logs = Some(logs);
        Ok(shell)
    }
}

/// The onboarding of a project without a `ship.json`. `applied` becomes true when it is configured.
fn onboarding(
    settings: &Settings,
    env: &Env,
    adapters: &AdapterTable,
    world: &Environment,
    applied: watch::Sender<bool>,
) -> Option<Arc<dyn Onboarding>> {
    let checks = RealChecks { http: world.http.clone(), clock: world.clock.clone(), ids: world.ids.clone() };
    let onboarding = ProjectOnboarding::of(settings, env, adapters, Arc::new(checks), applied)?;
    Some(Arc::new(onboarding))
}

/// Why a daemon ended.
#[derive(Debug)]
enum DaemonEnd {
    Exit(Exit),
    /// The onboarding wrote the project's configuration: the daemon starts over with it.
    StartOver,
}

/// Serves the project until the daemon is told to stop.
async fn serve_projects(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    args: RunArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    // From here on a signal does not end the process by itself, so that the stop is orderly.
    let mut signals = Signals::listen()?;
    survive_file_size_limits()?;
    raise_open_files();
    let mut kept = KeptResources::default();
    loop {
        let Some(mut settings) = load_or_say(project, env, adapters, err)? else {
            return Ok(Exit::Configuration);
        };
        if let Some(listen) = args.listen {
            let Some(web) = settings.web.as_mut() else {
                writeln!(err, "{}", console_is_off(settings.operator_language))?;
                return Ok(Exit::Configuration);
            };
            (web.listen, web.listen_chosen) = (listen, true);
        }
        for warning in &settings.warnings {
            writeln!(err, "{}", warning.warning_line(settings.operator_language))?;
        }
        match Box::pin(serve(&settings, env, adapters, &mut signals, &mut kept, out, err)).await? {
            DaemonEnd::Exit(exit) => return Ok(exit),
            DaemonEnd::StartOver => tracing::info!("starting over with the new configuration"),
        }
    }
}

async fn serve(
    settings: &Settings,
    env: &Env,
    adapters: &AdapterTable,
    signals: &mut Signals,
    kept: &mut KeptResources,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<DaemonEnd> {
    let state = match State::files(&settings.state) {
        Ok(state) => state,
        Err(error) => return refuse(&error, settings, err).map(DaemonEnd::Exit),
    };
    // An address file left by a crash may name a port that another program has by now.
    address::withdraw(&settings.state);
    let mut web = match settings.web.as_ref().map(|web| listen(settings, web, &mut kept.listener)).transpose()
    {
        Ok(web) => web,
        Err(error) => {
            state.threads.close().await;
            let Some(error) = error.downcast_ref::<BindError>() else { return Err(error) };
            writeln!(err, "{}", bind_error_text(error, settings.operator_language))?;
            let in_use = matches!(error, BindError::InUse(_));
            return Ok(DaemonEnd::Exit(if in_use { Exit::PortInUse } else { Exit::Failed }));
        }
    };
    let token = web.as_ref().map(|web| &web.token);
    let shell = kept.log(settings, env, token)?;
    for warning in &settings.warnings {
        tracing::warn!(key = %warning.path, warning = %warning, "configuration warning");
    }
    let (address, token) = (web.as_ref().map(|web| web.address), web.as_ref().map(|web| web.token.clone()));
    let summary = Summary {
        settings,
        address,
        token: token.as_ref(),
        unfinished: state.threads.unfinished().len(),
        journaled: is_journaled(env),
    };
    let source =
        ConfigSource { project: settings.project.clone(), env: env.clone(), adapters: adapters.clone() };
    let world = Environment::real(&settings.model, shell).reading(source);
    let (applied, mut starts_over) = watch::channel(false);
    if let Some(web) = &mut web {
        web.onboarding = onboarding(settings, env, adapters, &world, applied.clone());
    }
    let app = match App::start(settings, state.clone(), world, web) {
        Ok(app) => app,
        Err(error) => {
            state.threads.close().await;
            return not_started(&error, settings, err).map(DaemonEnd::Exit);
        }
    };
    let pool = PoolProbe::default();
    // From here on every exit goes through the stop below.
    let served = tokio::select! {
        _signal = signals.next() => Ok(DaemonEnd::Exit(Exit::Ok)),
        () = notify::watchdog(async || is_healthy(&app.threads, &*state.threads, &pool).await) => {
            Ok(DaemonEnd::Exit(Exit::Ok))
        }
        told = announce(&app, &summary, out) => told.map(|()| DaemonEnd::Exit(Exit::Ok)),
        // The sender is alive as long as this function.
        Ok(_) = starts_over.wait_for(|applied| *applied) => Ok(DaemonEnd::StartOver),
    };
    if !matches!(served, Ok(DaemonEnd::StartOver)) {
        notify::stopping();
        // New clients are refused from here on.
        kept.listener = None;
    }
    tracing::info!("stopping");
    address::withdraw(&settings.state);
    let stopped = async {
        app.stop(settings.limits.stop).await;
        state.threads.close().await;
    };
    tokio::select! {
        () = stopped => served,
        _second = signals.next() => {
            tracing::warn!("second signal, exiting without waiting for running work");
            Ok(DaemonEnd::Exit(Exit::Failed))
        }
    }
}

fn not_started(error: &StartError, settings: &Settings, err: &mut dyn Write) -> anyhow::Result<Exit> {
    writeln!(err, "{}", start_error_text(error, settings.operator_language))?;
    Ok(match error {
        StartError::Rule(_) => Exit::Configuration,
        StartError::Http(_) => Exit::Failed,
    })
}

/// The health that the watchdog reports: the router answers, the store writes, and the blocking pool has a free
/// thread. Platforms do not count.
async fn is_healthy(threads: &ThreadsHandle, store: &dyn ThreadStore, pool: &PoolProbe) -> bool {
    let (threads, disk, blocking) = tokio::join!(threads.answers(), store.answers(), pool.answers());
    threads && disk && blocking
}

/// Announces the daemon once it is usable, then prints what becomes known later. Ends only when the address cannot
/// be stored.
async fn announce(app: &App, summary: &Summary<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let starting = app.wait_until_ready(FIRST_CHECKS).await;
    if let Some(address) = summary.address {
        address::announce(&summary.settings.state, address)
            .context("cannot note under .ship/run where the daemon listens")?;
    }
    print(&summary.text(&starting), out);
    if starting.is_empty() {
        notify::ready("ready");
    } else {
        let adapters = names(&starting);
        tracing::warn!(adapters, "adapters still starting, platform not reached");
        notify::ready(&format!("ready; still starting: {adapters}"));
    }
    tokio::join!(tell_sandbox(app, summary, out), tell_settled(app, !starting.is_empty()));
    std::future::pending().await
}

/// Prints the sandbox once it is probed; the start does not wait for it.
async fn tell_sandbox(app: &App, summary: &Summary<'_>, out: &mut dyn Write) {
    let mut news = app.sandbox.clone();
    let report = news.wait_for(Option::is_some).await.ok().and_then(|report| report.clone());
    if let Some(report) = report {
        print(&summary.sandbox(&report), out);
    }
}

/// Reports when no adapter is starting any more.
async fn tell_settled(app: &App, late: bool) {
    if late {
        app.healths.wait_until_settled().await;
        tracing::info!("all adapters started");
        notify::status("ready");
    }
}

/// Prints whole lines. A closed stream is not an error.
fn print(lines: &str, out: &mut dyn Write) {
    // Flushed at once, so that refused output does not stay in a buffer.
    if let Err(error) = out.write_all(lines.as_bytes()).and_then(|()| out.flush()) {
        tracing::warn!(%error, "status line not printed");
    }
}

/// Raises the limit of open files: each client needs one. Where it cannot be raised,
/// fewer clients are served.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        // On an error the limit stays as it is.
        let _granted = setrlimit(Resource::Nofile, limit).is_ok();
    }
}

/// Whether the output goes to a service manager's journal, which others than the operator may read.
fn is_journaled(env: &Env) -> bool {
    let managed = ["JOURNAL_STREAM", "INVOCATION_ID", "NOTIFY_SOCKET"].map(|name| env.filled(name));
    managed.iter().any(Option::is_some) && !io::stdout().is_terminal()
}

/// Binds the configured address, or goes on with the listener of the daemon before, so that clients can wait for this one
/// at the same address.
fn listen(
    settings: &Settings,
    web: &WebSettings,
    kept: &mut Option<TcpListener>,
) -> anyhow::Result<BoundListener> {
    let listener = match kept.take() {
        Some(listener) => listener,
        None => bind(web)?,
    };
    *kept = Some(listener.try_clone()?);
    let address = listener.local_addr()?;
    let token = match &web.token {
        Some(token) => token.clone(),
        None => address::token(&settings.state)?,
    };
    Ok(BoundListener { listener, address, token, onboarding: None })
}

/// Binds the configured address. Where the operator chose none and another program has the usual port, the next free
/// one is taken, so that two projects on one machine can run side by side.
fn bind(web: &WebSettings) -> Result<TcpListener, BindError> {
    let mut address = web.listen;
    let usual = address.port();
    loop {
        match WebAdapter::bind(address) {
            Err(BindError::InUse(taken))
                if !web.listen_chosen && address.port() < usual.saturating_add(PORTS) =>
            {
                tracing::debug!(%taken, "port in use, next one tried");
                address.set_port(address.port() + 1);
            }
            bound => return bound,
        }
    }
}

fn refuse(error: &OpenError, settings: &Settings, err: &mut dyn Write) -> anyhow::Result<Exit> {
    writeln!(err, "{}", open_error_text(error, settings.operator_language))?;
    Ok(match error {
        OpenError::Held { .. } => Exit::AnotherDaemon,
        OpenError::Store(_) => Exit::StateNotWritable,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::ports::ThreadRequest;
    use crate::store::memory::InMemoryThreads;

    #[test]
    fn the_watchdog_gets_no_sign_while_the_blocking_pool_is_exhausted() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (sender, mut requests) = tokio::sync::mpsc::channel(4);
            let mut router = tokio::task::JoinSet::new();
            router.spawn(async move {
                while let Some(request) = requests.recv().await {
                    if let ThreadRequest::Views { reply } = request {
                        reply.send(Vec::new()).ok();
                    }
                }
            });
            let (threads, store) = (ThreadsHandle::new(sender), InMemoryThreads::default());
            let pool = PoolProbe::default();
            assert!(is_healthy(&threads, &store, &pool).await);
            let (release, released) = mpsc::channel::<()>();
            let stuck = tokio::task::spawn_blocking(move || released.recv().is_ok());
            assert!(
                !is_healthy(&threads, &store, &pool).await,
                "the router and the store answer, the pool does not"
            );
            drop(release);
            stuck.await.unwrap();
            assert!(is_healthy(&threads, &store, &pool).await);
        });
    }
}
