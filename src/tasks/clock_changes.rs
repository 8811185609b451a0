//! What a change to or from summer time does to a slot. Pure.

use jiff::civil::{DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::definition::TaskDefinition;
use super::schedule::{Interval, Schedule};

/// The wall clock is never put forward by more than this.
const LONGEST_GAP: SignedDuration = SignedDuration::from_hours(24);

/// What is special about a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockChange {
    /// The wall clock skips the time that is meant; the slot is later.
    Skipped {
        meant: Option<Time>,
    },
    /// The wall clock shows the time twice, and the task runs the first time only.
    FirstOnly,
    /// The wall clock shows the time twice, and the task runs twice.
    FirstOfTwo,
    SecondOfTwo,
}

impl ClockChange {
    /// What is special about a slot of this task.
    pub(super) fn of(definition: &TaskDefinition, slot: Timestamp) -> Option<Self> {
        let (schedule, zone) = (&definition.schedule, &definition.zone);
        let wall = zone.to_datetime(slot);
        let skipped = match schedule {
            Schedule::At(_) => definition.moved.contains(&slot).then_some(Self::Skipped { meant: None }),
            Schedule::Every { interval: Interval::Days(_), anchor } => {
                (anchor.time() != wall.time()).then_some(Self::Skipped { meant: Some(anchor.time()) })
            }
            Schedule::Every { interval: Interval::Exact(_), .. } => None,
            Schedule::Cron(_) => skipped_by_cron(schedule, zone, slot, wall),
        };
        skipped.or_else(|| repeated(schedule, zone, slot, wall))
    }
}

/// A slot of a cron expression whose own time the wall clock skips.
fn skipped_by_cron(
    schedule: &Schedule,
    zone: &TimeZone,
    slot: Timestamp,
    wall: DateTime,
) -> Option<ClockChange> {
    let just_after = slot.checked_add(SignedDuration::from_secs(1)).ok()?;
    let change = zone.preceding(just_after).next()?.timestamp();
    if slot.duration_since(change) > LONGEST_GAP {
        return None;
    }
    let before = change.checked_sub(SignedDuration::from_secs(1)).ok()?;
    let (old, new) = (zone.to_offset(before), zone.to_offset(change));
    if new <= old {
        return None;
    }
    // On a clock that is not changed, the expression says which time is meant.
    let plain = |at: DateTime| TimeZone::UTC.to_timestamp(at).ok();
    let just_before = |at: DateTime| plain(at)?.checked_sub(SignedDuration::from_secs(1)).ok();
    if schedule.next_after(just_before(wall)?, &TimeZone::UTC) == plain(wall) {
        return None;
    }
    let first_skipped = old.to_datetime(change);
    let meant = schedule.next_after(just_before(first_skipped)?, &TimeZone::UTC)?;
    let meant = TimeZone::UTC.to_datetime(meant);
    (meant < new.to_datetime(change)).then_some(ClockChange::Skipped { meant: Some(meant.time()) })
}

/// A slot at a time that the wall clock shows twice.
fn repeated(schedule: &Schedule, zone: &TimeZone, slot: Timestamp, wall: DateTime) -> Option<ClockChange> {
    let AmbiguousOffset::Fold { before, after } = zone.to_ambiguous_timestamp(wall).offset() else {
        return None;
    };
    let (first, second) = (before.to_timestamp(wall).ok()?, after.to_timestamp(wall).ok()?);
    let is_slot = |at: Timestamp| {
        let just_before = at.checked_sub(SignedDuration::from_secs(1)).ok();
        just_before.and_then(|before| schedule.next_after(before, zone)) == Some(at)
    };
    match (slot == first, is_slot(second)) {
        (true, true) => Some(ClockChange::FirstOfTwo),
        (true, false) => Some(ClockChange::FirstOnly),
        (false, _) if is_slot(first) => Some(ClockChange::SecondOfTwo),
        (false, _) => None,
    }
}
