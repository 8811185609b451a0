//! The first reply in a very long thread, beside that in an empty one.

use crate::conversation::Conversation;
use crate::measure::{Samples, millis, ms};
use crate::table::Table;
use crate::thread_files;

const MESSAGES: usize = 100_000;
const ROUNDS: usize = 9;

pub(crate) async fn first_reply(table: &mut Table) {
    let mut conversation = Conversation::begin().await;
    thread_files::long(conversation.project.path(), "long", MESSAGES);
    // The file is new to the daemon: its index is made now.
    let unindexed = conversation.ask("long").await;

    let (mut empty, mut long) = (Samples::default(), Samples::default());
    for round in 0..ROUNDS {
        conversation = conversation.restart().await;
        empty.add(conversation.ask(&format!("empty-{round}")).await);
        long.add(conversation.ask("long").await);
    }
    let more = millis(long.median()) - millis(empty.median());
    let measured =
        format!("{more:+.1} ms ({} in an empty one, {} in it)", ms(empty.median()), ms(long.median()));
    let figure = "first reply in a thread of 100,000 messages";
    table.target(figure, "≤ 20 ms more", &measured, more <= 20.0);
    let size = std::fs::metadata(thread_files::path(conversation.project.path(), "long")).unwrap().len();
    let figure = format!("once, where its {} MB have no index yet", size / 1_000_000);
    table.plain(&figure, &ms(unindexed));
}
