//! The store's counters, for the metrics and the benchmark.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Totals since the store was opened. Atomics, so that reading them blocks nothing.
#[derive(Debug, Default)]
pub struct Stats {
    commits: AtomicU64,
    failures: AtomicU64,
    batches: AtomicU64,
    syncs: AtomicU64,
    sync_micros: AtomicU64,
}

impl Stats {
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Groups of commits that were written together.
    pub fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    /// Syncs that a commit waited for.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Their total time, in microseconds.
    pub fn sync_micros_total(&self) -> u64 {
        self.sync_micros.load(Ordering::Relaxed)
    }

    pub(super) fn count_batch(&self, commits: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.commits.fetch_add(u64::try_from(commits).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_sync(&self, took: Duration) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.sync_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
