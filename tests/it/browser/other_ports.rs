//! A server on another port of the same host, as an agent starts one for a preview: it gets no credential of the
//! console, and its pages cannot decide anything.

use serde_json::{Value, json};

use super::project::{EN, asking};
use crate::fakes::console::{Console, DESKTOP};
use crate::fakes::daemon::{Daemon, TOKEN};
use crate::fakes::dev_server::{DevServer, OWN_COOKIE, Recorded};
use crate::fakes::fake_model::{FakeModel, Reply};

/// A page that tries to use the login of a console on another port. `attack(console, approval)` returns the result of
/// each attempt.
const PAGE: &str = r#"<!doctype html><title>preview</title><h1>preview</h1><script>
const results = {};
async function attempt(name, act) {
  try {
    results[name] = String(await act());
  } catch {
    results[name] = 'refused';
  }
}
function loaded(el, parent = document.body) {
  return new Promise((resolve, reject) => {
    el.onload = () => resolve(el);
    el.onerror = () => reject(el);
    parent.append(el);
  });
}
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
async function attack(base, id) {
  const decide = `${base}/api/approvals/${id}`;
  const body = JSON.stringify({ decision: 'approve' });
  const send = (options) => fetch(decide, { method: 'POST', credentials: 'include', body, ...options });
  await attempt('read', () => fetch(`${base}/api/approvals`, { credentials: 'include' }).then((answer) => answer.text()));
  await attempt('json', () => send({ headers: { 'content-type': 'application/json' } }).then((answer) => answer.status));
  await attempt('simple', () => send({}).then((answer) => answer.status));
  await attempt('opaque', () => send({ mode: 'no-cors' }).then((answer) => answer.status));
  await attempt('login', () => fetch(`${base}/api/login`, { method: 'POST', credentials: 'include', body: '{}' }).then((answer) => answer.status));
  await attempt('renew', () => fetch(`${base}/api/session`, { method: 'POST', credentials: 'include' }).then((answer) => answer.text()));
  await attempt('module', () => import(`${base}/session.js`).then((module) => module.credential()));
  await attempt('script', () => loaded(make('script', { src: `${base}/session.js` })).then(() => 'loaded'));
  await attempt('picture', () => loaded(make('img', { src: `${base}/api/info` })).then(() => 'loaded'));
  await attempt('events', () => new Promise((resolve, reject) => {
    const source = new EventSource(`${base}/api/threads/web:chat:1/events`, { withCredentials: true });
    source.onopen = resolve;
    source.onerror = reject;
  }));
  await attempt('frame', async () => {
    const frame = await loaded(make('iframe', { src: base }));
    return JSON.stringify(frame.contentWindow.localStorage);
  });
  await attempt('form', async () => {
    const target = make('iframe', { name: 'target' });
    document.body.append(target);
    const form = make('form', { method: 'POST', action: decide, enctype: 'text/plain', target: 'target' });
    form.append(make('input', { name: '{"decision":"approve","x":"', value: '"}' }));
    document.body.append(form);
    const answered = new Promise((resolve) => { target.onload = resolve; });
    form.submit();
    await answered;
    return target.contentDocument.body.innerText;
  });
  await attempt('window', async () => {
    const opened = window.open(base);
    // Asked until the other page is there, which cuts the tie.
    for (let at = 0; at < 500 && !opened.closed; at++) {
      opened.postMessage({ give: 'login' }, '*');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return JSON.stringify(opened.localStorage);
  });
  results.storage = Object.keys(localStorage).join();
  results.cookie = document.cookie;
  results.opener = String(window.opener);
  results.referrer = document.referrer;
  return results;
}
</script>"#;

/// The attempts of the dev server's page fail.
async fn assert_attack_fails(console: &Console, daemon: &Daemon, approval: &str) {
    let attack = format!("attack({}, {})", json!(daemon.base), json!(approval));
    let results = console.browser.eval(&attack).await;
    for name in [
        "read", "json", "simple", "login", "renew", "module", "script", "picture", "events", "frame", "form",
        "window",
    ] {
        assert_eq!(results[name], "refused", "{name}: {results}");
    }
    // The browser hides such a response from a page; the daemon's state is checked below.
    assert!(["0", "refused"].contains(&results["opaque"].as_str().unwrap()), "{results}");
    assert_eq!(results["storage"], "", "{results}");
    assert_eq!(results["cookie"], OWN_COOKIE, "{results}");
    assert_eq!((&results["opener"], &results["referrer"]), (&json!("null"), &json!("")), "{results}");
}

/// The server has received no credential of the console.
fn assert_no_credential(recorded: &[Recorded], console: &str, session: &str) {
    for request in recorded {
        let text = request.text();
        assert!(!text.contains(TOKEN) && !text.contains(session), "{text}");
        let header = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap());
        assert!(header("cookie").is_none_or(|cookie| cookie == OWN_COOKIE), "{text}");
        assert_eq!(header("authorization"), None, "{text}");
        // Its own page sends a referer when it requests an icon; the console never does.
        assert!(header("referer").is_none_or(|page| !page.starts_with(console)), "{text}");
    }
}

async fn state_of(daemon: &Daemon, approval: &str) -> Value {
    let all = daemon.get_json("/api/approvals").await;
    let all = all["approvals"].as_array().unwrap().clone();
    all.into_iter().find(|known| known["id"] == approval).unwrap()["state"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dev_server_on_another_port_gets_no_credential_and_cannot_approve() {
    let server = DevServer::start(PAGE).await;
    let link = format!("Look: [preview](http://127.0.0.1:{}/linked)", server.port());
    let model = FakeModel::start([
        Reply::text(&link),
        Reply::calls([("exec_shell", json!({ "command": "echo ran >> trace.txt" }))]),
        Reply::text("Done."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let browser = &console.browser;
    let session =
        browser.eval("localStorage.getItem('ship.login.' + localStorage.getItem('ship.login'))").await;
    let session: Value = serde_json::from_str(session.as_str().unwrap()).unwrap();
    let session = session["session"].as_str().unwrap();
    console.say("start a preview").await;
    console.until("document.querySelector('.part-text a')").await;
    console.until_idle().await;
    console.say("run it").await;
    console.until_visible("approval", true).await;
    let approval = browser.eval("document.querySelector('[data-testid=approval]').dataset.approvalId").await;
    let approval = approval.as_str().unwrap();

    // A link in an answer, in a new tab.
    let own = browser.tab().await;
    browser.click(".part-text a").await;
    daemon.until("the linked page", async |_| browser.tabs().await.len() == 2).await;
    let linked = browser.tabs().await.into_iter().find(|tab| *tab != own).unwrap();
    browser.go_to_tab(&linked).await;
    browser.until("typeof attack === 'function'").await;
    assert_attack_fails(&console, &daemon, approval).await;
    // The same with the other host name, and from the address bar.
    for host in ["localhost", "127.0.0.1"] {
        browser.open_tab().await;
        browser.visit(&format!("http://{host}:{}/visited", server.port())).await;
        assert_attack_fails(&console, &daemon, approval).await;
    }
    // The console's own tab navigates there and back.
    browser.go_to_tab(&own).await;
    let there = json!(format!("http://127.0.0.1:{}/navigated", server.port()));
    browser.eval(&format!("(location.href = {there}, 1)")).await;
    browser.until("location.pathname === '/navigated' && typeof attack === 'function'").await;
    assert_attack_fails(&console, &daemon, approval).await;

    let recorded = server.recorded();
    for path in ["/linked", "/visited", "/navigated"] {
        assert!(recorded.iter().any(|request| request.uri.path() == path), "{path}");
    }
    assert_no_credential(&recorded, &daemon.base, session);
    // The values that the server received are no credentials.
    let decide = || daemon.http.post(format!("{}/api/approvals/{approval}", daemon.base));
    for request in &recorded {
        let answer = decide()
            .header("content-type", "application/json")
            .header("cookie", request.headers.get("cookie").cloned().unwrap_or(OWN_COOKIE.parse().unwrap()))
            .body(r#"{"decision":"approve"}"#)
            .send();
        assert_eq!(answer.await.unwrap().status(), 401);
    }
    assert_eq!(state_of(&daemon, approval).await, "pending");
    assert!(!project.path().join("trace.txt").exists());

    // The person's own page is not affected.
    browser.go_to_tab(&own).await;
    browser.eval("(history.back(), 1)").await;
    console.until_connected().await;
    assert!(!console.sees("login-token").await);
    // The layout is stable only once everything is loaded.
    console.until("document.querySelector('.part-text a')").await;
    console.until_count("inbox", "1").await;
    browser.click("[data-testid=approval] [data-testid=answer-approve]").await;
    console.until("[...document.querySelectorAll('.part-text')].at(-1)?.innerText === 'Done.'").await;
    assert_eq!(std::fs::read_to_string(project.path().join("trace.txt")).unwrap(), "ran\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_the_console_calls_gets_no_credential() {
    let server = DevServer::start(PAGE).await;
    let model = FakeModel::start([Reply::text("Hello.")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let url = json!(format!("http://127.0.0.1:{}/called", server.port()));
    // Even code in the console's page cannot send anything there: its content security policy forbids it.
    for call in [
        format!("fetch({url}, {{ credentials: 'include' }}).then(() => 'sent', () => 'refused')"),
        format!(
            "new Promise((done) => {{ const img = new Image(); img.onload = () => done('sent'); img.onerror = () => done('refused'); img.src = {url}; }})"
        ),
        format!("import({url}).then(() => 'sent', () => 'refused')"),
        format!("Promise.resolve(navigator.sendBeacon({url}, 'x')).then(() => 'refused', () => 'refused')"),
    ] {
        assert_eq!(console.browser.eval(&call).await, "refused", "{call}");
    }
    assert_eq!(server.recorded().len(), 0, "{:?}", server.recorded());
}
