//! `shipagent doctor` queries the chat platforms: the bot's identity, its permissions, and advice.

use std::time::Duration;

use serde_json::{Value, json};
use shipagent::adapters::telegram::BotApi;

use crate::fakes::daemon::{Output, Project, merge};
use crate::fakes::feishu::server::Feishu;
use crate::fakes::qq::QqFake;
use crate::fakes::telegram::account::Privacy;
use crate::fakes::telegram::server::FakeTelegram;

struct Scene {
    telegram: FakeTelegram,
    feishu: Feishu,
    qq: QqFake,
}

impl Scene {
    async fn new() -> Self {
        let (telegram, feishu) = (FakeTelegram::start().await, Feishu::start().await);
        feishu.tune(|world| world.mood.cardkit = true);
        Self { telegram, feishu, qq: QqFake::start().await }
    }

    /// Examines a project that is configured for them, with these changes.
    fn examined(&self, extra: Value, args: &[&str]) -> Output {
        let mut config = json!({
            "llm": { "provider": "offline" },
            "adapters": { "telegram": { "botToken": self.telegram.token(), "apiUrl": self.telegram.url() } },
        });
        merge(&mut config, self.feishu.section(json!({})));
        merge(&mut config, self.qq.config());
        merge(&mut config, extra);
        Project::new(config).run(args)
    }
}

fn line<'a>(output: &'a Output, check: &str) -> &'a str {
    let found = output.stdout.lines().find(|line| line.split_whitespace().nth(1) == Some(check));
    found.unwrap_or_else(|| panic!("no {check} in {output:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_credentials_are_told_with_the_name_of_the_bot() {
    let scene = Scene::new().await;
    let output = scene.examined(json!({}), &["doctor"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    for (check, told) in [
        ("telegram", "✓ telegram    the bot is @ship_test_bot"),
        ("feishu", "✓ feishu      the bot is Ship"),
        ("qq", "✓ qq          the bot is shipbot"),
    ] {
        assert_eq!(line(&output, check), told, "{output:?}");
    }
    assert_eq!(scene.qq.look(|rules| rules.sent.len()), 0, "nobody hears of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_credentials_are_errors_with_advice_and_no_secret_is_printed() {
    let scene = Scene::new().await;
    let secrets = ["123456:AAwrong-canary_token0123456789abcdef", "feishu-canary-wrong", "qq-canary-wrong"];
    let [token, feishu, qq] = secrets;
    let bad = json!({ "adapters": { "telegram": { "botToken": token }, "feishu": { "appSecret": feishu },
        "qq": { "appSecret": qq } } });
    let output = scene.examined(bad.clone(), &["doctor"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    for (check, key) in [("telegram", "botToken"), ("feishu", "appSecret"), ("qq", "appSecret")] {
        assert!(line(&output, check).starts_with('✗'), "{output:?}");
        assert!(line(&output, check).contains("the credentials were refused"), "{output:?}");
        assert!(output.stdout.contains(&format!("adapters.{check}.{key} and the variables")), "{output:?}");
    }
    let json = scene.examined(bad, &["doctor", "--json"]);
    for secret in secrets {
        assert!(!format!("{output:?}{json:?}").contains(secret), "{secret} is printed");
    }
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert!(
        checks.iter().any(|check| check["check"] == "telegram" && check["status"] == "error"),
        "{report}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_works_but_not_as_meant_is_pointed_out() {
    let scene = Scene::new().await;
    scene.feishu.tune(|world| world.mood.cardkit = false);
    scene.telegram.reconfigure(|account| account.privacy = Privacy::On);
    shipagent::http_client::install_tls();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let api = BotApi::new(http, &scene.telegram.url(), scene.telegram.token().into());
    let hook = json!({ "url": "https://elsewhere.example/hook" });
    api.ask::<Value>("setWebhook", &hook, Duration::from_secs(20)).await.unwrap();
    let output = scene
        .examined(json!({ "adapters": { "telegram": { "groups": { "respond": "all" } } } }), &["doctor"]);
    assert_eq!(output.code, Some(0), "nothing of it keeps the agent from running: {output:?}");
    assert!(
        line(&output, "telegram").starts_with("! telegram    the bot is @ship_test_bot; privacy"),
        "{output:?}"
    );
    for told in ["/setprivacy", "a webhook is set for this bot", "cardkit:card:write"] {
        assert!(output.stdout.contains(told), "{told} is not in {output:?}");
    }
    assert!(!output.stdout.contains("elsewhere.example"), "an address may hold a secret: {output:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_that_is_gone_is_an_error_and_the_others_are_still_asked() {
    let scene = Scene::new().await;
    let gone = json!({ "adapters": { "feishu": { "domain": "http://127.0.0.1:9" } } });
    let output = scene.examined(gone, &["doctor"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(line(&output, "feishu").starts_with("✗ feishu      it cannot be asked"), "{output:?}");
    assert!(output.stdout.contains("adapters.feishu.domain"), "{output:?}");
    assert!(line(&output, "telegram").starts_with('✓') && line(&output, "qq").starts_with('✓'), "{output:?}");
}
