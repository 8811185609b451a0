//! What people are told about slots at which the clock is changed.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::domain::Language;
use crate::tasks::frontmatter::{TaskContext, read};
use crate::tasks::scheduler::from_jiff;
use crate::tasks::words;

/// The next slots of a task in words.
fn told(keys: &str, zone: &str, now: &str, count: usize, language: Language) -> Vec<String> {
    let now: Timestamp = now.parse().unwrap();
    let file = format!("---\n{keys}\ntimezone: {zone}\n---\nx");
    let read = read(file.as_bytes(), &TaskContext::in_zone(TimeZone::UTC), now).unwrap();
    let definition = &read.definition;
    let slots = definition.schedule.slots(now, Timestamp::MAX, &definition.zone, count);
    slots.into_iter().map(|slot| words::slot(definition, from_jiff(slot), language)).collect()
}

const BERLIN: &str = "Europe/Berlin";
const SPRING: &str = "2027-03-27T12:00:00Z";
const AUTUMN: &str = "2027-10-30T12:00:00Z";
const SKIPPED: &str = "2027-03-28 (Sun) 03:00 (in place of 02:30, which the clock skips that day)";
const ONCE: &str =
    "2027-10-31 (Sun) 02:30 (the clock shows this time twice that day; only the first one counts)";

#[test]
fn a_slot_at_which_the_clock_is_changed_has_a_remark() {
    for (keys, zone, now, expected) in [
        ("schedule: \"30 2 * * *\"", BERLIN, SPRING, &[SKIPPED, "2027-03-29 (Mon) 02:30"][..]),
        ("schedule: \"30 2 * * *\"", BERLIN, AUTUMN, &[ONCE, "2027-11-01 (Mon) 02:30"]),
        // The hour that is meant is there.
        ("schedule: \"0 3 * * *\"", BERLIN, SPRING, &["2027-03-28 (Sun) 03:00", "2027-03-29 (Mon) 03:00"]),
        (
            "schedule: \"*/30 * * * *\"",
            BERLIN,
            "2027-03-28T00:15:00Z",
            &["2027-03-28 (Sun) 01:30", "2027-03-28 (Sun) 03:00"],
        ),
        (
            "schedule: \"0 * * * *\"",
            BERLIN,
            "2027-10-30T23:30:00Z",
            &[
                "2027-10-31 (Sun) 02:00 (the first of two: the clock is put back that day)",
                "2027-10-31 (Sun) 02:00 (the second of two: the clock is put back that day)",
                "2027-10-31 (Sun) 03:00",
            ],
        ),
        (
            "every: 1d\nfrom: 2027-03-01 02:30",
            BERLIN,
            SPRING,
            &[
                "2027-03-28 (Sun) 03:30 (in place of 02:30, which the clock skips that day)",
                "2027-03-29 (Mon) 02:30",
            ],
        ),
        ("every: 1d\nfrom: 2027-03-01 02:30", BERLIN, AUTUMN, &[ONCE, "2027-11-01 (Mon) 02:30"]),
        (
            "at: [2027-03-28 02:30, 2027-03-28 04:30]",
            BERLIN,
            SPRING,
            &["2027-03-28 (Sun) 03:30 (the clock skips the given time that day)", "2027-03-28 (Sun) 04:30"],
        ),
        ("at: 2027-03-28 03:30", BERLIN, SPRING, &["2027-03-28 (Sun) 03:30"]),
        // Half an hour.
        (
            "schedule: \"15 2 * * *\"",
            "Australia/Lord_Howe",
            "2026-10-03T00:00:00Z",
            &[
                "2026-10-04 (Sun) 02:30 (in place of 02:15, which the clock skips that day)",
                "2026-10-05 (Mon) 02:15",
            ],
        ),
        (
            "schedule: \"30 2 * * *\"",
            "Asia/Shanghai",
            SPRING,
            &["2027-03-28 (Sun) 02:30", "2027-03-29 (Mon) 02:30"],
        ),
    ] {
        assert_eq!(told(keys, zone, now, expected.len(), Language::En), expected, "{keys} {zone}");
    }
}

#[test]
fn the_remarks_are_chinese_for_those_who_read_chinese() {
    let told = |now| told("schedule: \"30 2 * * *\"", BERLIN, now, 1, Language::Zh);
    assert_eq!(told(SPRING), ["2027-03-28 (周日) 03:00（代替 02:30：当天时钟拨快，没有这个时间）"]);
    assert_eq!(told(AUTUMN), ["2027-10-31 (周日) 02:30（当天时钟拨慢，这个时间出现两次，只在第一次运行）"]);
}
