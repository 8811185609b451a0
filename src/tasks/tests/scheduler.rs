//! The scheduler on a virtual clock: summer time, clocks that are set, suspended machines, missed slots, and files that
//! change while a run goes on.

#![expect(clippy::string_slice, reason = "times are ASCII")]

use std::time::Duration;

use jiff::tz::TimeZone;

use super::bench::{Bench, HOUR, MINUTE};
use crate::domain::{Language, TaskStatus};
use crate::ports::{Clock as _, KeyValueStore as _, TaskFiles as _, Tasks as _};

#[tokio::test(start_paused = true)]
async fn a_daily_task_runs_once_a_day_over_every_change_of_the_clock() {
    for (zone, noon) in [
        ("Europe/Berlin", "2026-03-28T11:00:00Z"),
        ("Europe/Berlin", "2026-10-24T10:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T01:30:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T01:00:00Z"),
        ("America/New_York", "2026-03-07T17:00:00Z"),
        ("America/New_York", "2026-10-31T16:00:00Z"),
        ("Asia/Shanghai", "2026-03-28T04:00:00Z"),
    ] {
        let mut bench = Bench::new(noon, Duration::ZERO);
        bench.write("cron", &format!("---\nschedule: \"15 2 * * *\"\ntimezone: {zone}\n---\nx")).await;
        bench
            .write("every", &format!("---\nevery: 1d\nfrom: 2026-01-01 05:00\ntimezone: {zone}\n---\nx"))
            .await;
        bench.start().await;
        tokio::time::sleep(HOUR * 71).await;
        assert_eq!(bench.runs("cron").len(), 3, "{zone} {noon}: {:?}", bench.runs("cron"));
        let every = bench.runs("every");
        assert_eq!(every.len(), 3, "{zone} {noon}: {every:?}");
        for slot in every {
            let there = slot.parse::<jiff::Timestamp>().unwrap().to_zoned(TimeZone::get(zone).unwrap());
            assert_eq!(there.strftime("%H:%M").to_string(), "05:00", "{zone}: {slot}");
        }
        bench.stop.cancel();
    }
}

#[tokio::test(start_paused = true)]
async fn half_hours_are_real_half_hours_when_the_clock_changes() {
    for (zone, midnight, hours) in [
        ("Europe/Berlin", "2026-03-28T23:00:00Z", 23.0),
        ("Europe/Berlin", "2026-10-24T22:00:00Z", 25.0),
        ("America/New_York", "2026-03-08T05:00:00Z", 23.0),
        ("America/New_York", "2026-11-01T04:00:00Z", 25.0),
        ("Australia/Lord_Howe", "2026-10-03T13:30:00Z", 23.5),
        ("Asia/Shanghai", "2026-03-28T16:00:00Z", 24.0),
    ] {
        let mut bench = Bench::new(midnight, Duration::ZERO);
        bench.write("t", &format!("---\nschedule: \"*/30 * * * *\"\ntimezone: {zone}\n---\nx")).await;
        bench.start().await;
        tokio::time::sleep(Duration::from_secs_f64(hours * 3600.0)).await;
        let runs = bench.runs("t");
        let times: Vec<jiff::Timestamp> = runs.iter().map(|slot| slot.parse().unwrap()).collect();
        assert!(
            times.windows(2).all(|pair| pair[1].duration_since(pair[0]).as_mins() == 30),
            "{zone}: {runs:?}"
        );
        assert_eq!(runs.len() as f64, hours * 2.0, "{zone}: {runs:?}");
        bench.stop.cancel();
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_repeats_nothing_and_one_that_jumps_forward_misses_slots() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    bench.write("t", "---\nschedule: \"0 * * * *\"\n---\nx").await;
    bench.start().await;
    tokio::time::sleep(HOUR * 2).await;
    assert_eq!(bench.runs("t"), ["2026-05-04T09:00:00Z", "2026-05-04T10:00:00Z"]);
    // One hour back: 10:00 comes again, and does not count.
    bench.clock.step(-3600);
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.runs("t").len(), 2);
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.runs("t").last().unwrap(), "2026-05-04T11:00:00Z");
    // Three days forward, as after a suspend: noticed within a minute, the newest slot is made up for.
    bench.clock.step(3 * 86_400);
    tokio::time::sleep(MINUTE * 2).await;
    assert_eq!(bench.runs("t").last().unwrap(), "2026-05-07T11:00:00Z");
    let last = bench.history("t").await.pop().unwrap();
    assert_eq!((last.trigger, last.outcome), (Some("catch-up"), "quiet"));
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.runs("t").last().unwrap(), "2026-05-07T12:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn missed_slots_follow_every_policy() {
    // Down from 08:30 to 12:10: 09:00, 10:00, 11:00 and 12:00 passed.
    let all = ["09:00", "10:00", "11:00", "12:00"];
    let all = &all[..];
    let table = [
        ("skip", "6h", &[][..]),
        ("skip", "90m", &[]),
        ("skip", "30m", &[]),
        ("skip", "5m", &[]),
        ("skip", "0m", &[]),
        ("once", "6h", &["12:00"]),
        ("once", "90m", &["12:00"]),
        ("once", "30m", &["12:00"]),
        ("once", "5m", &[]),
        ("once", "0m", &[]),
        ("all", "6h", all),
        ("all", "90m", &["11:00", "12:00"]),
        ("all", "30m", &["12:00"]),
        ("all", "5m", &[]),
        ("all", "0m", &[]),
    ]
    .into_iter()
    .flat_map(|(missed, grace, expected)| {
        ["skip", "queue"].map(|overlap| (missed, grace, overlap, expected))
    });
    for (missed, grace, overlap, expected) in table {
        let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::from_secs(1));
        let file = format!(
            "---\nschedule: \"0 * * * *\"\nmissed: {missed}\ngrace: {grace}\noverlap: {overlap}\n---\nx"
        );
        bench.write("t", &file).await;
        bench.start().await;
        bench.settle().await;
        bench.stop.cancel();
        bench.settle().await;
        bench.clock.step(220 * 60);
        bench.start().await;
        tokio::time::sleep(MINUTE * 5).await;
        let ran: Vec<String> = bench.runs("t").iter().map(|slot| slot[11..16].to_owned()).collect();
        assert_eq!(ran, expected, "{missed} {grace} {overlap}");
        let told = bench.outcomes("t").await;
        let missed_slots = told.iter().filter(|entry| entry.ends_with("missed")).count();
        assert_eq!(missed_slots + ran.len(), 4, "{missed} {grace} {overlap}: {told:?}");
        tokio::time::sleep(HOUR).await;
        assert_eq!(bench.runs("t").len(), expected.len() + 1, "{missed} {grace}: it goes on");
        bench.stop.cancel();
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_during_a_run_is_skipped_or_waits() {
    for (overlap, ran, outcomes) in [
        ("skip", &["09:00", "09:03"][..], &["09:01 overlap", "09:02 overlap", "09:00 quiet"][..]),
        ("queue", &["09:00", "09:01"], &["09:02 overlap", "09:00 quiet"]),
    ] {
        let mut bench = Bench::new("2026-05-04T08:59:30Z", Duration::from_secs(150));
        bench.write("t", &format!("---\nschedule: \"* * * * *\"\noverlap: {overlap}\n---\nx")).await;
        bench.start().await;
        tokio::time::sleep(Duration::from_secs(200)).await;
        let found = bench.outcomes("t").await;
        assert_eq!(found, outcomes, "{overlap}");
        tokio::time::sleep(Duration::from_secs(140)).await;
        let runs: Vec<String> = bench.runs("t").iter().map(|slot| slot[11..16].to_owned()).collect();
        assert_eq!(runs[..2], ran[..2], "{overlap}: {runs:?}");
        bench.stop.cancel();
    }
}

#[tokio::test(start_paused = true)]
async fn two_hundred_tasks_of_one_minute_all_run_once_in_it() {
    let mut bench = Bench::new("2026-05-04T08:59:00Z", Duration::from_secs(5));
    for number in 0..200 {
        let file = b"---\nschedule: \"0 9 * * *\"\n---\nx".to_vec();
        assert!(bench.files.write(&format!("t{number}"), None, file).await.unwrap());
    }
    bench.start().await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    for number in 0..200 {
        assert_eq!(bench.runs(&format!("t{number}")), ["2026-05-04T09:00:00Z"], "t{number}");
    }
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.threads.accepted.lock().unwrap().len(), 200);
}

#[tokio::test(start_paused = true)]
async fn many_tasks_that_catch_up_are_spread_over_a_minute() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    for number in 0..20 {
        let file = b"---\nschedule: \"0 9 * * *\"\n---\nx".to_vec();
        assert!(bench.files.write(&format!("report-{number}"), None, file).await.unwrap());
    }
    bench.start().await;
    bench.settle().await;
    bench.stop.cancel();
    bench.settle().await;
    bench.clock.step(3600);
    bench.start().await;
    bench.settle().await;
    let first = bench.threads.accepted.lock().unwrap().len();
    assert!(first < 20, "all {first} started at once");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(bench.threads.accepted.lock().unwrap().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn files_may_change_while_a_run_goes_on() {
    let mut bench = Bench::new("2026-05-04T08:59:30Z", Duration::from_secs(600));
    for id in ["edited", "renamed", "deleted", "broken"] {
        let file = b"---\nschedule: \"0 * * * *\"\n---\nx".to_vec();
        assert!(bench.files.write(id, None, file).await.unwrap());
    }
    bench.start().await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(bench.threads.accepted.lock().unwrap().len(), 4);
    bench.write("edited", "---\nschedule: \"30 * * * *\"\n---\ny").await;
    bench.remove("renamed").await;
    bench.write("new-name", "---\nschedule: \"0 * * * *\"\n---\nx").await;
    bench.remove("deleted").await;
    bench.write("broken", "---\nschedule: never\n---\nx").await;
    let status = async |id: &str| bench.book.show(id, Language::En).await.unwrap().summary.status;
    assert_eq!((status("edited").await, status("broken").await), (TaskStatus::Running, TaskStatus::Broken));
    tokio::time::sleep(MINUTE * 20).await;
    assert_eq!(bench.outcomes("edited").await, ["09:00 quiet"], "the run ended well");
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.runs("edited"), ["2026-05-04T09:00:00Z", "2026-05-04T09:30:00Z"]);
    assert_eq!(
        bench.runs("new-name"),
        ["2026-05-04T10:00:00Z"],
        "the past of another name is not made up for"
    );
    assert_eq!((bench.runs("deleted").len(), bench.runs("broken").len()), (1, 1));
    bench.write("broken", "---\nschedule: \"0 * * * *\"\n---\nx").await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.runs("broken").last().unwrap(), "2026-05-04T11:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn an_edit_during_a_run_starts_no_second_one_and_ends_no_later_one() {
    let mut bench = Bench::new("2026-05-04T08:59:30Z", Duration::from_secs(90));
    let file = |words: &str| format!("---\nschedule: \"* * * * *\"\noverlap: queue\n---\n{words}");
    bench.write("t", &file("one")).await;
    bench.start().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    for words in ["two", "three"] {
        bench.write("t", &file(words)).await;
    }
    // 09:00 runs until 09:01:30, then 09:01 until 09:03.
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(bench.runs("t"), ["2026-05-04T09:00:00Z", "2026-05-04T09:01:00Z"]);
    assert_eq!(bench.outcomes("t").await.iter().filter(|entry| entry.ends_with("quiet")).count(), 1);
    let shown = bench.book.show("t", Language::En).await.unwrap();
    assert_eq!(shown.summary.running.unwrap().slot, "2026-05-04T09:01:00Z");
}

#[tokio::test(start_paused = true)]
async fn looking_at_tasks_leaves_their_states_as_they_are() {
    let mut bench = Bench::new("2026-05-04T08:59:30Z", Duration::from_secs(5));
    bench.write("due", "---\nschedule: \"* * * * *\"\n---\nx").await;
    bench.write("past", "---\nat: 2020-01-01 09:00\n---\nx").await;
    bench.write("broken", "---\n---\nx").await;
    bench.start().await;
    tokio::time::sleep(MINUTE).await;
    bench.stop.cancel();
    // Slots pass without a scheduler: listing tasks must not settle them.
    bench.clock.step(7200);
    let before = bench.states.all().await.unwrap();
    assert_eq!(before.len(), 3);
    for _ in 0..3 {
        assert_eq!(bench.book.list(Language::Zh).await.unwrap().len(), 3);
        for id in ["due", "past", "broken"] {
            bench.book.show(id, Language::En).await.unwrap();
            let file = bench.book.file(id).await.unwrap().unwrap();
            let checked = bench.book.preview(&file, bench.clock.now(), Language::En);
            assert_eq!(checked.is_err(), id == "broken");
        }
    }
    assert_eq!(bench.states.all().await.unwrap(), before);
}
