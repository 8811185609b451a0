//! The sandbox probe of this machine, run once in the background: the daemon serves before the result is known, and the
//! first command that needs it waits.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::probe::probe;
use super::spec::Isolation;
use super::status::{Level, Mode, Refusal, Status};

/// Runs the probe. Dropping it before that counts as having no sandbox.
#[derive(Debug)]
pub struct Finder {
    helper: PathBuf,
    found: watch::Sender<Option<Status>>,
    wanted: Arc<Notify>,
}

/// The result of the probe, now or later. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Finding {
    status: watch::Receiver<Option<Status>>,
    wanted: Arc<Notify>,
}

impl Finder {
    /// Waits until a caller needs the result. Cancel-safe.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Probes, and publishes the result. Blocks for as long as a few short commands take.
    pub fn find(self) {
        self.found.send_replace(Some(probe(&self.helper)));
    }
}

impl Finding {
    /// A probe that has not run yet. `helper` is our own binary.
    pub fn new(helper: PathBuf) -> (Finder, Self) {
        let (found, status) = watch::channel(None);
        let wanted = Arc::new(Notify::new());
        (Finder { helper, found, wanted: wanted.clone() }, Self { status, wanted })
    }

    /// A result that is known already.
    pub fn known(status: Status) -> Self {
        Self { status: watch::channel(Some(status)).1, wanted: Arc::default() }
    }

    /// Waits for the result.
    pub async fn get(&self) -> Status {
        self.wanted.notify_one();
        let mut status = self.status.clone();
        let found = status.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        found.unwrap_or_else(|| Status {
            level: Level::Unavailable,
            isolation: Isolation::Nothing,
            landlock: 0,
            reasons: vec!["nobody found out what this machine has".to_owned()],
        })
    }

    /// The isolation for a command. Waits for the result, where it matters.
    ///
    /// # Errors
    /// Where a sandbox is required and there is none.
    pub async fn isolation_for(&self, mode: Mode) -> Result<Isolation, Refusal> {
        match mode {
            Mode::Off => Ok(Isolation::Nothing),
            Mode::Auto | Mode::Require => self.get().await.isolation_for(mode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_waits_until_it_is_known_what_keeps_it_in() {
        let (finder, finding) = Finding::new("/no/such/helper".into());
        let mut waiting = std::pin::pin!(finding.isolation_for(Mode::Require));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        finder.wanted().await;
        assert_eq!(finding.isolation_for(Mode::Off).await, Ok(Isolation::Nothing), "needs to know nothing");
        tokio::task::spawn_blocking(|| finder.find()).await.unwrap();
        assert!(waiting.await.unwrap_err().to_string().contains("the helper cannot be used"));
    }

    #[tokio::test]
    async fn a_search_that_was_given_up_found_nothing() {
        let (finder, finding) = Finding::new("/no/such/helper".into());
        drop(finder);
        assert_eq!(finding.get().await.level, Level::Unavailable);
        assert!(finding.isolation_for(Mode::Require).await.is_err());
    }
}
