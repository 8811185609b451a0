//! Keeps the order of messages within a chat, while each is prepared at its own speed.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::pending::PendingMessage;

/// The queues, one per chat. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ChatQueues {
    chats: Arc<Mutex<HashMap<String, ChatQueue>>>,
    last_number: Arc<AtomicU64>,
}

/// One queue: its end, its length, and how many of its entries are slow.
#[derive(Debug, Default)]
struct ChatQueue {
    last: Option<oneshot::Receiver<Released>>,
    waiting: usize,
    slow: usize,
    /// The entries that are neither stored nor released.
    unstored: BTreeSet<u64>,
    /// Tells that an entry was stored or released.
    changed: Arc<Notify>,
}

/// How long an entry takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Nothing has to be awaited.
    Quick,
    /// A download has to finish first.
    Slow,
}

/// A position in a queue. When it is dropped, the next one proceeds, or waits for the entries before this one.
#[derive(Debug)]
pub struct Position {
    chats: Arc<Mutex<HashMap<String, ChatQueue>>>,
    chat: String,
    number: u64,
    speed: Speed,
    before: Option<oneshot::Receiver<Released>>,
    mine: Option<oneshot::Sender<Released>>,
    changed: Arc<Notify>,
    /// The message that `/stop` finds; `None` for other events, and once it is submitted.
    pub(super) pending: Option<PendingMessage>,
}

/// What a dropped position passes to the next one: the entry that it was still waiting for, if it never reached its
/// turn.
#[derive(Debug)]
struct Released(Option<oneshot::Receiver<Released>>);

impl ChatQueues {
    /// Takes the next position in the queue of a chat. Behind a slow entry every entry is slow.
    pub fn enter(&self, chat: &str, speed: Speed) -> Position {
        let (mine, behind) = oneshot::channel();
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = chats.entry(chat.to_owned()).or_default();
        let speed = if queue.slow > 0 { Speed::Slow } else { speed };
        let number = self.last_number.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        queue.waiting += 1;
        queue.slow += usize::from(speed == Speed::Slow);
        queue.unstored.insert(number);
        let (before, changed) = (queue.last.replace(behind), queue.changed.clone());
        let (chats, chat) = (self.chats.clone(), chat.to_owned());
        Position { chats, chat, number, speed, before, mine: Some(mine), changed, pending: None }
    }

    /// Makes later position numbers higher than this one.
    pub fn number_above(&self, number: u64) {
        self.last_number.fetch_max(number, Ordering::Relaxed);
    }
}

impl Position {
    /// Whether it takes long until the position is reached and released.
    pub const fn speed(&self) -> Speed {
        self.speed
    }

    /// Position numbers grow in the order of arrival.
    pub const fn number(&self) -> u64 {
        self.number
    }

    pub fn chat(&self) -> &str {
        &self.chat
    }

    /// From now on every new entry behind it is slow.
    pub fn slow_down(&mut self) {
        if self.speed == Speed::Quick {
            self.speed = Speed::Slow;
            if let Some(queue) = self.queues().get_mut(&self.chat) {
                queue.slow += 1;
            }
        }
    }

    /// Waits until every entry before it is stored or released: a crash must not leave a gap in the order.
    pub async fn may_be_stored(&self) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let first = self.queues().get(&self.chat).and_then(|queue| queue.unstored.first().copied());
            if first.is_none_or(|first| first >= self.number) {
                return;
            }
            changed.await;
        }
    }

    /// The entry is stored: those behind it may be.
    pub fn stored(&self) {
        if let Some(queue) = self.queues().get_mut(&self.chat) {
            queue.unstored.remove(&self.number);
        }
        self.changed.notify_waiters();
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<String, ChatQueue>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all entries before it are released.
    pub async fn reach(&mut self) {
        while let Some(before) = &mut self.before {
            self.before = before.await.ok().and_then(|Released(before)| before);
        }
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        if let Some(mine) = self.mine.take() {
            // There may be no next entry.
            drop(mine.send(Released(self.before.take())));
        }
        self.stored();
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = chats.get_mut(&self.chat) else { return };
        queue.waiting = queue.waiting.saturating_sub(1);
        queue.slow = queue.slow.saturating_sub(usize::from(self.speed == Speed::Slow));
        if queue.waiting == 0 {
            chats.remove(&self.chat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_came_first_goes_first() {
        let queues = ChatQueues::default();
        let enter = |chat| queues.enter(chat, Speed::Quick);
        let (mut first, mut second, mut other) = (enter("a"), enter("a"), enter("b"));
        other.reach().await;
        first.reach().await;
        {
            let mut waiting = std::pin::pin!(second.reach());
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
            drop(first);
            waiting.await;
        }
        drop(second);
        enter("a").reach().await;
    }

    #[tokio::test]
    async fn whoever_gives_up_waiting_still_stands_behind_the_one_before() {
        let queues = ChatQueues::default();
        let (first, mut second) = (queues.enter("a", Speed::Quick), queues.enter("a", Speed::Quick));
        assert!(futures_util::poll!(std::pin::pin!(second.reach())).is_pending());
        assert!(futures_util::poll!(std::pin::pin!(second.reach())).is_pending());
        drop(first);
        second.reach().await;
    }

    #[tokio::test]
    async fn whoever_leaves_early_lets_nobody_overtake_those_before() {
        let queues = ChatQueues::default();
        let [first, second, third, mut last] = std::array::from_fn(|_| queues.enter("a", Speed::Slow));
        drop(third);
        drop(second);
        assert!(
            futures_util::poll!(std::pin::pin!(last.reach())).is_pending(),
            "the first still stands there"
        );
        drop(first);
        last.reach().await;
    }

    #[test]
    fn behind_somebody_slow_everybody_is_until_they_are_through() {
        let queues = ChatQueues::default();
        let speed = |chat, speed| queues.enter(chat, speed);
        let quick = speed("a", Speed::Quick);
        assert_eq!(quick.speed(), Speed::Quick);
        let slow = speed("a", Speed::Slow);
        let behind = speed("a", Speed::Quick);
        assert_eq!((behind.speed(), speed("b", Speed::Quick).speed()), (Speed::Slow, Speed::Quick));
        drop(slow);
        assert_eq!(speed("a", Speed::Quick).speed(), Speed::Slow);
        drop(behind);
        assert_eq!(speed("a", Speed::Quick).speed(), Speed::Quick);
    }

    #[tokio::test]
    async fn an_entry_may_be_stored_when_those_before_it_are_stored_or_released() {
        let queues = ChatQueues::default();
        let [first, second, third] = std::array::from_fn(|_| queues.enter("a", Speed::Slow));
        first.may_be_stored().await;
        let mut waiting = std::pin::pin!(third.may_be_stored());
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        first.stored();
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(second);
        waiting.await;
    }

    #[test]
    fn an_entry_that_became_slow_makes_those_behind_it_slow() {
        let queues = ChatQueues::default();
        let mut first = queues.enter("a", Speed::Quick);
        let waiting = queues.enter("a", Speed::Quick);
        first.slow_down();
        first.slow_down();
        assert_eq!(queues.enter("a", Speed::Quick).speed(), Speed::Slow);
        assert_eq!(waiting.speed(), Speed::Quick, "it had its position before");
        drop(first);
        assert_eq!(queues.enter("a", Speed::Quick).speed(), Speed::Quick);
    }

    #[test]
    fn chats_with_nobody_in_line_are_let_go() {
        let queues = ChatQueues::default();
        let kept = queues.enter("kept", Speed::Slow);
        for number in 0..10 {
            drop(queues.enter(&number.to_string(), Speed::Slow));
        }
        assert_eq!(queues.chats.lock().unwrap().len(), 1);
        drop(kept);
        assert!(queues.chats.lock().unwrap().is_empty());
    }
}
