//! The `adapters.feishu` section of `ship.json`.

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::adapters::chat::GroupsSection;
use crate::adapters::chat::inbound::InboundOptions;

/// The section as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct FeishuSection {
    /// Whether the adapter runs. An adapter that is off needs no credentials.
    pub(super) enabled: bool,
    /// The app's id.
    pub(super) app_id: String,
    /// The app's secret, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub(super) app_secret: Option<SecretString>,
    /// The address of the open platform; Lark has its own at open.larksuite.com.
    #[schemars(extend("format" = "http-url"))]
    pub(super) domain: String,
    /// How events arrive.
    pub(super) mode: EventMode,
    /// In webhook mode, the app's Encrypt Key, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub(super) encrypt_key: Option<SecretString>,
    /// In webhook mode, the app's Verification Token, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub(super) verification_token: Option<SecretString>,
    /// Open ids of people who may write to the app in private.
    #[schemars(inner(length(min = 1)))]
    pub(super) allowed_users: Vec<String>,
    /// Chat ids of groups that are served.
    #[schemars(inner(length(min = 1)))]
    pub(super) allowed_chats: Vec<String>,
    /// How the agent behaves in groups.
    pub(super) groups: GroupsSection,
}

impl Default for FeishuSection {
    fn default() -> Self {
        Self {
            enabled: true,
            app_id: String::new(),
            app_secret: None,
            domain: "https://open.feishu.cn".to_owned(),
            mode: EventMode::default(),
            encrypt_key: None,
            verification_token: None,
            allowed_users: Vec::new(),
            allowed_chats: Vec::new(),
            groups: GroupsSection::default(),
        }
    }
}

/// How events arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum EventMode {
    /// Over a connection the daemon opens; needs no public address.
    #[default]
    Websocket,
    /// At /hooks/feishu of the daemon's own listener; needs an address that the platform can reach.
    Webhook,
}

impl FeishuSection {
    /// The address of the open platform, without a slash at its end.
    pub(super) fn base(&self) -> &str {
        self.domain.trim_end_matches('/')
    }

    /// The keys that are empty and without which the adapter cannot run.
    pub(super) fn empty_keys(&self) -> Vec<&'static str> {
        let provable = filled(&self.encrypt_key).or(filled(&self.verification_token)).is_some();
        let needed = [
            ("appId", !self.app_id.is_empty()),
            ("appSecret", filled(&self.app_secret).is_some()),
            ("encryptKey", self.mode == EventMode::Websocket || provable),
        ];
        needed.into_iter().filter(|(_, there)| !there).map(|(key, _)| key).collect()
    }

    /// The options of the adapter.
    pub(super) fn options(&self, inbound: InboundOptions) -> FeishuOptions {
        FeishuOptions {
            app_id: self.app_id.clone(),
            app_secret: filled(&self.app_secret).unwrap_or_default(),
            domain: self.base().to_owned(),
            mode: match self.mode {
                EventMode::Websocket => FeishuMode::Websocket,
                EventMode::Webhook => FeishuMode::Webhook {
                    encrypt_key: filled(&self.encrypt_key),
                    verification_token: filled(&self.verification_token),
                },
            },
            inbound,
        }
    }
}

fn filled(secret: &Option<SecretString>) -> Option<SecretString> {
    secret.clone().filter(|secret| !secret.expose_secret().trim().is_empty())
}

/// Options of the adapter.
#[derive(Clone, Debug)]
pub struct FeishuOptions {
    pub app_id: String,
    pub app_secret: SecretString,
    /// The address of the open platform, without a slash at its end.
    pub domain: String,
    pub mode: FeishuMode,
    pub inbound: InboundOptions,
}

#[derive(Clone, Debug)]
pub enum FeishuMode {
    /// Over a connection that the daemon opens.
    Websocket,
    /// At our own address.
    Webhook {
        /// Encrypts and signs the requests.
        encrypt_key: Option<SecretString>,
        /// Part of every request.
        verification_token: Option<SecretString>,
    },
}
