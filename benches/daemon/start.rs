//! From nothing to ready, and what a daemon takes that nobody talks to.

use std::time::{Duration, Instant};

use crate::measure::{Memory, Samples, millis, ms};
use crate::site::Site;
use crate::table::Table;
use crate::thread_files;

const STARTS: usize = 15;
const THREADS: usize = 10_000;

/// Spawn to `/readyz` 200.
pub(crate) fn to_ready(table: &mut Table) {
    let site = Site::new();
    let (first, fresh) = site.start();
    first.stop();
    let median = starts(&site).median();
    table.target(
        &format!("start to ready, median of {STARTS}"),
        "≤ 50 ms",
        &ms(median),
        millis(median) <= 50.0,
    );
    table.plain("the first start in a new project", &ms(fresh));
}

/// Memory after a while of nothing.
pub(crate) fn idle(table: &mut Table) {
    let site = Site::new();
    let (process, _) = site.start();
    std::thread::sleep(Duration::from_secs(2));
    let memory = Memory::of(process.pid());
    table.target("idle RSS", "≤ 16 MB", &memory.to_string(), memory.resident <= 16.0);
    process.stop();
}

/// A start must not depend on how much has been said before.
pub(crate) fn with_many_files(table: &mut Table) {
    let site = Site::new();
    site.start().0.stop();
    let without = starts(&site).median();
    thread_files::many(site.project.path(), THREADS);
    let cold = starts(&site).median();

    // The list of threads is made when somebody asks for it, and kept.
    let (process, _) = site.start();
    let first_list = list(&site);
    process.stop();
    let warm = starts(&site).median();
    let (process, _) = site.start();
    let next_list = list(&site);
    process.stop();

    let more = millis(warm.max(cold)) - millis(without);
    let measured = format!("{more:+.1} ms ({} with none, {} cold, {} warm)", ms(without), ms(cold), ms(warm));
    table.target("start with 10,000 thread files", "≤ 50 ms more", &measured, more <= 50.0);
    let measured = format!("{} the first time ever, {} after a restart", ms(first_list), ms(next_list));
    table.plain("listing the 10,000 threads", &measured);
}

fn starts(site: &Site) -> Samples {
    let start = |_| {
        let (process, took) = site.start();
        process.stop();
        took
    };
    (0..STARTS).map(start).collect()
}

fn list(site: &Site) -> Duration {
    let begun = Instant::now();
    let answer = site.get("/api/threads").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    begun.elapsed()
}
