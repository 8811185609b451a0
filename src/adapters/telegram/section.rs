//! The `adapters.telegram` section of `ship.json`.

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::adapters::chat::GroupsSection;
use crate::adapters::chat::inbound::InboundOptions;

/// The section as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct TelegramSection {
    /// Whether the adapter runs. An adapter that is off needs no credentials.
    pub(super) enabled: bool,
    /// The bot's token from @BotFather, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub(super) bot_token: Option<SecretString>,
    /// The address of the Bot API.
    #[schemars(extend("format" = "http-url"))]
    pub(super) api_url: String,
    /// Numeric ids of people who may write to the bot in private.
    pub(super) allowed_users: Vec<i64>,
    /// Numeric ids of groups that are served.
    pub(super) allowed_chats: Vec<i64>,
    /// How updates arrive.
    pub(super) mode: TelegramMode,
    /// The public https address that leads to /hooks/telegram of the web listener; needed in the webhook mode.
    #[schemars(extend("format" = "http-url"))]
    pub(super) webhook_url: Option<String>,
    /// Whether a message that was taken gets a 👀 at once.
    pub(super) acknowledge: bool,
    /// The answer to a private message of an unknown person.
    pub(super) pairing: Pairing,
    /// How the agent behaves in groups.
    pub(super) groups: GroupsSection,
}

impl Default for TelegramSection {
    fn default() -> Self {
        Self {
            enabled: true,
            bot_token: None,
            api_url: "https://api.telegram.org".to_owned(),
            allowed_users: Vec::new(),
            allowed_chats: Vec::new(),
            mode: TelegramMode::default(),
            webhook_url: None,
            acknowledge: false,
            pairing: Pairing::default(),
            groups: GroupsSection::default(),
        }
    }
}

/// How updates arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TelegramMode {
    /// The daemon asks for them; needs no public address.
    #[default]
    Polling,
    /// Telegram sends them to webhookUrl.
    Webhook,
}

/// The answer to a private message of an unknown person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pairing {
    /// A code that the operator can confirm.
    #[default]
    Code,
    /// Nothing; the operator sees all the same that they asked.
    #[serde(rename = "silent")]
    Silence,
}

impl TelegramSection {
    /// The token, unless it is blank.
    pub(super) fn token(&self) -> Option<&SecretString> {
        self.bot_token.as_ref().filter(|token| !token.expose_secret().trim().is_empty())
    }

    /// The address of the Bot API, without a trailing slash.
    pub(super) fn base(&self) -> &str {
        self.api_url.trim_end_matches('/')
    }

    /// The webhook's address; `None` in polling mode.
    pub(super) fn webhook(&self) -> Option<&str> {
        self.webhook_url.as_deref().filter(|_| self.mode == TelegramMode::Webhook)
    }

    /// The adapter's options. `secret` proves that a webhook call comes from Telegram.
    pub(super) fn options(&self, inbound: InboundOptions, secret: SecretString) -> TelegramOptions {
        TelegramOptions {
            token: self.token().cloned().unwrap_or_default(),
            api_url: self.base().to_owned(),
            webhook: self.webhook().map(|url| WebhookOptions { url: url.to_owned(), secret }),
            acknowledge: if self.acknowledge { Acknowledge::Eyes } else { Acknowledge::Nothing },
            inbound: InboundOptions { offers_pairing: self.pairing == Pairing::Code, ..inbound },
        }
    }
}

/// The settings of the bot.
#[derive(Clone, Debug)]
pub struct TelegramOptions {
    pub token: SecretString,
    pub api_url: String,
    /// The webhook; without it updates are polled.
    pub webhook: Option<WebhookOptions>,
    /// Whether an accepted message gets a reaction at once.
    pub acknowledge: Acknowledge,
    /// The settings about people and groups.
    pub inbound: InboundOptions,
}

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
