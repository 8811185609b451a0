//! `shipagent open`: the link logs in once.

use serde_json::{Value, json};

use crate::fakes::console::{Console, DESKTOP};
use crate::fakes::daemon::Project;
use crate::fakes::webdriver::Browser;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_logs_in_once_and_says_when_it_ends() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let none = project.run(&["open"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("shipagent run"), "{}", none.stderr);
    let daemon = project.start().await;

    let asked = project.run(&["open", "--json", "--base", "https://agent.example.org/"]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    let asked: Value = serde_json::from_str(&asked.stdout).unwrap();
    let link = asked["url"].as_str().unwrap();
    let code = link.strip_prefix("https://agent.example.org/#token=").unwrap();
    assert!(code.len() > 30 && asked["expiresAt"].is_string(), "{asked}");

    let login = async || {
        let body = json!({ "token": code });
        let answer = daemon.http.post(format!("{}/api/login", daemon.base)).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, session) = login().await;
    assert_eq!(status, 200, "{session}");
    let session = session["session"].as_str().unwrap();
    let info = daemon.http.get(format!("{}/api/info", daemon.base)).bearer_auth(session);
    assert_eq!(info.send().await.unwrap().status(), 200);
    assert_eq!(login().await.0, 401, "a second time");
    let as_credential = daemon.http.get(format!("{}/api/info", daemon.base)).bearer_auth(code);
    assert_eq!(as_credential.send().await.unwrap().status(), 401, "a code is no credential");
    assert_eq!(project.run(&["open", "--base", "agent.example.org"]).code, Some(2));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_follows_the_link_is_logged_in() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let daemon = project.start().await;
    let link = project.run(&["open"]).stdout;
    let code = link.trim().strip_prefix(&format!("{}/#token=", daemon.base)).unwrap().to_owned();
    let console = Console { browser: Browser::start(DESKTOP, "en-GB,en").await };
    console.enter(&daemon, &code).await;
    console.until_connected().await;
    console.browser.reload().await;
    console.until_connected().await;
    console.assert_no_complaints().await;
    assert!(daemon.stop().await.success());
}
