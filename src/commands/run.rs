//! `shipagent run`: starts the daemon, announces it, and stops it.

use std::io::{self, IsTerminal, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::setup::{bind_error_text, load_or_say, open_error_text, start_error_text, start_logging};
use super::summary::{Summary, names};
use crate::adapters::web::{BindError, WebAdapter};
use crate::app::{App, BoundListener, Environment, StartError};
use crate::blocking::PoolProbe;
use crate::cli::{Exit, RunArgs};
use crate::config::{Env, Settings, WebSettings};
use crate::notify;
use crate::phrases::start::console_is_off;
use crate::ports::{AdapterTable, ThreadStore, ThreadsHandle};
use crate::signals::Signals;
use crate::store::{OpenError, State, address, survive_file_size_limits};
use crate::telemetry::Console;

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
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(WORKER_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(workers)
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    let ended = runtime.block_on(serve(&settings, env, out, err));
    // After a second signal, tasks may be left; they are not awaited.
    runtime.shutdown_background();
    ended
}

async fn serve(
    settings: &Settings,
    env: &Env,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    // From here on a signal does not end the process by itself, so that the stop is orderly.
    let mut signals = Signals::listen()?;
    survive_file_size_limits()?;
    raise_open_files();
    let state = match State::files(&settings.state) {
        Ok(state) => state,
        Err(error) => return refuse(&error, settings, err),
    };
    // An address file left by a crash may name a port that another program has by now.
    address::withdraw(&settings.state);
    let web = match settings.web.as_ref().map(|web| listen(settings, web)).transpose() {
        Ok(web) => web,
        Err(error) => {
            state.threads.close().await;
            let Some(error) = error.downcast_ref::<BindError>() else { return Err(error) };
            writeln!(err, "{}", bind_error_text(error, settings.operator_language))?;
            let in_use = matches!(error, BindError::InUse(_));
            return Ok(if in_use { Exit::PortInUse } else { Exit::Failed });
        }
    };
    let token = web.as_ref().map(|web| &web.token);
    let (shell, _logs) = start_logging(settings, env, token, Console::Auto)?;
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
    let app = match App::start(settings, state.clone(), Environment::real(&settings.model, shell), web) {
        Ok(app) => app,
        Err(error) => {
            state.threads.close().await;
            return not_started(&error, settings, err);
        }
    };
    let pool = PoolProbe::default();
    // From here on every exit goes through the stop below.
    let served = tokio::select! {
        _signal = signals.next() => Ok(()),
        () = notify::watchdog(async || works(&app.threads, &*state.threads, &pool).await) => Ok(()),
        told = announce(&app, &summary, out) => told,
    };
    notify::stopping();
    tracing::info!("stopping");
    address::withdraw(&settings.state);
    let stopped = async {
        app.stop(settings.limits.stop).await;
        state.threads.close().await;
    };
    tokio::select! {
        () = stopped => served.map(|()| Exit::Ok),
        _second = signals.next() => {
            tracing::warn!("stopped at once: what was running goes on at the next start");
            Ok(Exit::Failed)
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
async fn works(threads: &ThreadsHandle, store: &dyn ThreadStore, pool: &PoolProbe) -> bool {
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
        tracing::warn!(adapters, "still starting: their platforms were not reached yet");
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
        tracing::info!("no adapter is starting any more");
        notify::status("ready");
    }
}

/// Prints whole lines. A closed stream is not an error.
fn print(lines: &str, out: &mut dyn Write) {
    // Flushed at once, so that refused output does not stay in a buffer.
    if let Err(error) = out.write_all(lines.as_bytes()).and_then(|()| out.flush()) {
        tracing::warn!(%error, "what the daemon says of itself cannot be printed");
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

fn listen(settings: &Settings, web: &WebSettings) -> anyhow::Result<BoundListener> {
    let listener = bind(web)?;
    let address = listener.local_addr()?;
    let token = match &web.token {
        Some(token) => token.clone(),
        None => address::token(&settings.state)?,
    };
    Ok(BoundListener { listener, address, token })
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
