//! Many threads at once: what they take, and how fast they get their answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::conversation::output;
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script, Seen};
use crate::measure::Memory;
use crate::table::Table;

const AT_ONCE: usize = 1_000;
const TOGETHER: usize = 50;
const CHATS: usize = 200;
const EACH: usize = 5;

/// Answers every question with its own words, so that no answer can be mistaken for another.
fn echo(seen: &Seen) -> Reply {
    Reply::text(&format!("echo {}", seen.last_user_text()))
}

fn config() -> Value {
    json!({ "limits": { "maxConcurrentRuns": AT_ONCE }, "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } })
}

/// Memory while a thousand runs wait for the model.
pub(crate) async fn at_once(table: &mut Table) {
    let gate = Latch::new();
    let closed = gate.clone();
    let model = FakeModel::start(Script::compute(move |seen| echo(seen).behind(&closed))).await;
    let project = Project::with_model(&model.url(), config());
    let daemon = Arc::new(project.start().await);
    let mut asking = JoinSet::new();
    for chat in 0..AT_ONCE {
        asking.spawn(ask(Arc::clone(&daemon), chat, 0));
    }
    model.wait_for_requests(AT_ONCE).await;
    let running = Memory::of(daemon.pid());
    gate.open();
    asking.join_all().await;
    let figure = "RSS with 1,000 threads active at once";
    table.target(figure, "≤ 100 MB", &running.to_string(), running.resident <= 100.0);
    let answered = Memory::of(daemon.pid());
    table.plain("RSS when all of them are answered", &answered.to_string());
}

/// Fifty people ask at the same time, of a model that takes a second.
pub(crate) async fn together(table: &mut Table) {
    let second = Duration::from_secs(1);
    let model = FakeModel::start(Script::compute(move |seen| echo(seen).after(second))).await;
    let config = json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } });
    let project = Project::with_model(&model.url(), config);
    let daemon = Arc::new(project.start().await);
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for chat in 0..TOGETHER {
        let daemon = Arc::clone(&daemon);
        asking.spawn(async move {
            ask(daemon, chat, 0).await;
            begun.elapsed()
        });
    }
    let last = asking.join_all().await.into_iter().max().unwrap_or_default();
    let figure = format!("{TOGETHER} chats ask at once of a model that takes 1 s: the last answer");
    table.target(&figure, "≤ 1.2 s", &format!("{:.2} s", last.as_secs_f64()), last.as_secs_f64() <= 1.2);
}

/// Two hundred people talk at once, each waiting for an answer before asking again.
pub(crate) async fn throughput(table: &mut Table) {
    let model = FakeModel::start(Script::compute(echo)).await;
    let project = Project::with_model(&model.url(), config());
    let daemon = Arc::new(project.start().await);
    ask(Arc::clone(&daemon), CHATS, 0).await;
    let begun = Instant::now();
    let mut chats = JoinSet::new();
    for chat in 0..CHATS {
        let daemon = Arc::clone(&daemon);
        chats.spawn(async move {
            for number in 0..EACH {
                ask(Arc::clone(&daemon), chat, number).await;
            }
        });
    }
    chats.join_all().await;
    let rate = f64::from(u32::try_from(CHATS * EACH).unwrap()) / begun.elapsed().as_secs_f64();
    let figure = format!("{CHATS} threads × {EACH} messages at once");
    table.plain(&figure, &format!("{rate:.0} messages/s, none lost"));
}

async fn ask(daemon: Arc<Daemon>, chat: usize, number: usize) {
    let words = format!("question {number} of chat {chat}");
    let answer = daemon.execute(json!({ "instructions": words, "chatId": format!("c{chat}") })).await;
    assert_eq!(output(&answer), format!("echo {words}"), "{answer}");
}
