//! Changes of `ship.json` and `.env` are taken up by a running daemon.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script};

fn says(words: &'static str) -> Script {
    Script::compute(move |_| Reply::text(words).done())
}

async fn ask(daemon: &Daemon) -> String {
    let answer = daemon.execute(json!({ "instructions": "who are you?" })).await;
    answer["output"].as_str().unwrap_or_default().to_owned()
}

async fn configuration(daemon: &Daemon) -> Value {
    daemon.get_json("/api/info").await["configuration"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_message_is_answered_by_the_new_model_with_the_new_key() {
    let (old, new) =
        (FakeModel::start(says("the old one")).await, FakeModel::start(says("the new one")).await);
    let project = Project::with_model(&old.url(), json!({ "language": "en", "queue": { "mergeMs": 0 } }));
    let daemon = project.start().await;
    assert_eq!(ask(&daemon).await, "the old one");
    for (key, value) in [
        ("llm.baseUrl", new.url().as_str()),
        ("llm.apiKey", "sk-test-second-canary-654321"),
        ("llm.model", "bigger"),
    ] {
        let set = project.run(&["config", "set", key, value]);
        assert_eq!(set.code, Some(0), "{set:?}");
    }
    daemon.until("the new model answers", async |daemon| ask(daemon).await == "the new one").await;
    daemon
        .until("the model is named", async |daemon| {
            daemon.get_json("/api/info").await["model"]["name"] == "bigger"
        })
        .await;
    assert_eq!(configuration(&daemon).await, json!({ "restart": [], "problems": [] }));
    let env = std::fs::read_to_string(project.path().join(".env")).unwrap();
    assert_eq!(env, "LLM_API_KEY=sk-test-second-canary-654321\n");
    assert!(!project.log().contains("second-canary"), "the new key is redacted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permissions_and_limits_of_a_turn_count_from_the_next_message_of_an_open_thread() {
    let writes = json!({ "path": "a.txt", "content": "x" });
    let script = Script::compute(move |seen| match seen.last_user_text() {
        "write" if !seen.body.to_string().contains("\"role\":\"tool\"") => {
            Reply::calls([("write_file", writes.clone())]).done()
        }
        _ => Reply::text("done").done(),
    });
    let model = FakeModel::start(script).await;
    let project = Project::with_model(&model.url(), json!({ "language": "en", "queue": { "mergeMs": 0 } }));
    let daemon = project.start().await;
    let write = async |chat: &str| {
        let body = json!({ "instructions": "write", "chatId": chat, "timeoutMs": 20_000 });
        daemon.execute(body).await["status"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(write("one").await, "awaiting-approval");
    assert_eq!(project.run(&["config", "set", "permissions.write_file.mode", "allow"]).code, Some(0));
    daemon
        .until("the file is written unasked", async |_| {
            write(&format!(
                "new-{}",
                std::fs::read_dir(project.path().join(".ship/threads")).unwrap().count()
            ))
            .await
                == "done"
        })
        .await;
    assert!(project.path().join("a.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_file_keeps_the_settings_and_is_shown_with_its_line() {
    let model = FakeModel::start(says("still here")).await;
    let project = Project::with_model(&model.url(), json!({ "language": "en", "queue": { "mergeMs": 0 } }));
    let daemon = project.start().await;
    let good = std::fs::read_to_string(project.path().join("ship.json")).unwrap();
    project.write("ship.json", &format!("{{\n  \"nmae\": \"x\",\n{}", good.trim_start_matches('{')));
    daemon
        .until("the mistake is shown", async |daemon| configuration(daemon).await["problems"][0]["line"] == 2)
        .await;
    let problem = configuration(&daemon).await["problems"][0].clone();
    assert_eq!((&problem["path"], &problem["message"]), (&json!("nmae"), &json!("unknown key")), "{problem}");
    assert_eq!(ask(&daemon).await, "still here");
    assert!(project.log().contains("configuration invalid, earlier settings kept"));

    // What counts only after a restart is named, until it is as it was.
    project.write("ship.json", &good);
    daemon
        .until("it is valid again", async |daemon| configuration(daemon).await["problems"] == json!([]))
        .await;
    assert_eq!(project.run(&["config", "set", "limits.mailbox", "7"]).code, Some(0));
    daemon
        .until("the restart is named", async |daemon| {
            configuration(daemon).await["restart"] == json!(["limits.mailbox"])
        })
        .await;
    assert_eq!(project.run(&["config", "unset", "limits.mailbox"]).code, Some(0));
    daemon
        .until("no restart is needed", async |daemon| configuration(daemon).await["restart"] == json!([]))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_model_is_replaced_and_a_new_name_and_a_cap_wait_for_a_restart() {
    let model = FakeModel::start(says("here")).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "language": "en", "llm": { "models": { "deep": { "model": "fake-deep" } } } }),
    );
    let daemon = project.start().await;
    daemon.execute(json!({ "instructions": "hi", "chatId": "a" })).await;
    let set = |key: &str, value: &str| {
        let set = project.run(&["config", "set", key, value]);
        assert_eq!(set.code, Some(0), "{set:?}");
    };
    set("llm.models.deep.model", "fake-wide");
    daemon
        .until("the named model is replaced", async |daemon| {
            let shown = daemon.get_json("/api/threads/api:chat:a/model").await;
            shown["models"] == json!([{ "name": "deep", "model": "fake-wide" }])
        })
        .await;
    assert_eq!(configuration(&daemon).await["restart"], json!([]));
    set("llm.models.wide.model", "fake-wide");
    set("budget.day", "5");
    daemon
        .until("the restart is named", async |daemon| {
            configuration(daemon).await["restart"] == json!(["budget.day", "llm.models.wide"])
        })
        .await;
}
