//! What the composition root hands to the Telegram adapter.

use std::time::Duration;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::adapters::chat::{AllowList, Respond, Threading};

/// What is known about the bot before it runs.
#[derive(Clone, Debug)]
pub struct TelegramOptions {
    pub token: SecretString,
    /// The address of the Bot API.
    pub api_url: String,
    /// Whom the settings name.
    pub guests: AllowList,
    /// Which messages of a group are answered.
    pub respond: Respond,
    /// For how long after an answer the same person need not mention the agent again.
    pub followup: Duration,
    /// Whether a group shares one conversation.
    pub threading: Threading,
    /// Where Telegram is to send updates; without it they are asked for.
    pub webhook: Option<WebhookOptions>,
    /// Whether a message that was taken gets a sign at once.
    pub acknowledge: Acknowledge,
    /// What somebody nobody knows is told.
    pub strangers: Strangers,
    /// Whether those who run a group may answer questions there.
    pub admins_decide: bool,
}

/// How updates are sent to us.
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// The public address that leads to `/hooks/telegram` of the web listener.
    pub url: String,
    /// What Telegram proves itself with.
    pub secret: SecretString,
}

/// Whether a message that was taken gets a sign at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    Eyes,
    Nothing,
}

/// What somebody whom nobody knows is told in private.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strangers {
    /// A code that the operator can confirm.
    #[default]
    Code,
    /// Nothing; the operator sees all the same that they asked.
    #[serde(rename = "silent")]
    Silence,
}
