//! Every page, panel, menu and dialog, in light and dark: no accessibility rule is violated, and nothing sticks out.

use serde_json::json;

use super::project::{EN, ZH, asking};
use crate::fakes::console::{Console, part};
use crate::fakes::daemon::Daemon;
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::webdriver::{Colours, Viewport, key};

/// How a view is opened, and closed again.
#[derive(Clone, Copy)]
enum Opening {
    /// By its address.
    Page(&'static str),
    /// By a click on this element; Esc closes it.
    Click(&'static str),
    /// By these keys, the first held; Esc closes it.
    Keys(char, char),
}

/// All views; what is waited for is an element that has its content.
const VIEWS: &[(&str, Opening, &str)] = &[
    ("tasks", Opening::Page("#/tasks"), "[data-testid=task]"),
    ("task", Opening::Page("#/tasks/daily"), "[data-testid=task-details]"),
    ("memory", Opening::Page("#/memory"), "[data-testid=memory-item]"),
    ("usage", Opening::Page("#/usage"), ".usage-tile"),
    ("instructions", Opening::Page("#/instructions"), "[data-testid=instructions-text]"),
    ("settings", Opening::Page("#/settings"), ".setting-section"),
    ("health", Opening::Page("#/health"), "[data-testid=health-adapter]"),
    ("logs", Opening::Page("#/logs"), "[data-testid=log-line]"),
    ("audit", Opening::Page("#/logs/audit"), "[data-testid=log-line]"),
    ("rich", Opening::Page("#/t/api:chat:rich"), ".table"),
    ("question", Opening::Page("#/t/api:chat:question"), "[data-testid=approval-actions]"),
    ("inbox", Opening::Click("[data-testid=inbox-open]"), "[data-testid=inbox] [data-testid=answer-approve]"),
    ("access", Opening::Click("[data-testid=access-open]"), "[data-testid=access]"),
    ("palette", Opening::Keys(key::CONTROL, 'k'), ".palette"),
    ("shortcuts", Opening::Keys(key::ALT, '/'), ".shortcuts"),
];

const RICH: &str = "# Title\n\nText with `code`, *emphasis* and a [link](https://example.org/).\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\n\
    - [x] done\n- [ ] open\n\n> quoted\n\n```rust\nfn main() {} // nothing\n```\n\n$E = mc^2$\n\n- 很长的中文内容也要在窄屏幕上正常换行而不是把页面撑宽\n";

async fn prepared(daemon: &Daemon) {
    daemon.execute(json!({ "instructions": "rich", "chatId": "rich" })).await;
    let asked = daemon.execute(json!({ "instructions": "delete", "chatId": "question" })).await;
    assert_eq!(asked["status"], "awaiting-approval", "{asked}");
}

async fn look(console: &Console, view: &str, screen: &str) {
    for (colours, scheme) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("view-{view}-{screen}-{scheme}")).await;
        let found = console.violations().await;
        assert_eq!(found, json!([]), "{view} on a {screen}, {scheme}");
    }
    let fits = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('#page').scrollWidth <= innerWidth";
    assert_eq!(console.browser.eval(fits).await, true, "{view} sticks out on a {screen}");
}

async fn walk(screen: Viewport, language: &str, name: &str) {
    let model = FakeModel::start(Script::compute(|seen| {
        if seen.last_user_text().contains("delete") {
            Reply::calls([("exec_shell", json!({ "command": "rm -rf build" }))])
        } else {
            Reply::text(RICH)
        }
    }))
    .await;
    let project = asking(&model);
    project.write(".ship/tasks/daily.md", "---\nschedule: \"0 9 * * 1-5\"\n---\nSummarise the day.\n");
    project.write(".ship/memory/project.md", "- The release is on Fridays.\n");
    let daemon = project.start().await;
    prepared(&daemon).await;
    let console = Console::open(&daemon, screen, language).await;
    console.until_visible("composer", true).await;
    look(&console, "welcome", name).await;
    let phone = matches!(screen, Viewport::Phone);
    for (view, way, content) in VIEWS {
        let seen = format!("document.querySelector({})?.checkVisibility()", json!(content));
        match way {
            Opening::Page(hash) => {
                drop(console.browser.eval(&format!("(location.hash = '{hash}', 1)")).await)
            }
            Opening::Click(selector) => console.browser.click(selector).await,
            Opening::Keys(..) if phone => continue,
            Opening::Keys(held, key) => console.browser.press_with(*held, *key).await,
        }
        console.until(&seen).await;
        look(&console, view, name).await;
        if !matches!(way, Opening::Page(_)) {
            console.browser.press(&key::ESCAPE.to_string()).await;
            console.until(&format!("!({seen})")).await;
        }
    }
    if phone {
        console.browser.click("#drawer-open").await;
        console.until_visible("thread-filters-open", true).await;
        look(&console, "drawer", name).await;
    }
    console.browser.click(&part("thread-filters-open")).await;
    console.until_visible("thread-person", true).await;
    look(&console, "filters", name).await;
    for entry in ["thread-rename", "thread-delete"] {
        console
            .browser
            .eval("(document.querySelector('[data-testid=thread-menu-open]:not([hidden])').click(), 1)")
            .await;
        console.until_visible(entry, true).await;
        if entry == "thread-rename" {
            look(&console, "thread-menu", name).await;
        }
        console.browser.click(&part(entry)).await;
        console.until_visible("thread-cancel", true).await;
        look(&console, entry, name).await;
        console.browser.click(&part("thread-cancel")).await;
    }
    if phone {
        console.browser.click("#drawer-close").await;
    }
    console.browser.type_into(&part("composer"), "/").await;
    console.until_visible("slash", true).await;
    look(&console, "slash", name).await;
    console.browser.visit(&format!("{}/#/", daemon.base)).await;
    console.browser.eval("(localStorage.clear(), sessionStorage.clear(), 1)").await;
    console.browser.reload().await;
    console.until_visible("login-token", true).await;
    look(&console, "login", name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_view_is_accessible_and_fits_a_desktop() {
    walk(Viewport::Desktop(1280, 800), EN, "desktop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_view_is_accessible_and_fits_a_phone_in_chinese() {
    walk(Viewport::Phone, ZH, "phone").await;
}
