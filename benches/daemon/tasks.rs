//! What many scheduled tasks cost: a start, an idle daemon, and how late a due one begins.

use std::time::Duration;

use serde_json::Value;

use crate::measure::{Samples, millis, ms};
use crate::site::Site;
use crate::table::Table;

const TASKS: usize = 10_000;
const STARTS: usize = 9;
/// How long an idle daemon is watched.
const IDLE: Duration = Duration::from_secs(20);
/// How many due tasks are timed.
const DUE: usize = 20;

pub(crate) fn many(table: &mut Table) {
    let site = Site::new();
    site.start().0.stop();
    let without = starts(&site);
    for number in 0..TASKS {
        let (minute, hour) = (number % 60, number % 24);
        let file = format!("---\nschedule: \"{minute} {hour} 1 1 *\"\ndeliver: none\n---\nTask {number}");
        site.project.write(&format!(".ship/tasks/t{number:05}.md"), &file);
    }
    // The first start takes note of every task.
    let (process, first) = site.start();
    until_listed(&site);
    process.stop();
    let with = starts(&site);
    let more = millis(with) - millis(without);
    let measured = format!("{more:+.1} ms ({} with none, {} the first time)", ms(without), ms(first));
    table.target("start with 10,000 task files", "≤ 50 ms more", &measured, more <= 50.0);

    let (process, _) = site.start();
    until_listed(&site);
    std::thread::sleep(Duration::from_secs(3));
    let before = process.cpu();
    std::thread::sleep(IDLE);
    let used = process.cpu().saturating_sub(before);
    let measured = format!("{} in {} s", ms(used), IDLE.as_secs());
    table.target(
        "CPU of an idle daemon with 10,000 tasks",
        "0",
        &measured,
        used <= Duration::from_millis(10),
    );

    let begun = jiff::Timestamp::now();
    for number in 0..DUE {
        let wait = jiff::SignedDuration::from_millis(3000 + 150 * i64::try_from(number).unwrap());
        let at = begun.checked_add(wait).unwrap();
        let file = format!("---\nat: {at}\nkind: message\ndeliver: api:chat:due{number}\n---\n{at}");
        site.project.write(&format!(".ship/tasks/due{number}.md"), &file);
    }
    std::thread::sleep(Duration::from_secs(8));
    let late: Samples = (0..DUE).map(|number| lateness(&site, number)).collect();
    process.stop();
    let (middle, worst) = (late.median(), late.percentile(100));
    let measured = format!("p50 {}, at most {}", ms(middle), ms(worst));
    table.target("a due task begins after its time", "≤ 100 ms", &measured, millis(worst) <= 100.0);
}

fn starts(site: &Site) -> Duration {
    let start = |_| {
        let (process, took) = site.start();
        process.stop();
        took
    };
    (0..STARTS).map(start).collect::<Samples>().median()
}

/// Waits until the scheduler has a state for every task.
fn until_listed(site: &Site) {
    let states = site.project.path().join(".ship/state/tasks");
    while std::fs::read_dir(&states).map_or(0, Iterator::count) < TASKS {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The time between a slot, which its text names, and the stored reminder.
fn lateness(site: &Site, number: usize) -> Duration {
    let answer = site.get(&format!("/api/threads/api:chat:due{number}/messages")).unwrap();
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let message = &body["messages"][0];
    let due: jiff::Timestamp = message["parts"][0]["text"].as_str().unwrap().parse().unwrap();
    let began: jiff::Timestamp = message["metadata"]["timestamp"].as_str().unwrap().parse().unwrap();
    Duration::try_from(began.duration_since(due)).unwrap_or_default()
}
