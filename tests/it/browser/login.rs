//! The login: where the page stores it, how long, and for which project.

use serde_json::{Value, json};

use super::project::{EN, ZH, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Daemon, Project, TOKEN};
use crate::fakes::webdriver::Browser;

fn with_token(token: &str) -> Project {
    let web = json!({ "listen": "127.0.0.1:0", "token": token });
    Project::new(json!({ "name": token, "llm": { "provider": "offline" }, "adapters": { "web": web } }))
}

/// Opens the console without a token and expects to be logged in.
async fn expect_logged_in(console: &Console, daemon: &Daemon) {
    console.browser.visit(&daemon.base).await;
    console.until_connected().await;
    assert!(!console.sees("login-token").await, "logged in at {}", daemon.base);
}

/// The session stored by the page of the current tab.
const SESSION: &str =
    "JSON.parse(localStorage.getItem('ship.login.' + localStorage.getItem('ship.login')))?.session ?? null";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_outlives_the_browser_and_leaves_no_cookie() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    assert_eq!(console.browser.eval("document.cookie").await, "");
    assert_eq!(console.browser.cookies().await, json!([]));
    let stored = console.browser.eval("JSON.stringify(localStorage)").await;
    assert!(!stored.as_str().unwrap().contains(TOKEN), "the token itself is not stored: {stored}");
    console.browser.reload().await;
    console.until_connected().await;
    console.assert_no_complaints().await;

    let console = Console { browser: console.browser.restart(DESKTOP, EN).await };
    expect_logged_in(&console, &daemon).await;
    console.say("time").await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    assert_eq!(console.browser.cookies().await, json!([]));
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemons_on_one_host_keep_separate_logins() {
    let (one, other) = (with_token("token-of-one"), with_token("token-of-other"));
    let (first, second) = (one.start().await, other.start().await);
    let console = Console { browser: Browser::start(DESKTOP, EN).await };
    console.enter(&first, "token-of-one").await;
    console.until_connected().await;
    console.browser.visit(&second.base).await;
    console.until_visible("login-token", true).await;
    console.enter(&second, "token-of-other").await;
    console.until_connected().await;
    for (daemon, name) in [(&first, "token-of-one"), (&second, "token-of-other"), (&first, "token-of-one")] {
        expect_logged_in(&console, daemon).await;
        assert_eq!(console.text_of("#agent-name").await, name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projects_that_take_turns_at_one_address_keep_their_logins() {
    let (one, other) = (with_token("token-of-one"), with_token("token-of-other"));
    let first = one.start().await;
    one.keep_address(&first);
    other.keep_address(&first);
    let console = Console { browser: Browser::start(DESKTOP, EN).await };
    console.enter(&first, "token-of-one").await;
    console.until_connected().await;
    assert!(first.stop().await.success());

    let second = other.start().await;
    console.browser.visit(&second.base).await;
    console.until_visible("login-token", true).await;
    console.browser.type_into(&part("login-token"), "token-of-other").await;
    console.browser.click(&part("login-submit")).await;
    console.until_connected().await;
    assert!(second.stop().await.success());

    let first = one.start().await;
    expect_logged_in(&console, &first).await;
    console.until("document.querySelector('#agent-name').innerText === 'token-of-one'").await;
    assert!(first.stop().await.success());
    let second = other.start().await;
    expect_logged_in(&console, &second).await;
    console.until("document.querySelector('#agent-name').innerText === 'token-of-other'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_ends_asks_again_and_keeps_what_was_written() {
    let project = with_token("token-of-one");
    let daemon = project.start().await;
    let console = Console { browser: Browser::start(DESKTOP, EN).await };
    console.enter(&daemon, "token-of-one").await;
    console.until_connected().await;
    console.browser.type_into(&part("composer"), "half a thought").await;
    let before = console.browser.eval(SESSION).await;

    let web = json!({ "listen": daemon.base.trim_start_matches("http://"), "token": "token-of-today" });
    let config = json!({ "name": "harbour", "llm": { "provider": "offline" }, "adapters": { "web": web } });
    project.write("ship.json", &config.to_string());
    daemon.kill();
    let daemon = project.start().await;
    console.until_visible("login-token", true).await;
    assert_eq!(console.browser.eval(SESSION).await, Value::Null, "a login that is refused is not kept");
    console.browser.picture("login-again").await;
    console.browser.type_into(&part("login-token"), "token-of-today").await;
    console.browser.click(&part("login-submit")).await;
    console.until_visible("login-token", false).await;
    console.until_connected().await;
    let draft = console.browser.eval("document.querySelector('[data-testid=composer]').value").await;
    assert_eq!(draft, "half a thought");
    assert_ne!(console.browser.eval(SESSION).await, before);
    console.assert_only_network_complaints().await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logging_in_or_out_in_one_tab_does_so_in_the_other() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console { browser: Browser::start(DESKTOP, EN).await };
    let browser = &console.browser;
    browser.visit(&daemon.base).await;
    console.until_visible("login-token", true).await;
    let one = browser.tab().await;
    let other = browser.open_tab().await;
    console.enter(&daemon, TOKEN).await;
    console.until_connected().await;
    browser.go_to_tab(&one).await;
    console.until_visible("login-token", false).await;
    console.until_connected().await;

    browser.type_into(&part("composer"), "half a thought").await;
    browser.go_to_tab(&other).await;
    browser.picture("sign-out").await;
    browser.click(&part("sign-out")).await;
    console.until_visible("login-token", true).await;
    assert_eq!(browser.eval("document.querySelectorAll('[data-testid=thread-item]').length").await, 0);
    assert_eq!(browser.eval(SESSION).await, Value::Null);
    browser.go_to_tab(&one).await;
    console.until_visible("login-token", true).await;
    browser.type_into(&part("login-token"), TOKEN).await;
    browser.click(&part("login-submit")).await;
    console.until_connected().await;
    let draft = browser.eval("document.querySelector('[data-testid=composer]').value").await;
    assert_eq!(draft, "half a thought");
    browser.go_to_tab(&other).await;
    console.until_visible("login-token", false).await;
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_is_older_than_a_day_is_renewed() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let first = console.browser.eval(SESSION).await;
    console.browser.reload().await;
    console.until_connected().await;
    assert_eq!(console.browser.eval(SESSION).await, first, "a new one is kept");
    console
        .browser
        .eval(
            "((key) => localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key)), \
             expiresAt: new Date(Date.now() + 28 * 86_400_000).toISOString() })))('ship.login.' + localStorage.getItem('ship.login'))",
        )
        .await;
    console.browser.reload().await;
    console.until(&format!("{SESSION} !== {first}")).await;
    console.browser.reload().await;
    console.until_connected().await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_localhost_moves_to_the_bound_address_before_it_logs_in() {
    let project = offline();
    let daemon = project.start().await;
    let port = daemon.base.rsplit_once(':').unwrap().1;
    let console = Console { browser: Browser::start(DESKTOP, EN).await };
    console.browser.visit(&format!("http://localhost:{port}/#token={TOKEN}")).await;
    console.until_connected().await;
    let address = console.browser.address().await;
    assert!(address.starts_with(&daemon.base) && !address.contains(TOKEN), "{address}");
    // Any file of the daemon opens this origin; nothing was stored in it.
    console.browser.visit(&format!("http://localhost:{port}/nowhere")).await;
    assert_eq!(console.browser.eval("localStorage.length").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_too_many_wrong_tokens_the_form_says_how_long_to_wait() {
    let project = offline();
    let daemon = project.start().await;
    for _ in 0..10 {
        let guess = daemon.http.get(format!("{}/api/info", daemon.base)).bearer_auth("guess").send();
        assert_eq!(guess.await.unwrap().status(), 401);
    }
    for (language, words) in [(EN, "Too many wrong tokens"), (ZH, "令牌错误次数过多")] {
        let console = Console { browser: Browser::start(DESKTOP, language).await };
        console.enter(&daemon, "another guess").await;
        console
            .until(&format!("document.querySelector('#login-error').innerText.includes({})", json!(words)))
            .await;
        console.assert_only_network_complaints().await;
    }
}
