//! The queue of updates from polling or webhook: each is parsed, queued by its order key, handled, and reported when it
//! is accepted.
//!
//! An update that cannot be accepted because of a failing thread is stored on disk and retried: then it may be
//! confirmed all the same, and no other update waits. An update beyond a thread's share of the disk is refused with a
//! notice, so that it never blocks the updates of others. An update that cannot be stored stays unconfirmed, and is
//! retried in the same way.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::albums::{Job, OrderKey, OrderedQueues, merge};
use super::pending_updates::{Given, Keeping, PendingUpdates, number_of};
use super::update::{InboundEvent, InboundMessage, Reader, What};
use super::update_handler::{Done, Followup, Outcome, UpdateHandler, Work};
use super::wire::Update;
use crate::adapters::Backoff;
use crate::adapters::chat::{Addressed, AddressingPolicy};
use crate::domain::Command;

/// Most follow-ups in progress; further ones are dropped.
const MOST_ASIDES: usize = 256;
/// The key space of the adapter's store for updates that are not accepted yet.
pub(super) const SPOOL: &str = "spool";
/// The back-off between retries of an update.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(20),
    stable_after: Duration::ZERO,
};
/// An update that takes longer than this is stored on disk when it blocks others.
const SLOW: Duration = Duration::from_secs(1);
/// Interval between two refusal notices in a thread.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The update queue. One task owns it.
#[derive(Debug)]
pub(super) struct UpdateQueue {
    reader: Reader,
    attention: AddressingPolicy,
    handler: Arc<UpdateHandler>,
    unsettled: PendingUpdates,
    queues: OrderedQueues<InboundEvent>,
    jobs: JoinSet<Ended>,
    /// The updates that could not be accepted. Their order keys are busy until they are.
    stuck: BTreeMap<OrderKey, Stuck>,
    saves: JoinSet<Vec<(i64, String, bool)>>,
    asides: JoinSet<()>,
    settled: VecDeque<i64>,
    /// When each thread last got a refusal notice.
    told: BTreeMap<OrderKey, Instant>,
}

/// A finished job.
type Ended = (OrderKey, Vec<i64>, Work, Done);

/// A job that failed.
#[derive(Debug)]
struct Stuck {
    keys: Vec<i64>,
    work: Work,
    /// How many attempts.
    times: u32,
    /// The time of the next attempt; `None` while one runs.
    again: Option<Instant>,
}

impl UpdateQueue {
    pub(super) fn new(reader: Reader, attention: AddressingPolicy, handler: Arc<UpdateHandler>) -> Self {
        Self {
            reader,
            attention,
            handler,
            unsettled: PendingUpdates::default(),
            queues: OrderedQueues::default(),
            jobs: JoinSet::new(),
            stuck: BTreeMap::new(),
            saves: JoinSet::new(),
            asides: JoinSet::new(),
            settled: VecDeque::new(),
            told: BTreeMap::new(),
        }
    }

    /// Loads the updates stored on disk.
    pub(super) fn take_up(&mut self, mut kept: Vec<Value>) {
        kept.sort_by_key(number_of);
        if !kept.is_empty() {
            tracing::info!(count = kept.len(), "retrying stored updates");
        }
        for update in kept {
            let key = self.unsettled.take_up(update, Instant::now());
            self.sort(key);
        }
    }

    /// Adds an update; `number` is reported when it may be confirmed.
    pub(super) fn take(&mut self, number: i64, update: Value) {
        match self.unsettled.take(number, update, Instant::now()) {
            Given::New(key) => self.sort(key),
            Given::Waits => {}
            Given::Safe => self.settled.push_back(number),
        }
    }

    /// Whether no more updates may be added.
    pub(super) fn is_full(&self) -> bool {
        self.unsettled.is_full()
    }

    /// Stores slow updates on disk, because others wait for their confirmation; their handling continues. False when
    /// the disk space is used up.
    pub(super) fn make_room(&mut self) -> bool {
        for order_key in self.unsettled.slow_lanes(SLOW, Instant::now()) {
            self.save(&order_key);
        }
        self.unsettled.has_room()
    }

    fn sort(&mut self, key: i64) {
        let now = self.handler.parts.clock.now();
        let Some(update) = self.unsettled.update(key) else { return };
        let id = number_of(update).unwrap_or(key);
        // An update that cannot be parsed now never can: it must not block the rest.
        let incoming = match Update::deserialize(update) {
            Ok(update) => self.reader.read(id, update, now).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let incoming = incoming.unwrap_or_else(|error| {
            tracing::warn!(update = id, error, "update not readable, ignored");
            InboundEvent::Nothing("not understood")
        });
        let album =
            if let InboundEvent::InboundMessage(inbound) = &incoming { inbound.album.clone() } else { None };
        let order_key = match &incoming {
            InboundEvent::Nothing(why) => {
                tracing::debug!(update = id, why, "update ignored");
                return self.finish(key);
            }
            InboundEvent::Expelled(chat) => {
                tracing::warn!(chat, "bot removed or blocked");
                return self.finish(key);
            }
            InboundEvent::Moved { from, to } => {
                // In memory at once, so that the next update finds its thread; stored before the update is confirmed.
                self.reader.aliases.learn(*from, *to);
                OrderKey::Alone(key)
            }
            InboundEvent::Pressed(_) | InboundEvent::Invited(_) => OrderKey::Alone(key),
            InboundEvent::InboundMessage(inbound) => order_key_of(inbound),
        };
        self.unsettled.assign(key, order_key.clone());
        self.queues.put(order_key.clone(), key, incoming, album, Instant::now());
        if self.stuck.contains_key(&order_key) {
            self.save(&order_key);
        }
    }

    /// The next update that may be confirmed. Pending while there is none; cancel-safe.
    pub(super) async fn next(&mut self) -> i64 {
        loop {
            if let Some(settled) = self.settled.pop_front() {
                return settled;
            }
            let now = Instant::now();
            for (order_key, job) in self.queues.begin(now) {
                self.begin(order_key, job);
            }
            self.begin_again(now);
            let again = self.stuck.values().filter_map(|stuck| stuck.again).min();
            let due = [self.queues.next_due(), again].into_iter().flatten().min();
            let time = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(ended) = self.jobs.join_next() => match ended {
                    Ok(ended) => self.end(ended),
                    Err(error) => tracing::error!(%error, "update job lost"),
                },
                Some(saved) = self.saves.join_next() => self.saved(saved.unwrap_or_default()),
                Some(_) = self.asides.join_next() => {}
                () = time => {}
            }
        }
    }

    fn begin(&mut self, order_key: OrderKey, job: Job<InboundEvent>) {
        let (keys, parts): (Vec<i64>, Vec<InboundEvent>) = job.parts.into_iter().unzip();
        match self.work(parts) {
            Some(work) => self.start(order_key, keys, work),
            None => {
                self.queues.ended(&order_key);
                keys.into_iter().for_each(|key| self.finish(key));
            }
        }
    }

    fn begin_again(&mut self, now: Instant) {
        let mut due = Vec::new();
        for (order_key, stuck) in &mut self.stuck {
            if stuck.again.is_some_and(|again| again <= now) {
                stuck.again = None;
                due.push((order_key.clone(), stuck.keys.clone(), stuck.work.clone()));
            }
        }
        for (order_key, keys, work) in due {
            self.start(order_key, keys, work);
        }
    }

    fn start(&mut self, order_key: OrderKey, keys: Vec<i64>, work: Work) {
        let handler = self.handler.clone();
        self.jobs.spawn(async move {
            // A panic on this update would repeat forever.
            let received = AssertUnwindSafe(handler.receive(work.clone())).catch_unwind().await;
            let done = received.unwrap_or_else(|_| {
                tracing::error!(?keys, "update job panicked, update ignored");
                Done::kept(Vec::new())
            });
            (order_key, keys, work, done)
        });
    }

    fn work(&mut self, parts: Vec<InboundEvent>) -> Option<Work> {
        let mut inbound: Vec<InboundMessage> = Vec::new();
        for part in parts {
            match part {
                InboundEvent::InboundMessage(part) => inbound.push(*part),
                InboundEvent::Pressed(press) => return Some(Work::Pressed(press)),
                InboundEvent::Invited(invitation) => return Some(Work::Invited(invitation)),
                InboundEvent::Moved { .. } => return Some(Work::Moved),
                InboundEvent::Expelled(_) | InboundEvent::Nothing(_) => {}
            }
        }
        let inbound = merge(inbound)?;
        let now = self.handler.parts.clock.now();
        let hearing =
            self.attention.hear(&inbound.thread, &inbound.author.id, inbound.chat, inbound.facts, now);
        Some(Work::InboundMessage(Box::new(inbound), hearing))
    }

    fn end(&mut self, (order_key, keys, work, done): Ended) {
        if done.outcome == Outcome::Again {
            return self.stick(order_key, keys, work);
        }
        self.stuck.remove(&order_key);
        self.queues.ended(&order_key);
        for key in keys {
            self.finish(key);
        }
        for aside in done.asides {
            self.perform(aside);
        }
    }

    /// Schedules a retry of a failed job, before any other job of its order key.
    fn stick(&mut self, order_key: OrderKey, keys: Vec<i64>, work: Work) {
        let times = self.stuck.get(&order_key).map_or(0, |stuck| stuck.times).saturating_add(1);
        let again = Instant::now() + AGAIN.delay(times, self.handler.parts.ids.chance());
        self.stuck.insert(order_key.clone(), Stuck { keys, work, times, again: Some(again) });
        self.save(&order_key);
    }

    /// Ends an update.
    fn finish(&mut self, key: i64) {
        let (numbers, name) = self.unsettled.end(key);
        self.settled.extend(numbers);
        self.close(name);
    }

    /// Stores the updates of an order key on disk; those beyond its share are refused.
    fn save(&mut self, order_key: &OrderKey) {
        let Keeping { to_save, beyond } = self.unsettled.begin_saving(order_key);
        if !beyond.is_empty() {
            self.refuse(order_key, &beyond);
        }
        if to_save.is_empty() {
            return;
        }
        let spool = self.handler.parts.notes.shelf(SPOOL);
        self.saves.spawn(async move {
            let mut saved = Vec::new();
            let mut safe = true;
            for (key, name, update) in to_save {
                // After a failed write no later update may be stored: it would come first after a crash.
                if safe && let Err(error) = spool.keep(&name, update).await {
                    tracing::error!(%error, "update neither accepted nor stored, left unconfirmed");
                    safe = false;
                }
                saved.push((key, name, safe));
            }
            saved
        });
    }

    fn saved(&mut self, saved: Vec<(i64, String, bool)>) {
        let order_key = saved.iter().find_map(|(key, ..)| self.unsettled.lane(*key)).cloned();
        let all = saved.iter().all(|(.., safe)| *safe);
        for (key, name, safe) in saved {
            match self.unsettled.saved(key, safe) {
                Some(numbers) => self.settled.extend(numbers),
                None => self.close(Some(name).filter(|_| safe)),
            }
        }
        // Updates that came meanwhile had to wait for those.
        if let Some(order_key) = order_key.filter(|order_key| all && self.stuck.contains_key(order_key)) {
            self.save(&order_key);
        }
    }

    /// Ends the updates beyond the share, with a notice to the sender. Updates that are being handled continue, and so
    /// do those that no person could send again.
    fn refuse(&mut self, order_key: &OrderKey, keys: &[i64]) {
        let mut refused: Vec<(i64, Option<Work>)> = Vec::new();
        // Only messages wait in a queue; the others start at once.
        for (key, incoming) in self.queues.withdraw(order_key, keys) {
            if let InboundEvent::InboundMessage(inbound) = incoming {
                refused.push((key, Some(Work::InboundMessage(inbound, Addressed::Answer))));
            }
        }
        let at_rest =
            |stuck: &Stuck| stuck.again.is_some() && stuck.keys.iter().all(|key| keys.contains(key));
        let theirs = |work: &Work| matches!(work, Work::InboundMessage(..) | Work::Pressed(_));
        if self.stuck.get(order_key).is_some_and(|stuck| at_rest(stuck) && theirs(&stuck.work))
            && let Some(stuck) = self.stuck.remove(order_key)
        {
            self.queues.ended(order_key);
            let mut work = Some(stuck.work);
            refused.extend(stuck.keys.into_iter().map(|key| (key, work.take())));
        }
        for (key, work) in refused {
            self.handler.metrics.messages_refused.count();
            self.finish(key);
            match work {
                Some(Work::Pressed(press)) => self.perform(Followup::TooMuch(Work::Pressed(press))),
                Some(work) if self.is_to_be_told(order_key) => self.perform(Followup::TooMuch(work)),
                _ => {}
            }
        }
    }

    /// Whether a thread is due for a refusal notice.
    fn is_to_be_told(&mut self, order_key: &OrderKey) -> bool {
        let now = Instant::now();
        self.told.retain(|_, at| now.duration_since(*at) < TOLD_EVERY);
        if self.told.contains_key(order_key) {
            return false;
        }
        tracing::error!(?order_key, "updates refused, backlog of a failing thread is full");
        self.told.insert(order_key.clone(), now);
        true
    }

    /// Removes an update from the disk. One that remains is deduplicated at the next start.
    fn close(&mut self, name: Option<String>) {
        let Some(name) = name else { return };
        let spool = self.handler.parts.notes.shelf(SPOOL);
        self.saves.spawn(async move {
            if let Err(error) = spool.remove(&name).await {
                tracing::warn!(%error, "stored update not removed");
            }
            Vec::new()
        });
    }

    fn perform(&mut self, aside: Followup) {
        // A client waits for the answer to a button, and there are no more of those than presses.
        let awaited = matches!(aside, Followup::Answer(..) | Followup::TooMuch(Work::Pressed(_)));
        if self.asides.len() >= MOST_ASIDES && !awaited {
            tracing::warn!("follow-up dropped, queue full");
            return;
        }
        let handler = self.handler.clone();
        self.asides.spawn(async move { handler.perform(aside).await });
    }
}

fn order_key_of(inbound: &InboundMessage) -> OrderKey {
    let thread = inbound.thread.clone();
    match &inbound.what {
        // `/new` separates two conversations, so it keeps its position.
        What::Ordered(order) if order.command == Command::New => OrderKey::Thread(thread),
        What::Ordered(_) => OrderKey::Orders(thread),
        What::Said(_) | What::Edited(_) | What::Started(_) => OrderKey::Thread(thread),
    }
}
