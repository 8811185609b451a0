//! Finds out what keeps commands in, beside everything else, and tells it: to the log, the summary, the console.

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::config::{Sandbox, Settings};
use crate::domain::{SandboxLevel, SandboxReport};
use crate::sandbox::{Finding, Mode, Status, own_binary};

/// What is told about the sandbox; nothing until it is known.
pub type SandboxNews = watch::Receiver<Option<SandboxReport>>;

/// What the operator wants of the sandbox.
pub fn sandbox_mode(settings: &Settings) -> Mode {
    match settings.permissions.exec_shell.sandbox {
        Sandbox::Auto => Mode::Auto,
        Sandbox::Require => Mode::Require,
        Sandbox::Off => Mode::Off,
    }
}

/// Begins to find out, as soon as the threads are taken up: until then the machine has better things to do.
pub(super) fn find_out(
    mode: Mode,
    mut recovered: watch::Receiver<bool>,
    tasks: &TaskTracker,
) -> (Finding, SandboxNews) {
    let (finder, finding) = Finding::new(own_binary());
    let (telling, news) = watch::channel(None);
    if mode == Mode::Off {
        tell(&telling, Status::off());
        return (finding, news);
    }
    let found = finding.clone();
    tasks.spawn(async move {
        // Whether or not there is a router that says so: commands wait for the answer.
        let _recovered = recovered.wait_for(|recovered| *recovered).await.is_ok();
        // A search that broke down has found nothing, which the finding knows.
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
