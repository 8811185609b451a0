//! What a run delivers beside its text: files, to every kind of target; and what is shown where nothing arrives.

use serde_json::{Value, json};

use super::chats::{ANN, Scene, Spot};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

async fn task(daemon: &Daemon, id: &str) -> Value {
    daemon.get_json(&format!("/api/tasks/{id}")).await
}

async fn run(daemon: &Daemon, id: &str) {
    let started = async |daemon: &Daemon| {
        let answer = daemon.post(&format!("/api/tasks/{id}/run"), &json!({})).send().await.unwrap();
        answer.status().is_success()
    };
    daemon.until("the task", started).await;
    daemon.until("the end", async |daemon| task(daemon, id).await["last"].is_object()).await;
}

/// Sends a file, then reports or says that there is nothing to report.
fn sender(seen: &Seen) -> Reply {
    let text = seen.last_user_text();
    if !text.contains("chart") {
        return Reply::text("hello");
    }
    match seen.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool" {
        true if text.contains("quietly") => Reply::text("NO_REPLY"),
        true => Reply::text("The chart is there."),
        false => Reply::calls([("send_file", json!({ "path": "chart.txt", "caption": "the chart" }))]),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_a_run_reaches_every_target_also_where_nothing_else_is_said() {
    let scene = Scene::new(Script::compute(sender), json!({})).await;
    scene.project.write("chart.txt", "1 2 3");
    let targets = format!("[telegram:chat:{ANN}, feishu:chat:oc_ada, api:chat:team]");
    for name in ["loudly", "quietly"] {
        let file = format!("---\nevery: 10h\ndeliver: {targets}\n---\nchart {name}");
        scene.project.write(&format!(".ship/tasks/{name}.md"), &file);
    }
    let daemon = scene.project.start().await;
    for spot in [Spot::TelegramDirect, Spot::FeishuDirect] {
        scene.say(spot, "hi");
        scene.hear(spot, &["hello"]).await;
    }
    for (name, files) in [("loudly", 1), ("quietly", 2)] {
        run(&daemon, name).await;
        assert_eq!(task(&daemon, name).await["last"]["outcome"], "done", "{name}");
        scene
            .telegram
            .wait_for(|world| {
                let sent = world.visible(ANN).into_iter().filter(|seen| seen.media == Some("document"));
                sent.filter(|seen| seen.text == "the chart").count() == files
            })
            .await;
        let kept = |world: &crate::fakes::feishu::world::Environment| {
            world.posted.iter().filter(|posted| posted.chat == "oc_ada" && posted.kind == "file").count()
        };
        scene.feishu.wait_for("the file", |world| (kept(world) == files).then_some(())).await;
        let page = daemon.get_json("/api/threads/api:chat:team/messages?limit=200").await;
        let messages = page["messages"].as_array().unwrap();
        let urls: Vec<&str> = messages
            .iter()
            .flat_map(|message| message["parts"].as_array().unwrap())
            .filter(|part| part["type"] == "file")
            .map(|part| part["url"].as_str().unwrap())
            .collect();
        assert_eq!(urls.len(), files, "{page}");
        let content = daemon.get(urls[files - 1]).send().await.unwrap().bytes().await.unwrap();
        assert_eq!(&content[..], b"1 2 3");
    }
    let said = scene.telegram.read(|world| world.bot_texts(ANN));
    assert_eq!(said.iter().filter(|text| *text == "The chart is there.").count(), 1);
    assert!(!said.iter().any(|text| text.contains("NO_REPLY")), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_without_a_known_owner_is_a_failure_that_the_list_shows() {
    let model = FakeModel::start(Script::compute(|_| Reply::text("report"))).await;
    let project = Project::with_model(&model.url(), json!({ "owners": ["telegram:user:9"] }));
    project.write(".ship/tasks/lost.md", "---\nevery: 10h\n---\nlook");
    let daemon = project.start().await;
    run(&daemon, "lost").await;
    let lost = task(&daemon, "lost").await;
    assert_eq!((&lost["last"]["outcome"], &lost["failures"]), (&json!("failed"), &json!(1)));
    let listed = project.run(&["tasks", "list"]).stdout;
    assert!(listed.contains("failed: not delivered"), "{listed}");
    let shown = project.run(&["tasks", "show", "lost"]).stdout;
    assert!(shown.contains("look"), "{shown}");
    let again = project.run(&["tasks", "run", "lost"]);
    assert!(again.code == Some(0) && again.stdout.contains("lost"), "{}", again.stderr);
    let count = async |daemon: &Daemon| task(daemon, "lost").await["history"].as_array().unwrap().len();
    daemon.until("the second run", async |daemon| count(daemon).await == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_deleted_and_made_again_is_watched_again() {
    let model = FakeModel::start(Script::compute(|_| Reply::text("report"))).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write(".ship/tasks/a.md", "---\nevery: 10h\ndeliver: api:chat:a\n---\nlook");
    let daemon = project.start().await;
    run(&daemon, "a").await;
    for round in 0..3 {
        std::fs::remove_dir_all(project.path().join(".ship/tasks")).unwrap();
        let name = format!("b{round}");
        project.write(&format!(".ship/tasks/{name}.md"), "---\nevery: 10h\ndeliver: api:chat:a\n---\nlook");
        run(&daemon, &name).await;
    }
}
