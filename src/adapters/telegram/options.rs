//! The options of the Telegram adapter, passed by the composition root.

use std::time::Duration;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::adapters::chat::{AllowList, Respond, Threading};

/// The settings of the bot.
#[derive(Clone, Debug)]
pub struct TelegramOptions {
    pub token: SecretString,
    pub api_url: String,
    /// The allow-list of the settings.
    pub guests: AllowList,
    /// Which messages of a group are answered.
    pub respond: Respond,
    /// How long after an answer the same person need not mention the agent again.
    pub followup: Duration,
    /// Whether a group shares one conversation.
    pub threading: Threading,
    /// The webhook; without it updates are polled.
    pub webhook: Option<WebhookOptions>,
    /// Whether an accepted message gets a reaction at once.
    pub acknowledge: Acknowledge,
    /// The response to an unknown person.
    pub strangers: Strangers,
    /// Whether group administrators may decide approvals.
    pub admins_decide: bool,
}

/// The webhook's options.
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// The public address that leads to `/hooks/telegram` of the web listener.
    pub url: String,
    /// The secret that proves a call of Telegram.
    pub secret: SecretString,
}

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
