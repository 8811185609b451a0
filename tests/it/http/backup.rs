//! A backup that was made while the daemon ran is restored in another directory.

use std::process::Command;

use serde_json::json;

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_project_goes_on_with_the_conversation() {
    let model = FakeModel::start(Script::compute(|seen| {
        let known = seen.body.to_string().contains("my boat is called Gannet");
        Reply::text(if known { "Gannet" } else { "I do not know" }).done()
    }))
    .await;
    let project = Project::with_model(&model.url(), json!({ "language": "en", "queue": { "mergeMs": 0 } }));
    project.write(".env", "OTHER_SECRET=hunter2-hunter2\n");
    let daemon = project.start().await;
    let say = json!({ "instructions": "my boat is called Gannet", "chatId": "boats" });
    assert_eq!(daemon.execute(say).await["status"], "done");
    let answer = daemon.get("/api/backup").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/x-tar");
    let archive = answer.bytes().await.unwrap();
    // What is said after it is not in it.
    let later = json!({ "instructions": "and my dog is called Rex", "chatId": "boats" });
    assert_eq!(daemon.execute(later).await["status"], "done");
    daemon.stop().await;

    let restored = Project::new(json!({}));
    let tar = restored.path().join("backup.tar");
    std::io::Write::write_all(&mut std::fs::File::create(&tar).unwrap(), &archive).unwrap();
    let unpacked = Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(restored.path()).status().unwrap();
    assert!(unpacked.success());
    assert!(!restored.path().join(".env").exists() && !restored.path().join(".ship/run/token").exists());
    let daemon = restored.start().await;
    let ask = json!({ "instructions": "what is my boat called?", "chatId": "boats" });
    assert_eq!(daemon.execute(ask).await["output"], "Gannet");
    let messages = daemon.get_json("/api/threads/api:chat:boats/messages").await["messages"].to_string();
    assert!(messages.contains("Gannet") && !messages.contains("Rex"), "{messages}");
    let audit = std::fs::read_dir(project.path().join(".ship/logs")).unwrap();
    let audited = audit
        .flatten()
        .any(|file| std::fs::read_to_string(file.path()).unwrap_or_default().contains("backup-taken"));
    assert!(audited);
}
