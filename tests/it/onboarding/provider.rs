//! A fake provider, and a daemon on a project that is not configured.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

pub(crate) const KEY: &str = "sk-right-0123456789";
pub(crate) const ANSWER: &str = "Ahoy from the provider.";

/// A provider that takes [`KEY`] and has the models `fake-1` and `fake-2`; with `lists` it lists them.
pub(crate) async fn provider(lists: bool) -> FakeModel {
    let reply = move |seen: &Seen| {
        if seen.authorization.as_deref() != Some(&format!("Bearer {KEY}")) {
            return Reply::status(
                401,
                r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
            );
        }
        if seen.path.ends_with("/models") {
            let models = json!({ "data": [{ "id": "fake-1" }, { "id": "fake-2" }, { "id": "fake-embed" }] });
            return if lists { Reply::json(&models) } else { Reply::status(404, "{}") };
        }
        let known = ["fake-1", "fake-2"].iter().any(|model| seen.body["model"] == *model);
        if known {
            Reply::text(ANSWER)
        } else {
            Reply::status(404, r#"{"error":{"message":"no such model"}}"#)
        }
    };
    FakeModel::start(Script::compute(reply)).await
}

/// An address at which no server is.
pub(crate) fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

/// The daemon of a directory that has nothing yet.
pub(crate) async fn started(project: &Project, env: &[(&str, &str)]) -> Daemon {
    let mut command = project.command(&["run", "--setup", "--listen", "127.0.0.1:0"]);
    command.envs(env.iter().copied());
    Daemon::start(command, project.path()).await
}

/// A request with the daemon's own token: the status and the body.
pub(super) async fn ask(
    project: &Project,
    daemon: &Daemon,
    path: &str,
    body: Option<Value>,
) -> Option<(u16, Value)> {
    let url = format!("{}{path}", daemon.base);
    let request = match &body {
        Some(body) => daemon.http.post(url).json(body),
        None => daemon.http.get(url),
    };
    let answer = request.bearer_auth(project.own_token()).send().await.ok()?;
    let status = answer.status().as_u16();
    Some((status, answer.json().await.unwrap_or_default()))
}

/// The choice of the fake provider.
pub(super) fn choice(url: &str, model: &str, key: &str) -> Value {
    json!({ "provider": "other", "baseUrl": url, "model": model, "key": key })
}

/// Waits until the daemon has started over with its configuration.
pub(super) async fn until_configured(project: &Project, daemon: &Daemon) {
    daemon
        .until("the daemon to start over", async |daemon| {
            let info = ask(project, daemon, "/api/info", None).await;
            info.is_some_and(|(status, info)| status == 200 && info["onboarding"].is_null())
        })
        .await;
}
