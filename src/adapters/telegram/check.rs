//! What can be found out about the bot without starting it, for `shipagent doctor`. Sends nothing to anybody.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, ApiError};
use super::identity::Me;

/// How long one call may take.
const CALL: Duration = Duration::from_secs(15);

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The token is good.
    Bot {
        /// The bot's name, without the `@`.
        name: String,
        /// Whether it hears everything that is said in groups.
        hears_all: bool,
    },
    /// A webhook is set for the bot.
    Webhook,
    /// The token was refused.
    BadToken { what: String },
    /// The server did not answer, or not as it should.
    Trouble { what: String },
}

#[derive(Deserialize)]
struct WebhookInfo {
    #[serde(default)]
    url: String,
}

/// Asks the server at `base` who the bot of this token is, and whether it has a webhook.
pub async fn check(http: reqwest::Client, base: &str, token: &SecretString) -> Vec<Finding> {
    let api = Api::new(http, base, token.clone());
    let me: Me = match api.ask("getMe", &json!({}), CALL).await {
        Ok(me) => me,
        Err(error) => return vec![refused(&error)],
    };
    let mut findings = vec![Finding::Bot { name: me.username, hears_all: me.hears_all }];
    // Whoever the bot is, is known; a server that does not say this much more is no trouble.
    let hook = api.ask::<WebhookInfo>("getWebhookInfo", &json!({}), CALL).await;
    if hook.is_ok_and(|hook| !hook.url.is_empty()) {
        findings.push(Finding::Webhook);
    }
    findings
}

/// A token that is none at all is a page that the server does not have.
fn refused(error: &ApiError) -> Finding {
    let what = error.to_string();
    match error.refusal() {
        Some((401 | 403 | 404, _)) => Finding::BadToken { what },
        _ => Finding::Trouble { what },
    }
}
