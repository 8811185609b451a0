//! Finds or starts the actor of a thread. Never waits for an actor: a slow thread must not stall the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::actor::{Actor, Woken};
use super::count;
use super::mailbox::{ActorMsg, Envelope, RouterMsg};
use super::resting::{Resting, RestingThreads};
use super::runtime::Runtime;
use crate::domain::ThreadId;
use crate::memory_release::release_free_memory;
use crate::ports::{Acceptance, Request, ThreadView, ThreadsHandle, WeakThreadsHandle};

/// Most requests that may be queued for the router.
const REQUEST_BACKLOG: usize = 1024;
/// Most queries that may be queued for one actor, beside the events. They are cheap, so a mailbox full of events must
/// not keep clients from subscribing.
const QUESTIONS: usize = 1024;
/// How much memory must be freed before it is returned to the system, and how long after the first of it.
const WORTH_RELEASING: usize = 1 << 20;
const RELEASE_AFTER: Duration = Duration::from_secs(5);
/// How often an actor that panicked is restarted before a new message is needed.
const MAX_PANICS: u32 = 3;

/// A thread in memory.
enum Entry {
    /// It is running. `sent` counts the messages sent to it; `room` is the capacity left for events.
    Live { mail: mpsc::Sender<Envelope>, room: Arc<Semaphore>, view: watch::Receiver<ThreadView>, sent: u64 },
    /// It is ending; messages are kept for its successor. Two actors must never work on one thread.
    Retiring { held: Vec<ActorMsg>, bytes: usize },
}

/// Finds or starts the actor of a thread.
pub struct Router {
    runtime: Arc<Runtime>,
    requests: mpsc::Receiver<Request>,
    slots: HashMap<ThreadId, Entry>,
    actors: JoinSet<()>,
    tasks: HashMap<Id, ThreadId>,
    panics: HashMap<ThreadId, u32>,
    resting: RestingThreads,
    /// About how many bytes were freed since memory was last returned to the system, and when it is returned next.
    freed: usize,
    release_at: Option<Instant>,
    note_sender: mpsc::Sender<RouterMsg>,
    notes: mpsc::Receiver<RouterMsg>,
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
        let (note_sender, notes) = mpsc::channel(REQUEST_BACKLOG);
        let threads = ThreadsHandle::new(sender);
        let resting = RestingThreads::new(runtime.limits.history_cache);
        let router = Self {
            runtime,
            requests,
            slots: HashMap::new(),
            actors: JoinSet::new(),
            tasks: HashMap::new(),
            panics: HashMap::new(),
            resting,
            freed: 0,
            release_at: None,
            note_sender,
            notes,
            stop,
            threads: threads.downgrade(),
        };
        (router, threads)
    }

    /// Starts the actors of unfinished threads, then routes until the daemon stops and every actor has ended. Sets
    /// `recovered` once every unfinished thread has an actor.
    pub async fn run(mut self, recovered: watch::Sender<bool>) {
        for thread in self.runtime.store.unfinished() {
            self.wake(&thread, Woken::ByTheDisk);
        }
        recovered.send_replace(true);
        let store = self.runtime.store.clone();
        let mut scan = std::pin::pin!(async move { store.found_unfinished().await });
        let mut scanning = true;
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.actors.join_next_with_id() => self.ended(ended, stopping),
                () = self.stop.cancelled(), if !stopping => stopping = true,
                Some(note) = self.notes.recv() => self.hear(note),
                found = &mut scan, if scanning && !stopping => {
                    scanning = false;
                    for thread in found {
                        self.wake(&thread, Woken::ByTheDisk);
                    }
                }
                () = sleep_until(self.release_at.unwrap_or_else(Instant::now)), if self.release_at.is_some() => {
                    (self.freed, self.release_at) = (0, None);
                    self.actors.spawn_blocking(release_free_memory);
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

    fn route(&mut self, request: Request) {
        match request {
            Request::Deliver { event, reply } => {
                let thread = event.thread.clone();
                let back = self.send(&thread, ActorMsg::Event(event, reply));
                self.turn_away(back);
            }
            Request::Say { thread, saying, reply } => {
                let back = self.send(&thread, ActorMsg::Say(saying, reply));
                self.turn_away(back);
            }
            // If the mailbox is full the request is dropped; the caller may ask again.
            Request::Watch { thread, reply } => drop(self.send(&thread, ActorMsg::Watch(reply))),
            Request::Await { thread, message, reply } => {
                drop(self.send(&thread, ActorMsg::Await(message, reply)))
            }
            Request::Views { reply } => {
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

    /// Answers the sender of a message that found the mailbox full.
    fn turn_away(&self, mail: Option<ActorMsg>) {
        if let Some(ActorMsg::Event(_, reply) | ActorMsg::Say(_, reply)) = mail {
            count::acceptance(&self.runtime.metrics, &Acceptance::Busy);
            drop(reply.send(Acceptance::Busy));
        }
    }

    /// Puts a message into a thread's mailbox; returns it when the mailbox is full.
    fn send(&mut self, thread: &ThreadId, mail: ActorMsg) -> Option<ActorMsg> {
        self.wake(thread, Woken::ByMail);
        self.resting.remove(thread);
        let limit = self.runtime.limits.mailbox.max(1);
        let slot = self.slots.get_mut(thread)?;
        match slot {
            Entry::Retiring { held, .. } if !has_room(held, &mail, limit) => Some(mail),
            Entry::Retiring { held, .. } => {
                held.push(mail);
                None
            }
            Entry::Live { mail: mailbox, room, sent, .. } => {
                let place = if is_event(&mail) { Arc::clone(room).try_acquire_owned().ok() } else { None };
                if place.is_none() && is_event(&mail) {
                    return Some(mail);
                }
                match mailbox.try_send(Envelope { mail, place }) {
                    Ok(()) => {
                        *sent += 1;
                        None
                    }
                    Err(TrySendError::Full(letter)) => Some(letter.mail),
                    // The actor has ended unexpectedly; `ended` will be called and start a successor.
                    Err(TrySendError::Closed(letter)) => {
                        *slot = Entry::Retiring { held: vec![letter.mail], bytes: 0 };
                        None
                    }
                }
            }
        }
    }

    /// Starts the actor of a thread, unless it is running or ending.
    fn wake(&mut self, thread: &ThreadId, woken: Woken) {
        if self.slots.contains_key(thread) {
            return;
        }
        let events = self.runtime.limits.mailbox.max(1);
        let (mail, mailbox) = mpsc::channel(events.saturating_add(QUESTIONS));
        let (actor, view) = Actor::new(thread.clone(), self.runtime.clone(), self.threads.clone(), woken);
        let task = self.actors.spawn(actor.run(mailbox, self.note_sender.clone(), self.stop.clone()));
        self.tasks.insert(task.id(), thread.clone());
        self.slots.insert(
            thread.clone(),
            Entry::Live { mail, room: Arc::new(Semaphore::new(events)), view, sent: 0 },
        );
    }

    fn hear(&mut self, note: RouterMsg) {
        match note {
            RouterMsg::Idle { thread, read } => {
                let bytes = self.resting.remove(&thread);
                self.archive(thread, read, bytes);
            }
            RouterMsg::Resting { thread, read, bytes } => {
                for Resting { thread, read, bytes } in self.resting.add(thread, read, bytes) {
                    self.archive(thread, read, bytes);
                }
            }
        }
    }

    /// Ends an idle actor, unless messages were sent to it after it had read `read` of them.
    fn archive(&mut self, thread: ThreadId, read: u64, bytes: usize) {
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
        self.resting.remove(&thread);
        let mut wake = false;
        if panicked {
            let panics = self.panics.entry(thread.clone()).or_default();
            *panics += 1;
            wake = *panics <= MAX_PANICS;
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
        if wake {
            self.wake(&thread, Woken::ByTheDisk);
        }
        for mail in held {
            let back = self.send(&thread, mail);
            self.turn_away(back);
        }
    }
}

/// Whether one more message can be held. Events and queries are counted separately, as in a mailbox.
fn has_room(held: &[ActorMsg], mail: &ActorMsg, events: usize) -> bool {
    let alike = held.iter().filter(|other| is_event(other) == is_event(mail)).count();
    alike < if is_event(mail) { events } else { QUESTIONS }
}

const fn is_event(mail: &ActorMsg) -> bool {
    matches!(mail, ActorMsg::Event(..) | ActorMsg::Say(..))
}

/// Answers a request while the daemon stops; requests without an answer for that are dropped.
fn refuse(request: Request) {
    if let Request::Deliver { reply, .. } | Request::Say { reply, .. } = request {
        drop(reply.send(Acceptance::Stopping));
    }
}
