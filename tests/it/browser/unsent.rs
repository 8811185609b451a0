//! What a person wrote is not lost: messages that do not arrive, attachments, edits, messages that wait.

use serde_json::json;

use super::project::{EN, asking, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};
use crate::fakes::webdriver::{Colours, key};

/// Requests that change something do not arrive, until the page is loaded again or `reachable` is set.
const CUT: &str = "(window.fetch = ((real) => (path, options) => \
    ['POST', 'PATCH'].includes(options?.method) && /messages/.test(path) && !window.reachable \
        ? Promise.reject(new TypeError('cut')) : real(path, options))(fetch), 1)";

fn attach(name: &str) -> String {
    format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File(['words of {name}'], '{name}', {{ type: 'text/plain' }})); \
         document.querySelector('[data-testid=composer]').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true, cancelable: true }})); }})()"
    )
}

const ATTACHED: &str = "document.querySelectorAll('[data-testid=attachment]').length";

async fn look(console: &Console, name: &str) {
    for (colours, suffix) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("{name}-{suffix}")).await;
        console.assert_accessible().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_did_not_arrive_outlives_a_reload_with_its_file_and_is_sent_once() {
    let model = FakeModel::start([Reply::text("seen")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.eval(CUT).await;
    console.browser.eval(&attach("a.txt")).await;
    console.until(&format!("{ATTACHED} === 1")).await;
    console.say("look").await;
    console.until_visible("retry", true).await;
    look(&console, "unsent").await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until_visible("retry", true).await;
    let words = console.text_of("[data-testid=message] .failure").await;
    assert!(words.contains("the page was left before the daemon had it"), "{words}");
    assert_eq!(console.browser.eval("document.querySelector('[data-testid=composer]').value").await, "");
    console.browser.click(&part("retry")).await;
    console.until_newest("seen").await;
    console.until_idle().await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until_newest("seen").await;
    console.until_visible("retry", false).await;
    let thread = console.thread().await;
    let stored = daemon.get_json(&format!("/api/threads/{thread}/messages")).await;
    assert_eq!(stored["messages"].as_array().unwrap().len(), 2, "{stored}");
    assert_eq!(stored["messages"][0]["parts"].as_array().unwrap().len(), 2, "{stored}");

    // One that is given up is gone.
    console.browser.eval(CUT).await;
    console.say("never mind").await;
    console.until_visible("discard", true).await;
    console.browser.click(&part("discard")).await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until_newest("seen").await;
    assert_eq!(console.messages().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_belong_to_their_conversation_and_are_waited_for() {
    let model = FakeModel::start([Reply::text("seen")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let thread = console.thread().await;
    console.browser.eval(&attach("a.txt")).await;
    console.until(&format!("{ATTACHED} === 1")).await;
    console.browser.eval("(location.hash = '#/t/web:chat:other', 1)").await;
    console.until(&format!("{ATTACHED} === 0")).await;
    console.browser.eval(&format!("(location.hash = '#/t/{thread}', 1)")).await;
    console.until(&format!("{ATTACHED} === 1")).await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until(&format!("{ATTACHED} === 1")).await;

    // A slow disk: Enter waits for the file.
    console
        .browser
        .eval(
            "(FileReader.prototype.readAsDataURL = ((real) => function (file) { window.goOn = () => real.call(this, file); })(FileReader.prototype.readAsDataURL), 1)",
        )
        .await;
    console.browser.eval(&attach("b.txt")).await;
    console.say("look").await;
    console.until("document.querySelector('[data-testid=attached]').innerText.includes('Reading')").await;
    assert_eq!(console.messages().await, []);
    console.browser.eval("window.goOn()").await;
    console.until_newest("seen").await;
    let stored = daemon.get_json(&format!("/api/threads/{thread}/messages")).await;
    let parts = stored["messages"][0]["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().filter_map(|part| part["filename"].as_str()).collect();
    assert_eq!(names, ["a.txt", "b.txt"]);
    console.until(&format!("{ATTACHED} === 0")).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_wait_are_edited_in_place_or_withdrawn_and_a_failed_edit_keeps_its_words() {
    let gate = Latch::new();
    let held = gate.clone();
    let script = Script::compute(move |seen| match seen.last_user_text() {
        "one" => Reply::pieces(["The first half, ", "and the rest."]).gated_after(2, &held),
        _ => Reply::text(&format!("re: {}", seen.unanswered_texts())),
    });
    let model = FakeModel::start(script).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("one").await;
    console.until_newest("The first half,").await;
    let thread = console.thread().await;
    for words in ["two", "three"] {
        console.say(words).await;
    }
    let row = |text: &str| {
        format!(
            "[...document.querySelectorAll('[data-role=user]')].find((el) => el.querySelector('.body').innerText === '{text}')"
        )
    };
    let button = |text: &str, name: &str| {
        format!("{}?.querySelector('[data-testid={name}]:not([hidden])')", row(text))
    };
    console.until(&button("three", "withdraw")).await;
    console.until(&button("two", "withdraw")).await;
    assert_eq!(console.browser.eval(&format!("{} ?? null", button("one", "withdraw"))).await, json!(null));

    console.browser.eval(CUT).await;
    console.browser.eval(&format!("{}.click()", button("two", "edit"))).await;
    assert!(console.text_of(".edit-form").await.contains("It waits"));
    console.browser.type_into(&part("edit-text"), " and a half").await;
    console.browser.click(&part("edit-send")).await;
    console.until("document.querySelector('.edit-form .answer-problem')?.checkVisibility()").await;
    assert_eq!(
        console.browser.eval("document.querySelector('[data-testid=edit-text]').value").await,
        "two and a half"
    );
    look(&console, "edit-failed").await;
    console.browser.eval("(window.reachable = true)").await;
    console.browser.click(&part("edit-send")).await;
    console.until(&row("two and a half")).await;
    assert_eq!(console.thread().await, thread, "no branch");

    console.browser.eval(&format!("{}.click()", button("three", "withdraw"))).await;
    console.until("document.querySelector('[data-withdrawn]')?.innerText.includes('Withdrawn')").await;
    look(&console, "withdrawn").await;
    gate.open();
    console.until_newest("re: two and a half").await;
    console.until_idle().await;
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_being_answered_is_stopped_and_asked_anew() {
    let gate = Latch::new();
    let held = gate.clone();
    let script = Script::compute(move |seen| match seen.last_user_text() {
        "one" => Reply::pieces(["The first half, ", "and the rest."]).gated_after(2, &held),
        words => Reply::text(&format!("re: {words}")),
    });
    let model = FakeModel::start(script).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("one").await;
    console.until_newest("The first half,").await;
    console.browser.eval("document.querySelector('[data-role=user] [data-testid=edit]').click()").await;
    assert!(console.text_of(".edit-form").await.contains("is stopped and replaced"));
    console.browser.type_into(&part("edit-text"), " more").await;
    console.browser.press_with(key::CONTROL, key::ENTER).await;
    console
        .until(
            "[...document.querySelectorAll('.part-text')].some((part) => part.innerText === 're: one more')",
        )
        .await;
    console.until_idle().await;
    gate.open();
    console.assert_no_complaints().await;
}

/// The page is hidden, a minute passes at once, and what the browser would show is noted.
const HIDDEN: &str = "
    const timeout = window.setTimeout;
    window.setTimeout = (act, ms, ...more) => timeout(act, ms === 60000 ? 0 : ms, ...more);
    window.notices = [];
    window.Notification = class { static permission = 'granted'; constructor() { throw new TypeError('Illegal constructor'); } };
    ServiceWorkerRegistration.prototype.showNotification = async function (title, { body }) { window.notices.push([title, body, this.active?.scriptURL]); };
    window.hide = (hidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (hidden ? 'hidden' : 'visible') });
        document.dispatchEvent(new Event('visibilitychange'));
    };
    navigator.setAppBadge = async (count) => { window.badge = count; };
    navigator.clearAppBadge = async () => { window.badge = 0; };";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hidden_page_still_tells_of_questions_where_pages_may_make_no_notices() {
    let model = FakeModel::start([
        Reply::calls([("exec_shell", json!({ "command": "touch one" }))]),
        Reply::text("Made."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console { browser: crate::fakes::webdriver::Browser::start(DESKTOP, EN).await };
    console.browser.on_every_page(HIDDEN).await;
    console.enter(&daemon, crate::fakes::daemon::TOKEN).await;
    console.until_connected().await;
    console.browser.eval("(localStorage.setItem('ship.notify', 'on'), window.hide(true), 1)").await;
    let asked = daemon.execute(json!({ "instructions": "make one", "chatId": "a", "timeoutMs": 1 })).await;
    assert_ne!(asked["status"], "done");
    console.until("window.notices.length === 1").await;
    let notice = console.browser.eval("window.notices[0]").await;
    assert!(notice[1].as_str().unwrap().contains('1'), "{notice}");
    assert_eq!(notice[2], format!("{}/notices.js", daemon.base));
    console.until("window.badge === 1").await;
    console.browser.eval("(window.hide(false), 1)").await;
    console.until_connected().await;
    console.until_count("inbox", "1").await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_in_one_event_costs_neither_the_connection_nor_the_next_event() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console
        .browser
        .eval(
            "(window.opened = 0, window.fetch = ((real) => (path, options) => { window.opened += /api.events/.test(path); return real(path, options); })(fetch), \
              navigator.clearAppBadge = navigator.setAppBadge = () => { throw new Error('broken'); }, 1)",
        )
        .await;
    console.say("time").await;
    console.until("document.querySelectorAll('[data-role=assistant]').length > 0").await;
    console.until_idle().await;
    daemon.execute(json!({ "instructions": "time", "chatId": "other" })).await;
    console.until("[...document.querySelectorAll('#threads a')].length === 2").await;
    assert_eq!(console.browser.eval("window.opened").await, 0, "the stream was never opened again");
}
