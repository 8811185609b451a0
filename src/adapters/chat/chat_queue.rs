//! Keeps the order of messages within a chat, while each is prepared at its own speed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// The queues, one per chat. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ChatQueues {
    chats: Arc<Mutex<HashMap<String, ChatQueue>>>,
    last_number: Arc<AtomicU64>,
}

/// One queue: its end, its length, and how many of its entries are slow.
#[derive(Debug, Default)]
struct ChatQueue {
    last: Option<oneshot::Receiver<Gone>>,
    waiting: usize,
    slow: usize,
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
    before: Option<oneshot::Receiver<Gone>>,
    mine: Option<oneshot::Sender<Gone>>,
}

/// What a dropped position passes to the next one: the entry that it was still waiting for, if it never reached its
/// turn.
#[derive(Debug)]
struct Gone(Option<oneshot::Receiver<Gone>>);

impl ChatQueues {
    /// Takes the next position in the queue of a chat. Behind a slow entry every entry is slow.
    pub fn enter(&self, chat: &str, speed: Speed) -> Position {
        let (mine, behind) = oneshot::channel();
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        let line = chats.entry(chat.to_owned()).or_default();
        let speed = if line.slow > 0 { Speed::Slow } else { speed };
        line.waiting += 1;
        line.slow += usize::from(speed == Speed::Slow);
        let before = line.last.replace(behind);
        let number = self.last_number.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        Position { chats: self.chats.clone(), chat: chat.to_owned(), number, speed, before, mine: Some(mine) }
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

    /// Waits until all entries before it are released.
    pub async fn reach(&mut self) {
        while let Some(before) = &mut self.before {
            self.before = before.await.ok().and_then(|Gone(before)| before);
        }
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        if let Some(mine) = self.mine.take() {
            // There may be no next entry.
            drop(mine.send(Gone(self.before.take())));
        }
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(line) = chats.get_mut(&self.chat) else { return };
        line.waiting = line.waiting.saturating_sub(1);
        line.slow = line.slow.saturating_sub(usize::from(self.speed == Speed::Slow));
        if line.waiting == 0 {
            chats.remove(&self.chat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_came_first_goes_first() {
        let lines = ChatQueues::default();
        let enter = |chat| lines.enter(chat, Speed::Quick);
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
        let lines = ChatQueues::default();
        let (first, mut second) = (lines.enter("a", Speed::Quick), lines.enter("a", Speed::Quick));
        assert!(futures_util::poll!(std::pin::pin!(second.reach())).is_pending());
        assert!(futures_util::poll!(std::pin::pin!(second.reach())).is_pending());
        drop(first);
        second.reach().await;
    }

    #[tokio::test]
    async fn whoever_leaves_early_lets_nobody_overtake_those_before() {
        let lines = ChatQueues::default();
        let [first, second, third, mut last] = std::array::from_fn(|_| lines.enter("a", Speed::Slow));
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
        let lines = ChatQueues::default();
        let speed = |chat, speed| lines.enter(chat, speed);
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

    #[test]
    fn chats_with_nobody_in_line_are_let_go() {
        let lines = ChatQueues::default();
        let kept = lines.enter("kept", Speed::Slow);
        for number in 0..10 {
            drop(lines.enter(&number.to_string(), Speed::Slow));
        }
        assert_eq!(lines.chats.lock().unwrap().len(), 1);
        drop(kept);
        assert!(lines.chats.lock().unwrap().is_empty());
    }
}
