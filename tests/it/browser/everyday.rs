//! The small things of every day, on a desktop and on a phone: files chosen, dropped and pasted, pictures enlarged, texts
//! and code copied, lines wrapped, a failed answer asked for again, how long it takes, drafts, and a backup.

use serde_json::json;

use super::project::{EN, ZH, asking};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::fake_model::{FakeModel, Latch, Reply};
use crate::fakes::webdriver::{Viewport, key};

/// A picture of one point.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const CODE: &str = "let path = \"a line that is far too long for a phone and for many a desktop window as well, so that it has to be wrapped or scrolled\";";

/// A transfer of data with one file, as a chooser, a drop or a paste hands it over.
fn transfer(name: &str, kind: &str, bytes: &str) -> String {
    format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{bytes}], {}, {{ type: {} }})); return data; }})()",
        json!(name),
        json!(kind)
    )
}

/// The texts that the page put on the clipboard.
const COPIED: &str = "window.copied";

async fn attach_in_three_ways(console: &Console) {
    let dot = format!("Uint8Array.from(atob('{DOT}'), (c) => c.charCodeAt(0))");
    console
        .browser
        .eval(&format!(
            "(() => {{ const input = document.querySelector('#attach-input'); input.files = {}.files; input.dispatchEvent(new Event('change')); }})()",
            transfer("chosen.txt", "text/plain", "'chosen'")
        ))
        .await;
    let count = "document.querySelectorAll('[data-testid=attachment]').length";
    console.until(&format!("{count} === 1")).await;
    // While a file is over the page, the message box shows where it goes.
    let drag = |kind: &str| {
        format!(
            "document.querySelector('#log').dispatchEvent(new DragEvent('{kind}', {{ dataTransfer: window.dragged, bubbles: true, cancelable: true }}))"
        )
    };
    let dragged = transfer("dropped.txt", "text/plain", "'dropped'");
    console.browser.eval(&format!("(window.dragged = {dragged}, {})", drag("dragover"))).await;
    console.until("document.querySelector('.dropping')").await;
    assert_eq!(console.browser.eval(&drag("drop")).await, false, "the browser does not open it");
    console.until(&format!("{count} === 2 && !document.querySelector('.dropping')")).await;
    console
        .browser
        .eval(&format!(
            "document.querySelector('#composer').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: {}, bubbles: true, cancelable: true }}))",
            transfer("pasted.png", "image/png", &dot)
        ))
        .await;
    console.until(&format!("{count} === 3 && document.querySelector('.attachment img')")).await;
}

/// A picture fills the window until Esc, or a click.
async fn enlarge_the_picture(console: &Console) {
    console.until("document.querySelector('.picture img')?.naturalWidth === 1").await;
    for close in ["key", "click"] {
        console.browser.eval("(document.querySelector('[data-testid=picture-zoom]').click(), 1)").await;
        console.until_visible("zoom", true).await;
        if close == "key" {
            console.assert_accessible().await;
            console.browser.press(&key::ESCAPE.to_string()).await;
        } else {
            console.browser.click("[data-testid=zoom] button").await;
        }
        console.until("!document.querySelector('[data-testid=zoom]')").await;
    }
}

async fn copy_and_wrap(console: &Console, answer: &str) {
    // Code is copied as it is written, a message as Markdown.
    for button in [".code .copy:not([data-testid])", "[data-role=assistant] .meta .copy"] {
        console.browser.eval(&format!("(document.querySelector('{button}').click(), 1)")).await;
    }
    console.until(&format!("{COPIED}.length === 2")).await;
    let copied = console.browser.eval(COPIED).await;
    assert_eq!(
        (copied[0].as_str().unwrap().trim(), copied[1].as_str().unwrap().trim()),
        (CODE, answer.trim())
    );

    // Long lines are scrolled, or wrapped.
    let overhang = "(() => { const pre = document.querySelector('.code pre'); return pre.scrollWidth - pre.clientWidth; })()";
    assert!(console.browser.eval(overhang).await.as_f64().unwrap() > 0.0);
    console.browser.eval("(document.querySelector('[data-testid=code-wrap]').click(), 1)").await;
    assert_eq!(console.browser.eval(overhang).await, 0);
    let pressed = "document.querySelector('[data-testid=code-wrap]').getAttribute('aria-pressed')";
    assert_eq!(console.browser.eval(pressed).await, "true");
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(console.browser.eval(fits).await, true, "nothing sticks out");
}

async fn everyday(screen: Viewport, language: &str, name: &str) {
    let gate = Latch::new();
    let answer = format!("Look:\n\n```rust\n{CODE}\n```\n");
    let model = FakeModel::start([
        Reply::text(&answer),
        Reply::status(401, r#"{"error":{"message":"Incorrect API key"}}"#),
        Reply::text("Now it works."),
        Reply::text("At last.").behind(&gate),
        Reply::text("Hello Ann."),
        Reply::text("Hello operator."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, screen, language).await;
    console
        .browser
        .eval("(window.copied = [], navigator.clipboard.writeText = async (text) => { window.copied.push(text); }, 1)")
        .await;

    attach_in_three_ways(&console).await;
    console.browser.picture(&format!("everyday-attached-{name}")).await;
    console.say("look").await;
    console.until("document.querySelector('[data-testid=code-wrap]')").await;
    console.until_idle().await;
    let stored = daemon.get_json(&format!("/api/threads/{}/messages", console.thread().await)).await;
    let parts = stored["messages"][0]["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().filter_map(|part| part["filename"].as_str()).collect();
    assert_eq!(names, ["chosen.txt", "dropped.txt", "pasted.png"]);

    enlarge_the_picture(&console).await;
    copy_and_wrap(&console, &answer).await;
    console.browser.picture(&format!("everyday-{name}")).await;

    // A failed answer is asked for again where it stands.
    console.say("again").await;
    console.until_visible("error-retry", true).await;
    console.browser.click(&part("error-retry")).await;
    console.until("[...document.querySelectorAll('.part-text')].at(-1)?.innerText === 'Now it works.'").await;
    console.until("!document.querySelector('[data-testid=error]')").await;

    // What takes long says for how long it has.
    console.say("slowly").await;
    console.until("/[0-9]+ (s|秒)/.test(document.querySelector('[data-testid=activity]').innerText)").await;
    gate.open();
    console.until_newest("At last.").await;
    console.until_idle().await;

    // In a conversation of another channel, the operator's words are marked.
    let said = json!({ "instructions": "hi", "chatId": "elsewhere", "userId": "ann" });
    assert_eq!(daemon.execute(said).await["output"], "Hello Ann.");
    console.browser.eval("(location.hash = '#/t/api:chat:elsewhere', 1)").await;
    console.until_visible("readonly", true).await;
    console.until_newest("Hello Ann.").await;
    console.say("and hello from me").await;
    console.until_newest("Hello operator.").await;
    let operator = "[...document.querySelectorAll('[data-role=user]')].map((message) => message.dataset.operator ?? 'no')";
    assert_eq!(console.browser.eval(operator).await, json!(["no", "true"]));
    console.until_idle().await;

    // What was not sent is still there after a reload.
    console.browser.type_into(&part("composer"), "half a thought").await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until("document.querySelector('[data-testid=composer]').value === 'half a thought'").await;

    console.browser.eval("(location.hash = '#/health', 1)").await;
    console.browser.click(&part("backup-download")).await;
    let today = console.browser.eval("new Date().toISOString().slice(0, 10)").await;
    let archive = console.browser.downloaded(&format!("shipagent-{}.tar", today.as_str().unwrap())).await;
    assert_eq!(&archive[257..262], b"ustar");
    let names = String::from_utf8_lossy(&archive).into_owned();
    assert!(names.contains("Agent.md") && names.contains("pasted.png") && !names.contains(".ship/run/token"));
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everyday_things_work_on_a_desktop() {
    everyday(DESKTOP, EN, "desktop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everyday_things_work_on_a_phone_in_chinese() {
    everyday(Viewport::Phone, ZH, "phone").await;
}
