//! The inner helper: restricts itself permanently, starts the command, and ends it when the daemon closes its end.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::io;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getrlimit, kill_process, kill_process_group,
    setrlimit,
};

use super::control::{Control, HangUp, HelperReport, Restrictions};
use super::linux;
use super::spec::{Isolation, ResourceLimits, Spec};

/// Threads of the helper besides its first: the one that watches the lifeline.
const OWN_THREADS: u64 = 1;

pub(super) fn run() -> ExitCode {
    let Ok(mut control) = Control::from_stdin() else { return ExitCode::FAILURE };
    let spec = control.spec().map_err(|error| format!("the spec cannot be read: {error}"));
    let report =
        spec.and_then(|spec| keep(&spec, &mut control)).unwrap_or_else(|why| HelperReport::Failed { why });
    control.report(&report);
    ExitCode::SUCCESS
}

fn keep(spec: &Spec, control: &mut Control) -> Result<HelperReport, String> {
    let restrictions = restrict(spec)?;
    control.report(&HelperReport::Entered(restrictions));
    // The daemon is gone, and the next one asks about the outcome: the command must not start now.
    if control.is_hung_up() {
        return Ok(HelperReport::Killed { signal: Signal::TERM.as_raw() });
    }
    // Before the command, which may use up every process that it is allowed.
    let shell_started = watch_lifeline(control, Duration::from_millis(spec.grace_ms))?;
    let shell = Command::new("/bin/sh")
        .arg("-c")
        .arg(&spec.command)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("the shell cannot be started: {error}"))?;
    let shell = Pid::from_child(&shell);
    linux::hide_self();
    shell_started.send(shell).ok();
    let status = wait_for(shell)?;
    // Its background processes end with it.
    kill_process_group(shell, Signal::KILL).ok();
    Ok(match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => HelperReport::Exited { code },
        (None, signal) => HelperReport::Killed { signal: signal.unwrap_or_default() },
    })
}

/// Starts the thread that ends the shell when the daemon closes its end. The thread waits until it is told which process
/// the shell is.
fn watch_lifeline(control: &Control, grace: Duration) -> Result<mpsc::Sender<Pid>, String> {
    let mut lifeline = control.try_clone().map_err(|error| format!("the control socket is lost: {error}"))?;
    let (shell_started, started_shell) = mpsc::channel();
    thread::Builder::new()
        .name("lifeline".to_owned())
        .spawn(move || {
            let Ok(shell) = started_shell.recv() else { return };
            if lifeline.wait_for_hangup() == HangUp::Requested {
                signal(shell, Signal::TERM);
                thread::sleep(grace);
            }
            signal(shell, Signal::KILL);
        })
        .map_err(|error| format!("the lifeline cannot be watched: {error}"))?;
    Ok(shell_started)
}

fn restrict(spec: &Spec) -> Result<Restrictions, String> {
    if spec.isolation == Isolation::Namespaces {
        // In a namespace the kernel ends all processes with this one. Without a namespace this process must stay to end
        // them.
        linux::die_with_parent().map_err(|error| format!("cannot be tied to its parent: {error}"))?;
        linux::own_proc(&spec.limits)?;
    }
    std::env::set_current_dir(&spec.cwd).map_err(|error| format!("cannot start in the folder: {error}"))?;
    linux::end_first_without_memory();
    set_limits(&spec.limits).map_err(|error| format!("limits cannot be set: {error}"))?;
    if spec.isolation == Isolation::Nothing {
        return Ok(Restrictions::default());
    }
    linux::restrict(spec)
}

/// Limits this process and its descendants.
fn set_limits(limits: &ResourceLimits) -> io::Result<()> {
    set_limit(Resource::Core, 0)?;
    set_limit(Resource::Cpu, limits.cpu_secs)?;
    set_limit(Resource::Fsize, limits.file_bytes)?;
    set_limit(Resource::Nofile, limits.open_files)?;
    // The kernel counts all processes of the user, also unrelated ones, and the threads of this one.
    let counted_already = linux::processes_of_user().saturating_add(OWN_THREADS);
    set_limit(Resource::Nproc, limits.processes.saturating_add(counted_already))
}

/// Sets a limit, or keeps a lower one.
fn set_limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |ceiling| ceiling.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
}

/// Reaps children until the shell ends: in a PID namespace this process is the parent of every orphan.
fn wait_for(shell: Pid) -> Result<WaitStatus, String> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => return Ok(status),
            Ok(_) | Err(io::Errno::INTR) => {}
            Err(error) => return Err(format!("the shell cannot be waited for: {error}")),
        }
    }
}

/// Signals the command's process group, and the shell itself in case it left the group. Errors mean that it has ended.
fn signal(shell: Pid, signal: Signal) {
    kill_process_group(shell, signal).ok();
    kill_process(shell, signal).ok();
}
