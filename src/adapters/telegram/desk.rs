//! Where updates arrive, however they came: each is read, put into its lane, worked on, and reported when it is settled.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::albums::{Job, Lane, Lanes, merge};
use super::reception::{Aside, Done, Outcome, Reception, Work};
use super::update::{Heard, Incoming, Reader, What};
use super::wire::Update;
use crate::adapters::chat::Attention;
use crate::domain::Command;

/// How many polite words may be on their way; more are left out.
const MOST_ASIDES: usize = 256;

/// The desk. One task owns it.
#[derive(Debug)]
pub(super) struct Desk {
    reader: Reader,
    attention: Attention,
    reception: Arc<Reception>,
    lanes: Lanes<Incoming>,
    jobs: JoinSet<(Lane, Vec<i64>, Done)>,
    asides: JoinSet<()>,
    settled: VecDeque<Settled>,
}

/// Updates that are settled.
#[derive(Debug)]
pub(super) struct Settled {
    /// Their numbers.
    pub(super) numbers: Vec<i64>,
    /// Whether they may be confirmed.
    pub(super) outcome: Outcome,
}

impl Desk {
    pub(super) fn new(reader: Reader, attention: Attention, reception: Arc<Reception>) -> Self {
        Self {
            reader,
            attention,
            reception,
            lanes: Lanes::default(),
            jobs: JoinSet::new(),
            asides: JoinSet::new(),
            settled: VecDeque::new(),
        }
    }

    /// Takes an update in under a number of the caller's.
    pub(super) fn take(&mut self, number: i64, update: &Value) {
        let now = self.reception.parts.clock.now();
        let id = number_of(update).unwrap_or(number);
        // What cannot be understood today cannot be tomorrow: it must not stand in the way of the rest.
        let incoming = match Update::deserialize(update) {
            Ok(update) => self.reader.read(id, update, now).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let incoming = incoming.unwrap_or_else(|error| {
            tracing::warn!(update = id, error, "an update could not be understood and is passed over");
            Incoming::Nothing("not understood")
        });
        let album = if let Incoming::Heard(heard) = &incoming { heard.album.clone() } else { None };
        let lane = match &incoming {
            Incoming::Nothing(why) => {
                tracing::debug!(update = id, why, "an update is passed over");
                return self.settle(vec![number], Outcome::Kept);
            }
            Incoming::Expelled(chat) => {
                tracing::warn!(chat, "the bot was thrown out of a chat or blocked");
                return self.settle(vec![number], Outcome::Kept);
            }
            Incoming::Moved { from, to } => {
                // Known at once, so that what comes next finds its thread; written down before it is confirmed.
                self.reader.aliases.learn(*from, *to);
                Lane::Alone(number)
            }
            Incoming::Pressed(_) | Incoming::Invited(_) => Lane::Alone(number),
            Incoming::Heard(heard) => lane_of(heard),
        };
        self.lanes.put(lane, number, incoming, album, Instant::now());
    }

    /// The next that is settled. Waits as long as nothing is; may be dropped and asked again.
    pub(super) async fn next(&mut self) -> Settled {
        loop {
            if let Some(settled) = self.settled.pop_front() {
                return settled;
            }
            for (lane, job) in self.lanes.begin(Instant::now()) {
                self.begin(lane, job);
            }
            let due = self.lanes.next_due();
            let album = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(ended) = self.jobs.join_next() => match ended {
                    Ok((lane, numbers, done)) => self.end(lane, numbers, done),
                    Err(error) => tracing::error!(%error, "work on an update was lost"),
                },
                Some(_) = self.asides.join_next() => {}
                () = album => {}
            }
        }
    }

    fn begin(&mut self, lane: Lane, job: Job<Incoming>) {
        let (numbers, parts): (Vec<i64>, Vec<Incoming>) = job.parts.into_iter().unzip();
        let Some(work) = self.work(parts) else {
            self.lanes.ended(lane);
            return self.settle(numbers, Outcome::Kept);
        };
        let reception = self.reception.clone();
        self.jobs.spawn(async move {
            // What breaks on an update would break on it forever.
            let received = AssertUnwindSafe(reception.receive(work)).catch_unwind().await;
            let done = received.unwrap_or_else(|_| {
                tracing::error!(?numbers, "work on an update broke; it is passed over");
                Done::kept(Vec::new())
            });
            (lane, numbers, done)
        });
    }

    fn work(&mut self, parts: Vec<Incoming>) -> Option<Work> {
        let mut heard: Vec<Heard> = Vec::new();
        for part in parts {
            match part {
                Incoming::Heard(part) => heard.push(*part),
                Incoming::Pressed(press) => return Some(Work::Pressed(press)),
                Incoming::Invited(invitation) => return Some(Work::Invited(invitation)),
                Incoming::Moved { .. } => return Some(Work::Moved),
                Incoming::Expelled(_) | Incoming::Nothing(_) => {}
            }
        }
        let heard = merge(heard)?;
        let now = self.reception.parts.clock.now();
        let hearing = self.attention.hear(&heard.thread, &heard.author.id, heard.chat, heard.facts, now);
        Some(Work::Heard(Box::new(heard), hearing))
    }

    fn end(&mut self, lane: Lane, numbers: Vec<i64>, done: Done) {
        self.lanes.ended(lane);
        if done.outcome == Outcome::Again {
            // What was said later must not be accepted earlier.
            let behind = self.lanes.clear(lane);
            self.settle(behind, Outcome::Again);
        }
        self.settle(numbers, done.outcome);
        for aside in done.asides {
            self.perform(aside);
        }
    }

    fn perform(&mut self, aside: Aside) {
        if self.asides.len() >= MOST_ASIDES {
            tracing::warn!("too many polite words are on their way; one is left out");
            return;
        }
        let reception = self.reception.clone();
        self.asides.spawn(async move { reception.perform(aside).await });
    }

    fn settle(&mut self, numbers: Vec<i64>, outcome: Outcome) {
        if !numbers.is_empty() {
            self.settled.push_back(Settled { numbers, outcome });
        }
    }
}

/// The number of an update.
pub(super) fn number_of(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

fn lane_of(heard: &Heard) -> Lane {
    let chat = heard.place.chat;
    match &heard.what {
        // It cuts the conversation in two, so it has to stay in its place.
        What::Ordered(order) if order.command == Command::New => Lane::Chat(chat),
        What::Ordered(_) => Lane::Orders(chat),
        What::Said(_) | What::Edited(_) | What::Started => Lane::Chat(chat),
    }
}
