//! The scheduler when files, states, deliveries and runs fail, and when people change their minds.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::bench::{Bench, HOUR, MINUTE};
use crate::domain::{Language, TaskStatus};
use crate::ports::{KeyValueStore as _, TaskFiles as _, TaskRefusal, Tasks as _};
use crate::uimessage::RunStatus;

const HOURLY: &str = "---\nschedule: \"0 * * * *\"\n---\nx";

async fn status(bench: &Bench, id: &str) -> TaskStatus {
    bench.book.show(id, Language::En).await.unwrap().summary.status
}

#[tokio::test(start_paused = true)]
async fn more_missed_slots_than_are_looked_at_do_not_keep_the_scheduler_busy() {
    let mut bench = Bench::new("2026-10-09T17:55:00Z", Duration::ZERO);
    bench.write("office", "---\nschedule: \"*/15 9-17 * * 1-5\"\n---\nx").await;
    bench.write("strict", "---\nschedule: \"*/10 * * * *\"\ngrace: 0m\n---\nx").await;
    bench.start().await;
    bench.settle().await;
    bench.stop.cancel();
    // 28 working days and more than a week of ten minutes, until a Saturday.
    bench.clock.step(43 * 86_400);
    bench.start().await;
    bench.settle().await;
    assert_eq!((bench.runs("office").len(), bench.runs("strict").len()), (0, 0));
    assert_eq!(bench.outcomes("office").await.last().unwrap(), "17:45 missed");
    assert_eq!(bench.outcomes("strict").await.last().unwrap(), "17:50 missed");
    tokio::time::sleep(HOUR * 48).await;
    assert_eq!(bench.runs("office").first().unwrap(), "2026-11-23T09:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_gone_for_a_moment_loses_nothing_and_one_that_stays_away_begins_anew() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    bench.write("t", HOURLY).await;
    bench.start().await;
    tokio::time::sleep(HOUR).await;
    bench.book.pause("t").await.unwrap();
    bench.remove("t").await;
    assert!(matches!(bench.book.run("t", None).await, Err(TaskRefusal::Unknown)));
    bench.write("t", HOURLY).await;
    assert_eq!(status(&bench, "t").await, TaskStatus::Paused);
    assert_eq!(bench.outcomes("t").await, ["09:00 quiet"]);
    tokio::time::sleep(HOUR * 2).await;
    assert_eq!(bench.runs("t").len(), 1, "it is still paused");
    bench.remove("t").await;
    tokio::time::sleep(MINUTE * 2).await;
    assert_eq!(bench.states.all().await.unwrap(), []);
    bench.write("t", HOURLY).await;
    assert_eq!(status(&bench, "t").await, TaskStatus::Waiting);
    // What is removed on purpose is forgotten at once.
    bench.book.pause("t").await.unwrap();
    bench.book.remove("t", HOURLY.to_owned()).await.unwrap();
    bench.write("t", HOURLY).await;
    assert_eq!(status(&bench, "t").await, TaskStatus::Waiting);
}

#[tokio::test(start_paused = true)]
async fn a_state_without_a_file_is_removed_after_a_while() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    bench.write("t", HOURLY).await;
    bench.start().await;
    bench.book.pause("t").await.unwrap();
    bench.stop.cancel();
    bench.settle().await;
    bench.remove("t").await;
    bench.start().await;
    bench.settle().await;
    assert_eq!(bench.states.all().await.unwrap().len(), 1);
    tokio::time::sleep(MINUTE * 3).await;
    assert_eq!(bench.states.all().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_read_stops_its_task_alone_until_it_can() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    bench.write("paused", HOURLY).await;
    bench.write("other", HOURLY).await;
    bench.start().await;
    bench.settle().await;
    bench.book.pause("paused").await.unwrap();
    tokio::time::sleep(HOUR).await;
    bench.stop.cancel();
    bench.settle().await;
    *bench.states.unread.lock().unwrap() = Some("paused");
    bench.start().await;
    tokio::time::sleep(HOUR).await;
    assert_eq!((bench.runs("paused").len(), bench.runs("other").len()), (0, 2));
    let listed = bench.book.list(Language::En).await.unwrap();
    assert_eq!(
        listed.iter().map(|task| task.status).collect::<Vec<_>>(),
        [TaskStatus::Waiting, TaskStatus::Broken]
    );
    assert!(listed[1].mistake.as_ref().unwrap().message.contains("cannot be read"), "{listed:?}");
    *bench.states.unread.lock().unwrap() = None;
    tokio::time::sleep(HOUR).await;
    assert_eq!(status(&bench, "paused").await, TaskStatus::Paused, "the state was not replaced");
    assert_eq!((bench.runs("paused").len(), bench.runs("other").len()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn files_that_cannot_be_read_at_first_are_read_again() {
    for listing in [true, false] {
        let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
        bench.write("t", HOURLY).await;
        let fault = if listing { bench.files.unlisted.clone() } else { bench.files.unread.clone() };
        fault.store(true, Ordering::Relaxed);
        bench.start().await;
        bench.settle().await;
        fault.store(false, Ordering::Relaxed);
        tokio::time::sleep(HOUR).await;
        assert_eq!(bench.runs("t"), ["2026-05-04T09:00:00Z"], "listing {listing}");
        bench.stop.cancel();
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_enabled_again_does_not_run_for_the_time_it_was_off() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    let file = |enabled: bool| format!("---\nschedule: \"0 9 * * *\"\nenabled: {enabled}\n---\nx");
    bench.write("t", &file(false)).await;
    bench.start().await;
    tokio::time::sleep(HOUR * 2).await;
    bench.write("t", &file(true)).await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.runs("t"), [""; 0]);
    // Also where it was enabled while no daemon ran.
    bench.write("t", &file(false)).await;
    bench.stop.cancel();
    bench.settle().await;
    bench.clock.step(24 * 3600);
    bench.write("t", &file(true)).await;
    bench.start().await;
    tokio::time::sleep(HOUR * 23).await;
    assert_eq!(bench.runs("t"), ["2026-05-06T09:00:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_time_that_is_edited_into_the_past_is_recorded_as_missed_once() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    bench.write("t", "---\nat: 2026-05-05 09:00\n---\nx").await;
    bench.start().await;
    bench.settle().await;
    for prompt in ["x", "y"] {
        bench.write("t", &format!("---\nat: 2026-05-04 07:00\n---\n{prompt}")).await;
        assert_eq!(bench.outcomes("t").await, ["07:00 missed"]);
    }
    bench.write("t", "---\nat: [2026-05-04 07:00, 2026-05-04 09:00]\n---\nx").await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.outcomes("t").await, ["07:00 missed", "09:00 quiet"]);
    assert_eq!(status(&bench, "t").await, TaskStatus::Over);
}

#[tokio::test(start_paused = true)]
async fn a_reminder_that_is_due_is_not_set_aside() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    bench.write("t", "---\nat: 2026-05-04 09:00\n---\nx").await;
    bench.start().await;
    bench.settle().await;
    bench.stop.cancel();
    bench.settle().await;
    bench.clock.step(3600);
    assert_eq!(bench.book.clean().await.unwrap(), [""; 0], "it is made up for at the next start");
    bench.start().await;
    bench.settle().await;
    assert_eq!(bench.runs("t").len(), 1);
    assert_eq!(bench.book.clean().await.unwrap(), ["t"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_with_the_same_key_starts_one_run_also_after_a_restart_and_other_requests() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::from_secs(1));
    for thread in ["own", "run"] {
        bench.write(thread, &format!("---\nschedule: \"0 9 * * *\"\nthread: {thread}\n---\nx")).await;
    }
    bench.start().await;
    bench.settle().await;
    for id in ["own", "run"] {
        let first = bench.book.run(id, Some("k1".into())).await.unwrap();
        assert_eq!(bench.book.run(id, Some("k1".into())).await.unwrap(), first, "while it runs");
        tokio::time::sleep(MINUTE).await;
        bench.book.run(id, Some("k2".into())).await.unwrap();
        tokio::time::sleep(MINUTE).await;
        bench.start().await;
        bench.settle().await;
        assert_eq!(bench.book.run(id, Some("k1".into())).await.unwrap(), first, "after a restart");
        tokio::time::sleep(MINUTE).await;
        assert_eq!(bench.runs(id).len(), 2);
        assert_eq!(bench.history(id).await.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_reaches_nobody_is_a_failure_and_one_refusal_keeps_no_other_target_waiting() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    bench.write("owner", "---\nat: 2026-05-04 09:00\nkind: message\n---\nTea").await;
    let targets = "[web:chat:refuses, web:chat:b, web:chat:also-refuses, web:chat:c]";
    bench
        .write("some", &format!("---\nat: 2026-05-04 09:00\nkind: message\ndeliver: {targets}\n---\nTea"))
        .await;
    bench.start().await;
    tokio::time::sleep(HOUR).await;
    let last = async |id: &str| bench.history(id).await.pop().unwrap();
    let (owner, some) = (last("owner").await, last("some").await);
    assert_eq!((owner.outcome, some.outcome), ("failed", "failed"));
    assert!(owner.text.contains("no direct chat"), "{}", owner.text);
    assert!(some.text.contains("web:chat:refuses: not here; web:chat:also-refuses"), "{}", some.text);
    let said: Vec<String> =
        bench.threads.said.lock().unwrap().iter().map(|(thread, _)| thread.to_string()).collect();
    assert_eq!(said, ["web:chat:b", "web:chat:c"]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_told_from_the_second_on_once_an_hour_and_the_tenth_disables() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    *bench.direct.0.lock().unwrap() = Some("web:chat:owner".parse().unwrap());
    *bench.threads.ends.lock().unwrap() = Some(RunStatus::Failed);
    bench.write("t", "---\nschedule: \"*/20 * * * *\"\n---\nx").await;
    bench.start().await;
    let told = |bench: &Bench| bench.threads.said.lock().unwrap().len();
    for (minutes, failures, notices) in
        [(15, 1, 0), (20, 2, 1), (20, 3, 1), (40, 5, 2), (60, 8, 3), (20, 9, 3)]
    {
        tokio::time::sleep(MINUTE * minutes).await;
        let shown = bench.book.show("t", Language::En).await.unwrap().summary;
        assert_eq!((shown.failures, told(&bench)), (failures, notices), "{:?}", bench.threads.said);
        assert_eq!(shown.status, TaskStatus::Waiting);
    }
    tokio::time::sleep(MINUTE * 20).await;
    assert_eq!(status(&bench, "t").await, TaskStatus::Disabled);
    let last = bench.threads.said.lock().unwrap().last().unwrap().clone();
    assert!(last.1.contains("disabled") && last.1.contains("10 in a row"), "{last:?}");
    tokio::time::sleep(HOUR * 3).await;
    assert_eq!(bench.runs("t").len(), 10);
    bench.book.resume("t").await.unwrap();
    *bench.threads.ends.lock().unwrap() = Some(RunStatus::Done);
    tokio::time::sleep(MINUTE * 20).await;
    assert_eq!(bench.book.show("t", Language::En).await.unwrap().summary.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn lost_slots_are_told_to_an_owner_in_one_message_unless_they_may_be_skipped() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    *bench.direct.0.lock().unwrap() = Some("web:chat:owner".parse().unwrap());
    for (id, keys) in [
        ("late", "grace: 5m"),
        ("all", "grace: 5m\nmissed: all"),
        ("made-up-for", "grace: 6h"),
        ("skipped", "grace: 5m\nmissed: skip"),
        ("silent", "grace: 5m\nnotifyFailure: none"),
    ] {
        bench.write(id, &format!("---\nschedule: \"0 9 * * *\"\n{keys}\n---\nx")).await;
    }
    bench.start().await;
    bench.settle().await;
    bench.stop.cancel();
    bench.settle().await;
    bench.clock.step(3600);
    bench.start().await;
    tokio::time::sleep(MINUTE * 2).await;
    let said = bench.threads.said.lock().unwrap().clone();
    assert_eq!(said.len(), 1, "{said:?}");
    let (to, text) = &said[0];
    assert_eq!(to.as_str(), "web:chat:owner");
    assert!(text.contains("- all, due 2026-05-04 09:00") && text.contains("- late, due"), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
    assert_eq!(bench.runs("made-up-for").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_thread_knows_no_end_is_a_failure_and_the_next_one_starts() {
    let mut bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    *bench.threads.ends.lock().unwrap() = None;
    bench.write("t", HOURLY).await;
    bench.start().await;
    tokio::time::sleep(HOUR).await;
    let last = bench.history("t").await.pop().unwrap();
    assert_eq!((last.outcome, last.text.as_str()), ("failed", "the run ended without a result"));
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.runs("t").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn badly_named_files_are_shown_as_broken() {
    let bench = Bench::new("2026-05-04T08:30:00Z", Duration::ZERO);
    for name in ["日报", "Daily", "good"] {
        assert!(bench.files.write(name, None, HOURLY.as_bytes().to_vec()).await.unwrap());
    }
    let listed = bench.book.list(Language::En).await.unwrap();
    let shown: Vec<_> = listed.iter().map(|task| (task.id.as_str(), task.status)).collect();
    assert_eq!(
        shown,
        [("Daily", TaskStatus::Broken), ("good", TaskStatus::Waiting), ("日报", TaskStatus::Broken)]
    );
    assert!(listed[0].mistake.as_ref().unwrap().message.contains("rename"), "{listed:?}");
    assert_eq!(bench.book.clean().await.unwrap(), [""; 0]);
}
