//! Publishes an actor's view, messages and notices to the subscribers of its thread.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};

use crate::domain::{Intent, ThreadId};
use crate::ports::{Change, Changes, Subscription, ThreadView};
use crate::uimessage::UiMessage;

/// Most messages that a slow subscriber may lag behind before it has to read the thread again.
const BACKLOG: usize = 64;
/// Most ephemeral notices that a subscriber may lag behind before it misses some.
const FLEETING: usize = 16;

/// The publishing side of one thread.
#[derive(Debug)]
pub(super) struct Publisher {
    view: watch::Sender<ThreadView>,
    /// The replay buffer for subscribers; exists only while there are some.
    rows: Option<Subscribers>,
    thread: ThreadId,
    /// Where clients that show all threads hear of this one.
    changes: Changes,
}

/// The channels of the subscribers.
#[derive(Debug)]
struct Subscribers {
    messages: broadcast::Sender<Arc<UiMessage>>,
    notices: broadcast::Sender<Intent>,
}

impl Publisher {
    /// Without subscribers; the router watches by the returned receiver.
    pub(super) fn new(thread: ThreadId, changes: Changes) -> (Self, watch::Receiver<ThreadView>) {
        let (view, routers) = watch::channel(ThreadView::default());
        (Self { view, rows: None, thread, changes }, routers)
    }

    /// Whether there are subscribers besides the router.
    pub(super) fn is_watched(&self) -> bool {
        self.view.receiver_count() > 1
    }

    pub(super) fn subscribe(&mut self) -> Subscription {
        let rows = self.rows.get_or_insert_with(|| Subscribers {
            messages: broadcast::Sender::new(BACKLOG),
            notices: broadcast::Sender::new(FLEETING),
        });
        Subscription {
            view: self.view.subscribe(),
            messages: rows.messages.subscribe(),
            notices: rows.notices.subscribe(),
        }
    }

    pub(super) fn show(&self, view: ThreadView) {
        let before = self.view.send_replace(view);
        let now = self.view.borrow();
        if (before.state, before.pending_approvals) != (now.state, now.pending_approvals) {
            drop(now);
            self.announce();
        }
    }

    /// Tells clients that list the threads.
    pub(super) fn announce(&self) {
        let (state, pending_approvals) = {
            let view = self.view.borrow();
            (view.state, view.pending_approvals)
        };
        self.changes.announce(Change::Thread { thread: self.thread.clone(), state, pending_approvals });
    }

    pub(super) fn tell(&mut self, messages: Vec<UiMessage>) {
        if !messages.is_empty() {
            self.announce();
        }
        let Some(rows) = &self.rows else { return };
        if rows.messages.receiver_count() == 0 && rows.notices.receiver_count() == 0 {
            self.rows = None;
            return;
        }
        for message in messages {
            // The last subscriber may leave at any time.
            drop(rows.messages.send(message.into()));
        }
    }

    pub(super) fn mention(&self, intent: Intent) {
        if let Some(rows) = &self.rows {
            // Without subscribers the send fails, which is fine.
            drop(rows.notices.send(intent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Intent {
        Intent::Progress { text: text.into(), call_id: None }
    }

    #[tokio::test]
    async fn room_for_what_is_missed_is_there_only_while_somebody_watches() {
        let (mut publisher, _router) = Publisher::new("web:chat:1".parse().unwrap(), Changes::default());
        publisher.mention(said("to nobody"));
        publisher.tell(Vec::new());
        assert!(!publisher.is_watched() && publisher.rows.is_none());

        let (mut one, other) = (publisher.subscribe(), publisher.subscribe());
        publisher.tell(Vec::new());
        publisher.mention(said("to both"));
        drop(other);
        publisher.tell(Vec::new());
        publisher.mention(said("to one"));
        for expected in [said("to both"), said("to one")] {
            assert_eq!(one.notices.recv().await, Ok(expected));
        }
        assert!(publisher.is_watched());

        drop(one);
        publisher.tell(Vec::new());
        assert!(!publisher.is_watched() && publisher.rows.is_none());
    }
}
