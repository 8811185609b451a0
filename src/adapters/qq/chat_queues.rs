//! Jobs in order within a chat and in parallel between chats: the messages of one chat are submitted one after the
//! other, and a slow download delays only its own chat.

use std::collections::{HashMap, VecDeque};

use tokio::task::{Id, JoinSet};

use crate::ports::BoxFuture;

/// A job with its label.
struct Job<T> {
    label: T,
    work: BoxFuture<'static, ()>,
}

/// The queues, by order key. Dropping them cancels all jobs.
pub(super) struct ChatQueues<T> {
    running: JoinSet<()>,
    order_keys: HashMap<Id, (String, T)>,
    waiting: HashMap<String, VecDeque<Job<T>>>,
}

impl<T> Default for ChatQueues<T> {
    fn default() -> Self {
        Self { running: JoinSet::new(), order_keys: HashMap::new(), waiting: HashMap::new() }
    }
}

impl<T> std::fmt::Debug for ChatQueues<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatQueues").field("running", &self.running.len()).finish_non_exhaustive()
    }
}

impl<T> ChatQueues<T> {
    /// Appends a job to the queue of an order key.
    pub(super) fn push(&mut self, order_key: String, label: T, work: BoxFuture<'static, ()>) {
        let job = Job { label, work };
        match self.waiting.get_mut(&order_key) {
            Some(queue) => queue.push_back(job),
            None => {
                self.waiting.insert(order_key.clone(), VecDeque::new());
                self.start(order_key, job);
            }
        }
    }

    /// Waits for the next job to finish and returns its label. Pending while there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> T {
        loop {
            let id = match self.running.join_next_with_id().await {
                None => std::future::pending().await,
                Some(Ok((id, ()))) => id,
                Some(Err(error)) => {
                    tracing::error!(%error, "event task failed");
                    error.id()
                }
            };
            let Some((order_key, label)) = self.order_keys.remove(&id) else { continue };
            match self.waiting.get_mut(&order_key).and_then(VecDeque::pop_front) {
                Some(job) => self.start(order_key, job),
                None => {
                    self.waiting.remove(&order_key);
                }
            }
            return label;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order_keys.is_empty()
    }

    fn start(&mut self, order_key: String, job: Job<T>) {
        let id = self.running.spawn(job.work).id();
        self.order_keys.insert(id, (order_key, job.label));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_lane_keeps_its_order_and_holds_up_no_other() {
        let done = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let done = done.clone();
            async move { done.lock().unwrap().push(name) }
        };
        let mut lanes = ChatQueues::default();
        let (open, gate) = oneshot::channel::<()>();
        let first = note("a1");
        lanes.push(
            "a".to_owned(),
            1,
            Box::pin(async move {
                gate.await.unwrap();
                first.await;
            }),
        );
        lanes.push("a".to_owned(), 2, Box::pin(note("a2")));
        lanes.push("b".to_owned(), 3, Box::pin(note("b1")));
        assert_eq!(lanes.next().await, 3);
        open.send(()).unwrap();
        assert_eq!((lanes.next().await, lanes.next().await), (1, 2));
        assert_eq!(*done.lock().unwrap(), ["b1", "a1", "a2"]);
    }

    #[tokio::test]
    async fn work_that_panics_ends_like_any_other() {
        let mut lanes = ChatQueues::default();
        lanes.push("a".to_owned(), 1, Box::pin(async { panic!("on purpose") }));
        lanes.push("a".to_owned(), 2, Box::pin(async {}));
        assert_eq!((lanes.next().await, lanes.next().await), (1, 2));
    }
}
