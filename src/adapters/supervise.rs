//! Runs the adapters: restarts one that failed, and reports one that gave up.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::health::AdapterPhase;
use super::{AdapterHealths, AdapterSet, Backoff};
use crate::domain::Timestamp;
use crate::ports::{Adapter, AdapterError, AdapterIo, Clock, HealthReporter, ThreadsHandle};

/// Runs every adapter of the set until stopped, and returns when all have ended. Their health is written to `healths`,
/// where every adapter is registered before the first one runs. Dropping the future ends them all at once.
pub async fn supervise(
    set: &AdapterSet,
    threads: ThreadsHandle,
    clock: Arc<dyn Clock>,
    healths: AdapterHealths,
    stop: CancellationToken,
) {
    for adapter in set.to_run() {
        healths.expect(adapter.platform(), adapter.stale_after());
    }
    let mut keepers = JoinSet::new();
    for adapter in set.to_run() {
        let keeper = Keeper {
            adapter: Arc::clone(adapter),
            threads: threads.clone(),
            clock: Arc::clone(&clock),
            healths: healths.clone(),
            stop: stop.clone(),
        };
        keepers.spawn(keeper.keep());
    }
    while let Some(ended) = keepers.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "adapter supervisor task failed");
        }
    }
}

/// Runs and restarts one adapter.
struct Keeper {
    adapter: Arc<dyn Adapter>,
    threads: ThreadsHandle,
    clock: Arc<dyn Clock>,
    healths: AdapterHealths,
    stop: CancellationToken,
}

enum End {
    Stopped,
    Broken(String),
    Fatal(String),
}

impl Keeper {
    async fn keep(self) {
        let platform = self.adapter.platform();
        let backoff = Backoff::ADAPTERS;
        let mut breaks = 0;
        loop {
            self.healths.set_phase(&platform, AdapterPhase::Running);
            let began = Instant::now();
            let reason = match self.run_once().await {
                End::Stopped => return,
                End::Fatal(reason) => {
                    tracing::error!(adapter = %platform, reason, "adapter gave up");
                    return self.healths.set_phase(&platform, AdapterPhase::Failed { reason });
                }
                End::Broken(reason) => reason,
            };
            breaks = backoff.breaks_after(breaks, began.elapsed());
            let after = backoff.delay(breaks, dice());
            tracing::warn!(adapter = %platform, reason, breaks, ?after, "adapter failed, restarting");
            self.healths.set_phase(&platform, AdapterPhase::Restarting { after, reason });
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(after) => {}
            }
        }
    }

    async fn run_once(&self) -> End {
        let (health, mut signs) = HealthReporter::new();
        let io = AdapterIo { threads: self.threads.clone(), health, clock: Arc::clone(&self.clock) };
        let run = Arc::clone(&self.adapter).run(io, self.stop.clone());
        // The future is dropped after a panic, and it shares no state that a panic could leave inconsistent.
        let mut run = std::pin::pin!(AssertUnwindSafe(run).catch_unwind());
        loop {
            let sign: Option<Timestamp> = tokio::select! {
                ended = &mut run => return self.judge(ended.unwrap_or_else(|panic| Err(panicked(&*panic)))),
                Ok(()) = signs.changed() => *signs.borrow_and_update(),
            };
            if let Some(sign) = sign {
                self.healths.set_sign(&self.adapter.platform(), sign);
            }
        }
    }

    fn judge(&self, ended: Result<(), AdapterError>) -> End {
        match ended {
            _ if self.stop.is_cancelled() => End::Stopped,
            Ok(()) => End::Broken("ended without being told to".to_owned()),
            Err(AdapterError::Broken(reason)) => End::Broken(reason),
            Err(AdapterError::Fatal(reason)) => End::Fatal(reason),
        }
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> AdapterError {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    AdapterError::Broken(format!("panicked: {words}"))
}

/// A random number from 0 to 1.
fn dice() -> f64 {
    let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The top 16 bits of a random UUID are all random.
    f64::from(u16::try_from(random >> 48).unwrap_or_default()) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;
    use std::time::Duration;

    use tokio::sync::mpsc;

    use super::*;
    use crate::adapters::Health;
    use crate::domain::{Capabilities, Platform};
    use crate::ports::{Delivering, OutboxEntry, Receipt, Running};

    #[derive(Clone, Copy, Debug)]
    enum Act {
        Live,
        Break,
        BreakAfter(Duration),
        Panic,
        Refuse,
        EndEarly,
    }

    /// Performs one scripted act per run, and records when each run began.
    #[derive(Debug)]
    struct Scripted {
        acts: Mutex<VecDeque<Act>>,
        began: Mutex<Vec<Instant>>,
    }

    impl Adapter for Scripted {
        fn platform(&self) -> Platform {
            "fake".parse().unwrap()
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities::pull()
        }

        fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
            self.began.lock().unwrap().push(Instant::now());
            let act = self.acts.lock().unwrap().pop_front().unwrap_or(Act::Live);
            Box::pin(async move {
                match act {
                    Act::Live => {
                        io.health.alive(io.clock.now());
                        stop.cancelled().await;
                        Ok(())
                    }
                    Act::Break => Err(AdapterError::Broken("reset".to_owned())),
                    Act::BreakAfter(ran) => {
                        io.health.alive(io.clock.now());
                        tokio::time::sleep(ran).await;
                        Err(AdapterError::Broken("reset".to_owned()))
                    }
                    Act::Panic => panic!("a bug"),
                    Act::Refuse => Err(AdapterError::Fatal("bad token".to_owned())),
                    Act::EndEarly => Ok(()),
                }
            })
        }

        fn deliver(&self, _: OutboxEntry, _: crate::ports::Attempt) -> Delivering<'_> {
            Box::pin(async { Ok(Receipt::default()) })
        }
    }

    #[derive(Debug)]
    struct Epoch;

    impl Clock for Epoch {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }
    }

    struct Fixture {
        fake: Arc<Scripted>,
        healths: AdapterHealths,
        stop: CancellationToken,
        running: JoinSet<()>,
    }

    fn stage(acts: impl IntoIterator<Item = Act>) -> Fixture {
        let fake = Arc::new(Scripted {
            acts: Mutex::new(acts.into_iter().collect()),
            began: Mutex::new(Vec::new()),
        });
        let set = AdapterSet::default().with_adapter(Arc::clone(&fake) as Arc<dyn Adapter>);
        let (healths, stop) = (AdapterHealths::default(), CancellationToken::new());
        let mut running = JoinSet::new();
        let (threads, board, token) = (ThreadsHandle::new(mpsc::channel(1).0), healths.clone(), stop.clone());
        running.spawn(async move { supervise(&set, threads, Arc::new(Epoch), board, token).await });
        Fixture { fake, healths, stop, running }
    }

    impl Fixture {
        fn health(&self) -> Health {
            self.healths.reports(Timestamp::from_millis(0)).remove(0).health
        }

        fn gaps(&self) -> Vec<Duration> {
            let began = self.fake.began.lock().unwrap();
            began.windows(2).map(|pair| pair[1] - pair[0]).collect()
        }

        async fn until(&self, wanted: impl Fn(&Health) -> bool) -> Health {
            // Time is paused: each iteration lets all other tasks run first.
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let reports = self.healths.reports(Timestamp::from_millis(0));
                if let Some(report) = reports.first().filter(|report| wanted(&report.health)) {
                    return report.health.clone();
                }
            }
        }

        async fn quit(mut self) {
            self.stop.cancel();
            self.running.join_next().await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_breaks_is_started_again_with_growing_waits() {
        let stage = stage([Act::Break, Act::Panic, Act::EndEarly, Act::Live]);
        stage.until(|health| matches!(health, Health::Up)).await;
        let gaps = stage.gaps();
        assert_eq!(gaps.len(), 3, "three breaks, four runs");
        for (gap, longest) in gaps.iter().zip([1_u32, 2, 4]) {
            let longest = Duration::from_secs(1) * longest;
            assert!(*gap >= longest / 2 && *gap <= longest + Duration::from_millis(2), "{gaps:?}");
        }
        stage.quit().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_break_is_told_with_its_reason() {
        let stage = stage([Act::Panic]);
        let health = stage.until(|health| matches!(health, Health::Restarting { .. })).await;
        let Health::Restarting { reason, .. } = health else { panic!("{health:?}") };
        assert_eq!(reason, "panicked: a bug");
        stage.quit().await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_work_is_reported_and_left_alone() {
        let mut stage = stage([Act::Refuse]);
        stage.running.join_next().await.unwrap().unwrap();
        assert_eq!(stage.health(), Health::Failed { reason: "bad token".to_owned() });
        assert_eq!(stage.fake.began.lock().unwrap().len(), 1);
        assert!(!stage.healths.ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_good_run_starts_the_waits_over() {
        let long = Duration::from_secs(600);
        let stage = stage([Act::Break, Act::Break, Act::Break, Act::BreakAfter(long), Act::Live]);
        stage.healths.wait_until_settled().await;
        stage.until(|_| stage.gaps().len() == 4).await;
        let last = stage.gaps().pop().unwrap();
        assert!(last <= long + Duration::from_secs(1) + Duration::from_millis(2), "{last:?}");
        stage.quit().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_the_wait_before_a_restart() {
        let stage = stage([Act::Break, Act::Break, Act::Break, Act::Break, Act::Break, Act::Break]);
        stage.until(|health| matches!(health, Health::Restarting { .. })).await;
        stage.quit().await;
    }
}
