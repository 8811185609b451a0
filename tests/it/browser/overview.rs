//! The console beside the open conversation, and the number of its requests.

use serde_json::{Value, json};

use super::project::{EN, asking, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::webdriver::{Colours, Viewport, key};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_reload_needs_at_most_four_requests() {
    let daemon_of = offline();
    let daemon = daemon_of.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("list: .").await;
    console.until_idle().await;
    // Open requests are in no list of the browser.
    let count = "window.asked = []; const send = window.fetch; \
        window.fetch = (...request) => { window.asked.push(String(request[0])); return send(...request); };";
    console.browser.on_every_page(count).await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.until("document.querySelectorAll('[data-testid=thread-item]').length === 1").await;
    console.until_idle().await;
    let fetched: Vec<String> = serde_json::from_value(console.browser.eval("window.asked").await).unwrap();
    let loaded = "performance.getEntriesByType('resource').filter((entry) => \
        entry.initiatorType !== 'fetch' && entry.transferSize > 0).map((entry) => entry.name)";
    let loaded: Vec<String> = serde_json::from_value(console.browser.eval(loaded).await).unwrap();
    assert_eq!(loaded, Vec::<String>::new(), "script and style come from the browser's cache");
    let page_itself = 1;
    assert!(page_itself + loaded.len() + fetched.len() <= 4, "{fetched:?}");
    assert_eq!(fetched.len(), 2, "one stream and one page of messages: {fetched:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_conversations_are_loaded_as_far_as_somebody_scrolls() {
    let project = offline();
    let daemon = project.start().await;
    for n in 0..55 {
        daemon.execute(json!({ "instructions": "hello", "chatId": format!("c{n}") })).await;
    }
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let listed = "document.querySelectorAll('[data-testid=thread-item][data-thread^=api]').length";
    console.until(&format!("{listed} >= 50")).await;
    assert_eq!(console.browser.eval(listed).await, 50);
    console.browser.eval("document.querySelector('#threads-nav').scrollTo(0, 1e6)").await;
    console.until(&format!("{listed} === 55")).await;
    console.until_visible("threads-more", false).await;
    // A thread that changes moves to the top, without a request for the list.
    daemon.execute(json!({ "instructions": "hello again", "chatId": "c0" })).await;
    console
        .until("document.querySelector('[data-testid=thread-item][data-thread^=api]').dataset.thread === 'api:chat:c0'")
        .await;
    console.browser.picture("threads-many").await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_of_another_channel_is_stopped_from_the_console() {
    let model = FakeModel::start([Reply::hang()]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let started: Value =
        daemon.execute(json!({ "instructions": "hang", "chatId": "elsewhere", "timeoutMs": 1 })).await;
    assert_eq!(started["status"], "running");
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click("[data-thread='api:chat:elsewhere']").await;
    console.until_visible("readonly", true).await;
    console.until_visible("stop-foreign", true).await;
    console.browser.picture("stop-foreign").await;
    console.browser.click(&part("stop-foreign")).await;
    console.until_visible("stop-foreign", false).await;
    daemon.until_state("api:chat:elsewhere", "idle").await;
    let audit = project.run(&["audit", "--json"]).stdout;
    assert!(audit.contains("thread-stopped") && audit.contains("\"console\""), "{audit}");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn escape_takes_no_question_back_and_the_outcome_stays_with_it() {
    let model = FakeModel::start([
        Reply::calls([("exec_shell", json!({ "command": "touch one.txt" }))]),
        Reply::text("Made."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("make one.txt").await;
    console.until_visible("approval-actions", true).await;
    console.until_count("inbox", "1").await;
    for _ in 0..2 {
        console.browser.press(&key::ESCAPE.to_string()).await;
    }
    let label = console.browser.eval("document.querySelector('[data-testid=stop]').title").await;
    assert_eq!(label, "Stop, and take the question back", "the button says what it would do");
    console.browser.click("[data-testid=approval] [data-testid=answer-approve]").await;
    console.until("document.querySelector('.part-text')?.innerText === 'Made.'").await;
    console.until_idle().await;
    assert!(project.path().join("one.txt").exists(), "it was still asked about, and ran");
    let outcome = console.text_of(&part("approval-outcome")).await;
    assert!(outcome.starts_with("approved by operator (Web)"), "{outcome}");
    console.browser.picture("approval-outcome-light").await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("approval-outcome-dark").await;

    // It is stored in the thread, not only in the page, and is between the question and the result.
    console.browser.reload().await;
    console.until_connected().await;
    let stored = console.text_of(&part("approval-outcome")).await;
    assert!(stored.starts_with("approved by operator (Web)"), "{stored}");
    let text = console.text_of("[data-testid=message][data-role=assistant] .body").await;
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
    assert!(place("touch one.txt") < place("approved by"), "{text}");
    assert!(place("approved by") < place("exec_shell") && place("exec_shell") < place("Made."), "{text}");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_shown_until_it_is_back() {
    let project = offline();
    let daemon = project.start().await;
    project.keep_address(&daemon);
    let console = Console::open(&daemon, Viewport::Phone, EN).await;
    console.say("list: .").await;
    console.until_idle().await;
    assert!(!console.sees("offline").await);
    daemon.kill();
    console.until_visible("offline", true).await;
    console.browser.picture("connection-lost").await;
    let _daemon = project.start().await;
    console.browser.click(&part("offline-retry")).await;
    console.until_connected().await;
    console.until_visible("offline", false).await;
    console.assert_only_network_complaints().await;
}
