//! From start to the first `getUpdates`, and what an idle bot takes.

use std::time::Duration;

use crate::bots::{Bot, Kind, example};
use crate::compare::Comparison;
use crate::measure::{Memory, millis, ms};
use crate::overhead::say;

const STARTS: usize = 15;
const QUIET: Duration = Duration::from_secs(3);

pub(crate) async fn to_first_poll(comparison: &mut Comparison) {
    let figure = format!("start to first poll, median of {STARTS}");
    comparison
        .both(&figure, "≤ 50 ms", async |kind| {
            let median = Bot::start(kind, 1, Duration::ZERO).await.restarts(STARTS).await.median();
            (ms(median), millis(median) <= 50.0)
        })
        .await;
}

pub(crate) async fn idle(comparison: &mut Comparison) {
    for (messages, when) in [(0, "nobody has written yet"), (1, "one message was answered")] {
        comparison
            .both(&format!("idle RSS, {when}"), "≤ 16 MB", async |kind| {
                let bot = Bot::start(kind, 1, Duration::ZERO).await;
                for number in 0..messages {
                    say(&bot, 1, &format!("question-{number}")).await;
                }
                tokio::time::sleep(QUIET).await;
                let memory = Memory::of(bot.process.pid());
                (memory.to_string(), memory.resident <= 16.0)
            })
            .await;
    }
}

pub(crate) async fn size(comparison: &mut Comparison) {
    let size = |kind| {
        let path = match kind {
            Kind::Shipagent => env!("CARGO_BIN_EXE_shipagent").into(),
            Kind::Bare => example(),
        };
        let bytes = std::fs::metadata(path).unwrap().len();
        format!("{:.1} MB", u32::try_from(bytes).map(f64::from).unwrap() / 1e6)
    };
    comparison.both("size of the binary", "", async |kind| (size(kind), true)).await;
}
