//! The pages of the operator: settings, Agent.md, health, logs.

use serde_json::json;

use super::project::{EN, ZH, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::webdriver::{Colours, Viewport};

/// Both colour schemes, each without a violation of the accessibility rules.
async fn look(console: &Console, name: &str) {
    for (colours, suffix) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("{name}-{suffix}")).await;
        console.assert_accessible().await;
    }
}

fn setting(key: &str, inner: &str) -> String {
    format!("[data-key=\"{key}\"] {}", part(inner))
}

/// Sets the value of a field as typing does.
fn enter(selector: &str, text: &str) -> String {
    format!(
        "(() => {{ const field = document.querySelector({}); field.value = {}; \
         field.dispatchEvent(new Event('input', {{ bubbles: true }})); return true; }})()",
        json!(selector),
        json!(text)
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setting_is_changed_with_its_comments_kept_and_a_mistake_is_told() {
    let project = offline();
    let ship = std::fs::read_to_string(project.path().join("ship.json")).unwrap();
    let commented =
        format!("// The agent of the harbour.\n{}", ship.replacen('{', "{\n  // its name\n  ", 1));
    project.write("ship.json", &commented);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click(&part("page-settings")).await;
    console.until("document.querySelectorAll('[data-testid=setting]').length > 20").await;
    console.browser.eval(&enter(&part("settings-search"), "llm.")).await;
    console.until("document.querySelector('[data-key=\"llm.maxSteps\"]')").await;
    look(&console, "settings").await;
    assert_eq!(console.text_of(&setting("llm.maxSteps", "setting-origin")).await, "default");

    console.browser.eval(&enter(&setting("llm.maxSteps", "setting-field"), "0")).await;
    console.browser.click(&setting("llm.maxSteps", "setting-save")).await;
    console.until("document.querySelector('[data-key=\"llm.maxSteps\"] .answer-problem').innerText.includes('out of range')").await;
    console.browser.picture("settings-mistake").await;
    console.browser.eval(&enter(&setting("llm.maxSteps", "setting-field"), "9")).await;
    console.browser.click(&setting("llm.maxSteps", "setting-save")).await;
    console.until_told("settings-result", "Saved. It counts from the next message on.").await;
    let written = std::fs::read_to_string(project.path().join("ship.json")).unwrap();
    assert!(written.contains("// its name") && written.contains("\"maxSteps\": 9"), "{written}");
    console.until("document.querySelector('[data-key=\"llm.maxSteps\"] [data-testid=setting-origin]').innerText.startsWith('ship.json:')").await;

    // Other values that are not saved yet stay.
    console.browser.eval(&enter(&setting("llm.timeoutSecs", "setting-field"), "77")).await;
    console.browser.eval(&enter(&setting("llm.maxSteps", "setting-field"), "8")).await;
    console.browser.click(&setting("llm.maxSteps", "setting-save")).await;
    console
        .until("document.querySelector('[data-key=\"llm.maxSteps\"] [data-testid=setting-save]').hidden")
        .await;
    let unsaved = console
        .browser
        .eval("document.querySelector('[data-key=\"llm.timeoutSecs\"] [data-testid=setting-field]').value")
        .await;
    assert_eq!(unsaved, "77");

    // A secret is written to .env and never shown.
    console.browser.eval(&enter(&setting("llm.apiKey", "setting-field"), "sk-canary-1234567890")).await;
    console.browser.click(&setting("llm.apiKey", "setting-save")).await;
    console
        .until("document.querySelector('[data-testid=settings-result]').innerText.includes('LLM_API_KEY')")
        .await;
    let shown = daemon.get_json("/api/config").await.to_string();
    assert!(!shown.contains("sk-canary") && shown.contains("${LLM_API_KEY}"), "{shown}");

    // What needs a restart is said, and what is read from a broken file is not used.
    console.browser.eval(&enter(&part("settings-search"), "limits.mailbox")).await;
    console.browser.eval(&enter(&setting("limits.mailbox", "setting-field"), "50")).await;
    console.browser.click(&setting("limits.mailbox", "setting-save")).await;
    console.until_visible("settings-restart", true).await;
    assert!(console.text_of(&part("settings-restart")).await.contains("limits.mailbox"));
    project.write("ship.json", "{ \"nmae\": 1 }");
    daemon
        .until("the mistake is known", async |daemon| {
            daemon.get_json("/api/info").await["configuration"]["problems"] != json!([])
        })
        .await;
    console.browser.click(&part("page-health")).await;
    console.browser.click(&part("page-settings")).await;
    console.until_visible("settings-problems", true).await;
    assert!(console.text_of(&part("settings-problems")).await.contains("ship.json:1 nmae: unknown key"));
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_md_is_edited_previewed_and_put_back() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, Viewport::Phone, ZH).await;
    console.browser.eval("location.hash = '#/instructions'").await;
    console
        .until("document.querySelector('[data-testid=instructions-text]')?.value.includes('scratch')")
        .await;
    let xss = "# Harbour\n\n<img src=x onerror=alert(1)> **bold** [x](javascript:alert(1))\n";
    console.browser.eval(&enter(&part("instructions-text"), xss)).await;
    console.browser.click(&part("instructions-preview-tab")).await;
    console
        .until("document.querySelector('[data-testid=instructions-preview] strong')?.innerText === 'bold'")
        .await;
    let harmless = "document.querySelectorAll('[data-testid=instructions-preview] :is(img, a[href^=javascript])').length";
    assert_eq!(console.browser.eval(harmless).await, 0);
    look(&console, "instructions-phone").await;
    console.browser.click(&part("instructions-save")).await;
    console.until_told("instructions-result", "已保存。").await;
    assert_eq!(std::fs::read_to_string(project.path().join("Agent.md")).unwrap(), xss);
    console.browser.click(&part("instructions-restore")).await;
    console
        .until("document.querySelector('[data-testid=instructions-text]').value.includes('scratch')")
        .await;
    // Another editor was faster.
    project.write("Agent.md", "Somebody else wrote this.\n");
    console.browser.click(&part("instructions-save")).await;
    console.until("[...document.querySelectorAll('.answer-problem')].some((el) => el.innerText.includes('changed elsewhere'))").await;
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_checked_and_the_log_and_the_audit_trail_are_filtered() {
    let project = offline();
    let daemon = project.start().await;
    let written = daemon.http.patch(format!("{}/api/config", daemon.base));
    let change = json!({ "changes": [{ "key": "language", "value": "en" }] });
    let written = written.bearer_auth(crate::fakes::daemon::TOKEN).json(&change).send().await.unwrap();
    assert_eq!(written.status(), 200);
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click(&part("page-health")).await;
    console.until("document.querySelector('[data-testid=health-adapter]')?.dataset.state === 'up'").await;
    console.browser.click(&part("health-run")).await;
    console.until("document.querySelectorAll('[data-testid=health-check]').length > 5").await;
    look(&console, "health").await;

    console.browser.click(&part("page-logs")).await;
    console.until("document.querySelectorAll('[data-testid=log-line]').length > 0").await;
    look(&console, "logs").await;
    console.browser.eval(&enter(&part("log-q"), "no line has these words")).await;
    console.browser.click(&part("log-show")).await;
    console.until_visible("log-none", true).await;
    console.browser.click(&part("logs-audit")).await;
    console.until("document.querySelector('.log-what')?.innerText.includes('configuration-changed')").await;
    look(&console, "audit").await;
    console.browser.eval(&enter(&part("log-tool"), "exec_shell")).await;
    console.browser.click(&part("log-show")).await;
    console.until_visible("log-none", true).await;
    console.assert_only_network_complaints().await;
}
