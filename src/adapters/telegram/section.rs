//! The `adapters.telegram` section of `ship.json`.

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::options::{Acknowledge, Strangers, TelegramOptions, WebhookOptions};
use crate::adapters::chat::{AllowList, GroupsSection};

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
    /// What somebody whom nobody knows is told in private.
    pub(super) pairing: Strangers,
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
            pairing: Strangers::default(),
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
    pub(super) fn options(
        &self,
        guests: AllowList,
        admins_decide: bool,
        secret: SecretString,
    ) -> TelegramOptions {
        TelegramOptions {
            token: self.token().cloned().unwrap_or_default(),
            api_url: self.base().to_owned(),
            guests,
            respond: self.groups.respond,
            followup: self.groups.followup(),
            threading: self.groups.threading,
            webhook: self.webhook().map(|url| WebhookOptions { url: url.to_owned(), secret }),
            acknowledge: if self.acknowledge { Acknowledge::Eyes } else { Acknowledge::Nothing },
            strangers: self.pairing,
            admins_decide,
        }
    }
}
