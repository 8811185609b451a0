//! The idle threads in memory: a cache of histories with one byte budget. Pure; the router owns it.

use std::collections::{BTreeMap, HashMap};

use crate::domain::ThreadId;

/// An idle thread in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IdleThread {
    pub(super) thread: ThreadId,
    /// How many messages its actor had read by then.
    pub(super) read: u64,
    /// About how much memory its history takes.
    pub(super) bytes: usize,
}

/// All idle threads, in the order in which they became idle.
#[derive(Debug, Default)]
pub(super) struct IdleThreads {
    limit: usize,
    total: usize,
    next: u64,
    order: BTreeMap<u64, IdleThread>,
    places: HashMap<ThreadId, u64>,
}

impl IdleThreads {
    /// An empty cache with a budget of `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Adds a thread. Returns the threads to evict, least recently used first.
    pub(super) fn add(&mut self, thread: ThreadId, read: u64, bytes: usize) -> Vec<IdleThread> {
        self.remove(&thread);
        self.places.insert(thread.clone(), self.next);
        self.order.insert(self.next, IdleThread { thread, read, bytes });
        self.next += 1;
        self.total = self.total.saturating_add(bytes);
        let mut leaving = Vec::new();
        while self.total > self.limit
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.places.remove(&oldest.thread);
            self.total = self.total.saturating_sub(oldest.bytes);
            leaving.push(oldest);
        }
        leaving
    }

    /// Removes a thread that works again or leaves memory. Returns the size of its history if it was idle.
    pub(super) fn remove(&mut self, thread: &ThreadId) -> usize {
        let resting = self.places.remove(thread).and_then(|place| self.order.remove(&place));
        let bytes = resting.map_or(0, |resting| resting.bytes);
        self.total = self.total.saturating_sub(bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str) -> ThreadId {
        format!("web:chat:{name}").parse().unwrap()
    }

    fn left(resting: &mut IdleThreads, name: &str, bytes: usize) -> Vec<String> {
        let leaving = resting.add(thread(name), 1, bytes);
        leaving.into_iter().map(|one| one.thread.chat()).collect()
    }

    #[test]
    fn the_least_recently_used_leave_first_and_only_as_many_as_must() {
        let mut resting = IdleThreads::new(100);
        assert!(left(&mut resting, "a", 40).is_empty());
        assert!(left(&mut resting, "b", 40).is_empty());
        assert!(left(&mut resting, "a", 40).is_empty(), "used again: it is counted once, and is the newest");
        assert_eq!(left(&mut resting, "c", 30), ["b"]);
        resting.remove(&thread("a"));
        assert!(left(&mut resting, "d", 70).is_empty());
        assert_eq!(left(&mut resting, "e", 100), ["c", "d"]);
        assert_eq!(left(&mut resting, "f", 101), ["e", "f"], "larger than all there may be");
        assert_eq!((resting.total, resting.order.len(), resting.places.len()), (0, 0, 0));
    }
}
