//! Which slots of a task run now, which are given up, and when to look again. Pure: reading a plan changes nothing.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::schedule::Schedule;

/// A slot that is looked at within this time of its instant is on time.
const ON_TIME: SignedDuration = SignedDuration::from_secs(60);
/// Most missed slots that `missed: all` makes up for.
const MOST_CAUGHT_UP: usize = 10;
/// Most slots that are looked at one by one.
const MOST_SLOTS: usize = 1_000;

/// What happens to slots that passed while nothing could run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missed {
    Skip,
    /// The newest of them runs.
    #[default]
    Once,
    /// All of them run, the newest ten at most.
    All,
}

/// What happens to a slot while the run before it has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    #[default]
    Skip,
    /// One slot waits for the end of the run.
    Queue,
}

/// Why a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    Schedule,
    CatchUp,
    Manual,
}

impl Trigger {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::CatchUp => "catch-up",
            Self::Manual => "manual",
        }
    }
}

/// Why a slot does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// It passed while nothing could run.
    Missed,
    /// The run before it had not ended.
    Overlap,
}

/// What the planner knows about one task.
#[derive(Clone, Debug)]
pub struct PlanInput<'a> {
    pub schedule: &'a Schedule,
    pub zone: &'a TimeZone,
    pub missed: Missed,
    pub grace: SignedDuration,
    pub overlap: Overlap,
    /// Slots up to this time are settled: they ran or were given up.
    pub settled: Timestamp,
    /// A run is going on or waits for an approval.
    pub running: bool,
    /// A slot waits for the end of that run.
    pub queued: bool,
}

/// What is to be done for one task at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Slots to run, oldest first.
    pub run: Vec<(Timestamp, Trigger)>,
    pub given_up: Vec<(Timestamp, GivenUp)>,
    /// Missed slots that are not in `given_up` because there were too many.
    pub more_missed: bool,
    /// Missed slots were given up, and no newer one makes up for them.
    pub lost: bool,
    /// The next slot after `now`.
    pub next: Option<Timestamp>,
}

impl PlanInput<'_> {
    /// The plan at `now`. A clock that went back gives an empty plan until it has passed `settled` again.
    pub fn plan(&self, now: Timestamp) -> Plan {
        let mut plan =
            Plan { next: self.schedule.next_after(now.max(self.settled), self.zone), ..Plan::default() };
        let mut due = self.schedule.slots(self.settled, now, self.zone, MOST_SLOTS);
        if due.len() == MOST_SLOTS {
            due = self.newest_slots(now);
            plan.more_missed = true;
        }
        let newest = due.last().copied();
        let late = |slot: Timestamp| now.duration_since(slot);
        let mut caught_up = match self.missed {
            Missed::Skip => 0,
            Missed::Once => 1,
            Missed::All => MOST_CAUGHT_UP,
        };
        // From the newest to the oldest: newer slots take the places of older ones.
        for slot in due.into_iter().rev() {
            if late(slot) <= ON_TIME {
                plan.run.push((slot, Trigger::Schedule));
                if self.missed == Missed::Once {
                    caught_up = 0;
                }
            } else if late(slot) <= self.grace && caught_up > 0 {
                caught_up = caught_up.saturating_sub(1);
                // `once` means the newest slot or none.
                if self.missed == Missed::All || Some(slot) == newest {
                    plan.run.push((slot, Trigger::CatchUp));
                } else {
                    plan.given_up.push((slot, GivenUp::Missed));
                }
            } else {
                plan.given_up.push((slot, GivenUp::Missed));
            }
        }
        plan.lost = match self.missed {
            Missed::Skip => false,
            Missed::Once => plan.run.is_empty() && !plan.given_up.is_empty(),
            Missed::All => !plan.given_up.is_empty(),
        };
        plan.run.reverse();
        self.without_overlap(&mut plan);
        plan.given_up.sort_unstable_by_key(|(slot, _)| *slot);
        plan
    }

    /// Newest slots up to `now`, where more than [`MOST_SLOTS`] are not settled: at least one, fewer than that.
    fn newest_slots(&self, now: Timestamp) -> Vec<Timestamp> {
        // After `early` are too many slots, after `late` is none. Slots are a minute apart, so this ends.
        let (mut early, mut late) = (self.settled, now);
        loop {
            let middle = early.checked_add(late.duration_since(early) / 2).unwrap_or(early);
            let slots = self.schedule.slots(middle, now, self.zone, MOST_SLOTS);
            match slots.len() {
                0 if middle > early => late = middle,
                MOST_SLOTS if middle > early => early = middle,
                _ => return slots,
            }
        }
    }

    /// Gives up the slots that would run beside another run of the task.
    fn without_overlap(&self, plan: &mut Plan) {
        let busy = usize::from(self.running).saturating_add(usize::from(self.queued));
        let room = match self.overlap {
            Overlap::Skip => 1_usize,
            Overlap::Queue => 2,
        };
        // Slots that are made up for run one after another and are not in each other's way.
        if busy == 0 && self.missed == Missed::All {
            return;
        }
        let room = room.saturating_sub(busy);
        while plan.run.len() > room {
            let Some((slot, _)) = plan.run.pop() else { break };
            plan.given_up.push((slot, GivenUp::Overlap));
        }
    }
}
