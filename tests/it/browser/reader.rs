//! Accessibility: languages, keyboard, screen readers.

use super::project::{EN, ZH, asking, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::TOKEN;
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::webdriver::{Browser, Colours, Viewport, key};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_printed_address_opens_the_console_and_the_token_leaves_the_bar() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    assert!(!console.browser.address().await.contains(TOKEN), "{}", console.browser.address().await);
    assert_eq!(console.text_of("#agent-name").await, "harbour");
    console.until("document.querySelectorAll('[data-testid=suggestion]').length === 4").await;
    console.browser.picture("welcome-light").await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("welcome-dark").await;

    console.say("hello there").await;
    console
        .until("document.querySelectorAll('[data-testid=message][data-role=assistant]').length === 1")
        .await;
    console.until_idle().await;
    let messages = console.messages().await;
    assert_eq!(messages[0], ("user".to_owned(), "hello there".to_owned()));
    assert!(messages[1].1.starts_with("Hello! I am the built-in offline model"), "{messages:?}");
    assert!(!console.sees("suggestion").await, "the welcome has gone");
    let thread = console.thread().await;
    console
        .until(&format!(
            "document.querySelector('[data-thread=\"{thread}\"]')?.innerText.includes('hello there')"
        ))
        .await;
    // Going back in the history must not show the token either.
    console.browser.eval("history.back()").await;
    assert!(!console.browser.address().await.contains(TOKEN));
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_can_be_done_with_the_keyboard_alone() {
    let project = offline();
    project.write("notes.txt", "buy milk\n");
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let browser = &console.browser;
    // The message box has the focus initially.
    console.until("document.activeElement.id === 'composer'").await;
    browser.press("two").await;
    browser.press_with(key::SHIFT, key::ENTER).await;
    browser.press("lines").await;
    assert_eq!(browser.eval("document.activeElement.value").await, "two\nlines");
    browser.press(&key::ENTER.to_string()).await;
    console.until(&format!("{}.length === 2", "document.querySelectorAll('[data-testid=message]')")).await;
    console.until_idle().await;

    browser.press(&format!("read: notes.txt{}", key::ENTER)).await;
    console.until("document.querySelector('[data-testid=tool-step][data-state=output-available]')").await;
    console.until_idle().await;
    // Backwards from the message box to the step, and into it.
    tab_to(&console, "document.activeElement.closest('[data-testid=tool-step]') && document.activeElement.tagName === 'SUMMARY'", Direction::Back).await;
    browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelector('[data-testid=tool-step]').open").await;

    let thread = console.thread().await;
    // The palette begins with a new chat.
    browser.press_with(key::CONTROL, 'k').await;
    console.until_visible("palette-input", true).await;
    browser.press(&key::ENTER.to_string()).await;
    console
        .until(&format!("!location.hash.includes('{thread}') && document.activeElement.id === 'composer'"))
        .await;
    // A suggestion is an ordinary button.
    tab_to(&console, "document.activeElement.dataset.testid === 'suggestion'", Direction::Back).await;
    browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.until_idle().await;
    // The old conversation is found in the list.
    tab_to(&console, &format!("document.activeElement.dataset.thread === '{thread}'"), Direction::Forth)
        .await;
    browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 4").await;
    assert_eq!(console.thread().await, thread);
    console.assert_no_complaints().await;
}

#[derive(Clone, Copy)]
enum Direction {
    Forth,
    Back,
}

/// Presses Tab until the focus is at the target; at most one round of the page.
async fn tab_to(console: &Console, there: &str, direction: Direction) {
    for _ in 0..60 {
        match direction {
            Direction::Forth => console.browser.press(&key::TAB.to_string()).await,
            Direction::Back => console.browser.press_with(key::SHIFT, key::TAB).await,
        }
        if console.browser.eval(there).await == true {
            return;
        }
    }
    panic!("the keyboard does not reach {there}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_has_room_for_everything() {
    let wide = "Look:\n\n```sh\nfind . -name '*.rs' -exec wc -l {} + | sort -rn | head -n 20 # a line wider than any phone\n```\n\n\
        | file | lines | what it is for, in so many words |\n|---|---|---|\n| main.rs | 34 | args to settings to app |\n";
    let model = FakeModel::start([Reply::text(wide)]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, Viewport::Phone, EN).await;
    let browser = &console.browser;
    let fits = "document.documentElement.scrollWidth <= innerWidth && document.scrollingElement.scrollHeight <= innerHeight";
    assert_eq!(browser.eval(fits).await, true, "nothing sticks out");
    browser.picture("phone-welcome").await;
    browser.type_into(&part("composer"), "show me").await;
    browser.click(&part("send")).await;
    console.until("document.querySelector('.table') && document.querySelector('.code')").await;
    console.until_idle().await;
    assert_eq!(browser.eval(fits).await, true, "wide things scroll by themselves");
    browser.picture("phone-chat").await;

    assert!(!console.sees("new-chat").await, "the list is put away");
    browser.click("#drawer-open").await;
    console.until_visible("new-chat", true).await;
    let thread = console.thread().await;
    console
        .until(&format!(
            "document.querySelector('[data-thread=\"{thread}\"]')?.innerText.includes('show me')"
        ))
        .await;
    browser.picture("phone-drawer").await;
    browser.click(&part("new-chat")).await;
    console.until_visible("new-chat", false).await;
    console.until_visible("suggestion", true).await;
    browser.click("#drawer-open").await;
    browser.click(&format!("[data-thread=\"{thread}\"]")).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.until_visible("new-chat", false).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_speaks_the_readers_language_and_remembers_another() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, ZH).await;
    let composer = "document.querySelector('[data-testid=composer]').placeholder";
    console.until(&format!("{composer}.includes('输入消息')")).await;
    assert_eq!(console.browser.eval("document.documentElement.lang").await, "zh-CN");
    console.browser.picture("welcome-zh").await;
    console.say("读：Agent.md").await;
    console.until("document.querySelector('[data-testid=tool-step][data-state=output-available]')").await;
    console.until_idle().await;
    console.browser.picture("chat-zh").await;

    console.browser.click(&part("language-toggle")).await;
    console.until(&format!("{composer}.startsWith('Message')")).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.browser.reload().await;
    console.until(&format!("{composer}.startsWith('Message')")).await;
    assert_eq!(console.browser.eval("document.documentElement.lang").await, "en");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_token_there_is_only_the_login_form() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console { browser: Browser::start(DESKTOP, EN).await };
    console.browser.visit(&daemon.base).await;
    console.until_visible("login-token", true).await;
    console.enter(&daemon, "wrong-token").await;
    console.until("document.querySelector('#login-error').innerText.includes('not accepted')").await;
    assert!(!console.browser.address().await.contains("wrong-token"));
    console.browser.picture("login").await;
    assert_eq!(
        console.browser.eval("document.querySelector('#app').inert").await,
        true,
        "nothing behind it can be reached"
    );

    console.browser.type_into(&part("login-token"), "wrong again").await;
    console.browser.click(&part("login-submit")).await;
    console.until("document.querySelector('#login-error').innerText.includes('not accepted')").await;
    console.browser.eval("document.querySelector('#login-token').value = ''").await;
    console.browser.type_into(&part("login-token"), &format!("{TOKEN}{}", key::ENTER)).await;
    console.until_connected().await;
    console.until_visible("login-token", false).await;
    console.say("time").await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.browser.reload().await;
    console.until_connected().await;
    assert!(!console.sees("login-token").await, "the browser is remembered");
    console.assert_only_network_complaints().await;
}
