//! Earlier messages, of this page or another one, are shown once.

use serde_json::json;

use super::project::{EN, asking};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_shows_the_same_messages_once_also_in_the_middle_of_an_answer() {
    let gate = Latch::new();
    let model =
        FakeModel::start([Reply::text("One."), Reply::pieces(["Two, ", "and three."]).gated_after(2, &gate)])
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("a").await;
    console.until_messages(&[("user", "a"), ("assistant", "One.")]).await;
    let thread = console.thread().await;
    console.browser.reload().await;
    console.until_messages(&[("user", "a"), ("assistant", "One.")]).await;

    console.say("b").await;
    console.until_newest("Two,").await;
    console.browser.reload().await;
    console.until_shown(&[("user", "a"), ("assistant", "One."), ("user", "b"), ("assistant", "Two,")]).await;
    console.until_visible("stop", true).await;
    gate.open();
    let all = [("user", "a"), ("assistant", "One."), ("user", "b"), ("assistant", "Two, and three.")];
    console.until_messages(&all).await;
    console.browser.reload().await;
    console.until_messages(&all).await;
    assert_eq!(console.thread().await, thread);
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_finds_a_restarted_daemon_by_itself_and_shows_everything_once() {
    let gate = Latch::new();
    let model = FakeModel::start([
        Reply::pieces(["Lost ", "words"]).hang_after(2),
        Reply::pieces(["Found ", "again."]).behind(&gate),
        Reply::text("Late, but here."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("keep this").await;
    console.until_newest("Lost").await;

    project.keep_address(&daemon);
    daemon.kill();
    console
        .until("document.querySelector('[data-testid=connection]').dataset.state === 'reconnecting'")
        .await;
    console.browser.picture("reconnecting").await;
    console.say("said to nobody").await;
    console.until_visible("retry", true).await;
    console.browser.picture("not-sent").await;

    let daemon = project.start().await;
    console.until_connected().await;
    gate.open();
    console
        .until(
            "[...document.querySelectorAll('.part-text')].some((text) => text.innerText === 'Found again.')",
        )
        .await;
    console.browser.click(&part("retry")).await;
    let all = [
        ("user", "keep this"),
        ("assistant", "Found again."),
        ("user", "said to nobody"),
        ("assistant", "Late, but here."),
    ];
    console.until_messages(&all).await;
    console.browser.reload().await;
    console.until_messages(&all).await;
    console.assert_only_network_complaints().await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_elsewhere_in_the_thread_is_shown_here() {
    let model =
        FakeModel::start(Script::compute(|seen| Reply::text(&format!("echo {}", seen.last_user_text()))))
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("from here").await;
    console.until_newest("echo from here").await;
    let thread = console.thread().await;
    let body = json!({ "id": "elsewhere", "text": "from elsewhere" });
    assert_eq!(
        daemon.post(&format!("/api/threads/{thread}/messages"), &body).send().await.unwrap().status(),
        202
    );
    let all = [
        ("user", "from here"),
        ("assistant", "echo from here"),
        ("user", "from elsewhere"),
        ("assistant", "echo from elsewhere"),
    ];
    console.until_messages(&all).await;

    // A thread of another channel can be read, not written.
    daemon.execute(json!({ "instructions": "from a program", "chatId": "p" })).await;
    console.browser.click("[data-testid=thread-item][data-thread=\"api:chat:p\"]").await;
    console.until_messages(&[("user", "from a program"), ("assistant", "echo from a program")]).await;
    console.until_visible("readonly", true).await;
    assert!(console.sees("composer").await, "the operator may write there, too");
    console.browser.picture("read-only").await;
    console.browser.click(&format!("[data-testid=thread-item][data-thread=\"{thread}\"]")).await;
    console.until_messages(&all).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_conversation_is_loaded_in_pages_and_one_finds_back_to_its_end() {
    let model =
        FakeModel::start(Script::compute(|seen| Reply::text(&format!("echo {}", seen.last_user_text()))))
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    for number in 0..40 {
        let said = json!({ "id": format!("m{number}"), "role": "user", "parts": [{ "type": "text", "text": format!("number {number}") }] });
        let answer =
            daemon.post("/api/chat", &json!({ "id": "long", "messages": [said] })).send().await.unwrap();
        assert!(answer.text().await.unwrap().ends_with("data: [DONE]\n\n"));
    }
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click("[data-testid=thread-item][data-thread=\"web:chat:long\"]").await;
    console.until_newest("echo number 39").await;
    assert_eq!(console.messages().await.len(), 50, "one page");
    assert!(!console.sees("jump").await);
    console.browser.eval("document.querySelector('#scroller').scrollTo(0, 0)").await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 80").await;
    let said: Vec<String> = console.messages().await.into_iter().map(|(_, text)| text).collect();
    let expected: Vec<String> =
        (0..40).flat_map(|n| [format!("number {n}"), format!("echo number {n}")]).collect();
    assert_eq!(said, expected);
    console.until_visible("load-earlier", false).await;
    console.until_visible("jump", true).await;
    console.browser.click(&part("jump")).await;
    console.until_visible("jump", false).await;
    console.assert_no_complaints().await;
}
