//! The threads and the store behind the server, both scripted by the test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::test_server::NOW;
use crate::domain::{IngressEvent, Intent, MessageId, ThreadId};
use crate::ports::{
    Acceptance, BoxFuture, Commit, RunOutcome, StoreError, Subscription, ThreadPage, ThreadQuery,
    ThreadRecord, ThreadRequest, ThreadStore, ThreadSummary, ThreadView,
};
use crate::uimessage::UiMessage;

#[derive(Debug, Default)]
pub(super) struct FakeStore {
    pub(super) threads: Mutex<BTreeMap<ThreadId, Vec<UiMessage>>>,
}

impl FakeStore {
    pub(super) fn put(&self, message: UiMessage) {
        let thread = message.metadata.thread_id.clone();
        self.threads.lock().unwrap().entry(thread).or_default().push(message);
    }

    fn messages(&self, thread: &ThreadId) -> Vec<UiMessage> {
        self.threads.lock().unwrap().get(thread).cloned().unwrap_or_default()
    }
}

impl ThreadStore for FakeStore {
    fn load(&self, _: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let found = self.messages(thread).iter().any(|message| message.id == *id);
        Box::pin(async move { Ok(found) })
    }

    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let mut run = self.messages(thread);
        let named = run.iter().find(|message| message.id == *id);
        let correlation = named.map(|message| message.metadata.correlation_id.clone());
        run.retain(|message| Some(&message.metadata.correlation_id) == correlation.as_ref());
        Box::pin(async move { Ok(run) })
    }

    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let mut page = self.messages(thread);
        if let Some(end) = before.and_then(|id| page.iter().position(|message| message.id == *id)) {
            page.truncate(end);
        }
        let page = page.split_off(page.len().saturating_sub(limit));
        Box::pin(async move { Ok(page) })
    }

    fn commit(&self, _: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Err(StoreError::closed()) })
    }

    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>> {
        let threads = self.threads.lock().unwrap();
        let list = threads.iter().map(|(thread, messages)| ThreadSummary {
            thread_id: thread.clone(),
            state: crate::domain::ThreadState::Idle,
            title: messages.first().map(UiMessage::text).unwrap_or_default(),
            updated_at: NOW,
            message_count: u64::try_from(messages.len()).unwrap(),
            pending_approvals: 0,
        });
        let page = query.page_of(list.collect());
        Box::pin(async move { Ok(page) })
    }

    fn exists(&self, _: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async { Ok(true) })
    }

    fn unfinished(&self) -> Vec<ThreadId> {
        Vec::new()
    }
}

/// The threads' end of the handle, answered by the test.
pub(super) struct Threads(pub(super) mpsc::Receiver<ThreadRequest>);

/// The threads' end of a subscription.
pub(super) struct Front {
    pub(super) thread: ThreadId,
    pub(super) view: watch::Sender<ThreadView>,
    pub(super) messages: broadcast::Sender<Arc<UiMessage>>,
    pub(super) notices: broadcast::Sender<Intent>,
}

impl Front {
    pub(super) fn live(&self, message: &UiMessage) {
        self.view.send_modify(|view| {
            view.state = crate::domain::ThreadState::Running;
            view.live = Some(Arc::new(message.clone()));
        });
    }
}

impl Threads {
    async fn next(&mut self) -> ThreadRequest {
        let next = tokio::time::timeout(Duration::from_secs(5), self.0.recv()).await;
        next.expect("a request within the deadline").expect("an open channel")
    }

    pub(super) fn nobody_came(&mut self) -> bool {
        self.0.try_recv().is_err()
    }

    /// Drops the next request.
    pub(super) async fn says_nothing(&mut self) {
        drop(self.next().await);
    }

    pub(super) async fn takes(&mut self, acceptance: Acceptance) -> IngressEvent {
        match self.next().await {
            ThreadRequest::Deliver { event, reply } => {
                reply.send(acceptance).unwrap();
                *event
            }
            other => panic!("expected a message, got {other:?}"),
        }
    }

    /// Accepts under the event's own id, as a part of the run `run_1`.
    pub(super) async fn accepts(&mut self) -> IngressEvent {
        match self.next().await {
            ThreadRequest::Deliver { event, reply } => {
                let correlation = "run_1".parse().unwrap();
                reply.send(Acceptance::Accepted { message: event.message.clone(), correlation }).unwrap();
                *event
            }
            other => panic!("expected a message, got {other:?}"),
        }
    }

    pub(super) async fn is_watched(&mut self, view: ThreadView) -> Front {
        match self.next().await {
            ThreadRequest::Watch { thread, reply } => {
                let front = Front {
                    thread,
                    view: watch::Sender::new(view),
                    messages: broadcast::Sender::new(4),
                    notices: broadcast::Sender::new(4),
                };
                let place = Subscription {
                    view: front.view.subscribe(),
                    messages: front.messages.subscribe(),
                    notices: front.notices.subscribe(),
                };
                reply.send(place).unwrap();
                front
            }
            other => panic!("expected a watcher, got {other:?}"),
        }
    }

    pub(super) async fn is_awaited(&mut self) -> (MessageId, oneshot::Sender<RunOutcome>) {
        match self.next().await {
            ThreadRequest::Await { message, reply, .. } => (message, reply),
            other => panic!("expected somebody who waits, got {other:?}"),
        }
    }

    pub(super) async fn tells_views(&mut self, views: Vec<(ThreadId, ThreadView)>) {
        match self.next().await {
            ThreadRequest::Views { reply } => reply.send(views).unwrap(),
            other => panic!("expected a look at all threads, got {other:?}"),
        }
    }
}
