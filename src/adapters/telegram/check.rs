//! The bot's checks for `shipagent doctor`, without starting the bot. Sends no message.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, ApiError};
use super::identity::Me;

/// Deadline of one call.
const CALL: Duration = Duration::from_secs(15);

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The token is valid.
    Bot {
        /// The bot's name, without the `@`.
        name: String,
        /// Whether it receives all group messages (privacy mode off).
        hears_all: bool,
    },
    /// A webhook is set for the bot.
    Webhook,
    BadToken {
        what: String,
    },
    /// The server did not respond, or not as expected.
    Trouble {
        what: String,
    },
}

#[derive(Deserialize)]
struct WebhookInfo {
    #[serde(default)]
    url: String,
}

/// Checks at the server at `base` who the bot of this token is, and whether it has a webhook.
pub async fn check(http: reqwest::Client, base: &str, token: &SecretString) -> Vec<Finding> {
    let api = Api::new(http, base, token.clone());
    let me: Me = match api.ask("getMe", &json!({}), CALL).await {
        Ok(me) => me,
        Err(error) => return vec![refused(&error)],
    };
    let mut findings = vec![Finding::Bot { name: me.username, hears_all: me.hears_all }];
    // The bot is already identified; a server without this call is no error.
    let hook = api.ask::<WebhookInfo>("getWebhookInfo", &json!({}), CALL).await;
    if hook.is_ok_and(|hook| !hook.url.is_empty()) {
        findings.push(Finding::Webhook);
    }
    findings
}

/// For a malformed token the server answers 404.
fn refused(error: &ApiError) -> Finding {
    let what = error.to_string();
    match error.refusal() {
        Some((401 | 403 | 404, _)) => Finding::BadToken { what },
        _ => Finding::Trouble { what },
    }
}
