//! Pages of other origins in a real browser: one that the operator named may use the API with the token, others may not.

use serde_json::{Value, json};

use super::project::EN;
use crate::fakes::console::DESKTOP;
use crate::fakes::daemon::{Daemon, Project, TOKEN};
use crate::fakes::dev_server::DevServer;
use crate::fakes::webdriver::Browser;

const PAGE: &str = r#"<!doctype html><title>app</title><script>
const results = {};
async function attempt(name, act) {
  try {
    results[name] = await act();
  } catch {
    results[name] = 'refused';
  }
}
async function use(base, token) {
  const bearer = { authorization: `Bearer ${token}` };
  const json = { ...bearer, 'content-type': 'application/json' };
  const body = JSON.stringify({ instructions: 'What are you?' });
  await attempt('info', () => fetch(`${base}/api/info`, { headers: bearer }).then((answer) => answer.json()).then((info) => info.name));
  await attempt('execute', () => fetch(`${base}/api/execute`, { method: 'POST', headers: json, body }).then((answer) => answer.json()).then((answer) => answer.status));
  await attempt('stream', async () => {
    const answer = await fetch(`${base}/api/events`, { headers: bearer });
    const { value } = await answer.body.getReader().read();
    return new TextDecoder().decode(value).startsWith('event: snapshot');
  });
  await attempt('without', () => fetch(`${base}/api/info`).then((answer) => answer.status));
  await attempt('wrong', () => fetch(`${base}/api/info`, { headers: { authorization: 'Bearer wrong' } }).then((answer) => answer.json()).then((answer) => answer.error.code));
  await attempt('credentials', () => fetch(`${base}/api/info`, { headers: bearer, credentials: 'include' }).then((answer) => answer.status));
  await attempt('header', () => fetch(`${base}/api/info`, { headers: { ...bearer, 'x-other': '1' } }).then((answer) => answer.status));
  await attempt('login', () => fetch(`${base}/api/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token }) }).then((answer) => answer.status));
  return results;
}
</script>"#;

async fn results(browser: &Browser, page: &DevServer, daemon: &Daemon) -> Value {
    browser.visit(&format!("http://127.0.0.1:{}/", page.port())).await;
    browser.eval(&format!("use({}, {})", json!(daemon.base), json!(TOKEN))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_an_allowed_origin_uses_the_api_with_the_token_and_no_other_page_does() {
    let (app, other) = (DevServer::start(PAGE).await, DevServer::start(PAGE).await);
    let origin = format!("http://127.0.0.1:{}", app.port());
    let project = Project::new(json!({
        "name": "shared",
        "llm": { "provider": "offline" },
        "adapters": { "web": { "listen": "127.0.0.1:0", "token": TOKEN, "allowedOrigins": [origin] } },
    }));
    let daemon = project.start().await;
    let browser = Browser::start(DESKTOP, EN).await;

    let allowed = results(&browser, &app, &daemon).await;
    for (name, expected) in [
        ("info", json!("shared")),
        ("execute", json!("done")),
        ("stream", json!(true)),
        ("without", json!(401)),
        ("wrong", json!("unauthorized")),
        // The browser would send cookies along, and is not allowed to.
        ("credentials", json!("refused")),
        ("header", json!("refused")),
        ("login", json!("refused")),
    ] {
        assert_eq!(allowed[name], expected, "{name}: {allowed}");
    }
    let refused = results(&browser, &other, &daemon).await;
    for name in ["info", "execute", "stream", "without", "wrong", "credentials", "header", "login"] {
        assert_eq!(refused[name], "refused", "{name}: {refused}");
    }
}
