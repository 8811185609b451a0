//! What runs at a time: missed slots, overlap, and clocks that jump.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::tasks::planner::{GivenUp, Missed, Overlap, Plan, PlanInput, Trigger};
use crate::tasks::schedule::Schedule;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

fn at(text: &str) -> Timestamp {
    format!("2026-11-{text}:00Z").parse().unwrap()
}

/// A task that is due at every full hour.
struct Hourly {
    schedule: Schedule,
    missed: Missed,
    grace: SignedDuration,
    overlap: Overlap,
    running: bool,
    queued: bool,
}

impl Hourly {
    fn new() -> Self {
        let schedule = Schedule::cron("0 * * * *", &TimeZone::UTC, at("18T00:00")).unwrap();
        Self {
            schedule,
            missed: Missed::Once,
            grace: HOUR * 6,
            overlap: Overlap::Skip,
            running: false,
            queued: false,
        }
    }

    fn plan(&self, settled: &str, now: &str) -> Plan {
        let input = PlanInput {
            schedule: &self.schedule,
            zone: &TimeZone::UTC,
            missed: self.missed,
            grace: self.grace,
            overlap: self.overlap,
            settled: at(settled),
            running: self.running,
            queued: self.queued,
        };
        input.plan(at(now))
    }

    /// The slots that run, as hours, with a mark for those that are late.
    fn runs(&self, settled: &str, now: &str) -> Vec<String> {
        let mark = |trigger| if trigger == Trigger::CatchUp { "+" } else { "" };
        let plan = self.plan(settled, now);
        plan.run.iter().map(|(slot, trigger)| format!("{}{}", slot.strftime("%H"), mark(*trigger))).collect()
    }
}

#[test]
fn a_slot_runs_once_when_it_is_due() {
    let task = Hourly::new();
    let early = task.plan("18T08:00", "18T08:59");
    assert_eq!(early, Plan { next: Some(at("18T09:00")), ..Plan::default() });
    assert_eq!(task.runs("18T08:00", "18T09:00"), ["09"]);
    assert_eq!(task.runs("18T08:00", "18T09:01"), ["09"], "a minute late is on time");
    assert_eq!(task.runs("18T09:00", "18T09:01"), [""; 0], "it is settled");
}

#[test]
fn missed_slots_follow_the_policy_inside_the_grace() {
    for (missed, grace, now, expected) in [
        (Missed::Skip, 6, "18T12:30", &[][..]),
        (Missed::Once, 6, "18T12:30", &["12+"]),
        (Missed::All, 6, "18T12:30", &["09+", "10+", "11+", "12+"]),
        (Missed::All, 2, "18T12:30", &["11+", "12+"]),
        (Missed::Once, 0, "18T12:30", &[]),
        (Missed::All, 0, "18T12:30", &[]),
        // What is due now takes the place of what was missed.
        (Missed::Skip, 6, "18T12:00", &["12"]),
        (Missed::Once, 6, "18T12:00", &["12"]),
        (Missed::All, 6, "18T12:00", &["09+", "10+", "11+", "12"]),
        // A pause of four days: ten at most, and only inside the grace.
        (Missed::Once, 6, "22T12:30", &["12+"]),
        (Missed::All, 6, "22T12:30", &["07+", "08+", "09+", "10+", "11+", "12+"]),
        (
            Missed::All,
            48,
            "22T12:30",
            &["03+", "04+", "05+", "06+", "07+", "08+", "09+", "10+", "11+", "12+"],
        ),
    ] {
        let task = Hourly { missed, grace: HOUR * grace, ..Hourly::new() };
        assert_eq!(task.runs("18T08:00", now), expected, "{missed:?} {grace} h at {now}");
        let plan = task.plan("18T08:00", now);
        let slots = task.schedule.slots(at("18T08:00"), at(now), &TimeZone::UTC, 1000);
        assert_eq!(plan.run.len() + plan.given_up.len(), slots.len(), "every slot runs or is given up");
        assert!(plan.given_up.iter().all(|(_, reason)| *reason == GivenUp::Missed));
        assert!(plan.next > slots.last().copied());
    }
}

#[test]
fn a_slot_beside_a_run_is_given_up_or_waits() {
    for (overlap, queued, runs) in
        [(Overlap::Skip, false, 0), (Overlap::Queue, false, 1), (Overlap::Queue, true, 0)]
    {
        let task = Hourly { overlap, queued, running: true, ..Hourly::new() };
        let plan = task.plan("18T08:00", "18T09:00");
        assert_eq!(plan.run.len(), runs, "{overlap:?} queued {queued}");
        let lost: Vec<_> = plan.given_up.iter().map(|(_, reason)| *reason).collect();
        assert_eq!(lost, vec![GivenUp::Overlap; 1 - runs]);
    }
}

#[test]
fn a_clock_that_goes_back_repeats_nothing() {
    let task = Hourly::new();
    for now in ["18T08:00", "18T09:30", "18T11:59", "18T12:00"] {
        let plan = task.plan("18T12:00", now);
        assert_eq!((plan.run.len(), plan.given_up.len()), (0, 0), "{now}");
        assert_eq!(plan.next, Some(at("18T13:00")), "{now}");
    }
    assert_eq!(task.runs("18T12:00", "18T13:00"), ["13"]);
}

#[test]
fn more_missed_slots_than_are_looked_at_are_settled_all_the_same() {
    for (expression, settled, now, grace, missed, runs) in [
        // Off for 28 working days, on again on a Saturday.
        ("*/15 9-17 * * 1-5", "2026-10-09T18:00", "2026-11-21T08:00", HOUR * 6, Missed::Once, 0),
        ("*/15 9-17 * * 1-5", "2026-10-09T18:00", "2026-11-21T08:00", HOUR * 6, Missed::All, 0),
        ("*/15 9-17 * * 1-5", "2026-10-09T18:00", "2026-11-20T18:00", HOUR * 6, Missed::Once, 1),
        ("*/10 * * * *", "2026-11-01T00:00", "2026-11-09T00:05", SignedDuration::ZERO, Missed::Once, 0),
        ("*/10 * * * *", "2026-11-01T00:00", "2026-11-09T00:05", SignedDuration::ZERO, Missed::Skip, 0),
        ("* 9 * * *", "2026-01-01T10:00", "2026-11-09T08:00", HOUR * 2, Missed::All, 0),
        // A grace with more slots than are looked at: the newest run.
        ("* * * * *", "2026-09-01T00:00", "2026-11-01T00:05", HOUR * 24 * 30, Missed::Once, 2),
        ("* * * * *", "2026-09-01T00:00", "2026-11-01T00:05", HOUR * 24 * 30, Missed::All, 12),
    ] {
        let time = |text: &str| -> Timestamp { format!("{text}:00Z").parse().unwrap() };
        let schedule = Schedule::cron(expression, &TimeZone::UTC, time(settled)).unwrap();
        let input = PlanInput {
            schedule: &schedule,
            zone: &TimeZone::UTC,
            missed,
            grace,
            overlap: Overlap::Queue,
            settled: time(settled),
            running: false,
            queued: false,
        };
        let plan = input.plan(time(now));
        assert_eq!(plan.run.len(), runs, "{expression} {missed:?}: {:?}", plan.run);
        assert!(plan.more_missed);
        let settled =
            plan.run.iter().map(|(slot, _)| *slot).chain(plan.given_up.iter().map(|(slot, _)| *slot));
        let newest = settled.max().expect("something is settled");
        assert!(schedule.slots(newest, time(now), &TimeZone::UTC, 1).is_empty(), "{expression}: {newest}");
    }
}

#[test]
fn a_month_of_minutes_is_planned_in_bounded_work() {
    let schedule = Schedule::cron("* * * * *", &TimeZone::UTC, at("01T00:00")).unwrap();
    let input = PlanInput {
        schedule: &schedule,
        zone: &TimeZone::UTC,
        missed: Missed::All,
        grace: HOUR,
        overlap: Overlap::Skip,
        settled: at("01T00:00"),
        running: false,
        queued: false,
    };
    let plan = input.plan(at("30T00:00"));
    assert!(plan.more_missed);
    assert_eq!(plan.run.len(), 12, "the two of the last minute, and the newest ten before them");
    assert!(plan.given_up.len() < 1_000);
}
