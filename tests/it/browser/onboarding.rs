//! The onboarding in the console: from a new directory to the first answer of a provider.

use serde_json::json;

use super::project::{EN, ZH};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::webdriver::{Browser, Colours, Viewport};
use crate::onboarding::provider::{ANSWER, KEY, nowhere, provider, started};

/// The console of a project without a configuration, which has a token of its own.
async fn open(project: &Project, daemon: &Daemon, screen: Viewport, language: &str) -> Console {
    let console = Console { browser: Browser::start(screen, language).await };
    console.enter(daemon, &project.own_token()).await;
    console.until_connected().await;
    console
}

/// Both colour schemes, each without a violation of the accessibility rules, and nothing sticks out.
async fn look(console: &Console, name: &str) {
    for (colours, suffix) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("onboarding-{name}-{suffix}")).await;
        console.assert_accessible().await;
    }
    let fits = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('#page').scrollWidth <= innerWidth";
    assert_eq!(console.browser.eval(fits).await, true, "{name}: nothing sticks out");
}

async fn until_step(console: &Console, title: &str) {
    console.until_told("setup-title", title).await;
}

async fn next(console: &Console) {
    console.browser.click(&part("setup-next")).await;
}

/// Replaces what a field holds. The page is built again when the daemon has told its language, which may be now.
async fn fill(console: &Console, name: &str, text: &str) {
    let (selector, text) = (json!(part(name)), json!(text));
    console
        .until(&format!(
            "(() => {{ const field = document.querySelector({selector}); \
             if (field && field.value !== {text}) {{ \
                 field.value = {text}; field.dispatchEvent(new Event('input', {{ bubbles: true }})); \
             }} return field?.value === {text}; }})()"
        ))
        .await;
}

/// The words of one language.
struct Words {
    provider: &'static str,
    connect: &'static str,
    model: &'static str,
    agent: &'static str,
    platform: &'static str,
    done: &'static str,
    refused: &'static str,
    unreachable: &'static str,
}

async fn to_the_first_answer(screen: Viewport, language: &str, name: &str, words: Words) {
    let model = provider(true).await;
    let project = Project::empty();
    let daemon = started(&project, &[]).await;
    let console = open(&project, &daemon, screen, language).await;
    console.until_visible("setup-title", true).await;
    look(&console, &format!("{name}-language")).await;
    next(&console).await;
    until_step(&console, words.provider).await;
    look(&console, &format!("{name}-provider")).await;
    console.browser.click(&part("setup-provider-other")).await;
    next(&console).await;
    until_step(&console, words.connect).await;

    // A server that is not there, then a wrong key: what was entered stays.
    let found = |words: &str| {
        format!(
            "document.querySelector('[data-testid=setup-finding][data-level=error]')?.innerText.includes({})",
            json!(words)
        )
    };
    fill(&console, "setup-address", &nowhere()).await;
    next(&console).await;
    console.until(&found(words.unreachable)).await;
    fill(&console, "setup-address", &model.url()).await;
    fill(&console, "setup-key", "sk-wrong-0123456789").await;
    next(&console).await;
    console.until(&found(words.refused)).await;
    look(&console, &format!("{name}-wrong-key")).await;
    let address = console.browser.eval("document.querySelector('[data-testid=setup-address]').value").await;
    assert_eq!(address, model.url());
    fill(&console, "setup-key", KEY).await;
    next(&console).await;
    until_step(&console, words.model).await;
    console.until("document.querySelectorAll('[data-testid=setup-models] option').length === 2").await;
    look(&console, &format!("{name}-model")).await;

    // The key is on this page alone: after a reload it is asked for again, not left out.
    console.browser.reload().await;
    until_step(&console, words.connect).await;
    console.until("document.querySelector('[data-testid=setup-finding][data-level=warning]')").await;
    fill(&console, "setup-key", KEY).await;
    next(&console).await;
    until_step(&console, words.model).await;

    // Back and forth loses nothing.
    console.browser.click(&part("setup-back")).await;
    until_step(&console, words.connect).await;
    assert_eq!(console.browser.eval("document.querySelector('[data-testid=setup-key]').value").await, KEY);
    next(&console).await;
    until_step(&console, words.model).await;
    next(&console).await;
    until_step(&console, words.agent).await;
    fill(&console, "setup-name", "harbour").await;
    console.browser.type_into(&part("setup-purpose"), "Knows ships.").await;
    look(&console, &format!("{name}-agent")).await;
    next(&console).await;
    until_step(&console, words.platform).await;
    console.browser.click(&part("setup-platform-telegram")).await;
    console.until_visible("setup-botToken", true).await;
    look(&console, &format!("{name}-platform")).await;
    console.browser.click(&part("setup-platform-none")).await;
    next(&console).await;
    until_step(&console, words.done).await;
    look(&console, &format!("{name}-done")).await;
    next(&console).await;

    console.until_visible("composer", true).await;
    console.until_connected().await;
    console.until("document.querySelector('#agent-name').innerText === 'harbour'").await;
    console.say("hello").await;
    console.until_messages(&[("user", "hello"), ("assistant", ANSWER)]).await;
    let stored = console.browser.eval("JSON.stringify([localStorage, sessionStorage])").await;
    assert!(!stored.as_str().unwrap().contains(KEY), "the key is not stored in the browser");
    console.assert_only_network_complaints().await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_directory_gets_its_first_answer_on_a_desktop() {
    let words = Words {
        provider: "Which model answers?",
        connect: "Connect it",
        model: "Choose the model",
        agent: "Who is the agent?",
        platform: "Where do people reach it?",
        done: "Everything is ready",
        refused: "refused the key",
        unreachable: "could not be reached",
    };
    to_the_first_answer(DESKTOP, EN, "desktop-en", words).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_directory_gets_its_first_answer_on_a_phone_in_chinese() {
    let words = Words {
        provider: "由哪个模型回答？",
        connect: "连接模型",
        model: "选择模型",
        agent: "智能体是谁？",
        platform: "人们在哪里联系它？",
        done: "一切就绪",
        refused: "拒绝了这个密钥",
        unreachable: "无法连接服务器",
    };
    to_the_first_answer(Viewport::Phone, ZH, "phone-zh", words).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_with_an_agent_is_offered_the_steps_above_the_chat_and_may_decline() {
    let model = provider(false).await;
    let project = Project::empty();
    project.write("Agent.md", "You help.\n");
    let daemon = started(&project, &[]).await;
    let console = open(&project, &daemon, DESKTOP, EN).await;
    console.until_visible("setup-offer", true).await;
    assert!(console.sees("composer").await, "the chat is there");
    look(&console, "offer").await;
    console.browser.click(&part("setup-later")).await;
    console.until_visible("setup-offer", false).await;
    console.browser.reload().await;
    console.until_connected().await;
    console.until("document.querySelector('#welcome').hidden === false").await;
    assert!(!console.sees("setup-offer").await);

    // It stays in the list of pages; a reload in the middle keeps the step, and the language can change.
    console.browser.click(&part("page-setup")).await;
    until_step(&console, "Language").await;
    console.browser.click(&part("setup-language-zh")).await;
    next(&console).await;
    until_step(&console, "由哪个模型回答？").await;
    console.browser.click(&part("language-toggle")).await;
    until_step(&console, "Which model answers?").await;
    console.browser.click(&part("setup-provider-other")).await;
    next(&console).await;
    until_step(&console, "Connect it").await;
    console.browser.reload().await;
    until_step(&console, "Connect it").await;
    fill(&console, "setup-address", &model.url()).await;
    fill(&console, "setup-key", KEY).await;
    next(&console).await;
    // The server lists no models, so the name is asked for.
    until_step(&console, "Choose the model").await;
    fill(&console, "setup-model", "fake-2").await;
    look(&console, "no-list").await;
    next(&console).await;
    until_step(&console, "Where do people reach it?").await;
    console.browser.click(&part("setup-skip")).await;
    until_step(&console, "Everything is ready").await;
    next(&console).await;
    console.until_visible("composer", true).await;
    console.say("hello").await;
    console.until_messages(&[("user", "hello"), ("assistant", ANSWER)]).await;
    assert_eq!(std::fs::read_to_string(project.path().join("Agent.md")).unwrap(), "You help.\n");
    assert!(!console.sees("page-setup").await, "there is nothing left to set up");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_that_cannot_be_checked_is_kept_and_its_owner_paired_later() {
    let project = Project::empty();
    // Everything but the loopback goes to a proxy that is not there.
    let proxy = nowhere().replace("/v1", "");
    let daemon = started(&project, &[("HTTPS_PROXY", proxy.as_str())]).await;
    let console = open(&project, &daemon, DESKTOP, EN).await;
    until_step(&console, "Language").await;
    next(&console).await;
    until_step(&console, "Which model answers?").await;
    console.browser.click(&part("setup-skip")).await;
    // Without a model nothing is asked about it.
    until_step(&console, "Who is the agent?").await;
    next(&console).await;
    until_step(&console, "Where do people reach it?").await;
    console.browser.click(&part("setup-platform-telegram")).await;
    console.until_visible("setup-botToken", true).await;
    next(&console).await;
    console
        .until("document.querySelector('.setup .answer-problem').innerText === 'fill in TELEGRAM_BOT_TOKEN'")
        .await;
    fill(&console, "setup-botToken", "1:abc").await;
    next(&console).await;
    console.until_visible("setup-finding", true).await;
    console.until_visible("setup-anyway", true).await;
    look(&console, "platform-refused").await;
    console.browser.click(&part("setup-anyway")).await;
    until_step(&console, "Become its owner").await;
    look(&console, "owner").await;
    fill(&console, "setup-code", "WRONG1").await;
    next(&console).await;
    console.until("document.querySelector('.setup .answer-problem').hidden === false").await;
    console.browser.click(&part("setup-skip")).await;
    until_step(&console, "Everything is ready").await;
    let written = std::fs::read_to_string(project.path().join("ship.json")).unwrap();
    assert!(written.contains("${TELEGRAM_BOT_TOKEN}"), "{written}");
    assert!(daemon.stop().await.success());
}
