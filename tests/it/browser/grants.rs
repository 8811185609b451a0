//! Grants in the console: listed and revoked.

use serde_json::{Value, json};

use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Daemon, Project, TOKEN};
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::webdriver::{Colours, Viewport, key};

const EN: &str = "en-GB,en";
const ZH: &str = "zh-CN,zh";

fn asking(model: &FakeModel) -> Project {
    Project::with_model(&model.url(), json!({ "name": "harbour", "queue": { "mergeMs": 0 } }))
}

fn shell(command: &str) -> Reply {
    Reply::calls([("exec_shell", json!({ "command": command }))])
}

/// Requests a call in a chat and approves it with this scope.
async fn allow(daemon: &Daemon, chat: &str, scope: Value) {
    let body = json!({ "instructions": "do it", "chatId": chat, "messageId": "m1", "userId": "ada" });
    let asked = daemon.execute(body).await;
    let id = asked["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    let decision = json!({ "decision": "approve", "scope": scope });
    let answer = daemon.post(&format!("/api/approvals/{id}"), &decision).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    daemon.until_state(&format!("api:chat:{chat}"), "idle").await;
}

impl Console {
    async fn look_at_grants(&self) {
        self.open_panel("inbox").await;
        self.browser.click(&part("inbox-tab-grants")).await;
    }

    async fn grants(&self) -> Vec<String> {
        let rows = "[...document.querySelectorAll('[data-testid=grant]')].map((row) => row.innerText)";
        serde_json::from_value(self.browser.eval(rows).await).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_allowed_is_listed_and_once_it_is_revoked_the_agent_asks_again() {
    let model = FakeModel::start([
        shell("touch one.txt"),
        Reply::text("Made."),
        shell("touch one.txt"),
        Reply::text("Made again."),
        shell("touch one.txt"),
        Reply::text("Left alone."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.look_at_grants().await;
    console.until_visible("inbox-note", true).await;
    assert!(
        console.text_of(&part("inbox-note")).await.starts_with("Nothing is allowed for longer than once")
    );
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until_visible("inbox", false).await;

    console.say("make one.txt").await;
    console.until_visible("approval", true).await;
    console.browser.type_into("[data-testid=approval] [data-testid=scope]", "in this").await;
    console.browser.click("[data-testid=approval] [data-testid=answer-approve]").await;
    console.until("document.querySelector('.part-text')?.innerText === 'Made.'").await;
    console.until_idle().await;
    console.say("once more").await;
    console.until_newest("exec_shelltouch one.txtdoneMade again.").await;
    console.until_idle().await;

    console.look_at_grants().await;
    console.until_visible("grant", true).await;
    console.until("document.querySelector('[data-testid=grant-thread]').innerText === 'make one.txt'").await;
    let grants = console.grants().await;
    assert_eq!(grants.len(), 1, "{grants:?}");
    for expected in ["G1", "exec_shell", "touch", "in one thread", "allowed by operator (Web)", "Today"] {
        assert!(grants[0].contains(expected), "{expected} in {grants:?}");
    }
    assert!(!console.sees("inbox-note").await);
    // By keyboard: the tabs with the arrows, then on to the button.
    console.until("document.activeElement.dataset.tab === 'grants'").await;
    console.browser.press(&key::TAB.to_string()).await;
    console.browser.press(&key::TAB.to_string()).await;
    console.until("document.activeElement.getAttribute('aria-label') === 'Revoke G1'").await;
    console.browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelector('[data-testid=grants-result]').innerText === 'G1 is revoked: the agent will ask again.'").await;
    console.until_visible("inbox-note", true).await;
    assert_eq!(console.grants().await.len(), 0);
    assert_eq!(daemon.get_json("/api/grants").await["grants"], json!([]));
    assert_eq!(
        console.browser.eval("document.activeElement.id").await,
        "inbox-body",
        "the focus is not lost"
    );
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until_visible("inbox", false).await;

    console.say("and once more").await;
    console.until_count("inbox", "1").await;
    console.browser.click("[data-testid=approval]:not([hidden]) [data-testid=answer-deny]").await;
    console.until_idle().await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_tell_where_and_how_long_and_what_somebody_else_revoked() {
    let write = json!({ "path": "notes.md", "content": "lines" });
    let model = FakeModel::start([
        shell("touch one.txt"),
        Reply::text("one"),
        shell("git commit -m x"),
        Reply::text("two"),
        Reply::calls([("write_file", write)]),
        Reply::text("three"),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    allow(&daemon, "quay", json!({ "type": "minutes", "minutes": 30 })).await;
    allow(&daemon, "deck", json!("shape")).await;
    allow(&daemon, "mast", json!("project")).await;
    let console = Console::open(&daemon, DESKTOP, ZH).await;
    console.look_at_grants().await;
    console.until("document.querySelectorAll('[data-testid=grant]').length === 3").await;
    let grants = console.grants().await;
    for (row, expected) in [
        (0, ["限时", "30分钟后到期"].as_slice()),
        (1, ["同类命令", "git commit …"].as_slice()),
        (2, ["write_file 的所有调用", "在本项目中始终"].as_slice()),
    ] {
        for words in expected {
            assert!(grants[row].contains(words), "{words} in {grants:?}");
        }
    }
    console.browser.picture("grants-light-zh").await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("grants-dark-zh").await;

    // A page that does not know yet that the grant was revoked elsewhere.
    console
        .browser
        .eval(
            "(window.fetch = ((real) => (path, options) => \
              path === '/api/grants' ? new Promise(() => {}) : real(path, options))(fetch), 1)",
        )
        .await;
    let gone = daemon.http.delete(format!("{}/api/grants/G2", daemon.base)).bearer_auth(TOKEN);
    assert_eq!(gone.send().await.unwrap().status(), 200);
    console.browser.click("[data-grant=G2] [data-testid=grant-revoke]").await;
    console
        .until("document.querySelector('[data-testid=grants-result]').innerText.startsWith('G2 已经失效')")
        .await;
    assert_eq!(console.grants().await.len(), 2);
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_that_cannot_be_read_or_revoked_are_told_as_such() {
    let model = FakeModel::start([shell("touch one.txt"), Reply::text("one")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    allow(&daemon, "quay", json!("thread")).await;
    let console = Console::open(&daemon, Viewport::Phone, EN).await;
    console.look_at_grants().await;
    console.until_visible("grant", true).await;
    console.browser.picture("grants-phone").await;
    let fits = "document.documentElement.scrollWidth <= innerWidth && \
        document.querySelector('#inbox-body').scrollWidth <= innerWidth";
    assert_eq!(console.browser.eval(fits).await, true, "nothing sticks out");

    project.write(".ship/grants.json", "{ not json");
    console.browser.click(&part("grant-revoke")).await;
    console.until("[...document.querySelectorAll('[data-testid=grant] [data-testid=answer-problem]')].some((line) => line.innerText.includes('is not valid'))").await;
    console
        .until("document.querySelector('[data-testid=inbox-note]').innerText.includes('grants.json is not valid and is ignored')")
        .await;
    console.assert_only_network_complaints().await;
}
