//! Checks an app against the platform: credentials, identity, connection and missing permissions. Sends no message.

use reqwest::Client;

use super::api::FeishuApi;
use super::calls::CallTarget;
use super::card::{ReadyMessage, answer_card};
use super::connection::ConnectionRefused;
use super::fault::FeishuError;
use super::section::{FeishuMode, FeishuOptions};
use super::socket::endpoint;
use crate::domain::Language;

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
pub struct FeishuFinding {
    pub about: CheckSubject,
    pub status: CheckStatus,
    /// A name, a reason or a missing scope, as reported by the platform.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckSubject {
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
pub async fn check(http: Client, options: &FeishuOptions) -> Vec<FeishuFinding> {
    let api = FeishuApi::new(http, &options.domain, &options.app_id, &options.app_secret);
    let mut findings = Vec::new();
    let mut found = |about, status, detail: String| findings.push(FeishuFinding { about, status, detail });
    match api.bot().await {
        Ok(bot) => {
            found(CheckSubject::Credentials, CheckStatus::Good, options.app_id.clone());
            let status = if bot.active { CheckStatus::Good } else { CheckStatus::Lacking };
            found(CheckSubject::Bot, status, bot.name);
        }
        Err(error) => {
            // Without a response there is no verdict about the credentials.
            let about = if matches!(error, FeishuError::Network(_)) {
                CheckSubject::Connection
            } else {
                CheckSubject::Credentials
            };
            found(about, CheckStatus::Broken, error.to_string());
            return findings;
        }
    }
    if matches!(options.mode, FeishuMode::Websocket) {
        match endpoint(&api, options).await {
            Ok(_) => found(CheckSubject::Connection, CheckStatus::Good, String::new()),
            Err(ConnectionRefused::Later(reason)) => {
                found(CheckSubject::Connection, CheckStatus::Lacking, reason)
            }
            Err(ConnectionRefused::Never(refusal)) => {
                found(CheckSubject::Connection, CheckStatus::Broken, refusal.say(Language::En))
            }
        }
    }
    // This chat id cannot exist: the error code shows whether the permission is missing.
    let nowhere = CallTarget::Chat("oc_0".to_owned());
    let sent = api.send(&nowhere, &ReadyMessage::text("."), "").await.map(drop);
    let (status, detail) = permission(sent, CheckStatus::Broken);
    found(CheckSubject::Sending, status, detail);
    let made = api.make_card(&answer_card(".", 0)).await.map(drop);
    let (status, detail) = permission(made, CheckStatus::Lacking);
    found(CheckSubject::Growing, status, detail);
    findings
}

fn permission(tried: Result<(), FeishuError>, without: CheckStatus) -> (CheckStatus, String) {
    match tried {
        Err(error) if error.is_missing_scope() => (without, error.to_string()),
        Err(FeishuError::Network(reason)) => (CheckStatus::Lacking, reason),
        Ok(()) | Err(FeishuError::Busy { .. } | FeishuError::Refused { .. }) => {
            (CheckStatus::Good, String::new())
        }
    }
}
