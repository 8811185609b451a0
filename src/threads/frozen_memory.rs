//! A cache of core memory per conversation: memory is read once and stays the same while the conversation continues, so
//! that a write in between does not invalidate the provider's prompt cache. The write itself is in the conversation, as
//! a tool result.
//!
//! Lives outside the actors, which leave memory after a minute of rest. Empty after a restart of the daemon.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::domain::{MessageId, ScopeKey, ThreadId, Timestamp};

/// Most bytes of all cached texts together; the least recently used is evicted first.
const MOST_BYTES: usize = 4 << 20;

/// What a cached text is valid for. Where any of it changes, memory is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FreezeKey {
    /// The scopes whose memory is included.
    pub(super) scopes: Vec<ScopeKey>,
    /// The newest change that took text out of the scope, by any author: forgotten text leaves the prompt at once.
    pub(super) removal: u64,
    /// The message at which the visible conversation begins, where it is not the thread's first.
    pub(super) start: Option<MessageId>,
}

/// The memory texts of the system prompt, by scope.
pub(super) type CoreMemory = Vec<(ScopeKey, String)>;

fn size(memory: &CoreMemory) -> usize {
    memory.iter().map(|(_, text)| text.len()).sum()
}

#[derive(Debug)]
struct Entry {
    key: FreezeKey,
    memory: CoreMemory,
    used: Timestamp,
}

/// The cached memory of all recent conversations.
#[derive(Debug)]
pub struct FrozenMemory {
    refresh: Duration,
    entries: Mutex<BTreeMap<ThreadId, Entry>>,
}

impl FrozenMemory {
    /// An empty cache. A text that was not used for `refresh` is no longer valid.
    pub fn new(refresh: Duration) -> Self {
        Self { refresh, entries: Mutex::default() }
    }

    /// The cached text, if it is still valid for this conversation.
    pub(super) fn get(&self, thread: &ThreadId, key: &FreezeKey, now: Timestamp) -> Option<CoreMemory> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get_mut(thread).filter(|entry| entry.key == *key && self.holds(entry, now))?;
        entry.used = now;
        Some(entry.memory.clone())
    }

    /// What the conversation was shown last, valid or not.
    pub(super) fn current(&self, thread: &ThreadId) -> CoreMemory {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(thread).map(|entry| entry.memory.clone()).unwrap_or_default()
    }

    /// Caches a text that was read just now.
    pub(super) fn put(&self, thread: &ThreadId, key: FreezeKey, memory: CoreMemory, now: Timestamp) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| self.holds(entry, now));
        entries.insert(thread.clone(), Entry { key, memory, used: now });
        while entries.values().map(|entry| size(&entry.memory)).sum::<usize>() > MOST_BYTES {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.used).map(|(thread, _)| thread.clone());
            let Some(oldest) = oldest else { break };
            entries.remove(&oldest);
        }
    }

    fn holds(&self, entry: &Entry, now: Timestamp) -> bool {
        Duration::from_millis(now.millis_since(entry.used)) < self.refresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn thread(number: usize) -> ThreadId {
        format!("web:chat:{number}").parse().unwrap()
    }

    fn key(start: Option<&str>) -> FreezeKey {
        FreezeKey { scopes: vec![ScopeKey::Project], removal: 0, start: start.map(|id| id.parse().unwrap()) }
    }

    fn memory(text: &str) -> CoreMemory {
        vec![(ScopeKey::Project, text.to_owned())]
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_text_holds_until_the_conversation_is_silent_for_too_long_or_begins_anew() {
        let frozen = FrozenMemory::new(Duration::from_secs(3600));
        frozen.put(&thread(1), key(None), memory("tea"), at(0));
        for now in [HOUR - 1, 2 * HOUR - 2, 3 * HOUR - 3] {
            assert_eq!(frozen.get(&thread(1), &key(None), at(now)), Some(memory("tea")));
        }
        assert_eq!(frozen.get(&thread(1), &key(Some("m9")), at(3 * HOUR)), None);
        assert_eq!(frozen.get(&thread(2), &key(None), at(3 * HOUR)), None);
        assert_eq!(frozen.get(&thread(1), &key(None), at(5 * HOUR)), None);
        let never = FrozenMemory::new(Duration::ZERO);
        never.put(&thread(1), key(None), memory("tea"), at(0));
        assert_eq!(never.get(&thread(1), &key(None), at(0)), None);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_longest_unused_goes_first() {
        let frozen = FrozenMemory::new(Duration::from_secs(3600));
        let text = "x".repeat(MOST_BYTES / 4);
        for number in 0..6 {
            let now = at(i64::try_from(number).unwrap());
            frozen.put(&thread(number), key(None), memory(&text), now);
        }
        let kept = (0..6).filter(|number| frozen.get(&thread(*number), &key(None), at(9)).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), [2, 3, 4, 5]);
    }
}
