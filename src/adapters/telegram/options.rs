//! What the composition root hands to the Telegram adapter.

use std::time::Duration;

use secrecy::SecretString;

use crate::adapters::chat::{AllowList, Respond};

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

/// Whether a group shares one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threading {
    Shared,
    /// One for each person.
    PerUser,
}

/// Whether a message that was taken gets a sign at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    Eyes,
    Nothing,
}

/// What somebody nobody knows is told in private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strangers {
    /// A code that the operator can confirm.
    Code,
    /// Nothing. The operator sees all the same that they asked.
    Silence,
}
