//! What is wrong with an app, found out by asking the platform: its credentials, its identity, its connection, and the
//! permissions it lacks. Sends nothing to anybody.

use reqwest::Client;

use super::api::Api;
use super::calls::Target;
use super::card::{Outgoing, answer_card};
use super::connection::Refusal;
use super::fault::ApiError;
use super::options::{FeishuMode, FeishuOptions};
use super::socket::endpoint;

/// How it stands with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// As it should be.
    Good,
    /// It works, but something is missing.
    Lacking,
    Broken,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub about: About,
    pub status: CheckStatus,
    /// What the platform said: a name, a reason, a missing scope.
    pub detail: String,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The app id and secret.
    Credentials,
    /// The bot and whether it is switched on.
    Bot,
    Connection,
    /// Sending messages: `im:message:send_as_bot`.
    Sending,
    /// Showing answers while they grow: `cardkit:card:write`.
    Growing,
}

/// Looks at everything that can be looked at without sending anything.
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
            // Whoever could not be asked has said nothing about the credentials.
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
    // A chat that cannot be: whoever may send is told so, whoever may not is told that.
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
