//! A cache whose entries expire.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Most entries, unless another capacity is given.
const MOST: usize = 1000;

/// Entries with a time to live each.
#[derive(Debug)]
pub struct TtlCache<K, V> {
    capacity: usize,
    known: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K, V> Default for TtlCache<K, V> {
    fn default() -> Self {
        Self::with_capacity(MOST)
    }
}

impl<K, V> TtlCache<K, V> {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity, known: Mutex::default() }
    }
}

impl<K: Eq + Hash, V: Clone> TtlCache<K, V> {
    /// The entry, unless it has expired.
    pub fn get(&self, key: &K) -> Option<V> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|(until, _)| Instant::now() < *until).map(|(_, value)| value.clone())
    }

    /// Stores an entry for this time; false where the cache is full.
    pub fn put(&self, key: K, value: V, lasts: Duration) -> bool {
        let now = Instant::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.capacity {
            known.retain(|_, (until, _)| now < *until);
        }
        let has_room = known.len() < self.capacity;
        if has_room {
            known.insert(key, (now + lasts, value));
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_believed_for_a_while() {
        let fresh = TtlCache::default();
        fresh.put("a", 1, Duration::from_secs(10));
        assert_eq!((fresh.get(&"a"), fresh.get(&"b")), (Some(1), None));
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(fresh.get(&"a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_kept_than_there_is_room_for() {
        let fresh = TtlCache::default();
        for number in 0..MOST + 5 {
            fresh.put(number, (), Duration::from_secs(10));
        }
        assert_eq!(fresh.get(&(MOST + 1)), None);
        tokio::time::advance(Duration::from_secs(11)).await;
        fresh.put(MOST + 1, (), Duration::from_secs(10));
        assert_eq!(fresh.get(&(MOST + 1)), Some(()));
    }
}
