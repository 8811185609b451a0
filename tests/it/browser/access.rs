//! Access in the console: approving by code, roles, revoking.

use serde_json::{Value, json};

use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::stranger::{open_group, request_pairing};
use crate::fakes::webdriver::{Colours, Viewport, key};

const EN: &str = "en-GB,en";
const ZH: &str = "zh-CN,zh";

const ADA: &str = "telegram:user:501";
const BOB: &str = "feishu:user:ou_84aad35d084aa403a838cf73ee18467";

fn offline() -> Project {
    Project::new(json!({ "name": "harbour", "llm": { "provider": "offline" } }))
}

fn row(kind: &str, who: &str) -> String {
    format!("[data-testid={kind}][data-who=\"{who}\"]")
}

/// The people with access, according to the daemon.
async fn people(daemon: &Daemon) -> Vec<Value> {
    daemon.get_json("/api/access").await["people"].as_array().unwrap().clone()
}

impl Console {
    /// Types a code and sends it with Enter.
    async fn enter_code(&self, code: &str) {
        self.browser.type_into(&part("let-in-code"), &format!("{code}{}", key::ENTER)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_let_in_by_the_code_they_told_given_a_role_and_removed_again() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, Viewport::Desktop(1280, 1000), EN).await;
    console.until_count("access", "0").await;
    let code = request_pairing(&project, ADA, Some("Ada")).await;
    console.until_count("access", "1").await;
    console.open_panel("access").await;
    console.until("document.activeElement.dataset.testid === 'let-in-code'").await;
    let asking = console.text_of(&row("asking", ADA)).await;
    for expected in ["Ada", "Telegram", ADA, "asked this minute", "their code runs out in "] {
        assert!(asking.contains(expected), "{expected} in {asking}");
    }
    assert!(console.sees("members-none").await && console.sees("groups-none").await, "nobody, in words");
    // The code is nowhere in the page.
    let hidden = format!("!document.documentElement.outerHTML.includes({})", json!(code));
    assert_eq!(console.browser.eval(&hidden).await, true);

    console.enter_code("AAAA-2222").await;
    console.until_visible("let-in-problem", true).await;
    let problem = console.text_of(&part("let-in-problem")).await;
    assert!(problem.starts_with("Nobody waits with this code"), "{problem}");
    assert!(people(&daemon).await.is_empty());
    console.browser.picture("access-wrong-code").await;

    // The wrong code is selected, so that typing replaces it; case and gaps do not matter.
    console.browser.type_into(&part("let-in-role"), "guest").await;
    assert!(console.text_of(&part("let-in-hint")).await.contains("somebody else’s yes"));
    console.browser.eval("document.querySelector('#let-in-code').select()").await;
    let (head, tail) = code.split_at(4);
    console.enter_code(&format!("{} {}", head.to_lowercase(), tail)).await;
    console.until_told("access-result", &format!("Ada ({ADA}) may talk to the agent now, as guest.")).await;
    console.until_visible("asking-none", true).await;
    console.until_count("access", "0").await;
    assert!(!console.sees("let-in-problem").await, "what went wrong before is forgotten");
    let member = row("member", ADA);
    let shown = console.text_of(&member).await;
    assert!(shown.contains("Ada") && shown.contains("let in by operator (Web) · Today"), "{shown}");
    let known = people(&daemon).await;
    assert_eq!((&known[0]["id"], &known[0]["role"]), (&json!(ADA), &json!("guest")));

    // While new requests arrive, a role is selected, explained, and only then applied.
    request_pairing(&project, BOB, Some("Bo")).await;
    open_group(&project, "telegram", "-100", ADA).await;
    console.browser.type_into(&format!("{member} [data-testid=member-role]"), "owner").await;
    console.until_visible("member-role-hint", true).await;
    assert!(console.text_of(&part("member-role-hint")).await.contains("ship.json"));
    assert_eq!(people(&daemon).await[0]["role"], "guest", "not before it is saved");
    console.until_count("access", "1").await;
    console.until_visible("group", true).await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("access-dark").await;
    console.browser.prefer(Colours::Light).await;
    console.browser.picture("access-light").await;
    console.browser.click(&format!("{member} [data-testid=member-role-save]")).await;
    console.until_told("access-result", "The role of Ada is owner now.").await;
    assert_eq!(people(&daemon).await[0]["role"], "owner");
    console.until("document.activeElement.dataset.testid === 'member-role'").await;
    console.until_visible("member-role-save", false).await;

    // Removing asks for confirmation; Escape cancels it and leaves the panel open.
    console.browser.click(&format!("{member} [data-testid=remove]")).await;
    console.until("document.activeElement.dataset.testid === 'remove-no'").await;
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until("document.activeElement.dataset.testid === 'remove'").await;
    assert!(console.sees("access").await);
    console.browser.click(&format!("{member} [data-testid=remove]")).await;
    console.browser.picture("access-remove").await;
    console.browser.click(&format!("{member} [data-testid=remove-yes]")).await;
    console.until_told("access-result", "Ada can no longer talk to the agent.").await;
    console.until_visible("members-none", true).await;
    assert!(people(&daemon).await.is_empty());
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until_visible("access", false).await;
    console.until("document.activeElement.id === 'access-open'").await;
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_elsewhere_shows_in_an_open_panel_and_groups_are_closed_there() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, ZH).await;
    console.open_panel("access").await;
    console.until_visible("asking-none", true).await;
    let code = request_pairing(&project, BOB, Some("李雷")).await;
    console.until_visible("asking", true).await;
    console.until_count("access", "1").await;
    // The command line approves; the page is updated without a request.
    assert_eq!(project.run(&["access", "approve", &code]).code, Some(0));
    let shown = console.text_of(&row("member", BOB)).await;
    assert!(shown.contains("李雷") && shown.contains("飞书") && shown.contains("命令行"), "{shown}");
    console.until_count("access", "0").await;

    request_pairing(&project, ADA, None).await;
    open_group(&project, "telegram", "-100", ADA).await;
    console.until_visible("group", true).await;
    console.until_visible("asking", true).await;
    console.browser.picture("access-light-zh").await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("access-dark-zh").await;
    console.browser.click(&part("group-close")).await;
    console.until_told("access-result", "群组 telegram:chat:-100 已关闭。").await;
    console.until_visible("groups-none", true).await;
    assert_eq!(daemon.get_json("/api/access").await["chats"], json!([]));

    // A selection in progress survives an update.
    let role = format!("{} [data-testid=member-role]", row("member", BOB));
    console.browser.type_into(&role, "访").await;
    request_pairing(&project, "qq:user:9B33", Some("Eve")).await;
    console.until_count("access", "2").await;
    assert_eq!(console.browser.eval(&format!("document.querySelector('{role}').value")).await, "guest");
    assert!(console.sees("member-role-save").await);
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_invited_with_a_code() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.open_panel("access").await;
    console.until_visible("asking-none", true).await;
    console.browser.click(&part("invite")).await;
    console
        .until("document.querySelector('[data-testid=access-result]').innerText.includes('/start ')")
        .await;
    console.browser.picture("access-invited").await;
    console.assert_accessible().await;
    let audit = daemon.get_json("/api/audit?event=access-invited").await;
    assert_eq!(audit["lines"][0]["author"], "web:user:operator", "{audit}");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_wrong_codes_are_told_with_how_long_to_wait() {
    let project = offline();
    let daemon = project.start().await;
    let code = request_pairing(&project, ADA, Some("Ada")).await;
    let console = Console::open(&daemon, Viewport::Phone, EN).await;
    console.open_panel("access").await;
    console.until_visible("asking", true).await;
    console.browser.picture("access-phone").await;
    let fits = "document.documentElement.scrollWidth <= innerWidth && \
        document.querySelector('#access-body').scrollWidth <= innerWidth";
    assert_eq!(console.browser.eval(fits).await, true, "nothing sticks out");
    for _ in 0..10 {
        let wrong = daemon.post("/api/access/approve", &json!({ "code": "ZZZZZZZZ" })).send().await.unwrap();
        assert_eq!(wrong.status(), 404);
    }
    // Now even the right code is refused.
    console.enter_code(&code).await;
    console
        .until_told("let-in-problem", "Too many wrong codes. The next one is looked at in 10 minutes.")
        .await;
    console.until("document.querySelector('[data-testid=let-in-submit]').disabled").await;
    console.browser.picture("access-locked-phone").await;
    assert!(people(&daemon).await.is_empty());
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_book_that_cannot_be_read_is_told_and_not_taken_for_empty() {
    let project = offline();
    project.write(".ship/access.json", "{\"people\": 1}");
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.open_panel("access").await;
    console.until_visible("access-failed", true).await;
    assert!(
        console.text_of(&part("access-failed")).await.contains("access.json is not valid and is ignored")
    );
    assert!(!console.sees("members-none").await && !console.sees("asking-none").await);
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_refused_and_its_code_counts_no_more() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let code = request_pairing(&project, ADA, Some("Ada")).await;
    console.until_count("access", "1").await;
    console.open_panel("access").await;
    console.until_visible("asking", true).await;
    for (colours, name) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("access-refuse-{name}")).await;
        console.assert_accessible().await;
    }
    console.browser.click(&format!("{} {}", row("asking", ADA), part("refuse"))).await;
    console.until_told("access-result", "The request of Ada was refused.").await;
    console.until_visible("asking-none", true).await;
    console.until_count("access", "0").await;
    console.enter_code(&code).await;
    console.until_visible("let-in-problem", true).await;
    assert!(people(&daemon).await.is_empty());
    console.assert_only_network_complaints().await;
}
