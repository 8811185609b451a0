//! A machine without certificates of its own, such as a container made from scratch.

use serde_json::json;

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_and_its_commands_work_without_certificates_of_the_system() {
    let model = FakeModel::start([Reply::text("Here I am."), Reply::text("Still here.")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    let bare = |args: &[&str]| {
        let mut command = project.command(args);
        command.env("SSL_CERT_FILE", "/nonexistent/bundle.pem").env("SSL_CERT_DIR", "/nonexistent");
        command
    };
    let daemon = Daemon::start(bare(&["run"]), project.path()).await;
    let answer = daemon.execute(json!({ "instructions": "hello" })).await;
    assert_eq!(answer["output"], "Here I am.", "{answer}");
    let said = bare(&["chat", "hello"]).output().unwrap();
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.status.success() && shown.contains("Still here."),
        "{shown}{}",
        String::from_utf8_lossy(&said.stderr)
    );
}
