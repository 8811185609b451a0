//! Finds or starts the actor of a thread. Never waits for an actor: a slow thread must not stall the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::actor::{Actor, StartReason};
use super::count;
use super::idle_threads::{IdleThread, IdleThreads};
use super::runtime::Runtime;
use crate::domain::{ThreadId, ThreadState};
use crate::memory_release::release_unused_memory;
use crate::ports::{Acceptance, ThreadRequest, ThreadView, ThreadWork, ThreadsHandle, WeakThreadsHandle};

/// Most requests that may be queued for the router.
const REQUEST_BACKLOG: usize = 1024;
/// How much memory must be freed before it is returned to the system, and how long after the first of it.
const WORTH_RELEASING: usize = 1 << 20;
const RELEASE_AFTER: Duration = Duration::from_secs(5);
/// How long after a start what only the start needed is returned to the system.
const STARTED_AFTER: Duration = Duration::from_secs(1);
/// How often an actor that panicked is restarted before a new message is needed.
const MAX_PANICS: u32 = 3;

/// A thread in memory.
enum Entry {
    /// It is running. `sent` counts the messages sent to it.
    Live { mailbox: MailboxSender, view: watch::Receiver<ThreadView>, sent: u64 },
    /// It is ending; messages are kept for its successor. Two actors must never work on one thread.
    Retiring { held: Vec<ThreadRequest>, bytes: usize },
}

/// Finds or starts the actor of a thread.
pub struct Router {
    runtime: Arc<Runtime>,
    requests: mpsc::Receiver<ThreadRequest>,
    slots: HashMap<ThreadId, Entry>,
    actors: JoinSet<()>,
    tasks: HashMap<Id, ThreadId>,
    panics: HashMap<ThreadId, u32>,
    /// Work on threads whose actors are ending.
    alone: HashMap<ThreadId, ThreadWork>,
    idle: IdleThreads,
    /// About how many bytes were freed since memory was last returned to the system, and when it is returned next.
    freed: usize,
    release_at: Option<Instant>,
    router_sender: mpsc::Sender<RouterMsg>,
    router_messages: mpsc::Receiver<RouterMsg>,
    stop: CancellationToken,
    threads: WeakThreadsHandle,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("threads", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Router {
    /// A router and the handle that sends it requests.
    pub fn new(runtime: Arc<Runtime>, stop: CancellationToken) -> (Self, ThreadsHandle) {
        let (sender, requests) = mpsc::channel(REQUEST_BACKLOG);
        let (router_sender, router_messages) = mpsc::channel(REQUEST_BACKLOG);
        let threads = ThreadsHandle::new(sender);
        let idle = IdleThreads::new(runtime.limits.history_cache);
        let router = Self {
            runtime,
            requests,
            slots: HashMap::new(),
            actors: JoinSet::new(),
            tasks: HashMap::new(),
            panics: HashMap::new(),
            alone: HashMap::new(),
            idle,
            freed: 0,
            release_at: None,
            router_sender,
            router_messages,
            stop,
            threads: threads.downgrade(),
        };
        (router, threads)
    }

    /// Starts the actors of unfinished threads, then routes until the daemon stops and every actor has ended. Sets
    /// `recovered` once every unfinished thread has an actor.
    pub async fn run(mut self, recovered: watch::Sender<bool>) {
        for thread in self.runtime.store.unfinished() {
            self.start_actor(&thread, StartReason::UnfinishedWork);
        }
        recovered.send_replace(true);
        self.release_at = Some(Instant::now() + STARTED_AFTER);
        let store = self.runtime.store.clone();
        let mut scan = std::pin::pin!(async move { store.found_unfinished().await });
        let mut scanning = true;
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.actors.join_next_with_id() => self.ended(ended, stopping),
                () = self.stop.cancelled(), if !stopping => stopping = true,
                Some(message) = self.router_messages.recv() => self.handle(message),
                found = &mut scan, if scanning && !stopping => {
                    scanning = false;
                    for thread in found {
                        self.start_actor(&thread, StartReason::UnfinishedWork);
                    }
                }
                () = sleep_until(self.release_at.unwrap_or_else(Instant::now)), if self.release_at.is_some() => {
                    (self.freed, self.release_at) = (0, None);
                    self.actors.spawn_blocking(release_unused_memory);
                }
                request = self.requests.recv() => match request {
                    Some(request) if stopping => refuse(request),
                    Some(request) => self.route(request),
                    None => stopping = true,
                },
            }
            if stopping && self.actors.is_empty() {
                break;
            }
        }
    }

    fn route(&mut self, request: ThreadRequest) {
        match request {
            event @ (ThreadRequest::Deliver { .. } | ThreadRequest::Say { .. }) => {
                let back = self.send(event);
                self.refuse_busy(back);
            }
            // If the mailbox is full the request is dropped; the caller may ask again.
            query @ (ThreadRequest::Watch { .. } | ThreadRequest::Await { .. }) => drop(self.send(query)),
            ThreadRequest::Alone { thread, work } => self.run_alone(thread, work),
            ThreadRequest::Views { reply } => {
                let mut views: Vec<(ThreadId, ThreadView)> = Vec::new();
                #[expect(clippy::iter_over_hash_type, reason = "sorted below")]
                for (thread, slot) in &self.slots {
                    if let Entry::Live { view, .. } = slot {
                        views.push((thread.clone(), view.borrow().clone()));
                    }
                }
                views.sort_by(|a, b| a.0.cmp(&b.0));
                drop(reply.send(views));
            }
        }
    }

    /// Does something with a thread that is at rest: its actor ends first. Work that is dropped tells its caller that the
    /// thread is at work.
    fn run_alone(&mut self, thread: ThreadId, work: ThreadWork) {
        let events = self.runtime.limits.mailbox.max(1);
        match self.slots.get(&thread) {
            None => self.start_alone(thread, work, Vec::new()),
            Some(Entry::Live { mailbox, view, .. }) => {
                let rests = {
                    let view = view.borrow();
                    view.state == ThreadState::Idle && view.queued == 0 && mailbox.free() == events
                };
                if rests {
                    // Dropping the sender closes the mailbox, and the actor ends.
                    self.slots.insert(thread.clone(), Entry::Retiring { held: Vec::new(), bytes: 0 });
                    self.alone.insert(thread, work);
                }
            }
            Some(Entry::Retiring { .. }) => drop(self.alone.insert(thread, work)),
        }
    }

    /// Starts the work in the place of an actor; messages are held for its successor.
    fn start_alone(&mut self, thread: ThreadId, work: ThreadWork, held: Vec<ThreadRequest>) {
        let task = self.actors.spawn(work.0);
        self.tasks.insert(task.id(), thread.clone());
        self.slots.insert(thread, Entry::Retiring { held, bytes: 0 });
    }

    /// Answers the sender of a message that found the mailbox full.
    fn refuse_busy(&self, message: Option<ThreadRequest>) {
        if let Some(ThreadRequest::Deliver { reply, .. } | ThreadRequest::Say { reply, .. }) = message {
            count::acceptance(&self.runtime.metrics, &Acceptance::Busy);
            drop(reply.send(Acceptance::Busy));
        }
    }

    /// Puts a request into its thread's mailbox; returns it when the mailbox is full.
    fn send(&mut self, request: ThreadRequest) -> Option<ThreadRequest> {
        let thread = request.thread()?.clone();
        self.start_actor(&thread, StartReason::Message);
        self.idle.remove(&thread);
        let limit = self.runtime.limits.mailbox.max(1);
        let slot = self.slots.get_mut(&thread)?;
        match slot {
            Entry::Retiring { held, .. } if !has_room(held, &request, limit) => Some(request),
            Entry::Retiring { held, .. } => {
                held.push(request);
                None
            }
            Entry::Live { mailbox, sent, .. } => match mailbox.try_send(request) {
                Ok(()) => {
                    *sent += 1;
                    None
                }
                Err(TrySendError::Full(request)) => Some(request),
                // The actor has ended unexpectedly; `ended` will be called and start a successor.
                Err(TrySendError::Closed(request)) => {
                    *slot = Entry::Retiring { held: vec![request], bytes: 0 };
                    None
                }
            },
        }
    }

    /// Starts the actor of a thread, unless it is running or ending.
    fn start_actor(&mut self, thread: &ThreadId, reason: StartReason) {
        if self.slots.contains_key(thread) {
            return;
        }
        let events = self.runtime.limits.mailbox.max(1);
        let (mailbox, receiver) = mailbox(events);
        let (actor, view) = Actor::new(thread.clone(), self.runtime.clone(), self.threads.clone(), reason);
        let task = self.actors.spawn(actor.run(receiver, self.router_sender.clone(), self.stop.clone()));
        self.tasks.insert(task.id(), thread.clone());
        self.slots.insert(thread.clone(), Entry::Live { mailbox, view, sent: 0 });
    }

    fn handle(&mut self, message: RouterMsg) {
        match message {
            RouterMsg::IdleTimeout { thread, read } => {
                let bytes = self.idle.remove(&thread);
                self.end_idle(thread, read, bytes);
            }
            RouterMsg::BecameIdle { thread, read, bytes } => {
                for IdleThread { thread, read, bytes } in self.idle.add(thread, read, bytes) {
                    self.end_idle(thread, read, bytes);
                }
            }
        }
    }

    /// Ends an idle actor, unless messages were sent to it after it had read `read` of them.
    fn end_idle(&mut self, thread: ThreadId, read: u64, bytes: usize) {
        // With a message in the mailbox the actor has work again and stays.
        if matches!(self.slots.get(&thread), Some(Entry::Live { sent, .. }) if *sent == read) {
            // Dropping the sender closes the mailbox, and the actor ends.
            self.slots.insert(thread, Entry::Retiring { held: Vec::new(), bytes });
        }
    }

    /// Schedules returning memory to the system, once enough of it was freed.
    fn note_freed(&mut self, bytes: usize) {
        self.freed = self.freed.saturating_add(bytes);
        if self.freed >= WORTH_RELEASING && self.release_at.is_none() {
            self.release_at = Some(Instant::now() + RELEASE_AFTER);
        }
    }

    fn ended(&mut self, ended: Result<(Id, ()), JoinError>, stopping: bool) {
        let (id, panicked) = match &ended {
            Ok((id, ())) => (*id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let Some(thread) = self.tasks.remove(&id) else { return };
        let slot = self.slots.remove(&thread);
        self.idle.remove(&thread);
        let mut restart = false;
        if panicked {
            let panics = self.panics.entry(thread.clone()).or_default();
            *panics += 1;
            restart = *panics <= MAX_PANICS;
            tracing::error!(%thread, panics, "actor panicked; restarting it from the store");
        } else if ended.is_ok() {
            // The actor ended normally, so the cause of earlier panics is gone.
            self.panics.remove(&thread);
        }
        if stopping {
            return;
        }
        let held = match slot {
            Some(Entry::Retiring { held, bytes }) => {
                self.note_freed(bytes);
                held
            }
            Some(Entry::Live { .. }) | None => Vec::new(),
        };
        if let Some(work) = self.alone.remove(&thread) {
            self.start_alone(thread, work, held);
            return;
        }
        if restart {
            self.start_actor(&thread, StartReason::UnfinishedWork);
        }
        for message in held {
            let back = self.send(message);
            self.refuse_busy(back);
        }
    }
}

/// Whether one more request can be held. Events and queries are counted separately, as in a mailbox.
fn has_room(held: &[ThreadRequest], request: &ThreadRequest, events: usize) -> bool {
    let alike = held.iter().filter(|other| other.is_event() == request.is_event()).count();
    alike < if request.is_event() { events } else { QUERIES }
}

/// Answers a request while the daemon stops; requests without an answer for that are dropped.
fn refuse(request: ThreadRequest) {
    if let ThreadRequest::Deliver { reply, .. } | ThreadRequest::Say { reply, .. } = request {
        drop(reply.send(Acceptance::Stopping));
    }
}

/// Most queries in a mailbox that are not read yet. Queries have space of their own, so that a full mailbox does not keep
/// clients from subscribing.
pub(super) const QUERIES: usize = 1024;

/// A mailbox for this many events.
pub(super) fn mailbox(events: usize) -> (MailboxSender, Mailbox) {
    let (sender, requests) = mpsc::channel(events.saturating_add(QUERIES));
    let room = Arc::new(Semaphore::new(events));
    (MailboxSender { requests: sender, room: Arc::clone(&room) }, Mailbox { requests, room })
}

#[derive(Debug)]
pub(super) struct MailboxSender {
    requests: mpsc::Sender<ThreadRequest>,
    /// The capacity left for events.
    room: Arc<Semaphore>,
}

impl MailboxSender {
    /// Puts a request into the mailbox. An event that finds no capacity is given back as from a full queue.
    pub(super) fn try_send(&self, request: ThreadRequest) -> Result<(), TrySendError<ThreadRequest>> {
        if !request.is_event() {
            return self.requests.try_send(request);
        }
        let Ok(permit) = self.room.try_acquire() else { return Err(TrySendError::Full(request)) };
        self.requests.try_send(request)?;
        // The reader frees it.
        permit.forget();
        Ok(())
    }

    /// How many events it has room for.
    pub(super) fn free(&self) -> usize {
        self.room.available_permits()
    }
}

#[derive(Debug)]
pub(super) struct Mailbox {
    requests: mpsc::Receiver<ThreadRequest>,
    room: Arc<Semaphore>,
}

impl Mailbox {
    /// The next request; `None` once the router has closed the mailbox. Frees its capacity. Cancel-safe.
    pub(super) async fn recv(&mut self) -> Option<ThreadRequest> {
        let request = self.requests.recv().await?;
        if request.is_event() {
            self.room.add_permits(1);
        }
        Some(request)
    }
}

#[derive(Debug)]
pub(super) enum RouterMsg {
    /// This actor has no work and only keeps its history in memory.
    BecameIdle {
        thread: ThreadId,
        /// How many messages it has read.
        read: u64,
        /// About how much memory its history takes.
        bytes: usize,
    },
    /// This actor has had no work for the idle time and may end, unless messages have been sent to it since: `read` is
    /// how many it had read by then.
    IdleTimeout { thread: ThreadId, read: u64 },
}
