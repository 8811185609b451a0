//! Keeps the order of what came in one chat, while each message is made ready at its own speed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

/// How many chats are remembered before those with nobody in line are let go.
const MOST: usize = 1024;

/// The lines, one for each chat.
#[derive(Debug, Default)]
pub(super) struct Lines {
    last: Mutex<HashMap<String, oneshot::Receiver<()>>>,
}

/// A place in a line. Whoever stands behind goes on when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    before: Option<oneshot::Receiver<()>>,
    _mine: oneshot::Sender<()>,
}

impl Lines {
    /// Takes the next place in the line of a chat.
    pub(super) fn enter(&self, chat: &str) -> Place {
        let (mine, behind) = oneshot::channel();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= MOST {
            last.retain(|_, place| place.try_recv() == Err(TryRecvError::Empty));
        }
        Place { before: last.insert(chat.to_owned(), behind), _mine: mine }
    }
}

impl Place {
    /// Waits until everybody before is through.
    pub(super) async fn reach(&mut self) {
        if let Some(before) = self.before.take() {
            // It ends when the one before is dropped, however that ended.
            drop(before.await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_came_first_goes_first() {
        let lines = Lines::default();
        let (mut first, mut second, mut other) = (lines.enter("a"), lines.enter("a"), lines.enter("b"));
        other.reach().await;
        first.reach().await;
        {
            let mut waiting = std::pin::pin!(second.reach());
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
            drop(first);
            waiting.await;
        }
        drop(second);
        lines.enter("a").reach().await;
    }

    #[test]
    fn chats_with_nobody_in_line_are_let_go() {
        let lines = Lines::default();
        let kept = lines.enter("kept");
        for number in 0..3 * MOST {
            drop(lines.enter(&number.to_string()));
        }
        let last = lines.last.lock().unwrap();
        assert!(last.len() <= MOST && last.contains_key("kept"));
        drop(kept);
    }
}
