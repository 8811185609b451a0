//! The sandbox probe of this machine, run once in the background: the daemon serves before the result is known, and the
//! first command that needs it waits. The log, the summary and the console get the result.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::task::TaskTracker;

use super::launch::own_binary;
use super::probe::probe;
use super::spec::Isolation;
use super::status::{IsolationLevel, SandboxMissing, SandboxMode, SandboxStatus};
use crate::domain::{SandboxLevel, SandboxReport};

/// Runs the probe. Dropping it before that counts as having no sandbox.
#[derive(Debug)]
pub struct ProbeTask {
    helper: PathBuf,
    found: watch::Sender<Option<SandboxStatus>>,
    wanted: Arc<Notify>,
}

/// The result of the probe, now or later. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    status: watch::Receiver<Option<SandboxStatus>>,
    wanted: Arc<Notify>,
}

impl ProbeTask {
    /// Waits until a caller needs the result. Cancel-safe.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Probes, and publishes the result. Blocks for as long as a few short commands take.
    pub fn run(self) {
        self.found.send_replace(Some(probe(&self.helper)));
    }
}

impl ProbeResult {
    /// A probe that has not run yet. `helper` is our own binary.
    pub fn new(helper: PathBuf) -> (ProbeTask, Self) {
        let (found, status) = watch::channel(None);
        let wanted = Arc::new(Notify::new());
        (ProbeTask { helper, found, wanted: wanted.clone() }, Self { status, wanted })
    }

    /// A result that is known already.
    pub fn known(status: SandboxStatus) -> Self {
        Self { status: watch::channel(Some(status)).1, wanted: Arc::default() }
    }

    /// Waits for the result.
    pub async fn get(&self) -> SandboxStatus {
        self.wanted.notify_one();
        let mut status = self.status.clone();
        let found = status.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        found.unwrap_or_else(|| SandboxStatus {
            level: IsolationLevel::Unavailable,
            isolation: Isolation::Nothing,
            landlock: 0,
            reasons: vec!["nobody found out what this machine has".to_owned()],
        })
    }

    /// The isolation for a command. Waits for the result, where it matters.
    ///
    /// # Errors
    /// Where a sandbox is required and there is none.
    pub async fn isolation_for(&self, mode: SandboxMode) -> Result<Isolation, SandboxMissing> {
        match mode {
            SandboxMode::Off => Ok(Isolation::Nothing),
            SandboxMode::Auto | SandboxMode::Require => self.get().await.isolation_for(mode),
        }
    }
}

/// The state of the sandbox; `None` until it is known.
pub type SandboxUpdates = watch::Receiver<Option<SandboxReport>>;

/// How long the probe waits after the start, unless a command needs its result: the first requests have priority.
const AFTER_START: Duration = Duration::from_millis(200);

/// Starts the probe, a moment after the daemon has recovered or when the first command needs it.
pub fn start_probe(
    mode: SandboxMode,
    mut recovered: watch::Receiver<bool>,
    tasks: &TaskTracker,
) -> (ProbeResult, SandboxUpdates) {
    let (task, result) = ProbeResult::new(own_binary());
    let (publisher, updates) = watch::channel(None);
    if mode == SandboxMode::Off {
        publish(&publisher, SandboxStatus::off());
        return (result, updates);
    }
    let found = result.clone();
    tasks.spawn(async move {
        if recovered.wait_for(|recovered| *recovered).await.is_err() {
            // The daemon ended before recovery was done, so no command will run.
            return;
        }
        // On either outcome it is time to probe.
        drop(tokio::time::timeout(AFTER_START, task.wanted()).await);
        // A failed probe counts as having no sandbox.
        drop(tokio::task::spawn_blocking(|| task.run()).await);
        publish(&publisher, found.get().await.report(mode));
    });
    (result, updates)
}

fn publish(publisher: &watch::Sender<Option<SandboxReport>>, report: SandboxReport) {
    let (by, landlock, reasons) = (report.by, report.landlock, report.reasons.join("; "));
    match report.level {
        SandboxLevel::Full => tracing::info!(by, landlock, "commands run in a sandbox"),
        SandboxLevel::Partial => {
            tracing::warn!(by, landlock, reasons, "commands run in a sandbox that has gaps");
        }
        SandboxLevel::Unavailable if report.required => {
            tracing::error!(reasons, "commands do not run: a sandbox is required, and there is none");
        }
        SandboxLevel::Unavailable => tracing::warn!(reasons, "commands run without a sandbox: there is none"),
        SandboxLevel::Off => tracing::warn!("commands run without a sandbox: it is turned off"),
    }
    publisher.send_replace(Some(report));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_waits_until_it_is_known_what_keeps_it_in() {
        let (task, result) = ProbeResult::new("/no/such/helper".into());
        let mut waiting = std::pin::pin!(result.isolation_for(SandboxMode::Require));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        task.wanted().await;
        assert_eq!(
            result.isolation_for(SandboxMode::Off).await,
            Ok(Isolation::Nothing),
            "needs to know nothing"
        );
        tokio::task::spawn_blocking(|| task.run()).await.unwrap();
        assert!(waiting.await.unwrap_err().to_string().contains("the helper cannot be used"));
    }

    #[tokio::test]
    async fn a_search_that_was_given_up_found_nothing() {
        let (task, result) = ProbeResult::new("/no/such/helper".into());
        drop(task);
        assert_eq!(result.get().await.level, IsolationLevel::Unavailable);
        assert!(result.isolation_for(SandboxMode::Require).await.is_err());
    }
}
