//! The health of the adapters: the supervisor's state and the age of the last heartbeat.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::domain::{Platform, Timestamp};

/// The health of one adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Runs, without a heartbeat so far.
    Starting,
    /// The last heartbeat is recent.
    Up,
    /// Runs, but the last heartbeat is too old.
    Degraded { silent: Duration },
    /// Failed, and will be restarted.
    Restarting {
        /// The wait before the restart.
        after: Duration,
        reason: String,
    },
    /// Gave up; needs the operator.
    Failed { reason: String },
}

impl Health {
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Up => "up",
            Self::Degraded { .. } => "degraded",
            Self::Restarting { .. } => "restarting",
            Self::Failed { .. } => "failed",
        }
    }

    /// The reason behind the status, if any.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Starting | Self::Up => None,
            Self::Degraded { silent } => Some(format!("no sign of life for {} s", silent.as_secs())),
            Self::Restarting { after, reason } => {
                Some(format!("{reason}; starts again after {:.1} s", after.as_secs_f64()))
            }
            Self::Failed { reason } => Some(reason.clone()),
        }
    }
}

/// One adapter with its health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthReport {
    pub platform: Platform,
    pub health: Health,
}

/// The supervisor's state of an adapter.
#[derive(Clone, Debug)]
pub(super) enum AdapterPhase {
    Running,
    Restarting { after: Duration, reason: String },
    Failed { reason: String },
}

#[derive(Clone, Debug)]
struct HealthEntry {
    phase: AdapterPhase,
    /// Of this or an earlier run: a restart does not reset it.
    first_sign: bool,
    last_sign: Option<Timestamp>,
    stale_after: Option<Duration>,
}

impl HealthEntry {
    /// Whether it has passed its first check, or never will.
    const fn is_settled(&self) -> bool {
        self.first_sign || matches!(self.phase, AdapterPhase::Failed { .. })
    }

    fn health(&self, now: Timestamp) -> Health {
        match (&self.phase, self.last_sign) {
            (AdapterPhase::Failed { reason }, _) => Health::Failed { reason: reason.clone() },
            (AdapterPhase::Restarting { after, reason }, _) => {
                Health::Restarting { after: *after, reason: reason.clone() }
            }
            (AdapterPhase::Running, None) => Health::Starting,
            (AdapterPhase::Running, Some(sign)) => {
                let silent = Duration::from_millis(now.millis_since(sign));
                match self.stale_after {
                    Some(limit) if silent > limit => Health::Degraded { silent },
                    _ => Health::Up,
                }
            }
        }
    }
}

/// The health of all adapters, written by the supervisor. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AdapterHealths {
    board: Arc<watch::Sender<BTreeMap<Platform, HealthEntry>>>,
}

impl Default for AdapterHealths {
    fn default() -> Self {
        Self { board: Arc::new(watch::Sender::new(BTreeMap::new())) }
    }
}

impl AdapterHealths {
    /// The health of every adapter, ordered by name.
    pub fn reports(&self, now: Timestamp) -> Vec<HealthReport> {
        let board = self.board.borrow();
        board
            .iter()
            .map(|(platform, entry)| HealthReport { platform: platform.clone(), health: entry.health(now) })
            .collect()
    }

    /// Whether every adapter has passed its first check; a later failure does not reset that.
    pub fn ready(&self) -> bool {
        all_signed(&self.board.borrow())
    }

    /// Waits until every adapter has passed its first check or has given up: an adapter that cannot work must not delay
    /// the others.
    pub async fn wait_until_settled(&self) {
        // The sender lives in `self`, so the wait cannot end without a value.
        let _closed = self.board.subscribe().wait_for(all_settled).await.is_err();
    }

    /// The adapters that may still pass their first check, by name.
    pub fn unsettled(&self) -> Vec<Platform> {
        let board = self.board.borrow();
        board.iter().filter(|(_, entry)| !entry.is_settled()).map(|(platform, _)| platform.clone()).collect()
    }

    /// Registers an adapter before it runs, so that readiness waits for it.
    pub(super) fn expect(&self, platform: Platform, stale_after: Option<Duration>) {
        let entry =
            HealthEntry { phase: AdapterPhase::Running, first_sign: false, last_sign: None, stale_after };
        self.board.send_modify(|board| {
            board.insert(platform, entry);
        });
    }

    pub(super) fn set_phase(&self, platform: &Platform, phase: AdapterPhase) {
        self.change(platform, |entry| {
            entry.phase = phase;
            entry.last_sign = None;
        });
    }

    pub(super) fn set_sign(&self, platform: &Platform, sign: Timestamp) {
        self.change(platform, |entry| {
            entry.first_sign = true;
            entry.last_sign = Some(sign);
        });
    }

    fn change(&self, platform: &Platform, change: impl FnOnce(&mut HealthEntry)) {
        self.board.send_modify(|board| {
            if let Some(entry) = board.get_mut(platform) {
                change(entry);
            }
        });
    }
}

fn all_signed(board: &BTreeMap<Platform, HealthEntry>) -> bool {
    // An empty map means that no adapter is registered yet, not that all are ready.
    !board.is_empty() && board.values().all(|entry| entry.first_sign)
}

fn all_settled(board: &BTreeMap<Platform, HealthEntry>) -> bool {
    !board.is_empty() && board.values().all(HealthEntry::is_settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn health_is_the_age_of_the_last_sign() {
        let healths = AdapterHealths::default();
        let web: Platform = "web".parse().unwrap();
        healths.expect(web.clone(), Some(Duration::from_secs(30)));
        let health = |now| healths.reports(at(now)).remove(0).health;

        assert_eq!((health(0), healths.ready()), (Health::Starting, false));
        healths.set_sign(&web, at(1_000));
        assert_eq!((health(31_000), healths.ready()), (Health::Up, true));
        assert_eq!(health(31_001), Health::Degraded { silent: Duration::from_millis(30_001) });

        let (after, reason) = (Duration::from_secs(2), "reset by peer".to_owned());
        healths.set_phase(&web, AdapterPhase::Restarting { after, reason: reason.clone() });
        assert_eq!(health(32_000), Health::Restarting { after, reason });
        assert!(healths.ready(), "an adapter that was up once is past its first check");

        healths.set_phase(&web, AdapterPhase::Running);
        assert_eq!(health(32_000), Health::Starting);
    }

    #[tokio::test]
    async fn only_those_are_waited_for_that_may_still_come() {
        let healths = AdapterHealths::default();
        let names: [Platform; 3] = ["telegram", "feishu", "web"].map(|name| name.parse().unwrap());
        for name in &names {
            healths.expect(name.clone(), None);
        }
        let [telegram, feishu, web] = &names;
        healths.set_sign(web, at(0));
        healths.set_phase(telegram, AdapterPhase::Failed { reason: "bad token".to_owned() });
        let reason = "no route".to_owned();
        healths.set_phase(feishu, AdapterPhase::Restarting { after: Duration::ZERO, reason });
        assert_eq!(healths.unsettled(), std::slice::from_ref(feishu));
        healths.set_sign(feishu, at(0));
        assert_eq!(healths.unsettled(), []);
        healths.wait_until_settled().await;
        assert!(!healths.ready(), "one of them never was");
    }
}
