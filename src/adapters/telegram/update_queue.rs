//! Where updates arrive, however they came: each is read, put into its lane, worked on, and reported when it is accepted.
//!
//! What cannot be accepted because a thread is in trouble is kept on the disk and tried again: then it may be confirmed
//! all the same, and nobody else has to wait. What a thread has no room for there is refused in words, so that it never
//! makes the bot deaf to everybody else. What the disk does not take is not confirmed, and tried again just so.

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

/// How many polite words may be on their way; more are left out.
const MOST_ASIDES: usize = 256;
/// The shelf of the adapter's notebook for updates that could not be accepted yet.
pub(super) const SPOOL: &str = "spool";
/// How long an update that could not be accepted is left alone before it is tried again.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(20),
    stable_after: Duration::ZERO,
};
/// Whatever takes longer is kept on the disk where it stands in the way of others.
const SLOW: Duration = Duration::from_secs(1);
/// How often a thread hears that nothing more is taken there.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The desk. One task owns it.
#[derive(Debug)]
pub(super) struct UpdateQueue {
    reader: Reader,
    attention: AddressingPolicy,
    handler: Arc<UpdateHandler>,
    unsettled: PendingUpdates,
    lanes: OrderedQueues<InboundEvent>,
    jobs: JoinSet<Ended>,
    /// What could not be accepted. Its lane is busy until it is.
    stuck: BTreeMap<OrderKey, Stuck>,
    saves: JoinSet<Vec<(i64, String, bool)>>,
    asides: JoinSet<()>,
    settled: VecDeque<i64>,
    /// Which threads heard lately that nothing more is taken there.
    told: BTreeMap<OrderKey, Instant>,
}

/// Work that has ended, one way or the other.
type Ended = (OrderKey, Vec<i64>, Work, Done);

/// Work that could not be done.
#[derive(Debug)]
struct Stuck {
    keys: Vec<i64>,
    work: Work,
    /// How often it was tried.
    times: u32,
    /// When to try again; nothing while it is being tried.
    again: Option<Instant>,
}

impl UpdateQueue {
    pub(super) fn new(reader: Reader, attention: AddressingPolicy, handler: Arc<UpdateHandler>) -> Self {
        Self {
            reader,
            attention,
            handler,
            unsettled: PendingUpdates::default(),
            lanes: OrderedQueues::default(),
            jobs: JoinSet::new(),
            stuck: BTreeMap::new(),
            saves: JoinSet::new(),
            asides: JoinSet::new(),
            settled: VecDeque::new(),
            told: BTreeMap::new(),
        }
    }

    /// Takes up what was kept on the disk.
    pub(super) fn take_up(&mut self, mut kept: Vec<Value>) {
        kept.sort_by_key(number_of);
        if !kept.is_empty() {
            tracing::info!(count = kept.len(), "updates that could not be accepted before are tried again");
        }
        for update in kept {
            let key = self.unsettled.take_up(update, Instant::now());
            self.sort(key);
        }
    }

    /// Takes an update in; `number` is told when it may be confirmed.
    pub(super) fn take(&mut self, number: i64, update: Value) {
        match self.unsettled.take(number, update, Instant::now()) {
            Given::New(key) => self.sort(key),
            Given::Waits => {}
            Given::Safe => self.settled.push_back(number),
        }
    }

    /// Whether there is so much on the desk that no more is to be put there.
    pub(super) fn is_full(&self) -> bool {
        self.unsettled.is_full()
    }

    /// Others wait: whatever has taken long is kept on the disk, and goes on. False when the disk holds enough.
    pub(super) fn make_room(&mut self) -> bool {
        for lane in self.unsettled.slow_lanes(SLOW, Instant::now()) {
            self.save(&lane);
        }
        self.unsettled.has_room()
    }

    fn sort(&mut self, key: i64) {
        let now = self.handler.parts.clock.now();
        let Some(update) = self.unsettled.update(key) else { return };
        let id = number_of(update).unwrap_or(key);
        // What cannot be understood today cannot be tomorrow: it must not stand in the way of the rest.
        let incoming = match Update::deserialize(update) {
            Ok(update) => self.reader.read(id, update, now).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let incoming = incoming.unwrap_or_else(|error| {
            tracing::warn!(update = id, error, "an update could not be understood and is passed over");
            InboundEvent::Nothing("not understood")
        });
        let album =
            if let InboundEvent::InboundMessage(heard) = &incoming { heard.album.clone() } else { None };
        let lane = match &incoming {
            InboundEvent::Nothing(why) => {
                tracing::debug!(update = id, why, "an update is passed over");
                return self.finish(key);
            }
            InboundEvent::Expelled(chat) => {
                tracing::warn!(chat, "the bot was thrown out of a chat or blocked");
                return self.finish(key);
            }
            InboundEvent::Moved { from, to } => {
                // Known at once, so that what comes next finds its thread; written down before it is confirmed.
                self.reader.aliases.learn(*from, *to);
                OrderKey::Alone(key)
            }
            InboundEvent::Pressed(_) | InboundEvent::Invited(_) => OrderKey::Alone(key),
            InboundEvent::InboundMessage(heard) => lane_of(heard),
        };
        self.unsettled.assign(key, lane.clone());
        self.lanes.put(lane.clone(), key, incoming, album, Instant::now());
        if self.stuck.contains_key(&lane) {
            self.save(&lane);
        }
    }

    /// The next that may be confirmed. Waits as long as nothing is; may be dropped and asked again.
    pub(super) async fn next(&mut self) -> i64 {
        loop {
            if let Some(settled) = self.settled.pop_front() {
                return settled;
            }
            let now = Instant::now();
            for (lane, job) in self.lanes.begin(now) {
                self.begin(lane, job);
            }
            self.begin_again(now);
            let again = self.stuck.values().filter_map(|stuck| stuck.again).min();
            let due = [self.lanes.next_due(), again].into_iter().flatten().min();
            let time = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(ended) = self.jobs.join_next() => match ended {
                    Ok(ended) => self.end(ended),
                    Err(error) => tracing::error!(%error, "work on an update was lost"),
                },
                Some(saved) = self.saves.join_next() => self.saved(saved.unwrap_or_default()),
                Some(_) = self.asides.join_next() => {}
                () = time => {}
            }
        }
    }

    fn begin(&mut self, lane: OrderKey, job: Job<InboundEvent>) {
        let (keys, parts): (Vec<i64>, Vec<InboundEvent>) = job.parts.into_iter().unzip();
        match self.work(parts) {
            Some(work) => self.start(lane, keys, work),
            None => {
                self.lanes.ended(&lane);
                keys.into_iter().for_each(|key| self.finish(key));
            }
        }
    }

    fn begin_again(&mut self, now: Instant) {
        let mut due = Vec::new();
        for (lane, stuck) in &mut self.stuck {
            if stuck.again.is_some_and(|again| again <= now) {
                stuck.again = None;
                due.push((lane.clone(), stuck.keys.clone(), stuck.work.clone()));
            }
        }
        for (lane, keys, work) in due {
            self.start(lane, keys, work);
        }
    }

    fn start(&mut self, lane: OrderKey, keys: Vec<i64>, work: Work) {
        let handler = self.handler.clone();
        self.jobs.spawn(async move {
            // What breaks on an update would break on it forever.
            let received = AssertUnwindSafe(handler.receive(work.clone())).catch_unwind().await;
            let done = received.unwrap_or_else(|_| {
                tracing::error!(?keys, "work on an update broke; it is passed over");
                Done::kept(Vec::new())
            });
            (lane, keys, work, done)
        });
    }

    fn work(&mut self, parts: Vec<InboundEvent>) -> Option<Work> {
        let mut heard: Vec<InboundMessage> = Vec::new();
        for part in parts {
            match part {
                InboundEvent::InboundMessage(part) => heard.push(*part),
                InboundEvent::Pressed(press) => return Some(Work::Pressed(press)),
                InboundEvent::Invited(invitation) => return Some(Work::Invited(invitation)),
                InboundEvent::Moved { .. } => return Some(Work::Moved),
                InboundEvent::Expelled(_) | InboundEvent::Nothing(_) => {}
            }
        }
        let heard = merge(heard)?;
        let now = self.handler.parts.clock.now();
        let hearing = self.attention.hear(&heard.thread, &heard.author.id, heard.chat, heard.facts, now);
        Some(Work::InboundMessage(Box::new(heard), hearing))
    }

    fn end(&mut self, (lane, keys, work, done): Ended) {
        if done.outcome == Outcome::Again {
            return self.stick(lane, keys, work);
        }
        self.stuck.remove(&lane);
        self.lanes.ended(&lane);
        for key in keys {
            self.finish(key);
        }
        for aside in done.asides {
            self.perform(aside);
        }
    }

    /// Work could not be done: it is tried again later, and before anything else in its lane.
    fn stick(&mut self, lane: OrderKey, keys: Vec<i64>, work: Work) {
        let times = self.stuck.get(&lane).map_or(0, |stuck| stuck.times).saturating_add(1);
        let again = Instant::now() + AGAIN.delay(times, self.handler.parts.ids.chance());
        self.stuck.insert(lane.clone(), Stuck { keys, work, times, again: Some(again) });
        self.save(&lane);
    }

    /// An update is at its end.
    fn finish(&mut self, key: i64) {
        let (numbers, name) = self.unsettled.end(key);
        self.settled.extend(numbers);
        self.close(name);
    }

    /// Keeps on the disk what is in a lane; what there is no room for is refused.
    fn save(&mut self, lane: &OrderKey) {
        let Keeping { to_save, beyond } = self.unsettled.begin_saving(lane);
        if !beyond.is_empty() {
            self.refuse(lane, &beyond);
        }
        if to_save.is_empty() {
            return;
        }
        let spool = self.handler.parts.notes.shelf(SPOOL);
        self.saves.spawn(async move {
            let mut saved = Vec::new();
            let mut safe = true;
            for (key, name, update) in to_save {
                // Behind one that the disk did not take none may be on it: they would come before it after a crash.
                if safe && let Err(error) = spool.keep(&name, update).await {
                    tracing::error!(%error, "an update can neither be accepted nor kept: it is not confirmed");
                    safe = false;
                }
                saved.push((key, name, safe));
            }
            saved
        });
    }

    fn saved(&mut self, saved: Vec<(i64, String, bool)>) {
        let lane = saved.iter().find_map(|(key, ..)| self.unsettled.lane(*key)).cloned();
        let all = saved.iter().all(|(.., safe)| *safe);
        for (key, name, safe) in saved {
            match self.unsettled.saved(key, safe) {
                Some(numbers) => self.settled.extend(numbers),
                None => self.close(Some(name).filter(|_| safe)),
            }
        }
        // What came meanwhile had to wait for those.
        if let Some(lane) = lane.filter(|lane| all && self.stuck.contains_key(lane)) {
            self.save(&lane);
        }
    }

    /// There is no room for these: they are over, and whoever sent them hears so. What is being worked on is not, and
    /// neither is what nobody could send again.
    fn refuse(&mut self, lane: &OrderKey, keys: &[i64]) {
        let mut refused: Vec<(i64, Option<Work>)> = Vec::new();
        // Only what is said waits in a lane; what stands alone is begun at once.
        for (key, incoming) in self.lanes.withdraw(lane, keys) {
            if let InboundEvent::InboundMessage(heard) = incoming {
                refused.push((key, Some(Work::InboundMessage(heard, Addressed::Answer))));
            }
        }
        let at_rest =
            |stuck: &Stuck| stuck.again.is_some() && stuck.keys.iter().all(|key| keys.contains(key));
        let theirs = |work: &Work| matches!(work, Work::InboundMessage(..) | Work::Pressed(_));
        if self.stuck.get(lane).is_some_and(|stuck| at_rest(stuck) && theirs(&stuck.work))
            && let Some(stuck) = self.stuck.remove(lane)
        {
            self.lanes.ended(lane);
            let mut work = Some(stuck.work);
            refused.extend(stuck.keys.into_iter().map(|key| (key, work.take())));
        }
        for (key, work) in refused {
            self.handler.metrics.messages_refused.count();
            self.finish(key);
            match work {
                Some(Work::Pressed(press)) => self.perform(Followup::TooMuch(Work::Pressed(press))),
                Some(work) if self.is_to_be_told(lane) => self.perform(Followup::TooMuch(work)),
                _ => {}
            }
        }
    }

    /// Whether a thread has not heard for a while that nothing more is taken there.
    fn is_to_be_told(&mut self, lane: &OrderKey) -> bool {
        let now = Instant::now();
        self.told.retain(|_, at| now.duration_since(*at) < TOLD_EVERY);
        if self.told.contains_key(lane) {
            return false;
        }
        tracing::error!(?lane, "too much waits in a thread that takes nothing: what comes there is refused");
        self.told.insert(lane.clone(), now);
        true
    }

    /// Takes from the disk what is not needed there. What stays behind is recognised at the next start.
    fn close(&mut self, name: Option<String>) {
        let Some(name) = name else { return };
        let spool = self.handler.parts.notes.shelf(SPOOL);
        self.saves.spawn(async move {
            if let Err(error) = spool.remove(&name).await {
                tracing::warn!(%error, "an update that was accepted could not be taken from the disk");
            }
            Vec::new()
        });
    }

    fn perform(&mut self, aside: Followup) {
        // Whoever pressed a button waits for its answer, and there are no more of those than presses.
        let awaited = matches!(aside, Followup::Answer(..) | Followup::TooMuch(Work::Pressed(_)));
        if self.asides.len() >= MOST_ASIDES && !awaited {
            tracing::warn!("too many polite words are on their way; one is left out");
            return;
        }
        let handler = self.handler.clone();
        self.asides.spawn(async move { handler.perform(aside).await });
    }
}

fn lane_of(heard: &InboundMessage) -> OrderKey {
    let thread = heard.thread.clone();
    match &heard.what {
        // It cuts the conversation in two, so it has to stay in its place.
        What::Ordered(order) if order.command == Command::New => OrderKey::Thread(thread),
        What::Ordered(_) => OrderKey::Orders(thread),
        What::Said(_) | What::Edited(_) | What::Started(_) => OrderKey::Thread(thread),
    }
}
