//! From start to ready, and what an idle daemon takes.

use std::time::{Duration, Instant};

use crate::measure::{Memory, Samples, millis, ms};
use crate::site::Site;
use crate::table::Table;
use crate::thread_files;

const STARTS: usize = 15;
const THREADS: usize = 100_000;

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

/// A start must not depend on how much has been said before, nor the memory on how many threads there are.
pub(crate) fn with_many_files(table: &mut Table) {
    let site = Site::new();
    site.start().0.stop();
    let without = starts(&site).median();
    thread_files::many(site.project.path(), THREADS);
    let index = site.project.path().join(".ship/state/catalog.jsonl");

    // Without its index, which is made in the background.
    let cold: Samples = (0..STARTS)
        .map(|_| {
            std::fs::remove_file(&index).ok();
            let (process, took) = site.start();
            process.stop();
            took
        })
        .collect();
    std::fs::remove_file(&index).ok();
    let (process, _) = site.start();
    let first_list = list(&site);
    let building = Memory::of(process.pid());
    process.stop();

    let warm = starts(&site).median();
    let (process, _) = site.start();
    let next_list = list(&site);
    let again = list(&site);
    let memory = Memory::of(process.pid());
    process.stop();

    let cold = cold.median();
    let more = millis(warm.max(cold)) - millis(without);
    let measured = format!(
        "{more:+.1} ms ({} with none, {} without an index, {} with it)",
        ms(without),
        ms(cold),
        ms(warm)
    );
    table.target("start with 100,000 thread files", "≤ 50 ms more", &measured, more <= 50.0);
    let measured = format!(
        "{} where no index is there yet, {} after a restart, {} the next time",
        ms(first_list),
        ms(next_list),
        ms(again)
    );
    table.plain("the first page of the list of 100,000 threads", &measured);
    table.plain("RSS after it", &format!("{building} while the index is made, {memory} with it"));
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
