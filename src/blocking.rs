//! The runtime's pool of blocking threads: bounds how much of it one conversation and one kind of work can hold, and
//! tells whether it still takes work. A file system that hangs keeps its thread; the bounds keep the others free.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::domain::ThreadId;

/// How long the pool may take to start a job that does nothing.
const PROBE: Duration = Duration::from_secs(2);

/// Blocking jobs of one kind. Clones share their bounds.
#[derive(Clone, Debug)]
pub struct BlockingJobs {
    all: Arc<Semaphore>,
    per_thread: usize,
    threads: Arc<Mutex<BTreeMap<ThreadId, Arc<Semaphore>>>>,
}

/// A job that panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the job panicked")]
pub struct Panicked;

impl BlockingJobs {
    /// At most `all` jobs at once, and at most `per_thread` of one conversation.
    pub fn new(all: usize, per_thread: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), per_thread, threads: Arc::default() }
    }

    /// Runs a job on a blocking thread as soon as the bounds allow. A job whose caller is gone goes on and
    /// counts until it ends. Dropping the future before the job starts means that it never does.
    ///
    /// # Errors
    /// When the job panics.
    pub async fn run<T: Send + 'static>(
        &self,
        thread: &ThreadId,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let mut held = HeldSlots { all: None, own: None, jobs: self.clone(), thread: thread.clone() };
        held.own = self.of_thread(thread).acquire_owned().await.ok();
        held.all = Arc::clone(&self.all).acquire_owned().await.ok();
        let done = tokio::task::spawn_blocking(move || {
            let _held = held;
            job()
        });
        done.await.map_err(|_| Panicked)
    }

    fn of_thread(&self, thread: &ThreadId) -> Arc<Semaphore> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let bound = || Arc::new(Semaphore::new(self.per_thread));
        Arc::clone(threads.entry(thread.clone()).or_insert_with(bound))
    }

    /// Removes the entries of conversations without a job.
    fn forget(&self, thread: &ThreadId) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // No job of this conversation runs or waits: the map has the only reference.
        if threads.get(thread).is_some_and(|bound| Arc::strong_count(bound) == 1) {
            threads.remove(thread);
        }
    }
}

/// The capacity that a job holds until it ends.
#[derive(Debug)]
struct HeldSlots {
    all: Option<OwnedSemaphorePermit>,
    own: Option<OwnedSemaphorePermit>,
    jobs: BlockingJobs,
    thread: ThreadId,
}

impl Drop for HeldSlots {
    fn drop(&mut self) {
        drop(self.all.take());
        drop(self.own.take());
        self.jobs.forget(&self.thread);
    }
}

/// Probes whether the pool starts jobs. At most one probe waits at a time.
#[derive(Clone, Debug)]
pub struct PoolProbe {
    asking: Arc<Semaphore>,
}

impl Default for PoolProbe {
    fn default() -> Self {
        Self { asking: Arc::new(Semaphore::new(1)) }
    }
}

impl PoolProbe {
    /// Whether a job is started within two seconds.
    pub async fn answers(&self) -> bool {
        let asked = async {
            let Ok(asking) = Arc::clone(&self.asking).acquire_owned().await else { return false };
            // The permit ends with the job: an exhausted pool gets no further probe before it has run the last one.
            tokio::task::spawn_blocking(move || drop(asking)).await.is_ok()
        };
        timeout(PROBE, asked).await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn thread(name: &str) -> ThreadId {
        format!("web:chat:{name}").parse().unwrap()
    }

    fn runtime(threads: usize) -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(threads)
            .build()
            .unwrap()
    }

    #[test]
    fn an_exhausted_pool_does_not_answer_and_answers_again_once_it_is_free() {
        let runtime = runtime(1);
        let probe = PoolProbe::default();
        runtime.block_on(async {
            assert!(probe.answers().await);
            let (release, released) = mpsc::channel::<()>();
            let stuck = tokio::task::spawn_blocking(move || released.recv().is_ok());
            assert!(!probe.answers().await);
            assert!(!probe.answers().await, "the question that waits is not put again");
            drop(release);
            stuck.await.unwrap();
            assert!(probe.answers().await);
        });
    }

    #[test]
    fn one_conversation_holds_no_more_than_its_share() {
        let runtime = runtime(8);
        let jobs = BlockingJobs::new(4, 2);
        runtime.block_on(async {
            let (release, released) = mpsc::channel::<()>();
            let released = Arc::new(Mutex::new(released));
            let mut stuck = tokio::task::JoinSet::new();
            for _ in 0..6 {
                let (jobs, released) = (jobs.clone(), released.clone());
                let hang = move || released.lock().unwrap().recv().is_ok();
                stuck.spawn(async move { jobs.run(&thread("a"), hang).await });
            }
            // Lets the jobs start.
            tokio::task::yield_now().await;
            let started = || jobs.all.available_permits();
            assert_eq!(started(), 2, "two of six hold a place");
            assert_eq!(jobs.run(&thread("b"), || 7).await, Ok(7), "another conversation is served");
            drop(release);
            while let Some(ended) = stuck.join_next().await {
                assert_eq!(ended.unwrap(), Ok(false));
            }
            assert_eq!(started(), 4);
            assert!(jobs.threads.lock().unwrap().is_empty(), "idle conversations are forgotten");
        });
    }

    #[test]
    fn a_job_that_nobody_waits_for_counts_until_it_ends() {
        let runtime = runtime(8);
        let jobs = BlockingJobs::new(1, 1);
        runtime.block_on(async {
            let (release, released) = mpsc::channel::<()>();
            let short = Duration::from_millis(20);
            let left = timeout(short, jobs.run(&thread("a"), move || released.recv().is_ok())).await;
            assert!(left.is_err());
            assert!(timeout(short, jobs.run(&thread("b"), || ())).await.is_err());
            drop(release);
            assert_eq!(jobs.run(&thread("b"), || ()).await, Ok(()));
        });
    }

    #[test]
    fn a_panic_is_told_and_frees_the_place() {
        let runtime = runtime(2);
        let jobs = BlockingJobs::new(1, 1);
        runtime.block_on(async {
            assert_eq!(jobs.run(&thread("a"), || panic!("on purpose")).await, Err::<(), _>(Panicked));
            assert_eq!(jobs.run(&thread("a"), || 1).await, Ok(1));
        });
    }
}
