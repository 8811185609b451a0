//! Slots of schedules over summer time, and times that people write.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::domain::{Language, time_zone};
use crate::tasks::schedule::{Schedule, ScheduleError, time};
use crate::tasks::words;

fn zone(name: &str) -> TimeZone {
    time_zone(name).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The slots between two times on the wall clock of the zone.
fn local(schedule: &Schedule, zone: &TimeZone, from: &str, until: &str) -> Vec<String> {
    let slots = schedule.slots(at(from), at(until), zone, 50);
    slots.into_iter().map(|slot| slot.to_zoned(zone.clone()).strftime("%d %H:%M%:z").to_string()).collect()
}

#[test]
fn a_cron_schedule_follows_the_wall_clock_over_summer_time() {
    for (name, expression, from, until, expected) in [
        // The clock skips 02:30: the slot follows right after the gap.
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-03-28T00:00:00Z",
            "2026-03-30T12:00:00Z",
            &["28 02:30+01:00", "29 03:00+02:00", "30 02:30+02:00"][..],
        ),
        // 02:30 comes twice: the first one counts.
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-10-24T12:00:00Z",
            "2026-10-26T12:00:00Z",
            &["25 02:30+02:00", "26 02:30+01:00"],
        ),
        // Half an hour of summer time.
        (
            "Australia/Lord_Howe",
            "0 9 * * *",
            "2026-04-03T12:00:00Z",
            "2026-04-05T22:00:00Z",
            &["04 09:00+11:00", "05 09:00+10:30"],
        ),
        (
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2026-10-02T18:00:00Z",
            "2026-10-04T12:00:00Z",
            &["04 02:30+11:00"],
        ),
        (
            "Asia/Shanghai",
            "0 9 * * 1-5",
            "2026-11-20T00:00:00Z",
            "2026-11-24T12:00:00Z",
            &["20 09:00+08:00", "23 09:00+08:00", "24 09:00+08:00"],
        ),
        ("Asia/Shanghai", "@monthly", "2026-11-20T00:00:00Z", "2027-01-02T00:00:00Z", &["01 00:00+08:00"; 2]),
        ("UTC", "0 0 29 2 *", "2026-01-01T00:00:00Z", "2029-01-01T00:00:00Z", &["29 00:00+00:00"]),
    ] {
        let zone = zone(name);
        let schedule = Schedule::cron(expression, &zone, at(from)).unwrap();
        assert_eq!(local(&schedule, &zone, from, until), expected, "{name} {expression}");
    }
}

#[test]
fn an_interval_has_the_same_slots_after_a_restart() {
    let zone = zone("Europe/Berlin");
    let days = Schedule::every("1d", Some("2026-03-27 09:00"), &zone).unwrap();
    let expected = ["27 09:00+01:00", "28 09:00+01:00", "29 09:00+02:00", "30 09:00+02:00"];
    assert_eq!(local(&days, &zone, "2026-03-01T00:00:00Z", "2026-03-30T12:00:00Z"), expected);
    // An interval counts elapsed time, not wall-clock time.
    let hours = Schedule::every("2h", None, &zone).unwrap();
    let expected = ["29 00:00+01:00", "29 03:00+02:00", "29 05:00+02:00"];
    assert_eq!(local(&hours, &zone, "2026-03-28T22:00:00Z", "2026-03-29T03:00:00Z"), expected);
    for moment in ["2026-03-28T23:00:01Z", "2026-03-29T00:59:59.999Z"] {
        assert_eq!(hours.next_after(at(moment), &zone), Some(at("2026-03-29T01:00:00Z")));
    }
    let weeks = Schedule::every("2w", Some("2026-01-01T08:00:00Z"), &zone).unwrap();
    assert_eq!(weeks.next_after(at("2026-01-01T08:00:00Z"), &zone), Some(at("2026-01-15T08:00:00Z")));
}

#[test]
fn what_is_no_schedule_is_refused_with_its_reason() {
    let utc = TimeZone::UTC;
    let now = at("2026-11-18T00:00:00Z");
    for text in ["* * * *", "0 9 * * * *", "61 * * * *", "0 25 * * *", "often", ""] {
        assert!(matches!(Schedule::cron(text, &utc, now), Err(ScheduleError::Cron(_))), "{text}");
    }
    assert_eq!(Schedule::cron("0 0 30 2 *", &utc, now).unwrap_err(), ScheduleError::Never);
    for (text, error) in [
        ("5", ScheduleError::Interval),
        ("soon", ScheduleError::Interval),
        ("30s", ScheduleError::TooShort),
        ("-1h", ScheduleError::TooShort),
        ("0m", ScheduleError::TooShort),
        ("1d 2h", ScheduleError::MixedInterval),
        ("1mo", ScheduleError::MixedInterval),
    ] {
        assert_eq!(Schedule::every(text, None, &utc).unwrap_err(), error, "{text}");
    }
    assert_eq!(Schedule::at([], &utc).unwrap_err(), ScheduleError::NoTimes);
    assert_eq!(Schedule::at(vec!["2027-01-01 09:00"; 101], &utc).unwrap_err(), ScheduleError::TooManyTimes);
}

#[test]
fn a_time_is_read_with_its_offset_or_on_the_wall_clock() {
    let berlin = zone("Europe/Berlin");
    for (text, expected, moved) in [
        ("2026-11-18T09:00+08:00", "2026-11-18T01:00:00Z", false),
        ("2026-11-18 09:00", "2026-11-18T08:00:00Z", false),
        ("2026-12-01T09:00:00Z", "2026-12-01T09:00:00Z", false),
        ("2026-12-01T09:00[Asia/Shanghai]", "2026-12-01T01:00:00Z", false),
        ("2026-03-29 02:30", "2026-03-29T01:30:00Z", true),
        ("2026-12-01T09:00:00.123456Z", "2026-12-01T09:00:00.123Z", false),
    ] {
        let given = time(text, &berlin).unwrap();
        assert_eq!((given.at, given.moved), (at(expected), moved), "{text}");
    }
    assert_eq!(time("2026-11-18", &berlin), Err(ScheduleError::DateWithoutTime("2026-11-18".into())));
    for text in ["9:00", "tomorrow", "2026-13-01 09:00", "2026-11-18 09:00 CST", ""] {
        assert!(time(text, &berlin).is_err(), "{text}");
    }
    for name in ["CST", "GMT+8", "Asia/Nowhere", "+08:00", ""] {
        assert!(time_zone(name).is_none(), "{name}");
    }
}

#[test]
fn schedules_are_told_in_both_languages() {
    let zone = zone("Asia/Shanghai");
    let now = at("2026-11-18T00:00:00Z");
    let told = |schedule: &Schedule| {
        [Language::En, Language::Zh].map(|language| words::schedule(schedule, &zone, language))
    };
    for (expression, expected) in [
        ("0 9 * * 1-5", ["Mon to Fri at 09:00", "每周一至周五 09:00"]),
        ("30 18 * * 0", ["every Sun at 18:30", "每周日 18:30"]),
        ("5 7 * * *", ["every day at 07:05", "每天 07:05"]),
        ("0 9 1 * *", ["At 09:00, on day 1", "在 09:00, 每月 1 日"]),
    ] {
        assert_eq!(told(&Schedule::cron(expression, &zone, now).unwrap()), expected);
    }
    let twice = told(&Schedule::cron("0 9,18 * * 1-5", &zone, now).unwrap());
    assert!(twice[0].contains("Monday") && twice[1].contains("星期一"), "{twice:?}");
    for (interval, expected) in [
        ("90m", ["every 1 h 30 min", "每 1 小时 30 分钟"]),
        ("2h", ["every 2 h", "每 2 小时"]),
        ("30m", ["every 30 min", "每 30 分钟"]),
        ("1d", ["every day at 00:00", "每天 00:00"]),
        ("2d", ["every 2 days at 00:00", "每 2 天 00:00"]),
    ] {
        assert_eq!(told(&Schedule::every(interval, None, &zone).unwrap()), expected);
    }
    let once = told(&Schedule::at(["2026-12-01 09:00"], &zone).unwrap());
    assert_eq!(once, ["2026-12-01 (Tue) 09:00", "2026-12-01 (周二) 09:00"]);
}
