//! What the service manager (systemd) is told: ready, stopping, still alive. Without one nothing happens.

use std::future::pending;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// The daemon is ready; `status` is one line for whoever asks the manager.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The daemon is ending.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Tells the manager that the daemon lives, twice per interval it gave, as long as `healthy` says so: a
/// daemon that no longer works is then restarted. Never ends; without a watchdog it only waits.
pub async fn watchdog(healthy: impl Fn() -> bool + Send) {
    match sd_notify::watchdog_enabled() {
        Some(limit) => beat(limit, healthy, || tell(&[NotifyState::Watchdog])).await,
        None => pending().await,
    }
}

async fn beat(limit: Duration, healthy: impl Fn() -> bool, ping: impl Fn()) {
    // A limit of nothing would be a beat without a pause.
    let mut ticks = interval((limit / 2).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut was_healthy = true;
    loop {
        ticks.tick().await;
        let is_healthy = healthy();
        if is_healthy {
            ping();
        } else if was_healthy {
            tracing::error!("not healthy: the watchdog is no longer told otherwise");
        }
        was_healthy = is_healthy;
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot reach the service manager");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_watchdog_is_told_at_half_the_interval_while_healthy() {
        let (asked, pinged) = (Cell::new(0), Cell::new(0));
        let healthy = || {
            asked.set(asked.get() + 1);
            asked.get() <= 4
        };
        let beating = beat(Duration::from_secs(10), healthy, || pinged.set(pinged.get() + 1));
        assert!(timeout(Duration::from_secs(32), beating).await.is_err(), "it never ends");
        assert_eq!((asked.get(), pinged.get()), (7, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn the_watchdog_never_ends_by_itself() {
        assert!(timeout(Duration::from_secs(1), watchdog(|| true)).await.is_err());
    }
}
