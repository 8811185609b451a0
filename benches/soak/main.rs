//! Everybody writes on every platform at once: the real binary against fake platforms on the loopback. Prints how many
//! messages were lost, answered twice or out of order, and the memory of the daemon over time.
//!
//! ```text
//! cargo bench --bench soak              50,000 messages: half of them while the daemon runs, half while it is killed
//! cargo bench --bench soak -- 5000      that many messages
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark that cannot measure has nothing better to do than to say so and stop"
)]

#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/fakes/mod.rs"]
mod fakes;
#[expect(dead_code, reason = "the benchmark of the daemon uses all of it")]
#[path = "../common/measure.rs"]
mod measure;

use std::time::Duration;

use fakes::dice::seed;
use fakes::soak::{Plan, Soak};

const MESSAGES: usize = 50_000;
const AT_ONCE: usize = 16;
/// What one person writes; a platform's people are as many as that takes.
const EACH: usize = 40;
const KILL_WITHIN: Duration = Duration::from_secs(6);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` runs this too, unoptimised and among other tests: nothing worth measuring.
    if !args.iter().any(|arg| arg == "--bench") {
        println!("run it by `cargo bench --bench soak`");
        return;
    }
    let messages = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(MESSAGES);
    measure::allow_many_sockets();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut clean = true;
    for kill_within in [None, Some(KILL_WITHIN)] {
        let plan = plan(messages / 2, kill_within);
        println!("{}", if kill_within.is_some() { "with kill -9" } else { "without kills" });
        let report = runtime.block_on(async { Soak::new(plan.people).await.run(plan).await });
        println!("{report}");
        clean &= report.is_clean();
    }
    assert!(clean, "messages were lost, repeated or out of order");
}

/// Chat platforms limit how fast a bot may write, so that most messages come over HTTP.
fn plan(messages: usize, kill_within: Option<Duration>) -> Plan {
    let people = messages.div_ceil(9 * EACH);
    let http_chats = messages.saturating_sub(3 * people * EACH).div_ceil(EACH);
    Plan {
        people,
        messages: EACH,
        http_chats,
        http_messages: EACH,
        at_once: AT_ONCE,
        kill_within,
        seed: seed(),
    }
}
