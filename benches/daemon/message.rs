//! What the daemon adds to each message, and how much of that is waiting for the disk.

use crate::conversation::Conversation;
use crate::measure::{Samples, millis, ms, raw_syncs};
use crate::table::Table;

const MESSAGES: usize = 400;
const THREADS: usize = 100;
const RAW_SYNCS: usize = 200;

pub(crate) async fn overhead(table: &mut Table) {
    let mut conversation = Conversation::begin().await;
    let raw_before = raw_syncs(conversation.project.path(), RAW_SYNCS);
    let one = Series::of(&mut conversation, |_| "one".to_owned()).await;
    let spread = Series::of(&mut conversation, |number| format!("spread-{}", number % THREADS)).await;
    let raw = raw_before.and(&raw_syncs(conversation.project.path(), RAW_SYNCS));

    for (series, place) in [(&one, "in one thread".to_owned()), (&spread, format!("over {THREADS} threads"))]
    {
        let Series { all, beside_syncs, .. } = series;
        let measured = format!(
            "p50 {}, p95 {}; without its fsyncs p50 {}, p95 {}",
            ms(all.median()),
            ms(all.percentile(95)),
            ms(beside_syncs.median()),
            ms(beside_syncs.percentile(95))
        );
        let figure = format!("overhead of a message, {MESSAGES} {place}");
        table.target(&figure, "p50 ≤ fsyncs + 3 ms", &measured, millis(beside_syncs.median()) <= 3.0);
    }
    let syncs = one.syncs.and(&spread.syncs);
    let messages = f64::from(u32::try_from(2 * MESSAGES).unwrap());
    let count = (one.count + spread.count) / messages;
    let ledger = (one.ledger + spread.ledger) / messages;
    let measured =
        format!("p50 {}, p95 {} ({count:.2} a message)", ms(syncs.median()), ms(syncs.percentile(95)));
    table.target("fsyncs of the usage ledger", "≤ 1 a message", &format!("{ledger:.2}"), ledger <= 1.0);
    table.plain("its fsyncs, as the daemon timed them", &measured);
    let measured = format!("p50 {}, p95 {}", ms(raw.median()), ms(raw.percentile(95)));
    table.plain("one fsync of a small append, done by hand", &measured);
}

/// Messages one after the other.
#[derive(Default)]
struct Series {
    /// What each took beyond the model's own time.
    all: Samples,
    /// The part of it in which the daemon waited for the disk.
    syncs: Samples,
    /// The rest.
    beside_syncs: Samples,
    /// How often it waited for the disk on account of the journal, and of the usage ledger.
    count: f64,
    ledger: f64,
}

impl Series {
    async fn of(conversation: &mut Conversation, chat: impl Fn(usize) -> String) -> Self {
        let mut series = Self::default();
        for number in 0..MESSAGES {
            let before = conversation.waits().await;
            let overhead = conversation.ask(&chat(number)).await;
            let after = conversation.waits().await;
            let syncs = after.journal_time.saturating_sub(before.journal_time);
            series.all.add(overhead);
            series.syncs.add(syncs);
            series.beside_syncs.add(overhead.saturating_sub(syncs));
            series.count += after.journal - before.journal;
            series.ledger += after.ledger - before.ledger;
        }
        series
    }
}
