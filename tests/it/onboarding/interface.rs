//! The onboarding over HTTP: what the console calls.

use serde_json::{Value, json};

use super::provider::{ANSWER, KEY, ask, choice, nowhere, provider, started, until_configured};
use crate::fakes::daemon::Project;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_directory_is_configured_and_its_daemon_starts_over() {
    let model = provider(true).await;
    let project = Project::empty();
    let daemon = started(&project, &[]).await;
    let (status, offer) = ask(&project, &daemon, "/api/onboarding", None).await.unwrap();
    assert_eq!(status, 200, "{offer}");
    let steps = json!(["language", "provider", "key", "model", "agent", "platform", "owner", "done"]);
    assert_eq!(offer["steps"], steps);
    assert_eq!(offer["providers"].as_array().unwrap().len(), 7);
    assert_eq!(offer["platforms"][0]["keys"][0]["key"], "botToken");
    let anonymous = daemon.http.get(format!("{}/api/onboarding", daemon.base)).send().await.unwrap();
    assert_eq!(anonymous.status(), 401);

    let check =
        async |choice: Value| ask(&project, &daemon, "/api/onboarding/model", Some(choice)).await.unwrap().1;
    let wrong = check(choice(&model.url(), "fake-1", "sk-wrong-0123456789")).await;
    assert_eq!(wrong["trouble"]["kind"], "auth", "{wrong}");
    assert!(!wrong.to_string().contains("sk-wrong"), "{wrong}");
    let unreachable = check(choice(&nowhere(), "fake-1", KEY)).await;
    assert_eq!(unreachable["trouble"]["kind"], "network", "{unreachable}");
    let unknown = check(choice(&model.url(), "fake-9", KEY)).await;
    assert_eq!(unknown["trouble"]["message"], "This server has no model fake-9.", "{unknown}");
    let fine = check(choice(&model.url(), "fake-1", KEY)).await;
    assert_eq!(fine, json!({ "model": "fake-1", "trouble": null, "models": ["fake-1", "fake-2"] }));
    let invalid = ask(&project, &daemon, "/api/onboarding/model", Some(choice("ftp://x", "m", KEY))).await;
    let (status, refused) = invalid.unwrap();
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("invalid_answer")), "{refused}");
    assert!(!project.path().join("ship.json").exists());

    let answers = json!({
        "language": "en", "name": "harbour", "purpose": "Knows ships.", "model": choice(&model.url(), "fake-2", KEY)
    });
    let (status, written) = ask(&project, &daemon, "/api/onboarding", Some(answers.clone())).await.unwrap();
    assert_eq!(status, 200, "{written}");
    until_configured(&project, &daemon).await;
    let info = ask(&project, &daemon, "/api/info", None).await.unwrap().1;
    assert_eq!((&info["name"], &info["model"]["name"]), (&json!("harbour"), &json!("fake-2")), "{info}");
    let body = json!({ "instructions": "hello", "chatId": "c" });
    let (status, answer) = ask(&project, &daemon, "/api/execute", Some(body)).await.unwrap();
    assert_eq!((status, &answer["output"]), (200, &json!(ANSWER)), "{answer}");
    assert_eq!(ask(&project, &daemon, "/api/onboarding", Some(answers)).await.unwrap().0, 409);
    assert_eq!(ask(&project, &daemon, "/api/onboarding", None).await.unwrap().0, 409);
    let agent = std::fs::read_to_string(project.path().join("Agent.md")).unwrap();
    assert!(agent.starts_with("# harbour\n") && agent.contains("- Knows ships.\n"), "{agent}");
    assert!(!project.log().contains(KEY), "the key is in no log");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_ones_own_is_kept_and_a_configured_project_offers_nothing() {
    let project = Project::empty();
    project.write("Agent.md", "Mine.\n");
    let daemon = started(&project, &[]).await;
    let info = ask(&project, &daemon, "/api/info", None).await.unwrap().1;
    assert_eq!(info["onboarding"], "offered", "{info}");
    let offer = ask(&project, &daemon, "/api/onboarding", None).await.unwrap().1;
    assert!(!offer["steps"].as_array().unwrap().contains(&json!("agent")), "{offer}");
    let (status, written) = ask(&project, &daemon, "/api/onboarding", Some(json!({}))).await.unwrap();
    assert_eq!(status, 200, "{written}");
    until_configured(&project, &daemon).await;
    assert_eq!(std::fs::read_to_string(project.path().join("Agent.md")).unwrap(), "Mine.\n");
    assert!(daemon.stop().await.success());

    let configured = Project::new(json!({ "llm": { "provider": "offline" } }));
    let daemon = configured.start().await;
    assert_eq!(daemon.get_json("/api/info").await["onboarding"], Value::Null);
    assert_eq!(daemon.get("/api/onboarding").send().await.unwrap().status(), 409);
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_that_cannot_be_reached_is_told_before_it_is_written() {
    let project = Project::empty();
    // Everything but the loopback goes to a proxy that is not there.
    let proxy = nowhere().replace("/v1", "");
    let daemon = started(&project, &[("HTTPS_PROXY", proxy.as_str())]).await;
    let chosen =
        |token: &str| json!({ "name": "telegram", "values": [{ "key": "botToken", "value": token }] });
    let check =
        async |choice| ask(&project, &daemon, "/api/onboarding/platform", Some(choice)).await.unwrap();
    let (status, found) = check(chosen("1:abc")).await;
    assert_eq!((status, &found["ok"]), (200, &json!(false)), "{found}");
    assert_eq!(found["findings"][0]["level"], "error", "{found}");
    assert_eq!(check(chosen("")).await.0, 422);
    assert!(daemon.stop().await.success());
}
