//! Probes of the machine: files, port, lock, kernel, clock. They leave no change behind.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use secrecy::{ExposeSecret, SecretString};

use super::fact::Fact;
use crate::domain::Timestamp;
use crate::sandbox::{MemoryLimits, SandboxMode, SandboxStatus, control_of};
use crate::store::{Layout, Lock, probe_writable};

/// Shorter tokens can be guessed.
const STRONG_TOKEN: usize = 16;

/// Whether the state directory is writable; before the first start, the project directory.
pub(super) fn writable(state: &Path) -> Fact {
    let dir = if state.is_dir() { state } else { state.parent().unwrap_or(state) };
    match probe_writable(dir) {
        Ok(()) => Fact::Writable(dir.to_owned()),
        Err(error) => Fact::NotWritable { path: dir.to_owned(), why: error.to_string() },
    }
}

/// Whether other users can read the state; `None` before the first start.
pub(super) fn private(state: &Path) -> Option<Fact> {
    let mode = state.metadata().ok()?.permissions().mode() & 0o777;
    Some(if mode & 0o077 == 0 { Fact::Private } else { Fact::OpenToOthers { path: state.to_owned(), mode } })
}

/// Files of the project that git tracks though they hold state or secrets; nothing where there is no repository.
pub(super) fn tracked(project: &Path) -> Option<Fact> {
    // Programs that the repository's configuration names are not run.
    let listed = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-C"])
        .arg(project)
        .args(["ls-files", "-z", "--", ".ship", ".env", ".env.*", ":(exclude).env.example"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|listed| listed.status.success())?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names = names.split('\0').filter(|name| !name.is_empty());
    let mut names: Vec<String> = names
        .map(|name| if name.starts_with(".ship/") { ".ship/".into() } else { name.to_owned() })
        .collect();
    names.dedup();
    (!names.is_empty()).then_some(Fact::Tracked(names))
}

/// The free disk space; `None` where the system does not tell.
pub(super) fn disk(project: &Path) -> Option<Fact> {
    let stat = rustix::fs::statvfs(project).ok()?;
    Some(Fact::DiskFree { mebibytes: stat.f_bavail.saturating_mul(stat.f_frsize) / (1024 * 1024) })
}

/// Whether another daemon holds the lock.
pub(super) fn lock(state: &Path) -> Fact {
    match Lock::look(&Layout::new(state)) {
        Ok(None) => Fact::LockFree,
        Ok(Some(holder)) => Fact::LockHeld { pid: holder.pid },
        Err(error) => Fact::LockUnclear(error.to_string()),
    }
}

/// Whether the port can be bound. `lock` tells whether the project's daemon holds it.
pub(super) fn port(listen: SocketAddr, chosen: bool, lock: &Fact) -> Fact {
    match TcpListener::bind(listen) {
        Ok(_) => Fact::PortFree(listen),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if matches!(lock, Fact::LockHeld { .. }) {
                Fact::PortOurs(listen)
            } else {
                Fact::PortTaken { listen, chosen }
            }
        }
        Err(error) => Fact::PortRefused { listen, why: error.to_string() },
    }
}

/// How strong the token is.
pub(super) fn token(token: Option<&SecretString>, listen: SocketAddr) -> Fact {
    let Some(token) = token else { return Fact::TokenMade };
    let characters = token.expose_secret().chars().count();
    if characters >= STRONG_TOKEN {
        Fact::TokenStrong
    } else {
        Fact::TokenWeak { characters, exposed: !listen.ip().is_loopback() }
    }
}

/// The sandbox that the settings ask for, and the sockets that commands can reach.
pub(super) fn sandbox(
    mode: SandboxMode,
    sockets: Vec<PathBuf>,
    try_out: &dyn Fn() -> SandboxStatus,
) -> Vec<Fact> {
    let report = match mode {
        SandboxMode::Off => SandboxStatus::off(),
        SandboxMode::Auto | SandboxMode::Require => try_out().report(mode),
    };
    let sockets = (!sockets.is_empty()).then(|| Fact::Sockets { listed: sockets, sandbox: report.clone() });
    [Fact::Sandbox(report)].into_iter().chain(sockets).collect()
}

/// The memory limit of commands, of the running daemon or of one started in this environment.
pub(super) fn memory(command_mb: Option<u64>, lock: &Fact) -> Fact {
    let daemon = if let Fact::LockHeld { pid } = lock { *pid } else { None };
    Fact::CommandMemory { limits: MemoryLimits::of_daemon(command_mb, daemon), control: control_of(daemon) }
}

/// Whether the clock is plausible: certificates and expiries depend on it.
pub(super) fn clock(now: Timestamp, zone: Option<String>) -> Fact {
    let text = now.rfc3339();
    let year = text.split('-').next().and_then(|year| year.parse::<u32>().ok()).unwrap_or(0);
    if (2025..2100).contains(&year) {
        Fact::Clock { now: text, zone }
    } else {
        Fact::ClockWrong { now: text }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;

    use super::super::fact::Severity;
    use super::*;
    use crate::sandbox::{Isolation, IsolationLevel};

    #[test]
    fn state_and_secrets_that_git_tracks_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(dir.path()).args(args).stdout(Stdio::null()).stderr(Stdio::null());
            assert!(command.status().unwrap().success(), "{args:?}");
        };
        assert!(tracked(dir.path()).is_none());
        git(&["init"]);
        fs::create_dir(dir.path().join(".ship")).unwrap();
        for name in [".env", ".env.local", ".env.example", "a.txt", ".ship/a", ".ship/b"] {
            File::create(dir.path().join(name)).unwrap();
        }
        assert!(tracked(dir.path()).is_none());
        git(&["add", "-f", "."]);
        let Some(Fact::Tracked(names)) = tracked(dir.path()) else { panic!("nothing is tracked") };
        assert_eq!(names, [".env", ".env.local", ".ship/"]);
    }

    #[test]
    fn a_directory_that_cannot_take_files_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(".ship");
        assert!(matches!(writable(&state), Fact::Writable(path) if path == dir.path()));
        fs::create_dir(&state).unwrap();
        assert!(matches!(writable(&state), Fact::Writable(path) if path == state));
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "the probe is gone");
        let nowhere = dir.path().join("none").join(".ship");
        assert!(matches!(writable(&nowhere), Fact::NotWritable { .. }));
    }

    #[test]
    fn state_that_others_can_read_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(".ship");
        assert!(private(&state).is_none());
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(private(&state), Some(Fact::OpenToOthers { mode: 0o755, .. })));
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(matches!(private(&state), Some(Fact::Private)));
    }

    #[test]
    fn the_lock_tells_whether_a_daemon_lives() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(lock(dir.path()), Fact::LockFree));
        fs::create_dir(dir.path().join("run")).unwrap();
        let mut held = File::create_new(dir.path().join("run").join("lock")).unwrap();
        held.write_all(b"4711\n").unwrap();
        assert!(matches!(lock(dir.path()), Fact::LockFree), "a file alone is no lock");
        held.lock().unwrap();
        assert!(matches!(lock(dir.path()), Fact::LockHeld { pid: Some(4711) }));
        drop(held);
        assert!(matches!(lock(dir.path()), Fact::LockFree));
    }

    #[test]
    fn a_port_is_free_ours_or_taken() {
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = held.local_addr().unwrap();
        assert!(matches!(port(address, true, &Fact::LockFree), Fact::PortTaken { .. }));
        assert!(matches!(port(address, true, &Fact::LockHeld { pid: None }), Fact::PortOurs(_)));
        assert!(matches!(port("127.0.0.1:0".parse().unwrap(), true, &Fact::LockFree), Fact::PortFree(_)));
        assert!(matches!(
            port("192.0.2.1:80".parse().unwrap(), true, &Fact::LockFree),
            Fact::PortRefused { .. }
        ));
    }

    #[test]
    fn a_missing_sandbox_is_worse_where_it_is_required() {
        let status =
            |level| SandboxStatus { level, isolation: Isolation::Rules, landlock: 4, reasons: Vec::new() };
        for (mode, level, expected) in [
            (SandboxMode::Auto, IsolationLevel::Full, Severity::Ok),
            (SandboxMode::Auto, IsolationLevel::Partial, Severity::Warning),
            (SandboxMode::Auto, IsolationLevel::Unavailable, Severity::Warning),
            (SandboxMode::Require, IsolationLevel::Unavailable, Severity::Error),
            (SandboxMode::Off, IsolationLevel::Full, Severity::Warning),
        ] {
            let facts = sandbox(mode, Vec::new(), &|| status(level));
            let [fact] = facts.as_slice() else { panic!("{facts:?}") };
            assert_eq!(fact.severity(), expected, "{mode:?} {level:?}");
        }
    }

    #[test]
    fn a_short_token_is_worse_where_others_can_try_it() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (home, open) = (at("127.0.0.1:1"), at("0.0.0.0:1"));
        assert!(matches!(token(None, open), Fact::TokenMade));
        assert!(matches!(token(Some(&"0123456789abcdef".into()), open), Fact::TokenStrong));
        let short: SecretString = "secret".into();
        assert!(matches!(token(Some(&short), home), Fact::TokenWeak { characters: 6, exposed: false }));
        assert!(matches!(token(Some(&short), open), Fact::TokenWeak { exposed: true, .. }));
    }

    #[test]
    fn a_clock_that_was_never_set_is_told() {
        assert!(matches!(clock(Timestamp::from_millis(0), None), Fact::ClockWrong { .. }));
        assert!(matches!(clock(Timestamp::from_millis(1_790_000_000_000), None), Fact::Clock { .. }));
        assert!(matches!(clock(Timestamp::from_millis(9_790_000_000_000), None), Fact::ClockWrong { .. }));
    }
}
