//! The list of conversations: search, groups, rename, pin, archive, export, delete.

use serde_json::json;

use super::project::{EN, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::webdriver::{Colours, Viewport, key};

fn row(chat: &str) -> String {
    format!("[data-thread='api:chat:{chat}']")
}

impl Console {
    /// Chooses an entry of a conversation's menu.
    async fn choose(&self, chat: &str, entry: &str) {
        let menu = format!(
            "document.querySelector(\"{}\").parentElement.querySelector('[data-testid=thread-menu-open]').click()",
            row(chat)
        );
        self.browser.eval(&menu).await;
        self.browser.click(&part(entry)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_are_found_renamed_pinned_archived_saved_and_deleted() {
    let project = offline();
    let daemon = project.start().await;
    for (chat, words) in [("a", "the blue heron lands"), ("b", "second words"), ("c", "third words")] {
        daemon.execute(json!({ "instructions": words, "chatId": chat })).await;
    }
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let listed = "document.querySelectorAll('[data-thread^=\"api:\"]').length";
    console.until(&format!("{listed} === 3")).await;
    assert_eq!(console.text_of(".thread-group").await, "Today");

    console.browser.type_into(&part("thread-search"), "heron").await;
    console.until(&format!("{listed} === 1")).await;
    assert!(console.text_of(&part("thread-snippet")).await.contains("heron"));
    for (colours, name) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("threads-search-{name}")).await;
        console.assert_accessible().await;
    }
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until(&format!("{listed} === 3")).await;

    console.choose("a", "thread-pin").await;
    console.until("document.querySelector('.thread-group').dataset.group === 'pinned'").await;
    console.until("document.querySelector('#threads a').dataset.thread === 'api:chat:a'").await;
    console.choose("b", "thread-rename").await;
    console.browser.picture("thread-rename").await;
    console.browser.type_into(&part("thread-title-input"), &format!("Harbour plan{}", key::ENTER)).await;
    console
        .until(&format!("document.querySelector(\"{}\").innerText.includes('Harbour plan')", row("b")))
        .await;

    console.choose("c", "thread-archive").await;
    console.until(&format!("{listed} === 2")).await;
    console.browser.click(&part("thread-filters-open")).await;
    console.browser.picture("thread-filters").await;
    console.assert_accessible().await;
    console.browser.type_into(&part("thread-filter"), "Archive").await;
    console.until(&format!("{listed} === 1 && document.querySelector(\"{}\")", row("c"))).await;
    console.choose("c", "thread-archive").await;
    console.until_visible("threads-none", true).await;
    console.browser.type_into(&part("thread-filter"), "All").await;
    console.until(&format!("{listed} === 3")).await;
    // Each filter narrows what the others leave.
    console.browser.type_into(&part("thread-since"), "Today").await;
    console.browser.type_into(&part("thread-platform"), "Telegram").await;
    console.until_visible("threads-none", true).await;
    // Typed at once, it would go on with the word before.
    console.browser.eval("(() => { const field = document.querySelector('[data-testid=thread-platform]'); field.value = ''; field.dispatchEvent(new Event('change')); })()").await;
    console.until(&format!("{listed} === 3")).await;
    console.browser.type_into(&part("thread-person"), "nobody of that name").await;
    console.until_visible("threads-none", true).await;
    console.browser.eval("(() => { const field = document.querySelector('[data-testid=thread-person]'); field.value = ''; field.dispatchEvent(new Event('input')); })()").await;
    console.browser.type_into(&part("thread-since"), "Any").await;
    console.until(&format!("{listed} === 3")).await;
    console.browser.click(&part("thread-filters-open")).await;

    console.choose("a", "thread-markdown").await;
    let saved = String::from_utf8(console.browser.downloaded("the-blue-heron-lands.md").await).unwrap();
    assert!(
        saved.starts_with("# the blue heron lands") && saved.contains("the blue heron lands\n"),
        "{saved}"
    );
    console.choose("a", "thread-json").await;
    let saved: serde_json::Value =
        serde_json::from_slice(&console.browser.downloaded("the-blue-heron-lands.json").await).unwrap();
    assert_eq!(saved["threadId"], "api:chat:a");
    assert_eq!(saved["messages"].as_array().unwrap().len(), 2);

    // Deleting is asked twice, and the safe answer has the focus.
    console.choose("b", "thread-delete").await;
    console.until("document.activeElement.dataset.testid === 'thread-cancel'").await;
    console.browser.picture("thread-delete").await;
    console.assert_accessible().await;
    console.browser.click(&part("thread-delete-first")).await;
    console.until("document.activeElement.dataset.testid === 'thread-cancel'").await;
    assert!(project.thread_file("api:chat:b").exists());
    console.browser.click(&part("thread-delete-yes")).await;
    console.until(&format!("{listed} === 2")).await;
    assert!(!project.thread_file("api:chat:b").exists());

    // All of it outlives a restart.
    console.browser.reload().await;
    console.until_connected().await;
    console.until("document.querySelector('.thread-group').dataset.group === 'pinned'").await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_palette_the_shortcuts_and_the_slash_menu_work_with_the_keyboard() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.press_with(key::CONTROL, 'k').await;
    console.until_visible("palette", true).await;
    console.browser.picture("palette").await;
    console.assert_accessible().await;
    console.browser.press(&format!("mem{}", key::ENTER)).await;
    console.until("location.hash === '#/memory'").await;
    console.browser.press_with(key::CONTROL, 'k').await;
    console.browser.press(&format!("shortc{}", key::ENTER)).await;
    console.until_visible("shortcuts", true).await;
    console.browser.picture("shortcuts").await;
    console.assert_accessible().await;
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until_visible("shortcuts", false).await;
    console.browser.click(&part("page-close")).await;

    console.browser.type_into(&part("composer"), "/st").await;
    console.until("document.querySelectorAll('[data-testid=slash-item]').length === 2").await;
    console.browser.picture("slash").await;
    console.assert_accessible().await;
    console.browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelector('[data-testid=composer]').value === '/status '").await;
    console.browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelector('.chip')?.innerText.includes('/status')").await;
    // What is half written is there after a reload.
    console.browser.type_into(&part("composer"), "half a thought").await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until("document.querySelector('[data-testid=composer]').value === 'half a thought'").await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_phone_enter_begins_a_line_and_the_button_sends() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, Viewport::Phone, EN).await;
    console.browser.type_into(&part("composer"), &format!("list: .{}", key::ENTER)).await;
    assert_eq!(console.messages().await, []);
    console.browser.click(&part("send")).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.until_idle().await;
    console.browser.picture("phone-conversation").await;
    console.assert_accessible().await;
    console.browser.click("#drawer-open").await;
    console.until_visible("thread-search", true).await;
    console.browser.picture("phone-drawer").await;
    let manifest = daemon.http.get(format!("{}/manifest.webmanifest", daemon.base)).send().await.unwrap();
    assert_eq!(manifest.headers()["content-type"], "application/manifest+json");
    assert_eq!(manifest.json::<serde_json::Value>().await.unwrap()["display"], "standalone");
    console.assert_no_complaints().await;
}
