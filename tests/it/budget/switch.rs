//! The switch that stops all calls is in the ledger, and what cannot be read allows nothing.

use serde_json::json;

use super::{budget, lines};
use crate::fakes::approval_scene::Scene;
use crate::fakes::daemon::merge;

async fn scene(caps: serde_json::Value) -> Scene {
    let mut config = budget(caps);
    merge(&mut config, json!({ "owners": ["api:user:olga"] }));
    Scene::new(config).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_outlives_the_state_directory_and_the_month() {
    let Scene { model, project, daemon } = scene(json!({ "day": 100 })).await;
    let stop = json!({ "instructions": "/budget stop", "chatId": "o", "userId": "olga" });
    daemon.execute(stop).await;
    daemon.kill();
    std::fs::remove_dir_all(project.path().join(".ship/state/usage")).unwrap_or_default();
    // An owner stopped them two years ago.
    let logs = project.path().join(".ship/logs");
    let stopped = lines(&project, "switch").remove(0).to_string();
    for file in std::fs::read_dir(&logs).unwrap().flatten() {
        if file.file_name().to_string_lossy().starts_with("usage-") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    project.write(".ship/logs/usage-2024-11.jsonl", &format!("{stopped}\n"));
    let scene = Scene { daemon: project.start().await, project, model };
    let ended = scene.say("hello?", "m1").await;
    assert!(ended["status"] == "failed" && ended["error"].to_string().contains("stopped"), "{ended}");
    assert_eq!(scene.model.requests().len(), 0);
    scene.say_as("olga", "o", "/budget resume", "o2").await;
    let scene = scene.killed_and_started().await;
    assert_eq!(scene.say("hello again", "m2").await["status"], "done");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_cannot_be_read_allows_no_call_until_it_can() {
    let Scene { model, project, daemon } = scene(json!({ "day": 1 })).await;
    assert!(daemon.stop().await.success());
    std::fs::remove_dir_all(project.path().join(".ship/state/usage")).unwrap_or_default();
    // A directory in place of a file cannot be read, by root neither.
    let broken = project.path().join(".ship/logs/usage-2099-01.jsonl");
    std::fs::create_dir_all(&broken).unwrap();
    let scene = Scene { daemon: project.start().await, project, model };
    let ended = scene.say("hello", "m1").await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert_eq!(scene.model.requests().len(), 0);
    std::fs::remove_dir(&broken).unwrap();
    assert_eq!(scene.say("hello again", "m2").await["status"], "done");
    scene.end().await;
}
