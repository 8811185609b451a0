//! People write on every platform at once while the daemon is killed repeatedly. `cargo bench --bench soak` does the
//! same with tens of thousands of messages.

use std::time::Duration;

use crate::fakes::dice::seed;
use crate::fakes::soak::{Plan, Soak};

const PEOPLE: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_platforms_at_once_lose_nothing_repeat_nothing_and_keep_order_over_kills() {
    let plan = Plan {
        people: PEOPLE,
        messages: 50,
        http_chats: PEOPLE,
        http_messages: 200,
        at_once: PEOPLE,
        kill_within: Some(Duration::from_millis(900)),
        seed: seed(),
    };
    println!("SHIPAGENT_TEST_SEED={}", plan.seed);
    let report = Soak::new(PEOPLE).await.run(plan).await;
    println!("{report}");
    assert!(report.is_clean(), "{report:#?}");
    assert!(report.kills >= 5, "too few kills to prove anything: {report}");
}
