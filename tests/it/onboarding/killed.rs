//! A process that ends in the middle of writing the project leaves one that starts.

use serde_json::json;

use super::provider::{ANSWER, KEY, ask, choice, provider, started, until_configured};
use crate::fakes::daemon::Project;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_dies_between_the_files_offers_the_onboarding_again() {
    let model = provider(true).await;
    for step in ["onboarding-env-written", "onboarding-agent-written"] {
        let project = Project::empty();
        let daemon = started(&project, &[("SHIPAGENT_FAIL_POINT", step)]).await;
        let answers = json!({ "name": "harbour", "model": choice(&model.url(), "fake-1", KEY) });
        assert_eq!(ask(&project, &daemon, "/api/onboarding", Some(answers.clone())).await, None, "{step}");
        assert!(!daemon.ended().await.success());
        assert!(project.path().join(".env").exists() && !project.path().join("ship.json").exists());

        let daemon = started(&project, &[]).await;
        let info = ask(&project, &daemon, "/api/info", None).await.unwrap().1;
        assert_eq!(info["model"]["provider"], "offline", "{step}: the project works");
        assert!(!info["onboarding"].is_null(), "{step}: {info}");
        assert_eq!(ask(&project, &daemon, "/api/onboarding", Some(answers)).await.unwrap().0, 200);
        until_configured(&project, &daemon).await;
        let body = json!({ "instructions": "hello", "chatId": "c" });
        let answer = ask(&project, &daemon, "/api/execute", Some(body)).await.unwrap().1;
        assert_eq!(answer["output"], ANSWER, "{answer}");
        let env = std::fs::read_to_string(project.path().join(".env")).unwrap();
        assert_eq!(env, format!("LLM_API_KEY={KEY}\n"));
        assert!(daemon.stop().await.success());
    }
}
