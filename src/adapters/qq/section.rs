//! The `adapters.qq` section of `ship.json`.

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::options::{QqEvents, QqOptions};
use crate::adapters::chat::GroupsSection;
use crate::adapters::chat::inbound::InboundOptions;

/// The section as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct QqSection {
    /// Whether the adapter runs. An adapter that is off needs no credentials.
    pub(super) enabled: bool,
    /// The bot's app id.
    pub(super) app_id: String,
    /// The bot's secret, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub(super) app_secret: Option<SecretString>,
    /// Whether the platform's sandbox is used.
    pub(super) sandbox: bool,
    /// How events arrive.
    pub(super) mode: QqEvents,
    /// Whether answers are written in Markdown, where the platform takes it; `false` turns buttons off too. Left out, words
    /// are plain and questions have buttons if the platform takes them.
    pub(super) markdown: Option<bool>,
    /// The address of the API.
    #[schemars(extend("format" = "http-url"))]
    pub(super) api_url: String,
    /// The address that hands out access tokens.
    #[schemars(extend("format" = "http-url"))]
    pub(super) token_url: String,
    /// Open ids of people who may write to the bot in private.
    #[schemars(inner(length(min = 1)))]
    pub(super) allowed_users: Vec<String>,
    /// Open ids of groups that are served.
    #[schemars(inner(length(min = 1)))]
    pub(super) allowed_chats: Vec<String>,
    /// How the agent behaves in groups.
    pub(super) groups: GroupsSection,
}

impl Default for QqSection {
    fn default() -> Self {
        Self {
            enabled: true,
            app_id: String::new(),
            app_secret: None,
            sandbox: false,
            mode: QqEvents::default(),
            markdown: None,
            api_url: "https://api.sgroup.qq.com".to_owned(),
            token_url: "https://bots.qq.com/app/getAppAccessToken".to_owned(),
            allowed_users: Vec::new(),
            allowed_chats: Vec::new(),
            groups: GroupsSection::default(),
        }
    }
}

impl QqSection {
    /// The address of the API, without a slash at its end.
    pub(super) fn base(&self) -> &str {
        self.api_url.trim_end_matches('/')
    }

    /// The keys that are empty and without which the adapter cannot run.
    pub(super) fn empty_keys(&self) -> Vec<&'static str> {
        let needed = [("appId", !self.app_id.is_empty()), ("appSecret", self.secret().is_some())];
        needed.into_iter().filter(|(_, there)| !there).map(|(key, _)| key).collect()
    }

    fn secret(&self) -> Option<&SecretString> {
        self.app_secret.as_ref().filter(|secret| !secret.expose_secret().trim().is_empty())
    }

    /// The options of the adapter.
    pub(super) fn options(&self, inbound: InboundOptions) -> QqOptions {
        QqOptions {
            app_id: self.app_id.clone(),
            app_secret: self.secret().cloned().unwrap_or_default(),
            api_url: self.base().to_owned(),
            token_url: self.token_url.trim_end_matches('/').to_owned(),
            sandbox: self.sandbox,
            events: self.mode,
            markdown: self.markdown,
            inbound,
        }
    }
}
