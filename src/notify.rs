//! Notifications to the service manager (systemd): ready, stopping, watchdog. Does nothing without one.

use std::future::pending;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Watchdog pings per interval of the manager. One slow check is then no reason for a restart; several in a row are.
const LOOKS: u32 = 4;

/// Tells the service manager that the daemon is ready; `status` is one line of text.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Updates the status line at the service manager.
pub fn status(status: &str) {
    tell(&[NotifyState::Status(status)]);
}

pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Pings the watchdog several times per interval, as long as `works` returns true in time: a daemon that hangs or
/// reports a failure is restarted by the manager. Never returns; without a watchdog it stays pending.
pub async fn watchdog(works: impl AsyncFn() -> bool) {
    match sd_notify::watchdog_enabled() {
        Some(limit) => beat(limit, works, || tell(&[NotifyState::Watchdog])).await,
        None => pending().await,
    }
}

async fn beat(limit: Duration, works: impl AsyncFn() -> bool, ping: impl Fn()) {
    // An interval of zero would ping without a pause.
    let pause = (limit / LOOKS).max(Duration::from_millis(1));
    let mut ticks = interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut worked = true;
    loop {
        ticks.tick().await;
        let still_works = timeout(pause, works()).await.unwrap_or(false);
        match (worked, still_works) {
            (true, false) => {
                tracing::error!("watchdog ping skipped: self-check failed")
            }
            (false, true) => tracing::info!("self-check recovered"),
            _ => {}
        }
        if still_works {
            ping();
        }
        worked = still_works;
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "service manager unreachable");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_watchdog_is_told_four_times_per_interval_while_the_daemon_works() {
        let (asked, pinged) = (Cell::new(0), Cell::new(0));
        let works = async || {
            asked.set(asked.get() + 1);
            asked.get() <= 4
        };
        let beating = beat(Duration::from_secs(20), works, || pinged.set(pinged.get() + 1));
        assert!(timeout(Duration::from_secs(32), beating).await.is_err(), "it never ends");
        assert_eq!((asked.get(), pinged.get()), (7, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_no_longer_says_whether_it_works_is_asked_again_and_not_vouched_for() {
        let (asked, pinged) = (Cell::new(0), Cell::new(0));
        let works = async || {
            asked.set(asked.get() + 1);
            if (2..=5).contains(&asked.get()) {
                pending::<()>().await;
            }
            true
        };
        let limit = Duration::from_secs(20);
        let beating = beat(limit, works, || pinged.set(pinged.get() + 1));
        let mut beating = std::pin::pin!(beating);
        // The last ping was at the beginning, and the manager's interval is over.
        assert!(timeout(limit + limit / 8, &mut beating).await.is_err());
        assert_eq!((asked.get(), pinged.get()), (5, 1));
        assert!(timeout(limit / 2, beating).await.is_err());
        assert_eq!(pinged.get(), asked.get() - 4, "it answers again");
    }

    #[tokio::test(start_paused = true)]
    async fn the_watchdog_never_ends_by_itself() {
        assert!(timeout(Duration::from_secs(1), watchdog(async || true)).await.is_err());
    }
}
