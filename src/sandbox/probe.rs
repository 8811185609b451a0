//! Probes the machine's sandbox by trying it: a command that tries to escape, in a temporary project.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::control::{HelperReport, Restrictions, frames};
use super::helper_stage::{FLAG, HelperStage};
use super::spec::{Isolation, ResourceLimits, Spec};
use super::status::{IsolationLevel, SandboxStatus};
use crate::domain::{Class, Network};

/// Exits with 7 if everything that must fail has failed.
const TRIAL: &str = "\
    test -r open || exit 1; \
    if (echo x > new) 2>/dev/null; then exit 2; fi; \
    if (echo x > /tmp/$$) 2>/dev/null; then exit 3; fi; \
    if cat hidden 2>/dev/null; then exit 4; fi; \
    exit 7";

/// Longer than a probe takes on a slow machine.
const PROBE_DEADLINE: Duration = Duration::from_secs(10);

/// The sandbox of this machine. Starts `helper`, our own binary, a few times and waits for it.
pub fn probe(helper: &Path) -> SandboxStatus {
    let mut reasons = Vec::new();
    for isolation in [Isolation::Namespaces, Isolation::Rules] {
        match try_out(helper, isolation) {
            Ok(restrictions) => {
                reasons.extend(restrictions.gaps);
                let level = if reasons.is_empty() { IsolationLevel::Full } else { IsolationLevel::Partial };
                return SandboxStatus { level, isolation, landlock: restrictions.landlock, reasons };
            }
            Err(why) => reasons.push(why),
        }
    }
    SandboxStatus { level: IsolationLevel::Unavailable, isolation: Isolation::Nothing, landlock: 0, reasons }
}

fn try_out(helper: &Path, isolation: Isolation) -> Result<Restrictions, String> {
    let dir = tempfile::tempdir().map_err(|error| format!("no folder to try it in: {error}"))?;
    let root = dir.path().canonicalize().map_err(|error| format!("no folder to try it in: {error}"))?;
    let (project, scratch) = (root.join("project"), root.join("scratch"));
    for folder in [&project, &scratch] {
        fs::create_dir(folder).map_err(|error| format!("no folder to try it in: {error}"))?;
    }
    for file in ["open", "hidden"] {
        File::create(project.join(file)).map_err(|error| format!("no file to try it with: {error}"))?;
    }
    let spec = Spec {
        command: TRIAL.to_owned(),
        isolation,
        class: Class::ReadOnly,
        network: Network::Off,
        cwd: project.clone(),
        hidden: vec![project.join("hidden")],
        project,
        scratch,
        shown: Vec::new(),
        read_only: Vec::new(),
        readable: Vec::new(),
        aliases: Vec::new(),
        sockets: Vec::new(),
        limits: ResourceLimits::default(),
        grace_ms: 0,
    };
    let mut restrictions = None;
    for report in reports(helper, &spec)? {
        match report {
            HelperReport::Entered(entered) => restrictions = Some(entered),
            HelperReport::Exited { code: 7 } => {
                return restrictions.ok_or_else(|| "the helper never entered".to_owned());
            }
            HelperReport::Exited { code } => return Err(format!("a trial command got out ({code})")),
            HelperReport::Killed { signal } => {
                return Err(format!("a trial command was killed by signal {signal}"));
            }
            HelperReport::Failed { why } => return Err(why),
        }
    }
    Err("the helper said nothing".to_owned())
}

fn reports(helper: &Path, spec: &Spec) -> Result<Vec<HelperReport>, String> {
    let told = |error: std::io::Error| format!("the helper cannot be used: {error}");
    let (mut ours, theirs) = UnixStream::pair().map_err(told)?;
    let mut child = Command::new(helper)
        .args([FLAG, HelperStage::Supervise.name()])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(told)?;
    let answered = ours
        .set_read_timeout(Some(PROBE_DEADLINE))
        .and_then(|()| ours.write_all(&frames(spec)?))
        .and_then(|()| BufReader::new(&ours).lines().collect::<Result<Vec<_>, _>>());
    if answered.is_err() {
        drop(child.kill());
    }
    child.wait().map_err(told)?;
    let lines = answered.map_err(told)?;
    lines.iter().map(|line| serde_json::from_str(line).map_err(|error| told(error.into()))).collect()
}
