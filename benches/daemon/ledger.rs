//! A start, and the first look at what was spent, with a month of 100,000 lines in the usage ledger.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::measure::{Samples, millis, ms};
use crate::site::Site;
use crate::table::Table;

/// Two lines each.
const CALLS: usize = 50_000;
const STARTS: usize = 15;

/// A start must not depend on what was spent before: calls wait for the sums, and a note spares reading the lines again.
pub(crate) fn many_lines(table: &mut Table) {
    let site = Site::new();
    site.start().0.stop();
    let without = starts(&site).median();
    write(&site);
    let (process, first) = site.start();
    let unread = ask(&site, 0);
    process.stop();
    let with = starts(&site).median();
    let more = millis(with) - millis(without);
    let measured = format!("{more:+.1} ms ({} without, {} at the first start)", ms(without), ms(first));
    table.target("start with 100,000 lines in the usage ledger", "≤ 20 ms more", &measured, more <= 20.0);
    let (process, _) = site.start();
    let read = ask(&site, 1);
    let samples: Samples = (2..11).map(|number| ask(&site, number)).collect();
    process.stop();
    let measured = format!(
        "{}; {} right after a start, {} where they were never read",
        ms(samples.median()),
        ms(read),
        ms(unread)
    );
    table.target("`/usage` over them", "≤ 50 ms", &measured, millis(samples.median()) <= 50.0);
}

fn write(site: &Site) {
    let now = jiff::Timestamp::now().to_string();
    let month: String = now.chars().take(7).collect();
    let dir = site.project.path().join(".ship/logs");
    std::fs::create_dir_all(&dir).unwrap();
    let mut file = std::io::BufWriter::new(
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join(format!("usage-{month}.jsonl")))
            .unwrap(),
    );
    for call in 0..CALLS {
        let (thread, turn) = (call % 200, call / 3);
        for kind in ["reserve", "settle"] {
            writeln!(
                file,
                "{{\"t\":\"{kind}\",\"id\":\"call-{call}\",\"at\":\"{now}\",\"threadId\":\"web:chat:{thread}\",\
                 \"turnId\":\"run_{turn}\",\"step\":1,\"authorId\":\"web:user:{thread}\",\"purpose\":\"turn\",\
                 \"provider\":\"api.openai.com\",\"model\":\"gpt-6-luna\",\"in\":9000,\"inCached\":8000,\"out\":300,\
                 \"cost\":330,\"price\":{{\"input\":100000,\"cachedInput\":10000,\"cacheWrite\":200000,\"output\":500000}},\
                 \"source\":\"reported\",\"ms\":1800}}"
            )
            .unwrap();
        }
    }
    file.flush().unwrap();
}

fn starts(site: &Site) -> Samples {
    let start = |_| {
        let (process, took) = site.start();
        process.stop();
        took
    };
    (0..STARTS).map(start).collect()
}

/// How long `/usage` takes, sent over HTTP.
fn ask(site: &Site, number: usize) -> Duration {
    let body = json!({ "instructions": "/usage", "chatId": "bench", "messageId": format!("b{number}"), "userId": "ada" });
    let begun = Instant::now();
    let answer = site.post("/api/execute", &body.to_string()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    begun.elapsed()
}
