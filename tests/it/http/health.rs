//! The health probe of a daemon whose blocking threads all wait.

use std::fs::File;

use serde_json::json;
use tokio::task::JoinSet;

use crate::fakes::daemon::{Daemon, Project};

/// More requests than the daemon has blocking threads.
const REQUESTS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_probe_fails_while_every_blocking_thread_waits_and_passes_again_afterwards() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let daemon = project.start().await;
    assert_eq!(health(&daemon).await, 200);

    // Another program keeps the lock of the grants: each change waits for it on a blocking thread.
    let lock = File::create(project.path().join(".ship/run/grants.lock")).unwrap();
    lock.lock().unwrap();
    let mut revocations = JoinSet::new();
    for _ in 0..REQUESTS {
        let path = format!("{}/api/grants/G1", daemon.base);
        let request = daemon.http.delete(path).bearer_auth(crate::fakes::daemon::TOKEN);
        revocations.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    daemon.until("the probe fails", async |daemon| health(daemon).await == 503).await;

    drop(lock);
    while let Some(status) = revocations.join_next().await {
        assert_eq!(status.unwrap(), 404, "there is no such grant");
    }
    assert_eq!(health(&daemon).await, 200);
    let answer = daemon.execute(json!({ "instructions": "hello" })).await;
    assert_eq!(answer["status"], "done", "{answer}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_checks_speak_the_language_that_is_asked_for() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let daemon = project.start().await;
    for (language, disk) in [("zh-CN", "剩余空间"), ("en", "are free")] {
        let request = daemon.post("/api/checkup", &json!({})).header("accept-language", language);
        let found = request.send().await.unwrap().text().await.unwrap();
        assert!(found.contains(disk), "{language}: {found}");
    }
    assert!(daemon.stop().await.success());
}

async fn health(daemon: &Daemon) -> u16 {
    daemon.http.get(format!("{}/healthz", daemon.base)).send().await.unwrap().status().as_u16()
}
