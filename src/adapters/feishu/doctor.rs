//! Checks an app against the platform: credentials, identity, connection and missing permissions. Sends no message.

use reqwest::Client;

use super::api::Api;
use super::calls::Target;
use super::card::{Outgoing, answer_card};
use super::connection::Refusal;
use super::fault::ApiError;
use super::options::{FeishuMode, FeishuOptions};
use super::socket::endpoint;

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    Good,
    /// Works, with a part missing.
    Lacking,
    Broken,
}

/// The result of one check with its detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub about: About,
    pub status: CheckStatus,
    /// A name, a reason or a missing scope, as reported by the platform.
    pub detail: String,
}

/// The subject of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The app id and secret.
    Credentials,
    /// The bot and whether it is enabled.
    Bot,
    Connection,
    /// Sending messages: `im:message:send_as_bot`.
    Sending,
    /// Streaming cards: `cardkit:card:write`.
    Growing,
}

/// Runs every check that needs no message.
pub async fn check(http: Client, options: &FeishuOptions) -> Vec<Finding> {
    let api = Api::new(http, &options.domain, &options.app_id, &options.app_secret);
    let mut findings = Vec::new();
    let mut found = |about, status, detail: String| findings.push(Finding { about, status, detail });
    match api.bot().await {
        Ok(bot) => {
            found(About::Credentials, CheckStatus::Good, options.app_id.clone());
            let status = if bot.active { CheckStatus::Good } else { CheckStatus::Lacking };
            found(About::Bot, status, bot.name);
        }
        Err(error) => {
            // Without a response there is no verdict about the credentials.
            let about =
                if matches!(error, ApiError::Network(_)) { About::Connection } else { About::Credentials };
            found(about, CheckStatus::Broken, error.to_string());
            return findings;
        }
    }
    if matches!(options.mode, FeishuMode::Websocket) {
        match endpoint(&api, options).await {
            Ok(_) => found(About::Connection, CheckStatus::Good, String::new()),
            Err(Refusal::Later(reason)) => found(About::Connection, CheckStatus::Lacking, reason),
            Err(Refusal::Never(reason)) => found(About::Connection, CheckStatus::Broken, reason),
        }
    }
    // This chat id cannot exist: the error code shows whether the permission is missing.
    let nowhere = Target::Chat("oc_0".to_owned());
    let sent = api.send(&nowhere, &Outgoing::text("."), "").await.map(drop);
    let (status, detail) = permission(sent, CheckStatus::Broken);
    found(About::Sending, status, detail);
    let made = api.make_card(&answer_card(".", 0)).await.map(drop);
    let (status, detail) = permission(made, CheckStatus::Lacking);
    found(About::Growing, status, detail);
    findings
}

fn permission(tried: Result<(), ApiError>, without: CheckStatus) -> (CheckStatus, String) {
    match tried {
        Err(error) if error.is_missing_scope() => (without, error.to_string()),
        Err(ApiError::Network(reason)) => (CheckStatus::Lacking, reason),
        Ok(()) | Err(ApiError::Busy { .. } | ApiError::Refused { .. }) => (CheckStatus::Good, String::new()),
    }
}
