//! Probes the sandbox in the background, and publishes the result: to the log, the summary, the console.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::finding::Finding;
use super::launch::own_binary;
use super::status::{Mode, Status};
use crate::domain::{SandboxLevel, SandboxReport};

/// The state of the sandbox; `None` until it is known.
pub type SandboxUpdates = watch::Receiver<Option<SandboxReport>>;

/// How long the probe waits after the start, unless a command needs its result: the first requests have priority.
const AFTER_START: Duration = Duration::from_millis(200);

/// Starts the probe, a moment after the daemon has recovered or when the first command needs it.
pub fn find_out(
    mode: Mode,
    mut recovered: watch::Receiver<bool>,
    tasks: &TaskTracker,
) -> (Finding, SandboxUpdates) {
    let (finder, finding) = Finding::new(own_binary());
    let (telling, news) = watch::channel(None);
    if mode == Mode::Off {
        tell(&telling, Status::off());
        return (finding, news);
    }
    let found = finding.clone();
    tasks.spawn(async move {
        if recovered.wait_for(|recovered| *recovered).await.is_err() {
            // The daemon ended before recovery was done, so no command will run.
            return;
        }
        // On either outcome it is time to probe.
        drop(tokio::time::timeout(AFTER_START, finder.wanted()).await);
        // A failed probe counts as having no sandbox.
        drop(tokio::task::spawn_blocking(|| finder.find()).await);
        tell(&telling, found.get().await.report(mode));
    });
    (finding, news)
}

fn tell(telling: &watch::Sender<Option<SandboxReport>>, report: SandboxReport) {
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
    telling.send_replace(Some(report));
}
