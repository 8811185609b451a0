//! Tasks are looked at, started, paused and resumed in a chat; each run may have a thread of its own.

use serde_json::{Value, json};

use super::runs::texts;
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

async fn task(daemon: &Daemon, id: &str) -> Value {
    daemon.get_json(&format!("/api/tasks/{id}")).await
}

/// What a command of this person answers.
async fn told(daemon: &Daemon, who: &str, words: &str) -> String {
    let request = json!({ "instructions": words, "chatId": format!("with-{who}"), "userId": who });
    daemon.execute(request).await["output"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_starts_pauses_and_resumes_tasks_in_a_chat_and_others_do_not() {
    let model = FakeModel::start(Reply::text("the report")).await;
    let project = Project::with_model(&model.url(), json!({ "owners": ["api:user:ada"], "language": "en" }));
    project
        .write(".ship/tasks/daily.md", "---\nevery: 10h\ndeliver: api:chat:team\n---\n# Look at the commits");
    let daemon = project.start().await;
    daemon.until("the file", async |daemon| task(daemon, "daily").await["status"] == "waiting").await;
    let listed = told(&daemon, "ada", "/tasks").await;
    assert!(listed.contains("daily") && listed.contains("Look at the commits"), "{listed}");
    assert!(told(&daemon, "ada", "/tasks pause daily").await.contains("paused"));
    assert_eq!(task(&daemon, "daily").await["status"], "paused");
    assert!(told(&daemon, "ada", "/tasks").await.contains("paused"));
    for words in ["/tasks run daily", "/tasks pause daily", "/tasks resume daily"] {
        assert!(told(&daemon, "bo", words).await.contains("Only an owner"), "{words}");
    }
    assert_eq!(task(&daemon, "daily").await["status"], "paused");
    assert!(told(&daemon, "ada", "/tasks resume daily").await.contains("goes on"));
    assert!(told(&daemon, "ada", "/tasks run daily").await.contains("started"));
    daemon.until("the result", async |daemon| !texts(daemon, "api:chat:team").await.is_empty()).await;
    assert_eq!(texts(&daemon, "api:chat:team").await, ["the report"]);
    daemon.until("the end", async |daemon| task(daemon, "daily").await["last"].is_object()).await;
    assert!(told(&daemon, "ada", "/tasks").await.contains("done"));
    assert!(told(&daemon, "ada", "/tasks run nothing").await.contains("There is no task nothing"));
    assert!(told(&daemon, "ada", "/tasks dance").await.contains("/tasks run ID"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_sees_as_many_earlier_results_as_its_context_says_and_a_thread_of_its_own_has_none() {
    let script = Script::compute(|seen: &Seen| {
        let runs = seen.body.to_string().matches("result number").count();
        Reply::text(&format!("result number {runs}"))
    });
    let model = FakeModel::start(script).await;
    let project = Project::with_model(&model.url(), json!({}));
    for (name, keys) in [("none", "context: 0"), ("two", "context: 2"), ("apart", "thread: run")] {
        let file = format!("---\nevery: 10h\n{keys}\ndeliver: api:chat:{name}\n---\nlook");
        project.write(&format!(".ship/tasks/{name}.md"), &file);
    }
    let daemon = project.start().await;
    for (name, seen) in [("none", [0, 0, 0, 0]), ("two", [0, 1, 2, 2]), ("apart", [0, 0, 0, 0])] {
        daemon.until("the file", async |daemon| task(daemon, name).await["status"] == "waiting").await;
        let mut threads = Vec::new();
        for count in 1..=4 {
            let started = daemon.post(&format!("/api/tasks/{name}/run"), &json!({})).send().await.unwrap();
            let started: Value = started.json().await.unwrap();
            threads.push(started["threadId"].as_str().unwrap().to_owned());
            let ended = async |daemon: &Daemon| {
                task(daemon, name).await["history"].as_array().unwrap().len() == count
            };
            daemon.until("the end", ended).await;
        }
        let expected: Vec<String> = seen.iter().map(|number| format!("result number {number}")).collect();
        assert_eq!(texts(&daemon, &format!("api:chat:{name}")).await, expected, "{name}");
        threads.dedup();
        assert_eq!(threads.len(), if name == "apart" { 4 } else { 1 }, "{threads:?}");
    }
}
