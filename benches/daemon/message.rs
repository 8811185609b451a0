//! What the daemon adds to each message, and how much of that is waiting for the disk.

use crate::conversation::Conversation;
use crate::measure::{Samples, millis, ms, raw_syncs};
use crate::table::Table;

const MESSAGES: usize = 400;
const THREADS: usize = 100;
const RAW_SYNCS: usize = 200;
/// A message is answered for when it is on the disk, and so is its reply.
const SYNCS: u32 = 2;

pub(crate) async fn overhead(table: &mut Table) {
    let mut conversation = Conversation::begin().await;
    let raw_before = raw_syncs(conversation.project.path(), RAW_SYNCS);
    let before = Counted::read(&conversation).await;

    let mut one = Samples::default();
    for _ in 0..MESSAGES {
        one.add(conversation.ask("one").await);
    }
    let mut spread = Samples::default();
    for number in 0..MESSAGES {
        spread.add(conversation.ask(&format!("spread-{}", number % THREADS)).await);
    }

    let after = Counted::read(&conversation).await;
    let raw_after = raw_syncs(conversation.project.path(), RAW_SYNCS);
    let raw = raw_before.and(&raw_after);
    let syncs = raw.median() * SYNCS;
    for (samples, place) in [(one, "in one thread".to_owned()), (spread, format!("over {THREADS} threads"))] {
        let beyond = millis(samples.median()) - millis(syncs);
        let measured = format!(
            "p50 {}, p95 {}; {beyond:+.1} ms beside its fsyncs",
            ms(samples.median()),
            ms(samples.percentile(95))
        );
        let figure = format!("overhead of a message, {MESSAGES} {place}");
        table.target(&figure, "p50 ≤ fsyncs + 3 ms", &measured, beyond <= 3.0);
    }
    let measured =
        format!("{} (one small append: p50 {}, p95 {})", ms(syncs), ms(raw.median()), ms(raw.percentile(95)));
    table.plain(&format!("its {SYNCS} fsyncs, done by hand"), &measured);
    let messages = f64::from(u32::try_from(2 * MESSAGES).unwrap());
    let (count, time) =
        ((after.syncs - before.syncs) / messages, (after.seconds - before.seconds) / messages);
    table.plain(
        "its fsyncs, by the daemon's metrics",
        &format!("{count:.2}, {:.1} ms on average", time * 1000.0),
    );
}

/// What the daemon says of its waits for the disk.
struct Counted {
    syncs: f64,
    seconds: f64,
}

impl Counted {
    async fn read(conversation: &Conversation) -> Self {
        Self {
            syncs: conversation.metric("shipagent_journal_syncs_total").await,
            seconds: conversation.metric("shipagent_journal_sync_seconds_total").await,
        }
    }
}
