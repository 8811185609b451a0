//! Samples the memory of all running commands a few times a second, on a thread that lives while there are any.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::limits::{Exceeded, MemoryLimits, exceeding};
use super::process_memory::{Precision, measure};

/// The interval while commands use less than half of their limits, and while one uses more.
const CALM: Duration = Duration::from_millis(200);
const CLOSE: Duration = Duration::from_millis(40);

/// The shortest pause, as a multiple of a sample's duration.
const REST: u32 = 10;

#[derive(Debug)]
pub(super) struct Sampler {
    limits: MemoryLimits,
    state: Mutex<SamplerState>,
}

#[derive(Debug, Default)]
struct SamplerState {
    next: u64,
    watched: BTreeMap<u64, WatchedCommand>,
    /// Whether the thread runs.
    looking: bool,
}

#[derive(Debug)]
struct WatchedCommand {
    pid: u32,
    exceeded: watch::Sender<Option<Exceeded>>,
}

/// A command that is sampled until this is dropped.
#[derive(Debug)]
pub(super) struct Sampled {
    id: u64,
    sampler: Arc<Sampler>,
    exceeded: watch::Receiver<Option<Exceeded>>,
}

impl Sampler {
    pub(super) fn new(limits: MemoryLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Starts sampling a process and its descendants.
    pub(super) fn watch(self: &Arc<Self>, pid: u32) -> std::io::Result<Sampled> {
        let (tell, exceeded) = watch::channel(None);
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.watched.insert(id, WatchedCommand { pid, exceeded: tell });
        // Created before the thread starts, so that a failure removes it again.
        let sampled = Sampled { id, sampler: self.clone(), exceeded };
        let begins = !state.looking;
        state.looking = true;
        drop(state);
        if begins {
            let sampler = self.clone();
            let started =
                thread::Builder::new().name("command-memory".to_owned()).spawn(move || sampler.run());
            if let Err(error) = started {
                self.lock().looking = false;
                return Err(error);
            }
        }
        Ok(sampled)
    }

    fn lock(&self) -> MutexGuard<'_, SamplerState> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut pause = CLOSE;
        loop {
            thread::sleep(pause);
            let mut state = self.lock();
            if state.watched.is_empty() {
                state.looking = false;
                return;
            }
            let watched: Vec<(u64, u32)> = state.watched.iter().map(|(id, one)| (*id, one.pid)).collect();
            drop(state);
            pause = self.look(&watched);
        }
    }

    /// Takes one sample, and returns the time until the next.
    fn look(&self, watched: &[(u64, u32)]) -> Duration {
        let started = Instant::now();
        let used = |precision| -> Vec<(u64, u64)> {
            let pids: Vec<u32> = watched.iter().map(|(_, pid)| *pid).collect();
            watched.iter().map(|(id, _)| *id).zip(measure(&pids, precision)).collect()
        };
        let rough = used(Precision::Rough);
        if !exceeding(&rough, &self.limits).is_empty() {
            for (id, exceeded) in exceeding(&used(Precision::Exact), &self.limits) {
                if let Some(watched) = self.lock().watched.get(&id) {
                    watched.exceeded.send_replace(Some(exceeded));
                }
            }
        }
        pause_after(&rough, &self.limits, started.elapsed())
    }
}

fn pause_after(used: &[(u64, u64)], limits: &MemoryLimits, took: Duration) -> Duration {
    let halved = MemoryLimits { command: limits.command / 2, together: limits.together / 2 };
    let pause = if exceeding(used, &halved).is_empty() { CALM } else { CLOSE };
    pause.max(took * REST)
}

impl Sampled {
    /// Waits until the command has exceeded a limit. Cancel-safe.
    pub(super) async fn exceeded(&mut self) -> Exceeded {
        let told = self.exceeded.wait_for(Option::is_some).await.ok().and_then(|told| *told);
        match told {
            Some(exceeded) => exceeded,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Sampled {
    fn drop(&mut self) {
        self.sampler.lock().watched.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::memory::limits::ExceededLimit;

    #[test]
    fn commands_close_to_a_limit_are_looked_at_more_often_but_never_all_the_time() {
        let limits = MemoryLimits { command: 100, together: 250 };
        for (used, took, expected) in [
            (&[(1, 10)][..], 0, CALM),
            (&[(1, 51)], 0, CLOSE),
            (&[(1, 45), (2, 45), (3, 45)], 0, CLOSE),
            (&[(1, 51)], 30, Duration::from_millis(300)),
        ] {
            assert_eq!(pause_after(used, &limits, Duration::from_millis(took)), expected, "{used:?}");
        }
    }

    #[tokio::test]
    async fn a_process_that_uses_too_much_is_told_of_and_the_thread_ends_with_the_last() {
        let sampler = Sampler::new(MemoryLimits { command: 1 << 10, together: 1 << 40 });
        let mut small = sampler.watch(u32::MAX).unwrap();
        let mut large = sampler.watch(std::process::id()).unwrap();
        let exceeded = large.exceeded().await;
        assert_eq!(exceeded, Exceeded { scope: ExceededLimit::Command, limit: 1 << 10 });
        assert!(futures_util::poll!(std::pin::pin!(small.exceeded())).is_pending());
        drop((small, large));
        while sampler.lock().looking {
            tokio::task::yield_now().await;
        }
        assert!(sampler.lock().watched.is_empty());
    }
}
