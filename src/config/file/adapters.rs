//! The `adapters` section of `ship.json`: one part per place people talk in.

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The `adapters` section.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AdaptersFile {
    /// Telegram, by a bot of yours.
    pub telegram: Option<TelegramFile>,
    /// Feishu or Lark, by an app of yours.
    pub feishu: Option<FeishuFile>,
    /// QQ, by a bot of yours.
    pub qq: Option<QqFile>,
    /// The web console and the HTTP API; on unless turned off.
    pub web: WebFile,
}

/// The `adapters.telegram` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TelegramFile {
    /// Whether the adapter runs. An adapter that is off needs no credentials.
    pub enabled: bool,
    /// The bot's token from @BotFather, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub bot_token: Option<SecretString>,
    /// The address of the Bot API.
    #[schemars(extend("format" = "http-url"))]
    pub api_url: String,
    /// Numeric ids of people who may write to the bot in private.
    pub allowed_users: Vec<i64>,
    /// Numeric ids of groups that are served.
    pub allowed_chats: Vec<i64>,
    /// How updates arrive.
    pub mode: TelegramMode,
    /// The public https address that leads to /hooks/telegram of the web listener; needed in the webhook mode.
    #[schemars(extend("format" = "http-url"))]
    pub webhook_url: Option<String>,
    /// Whether a message that was taken gets a 👀 at once.
    pub acknowledge: bool,
    /// What somebody whom nobody knows is told in private.
    pub pairing: Pairing,
    /// How the agent behaves in groups.
    pub groups: GroupsFile,
}

impl Default for TelegramFile {
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
            groups: GroupsFile::default(),
        }
    }
}

/// How Telegram's updates arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TelegramMode {
    /// The daemon asks for them; needs no public address.
    #[default]
    Polling,
    /// Telegram sends them to webhookUrl.
    Webhook,
}

/// What somebody whom nobody knows is told in private.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// A code that the operator can confirm.
    #[default]
    Code,
    /// Nothing; the operator sees all the same that they asked.
    Silent,
}

/// The `adapters.feishu` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FeishuFile {
    /// Whether the adapter runs. An adapter that is off needs no credentials.
    pub enabled: bool,
    /// The app's id.
    pub app_id: String,
    /// The app's secret, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub app_secret: Option<SecretString>,
    /// The address of the open platform; Lark has its own at open.larksuite.com.
    #[schemars(extend("format" = "http-url"))]
    pub domain: String,
    /// How events arrive.
    pub mode: FeishuMode,
    /// In webhook mode, the app's Encrypt Key, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub encrypt_key: Option<SecretString>,
    /// In webhook mode, the app's Verification Token, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub verification_token: Option<SecretString>,
    /// Open ids of people who may write to the app in private.
    #[schemars(inner(length(min = 1)))]
    pub allowed_users: Vec<String>,
    /// Chat ids of groups that are served.
    #[schemars(inner(length(min = 1)))]
    pub allowed_chats: Vec<String>,
    /// How the agent behaves in groups.
    pub groups: GroupsFile,
}

impl Default for FeishuFile {
    fn default() -> Self {
        Self {
            enabled: true,
            app_id: String::new(),
            app_secret: None,
            domain: "https://open.feishu.cn".to_owned(),
            mode: FeishuMode::default(),
            encrypt_key: None,
            verification_token: None,
            allowed_users: Vec::new(),
            allowed_chats: Vec::new(),
            groups: GroupsFile::default(),
        }
    }
}

/// How Feishu's events arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FeishuMode {
    /// Over a connection the daemon opens; needs no public address.
    #[default]
    Websocket,
    /// At /hooks/feishu of the daemon's own listener; needs an address that the platform can reach.
    Webhook,
}

/// The `adapters.qq` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QqFile {
    /// Whether the adapter runs. An adapter that is off needs no credentials.
    pub enabled: bool,
    /// The bot's app id.
    pub app_id: String,
    /// The bot's secret, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub app_secret: Option<SecretString>,
    /// Whether the platform's sandbox is used.
    pub sandbox: bool,
    /// How events arrive.
    pub mode: QqMode,
    /// Whether answers are written in Markdown, where the platform takes it; `false` turns buttons off too. Left out, words
    /// are plain and questions have buttons if the platform takes them.
    pub markdown: Option<bool>,
    /// The address of the API.
    #[schemars(extend("format" = "http-url"))]
    pub api_url: String,
    /// The address that hands out access tokens.
    #[schemars(extend("format" = "http-url"))]
    pub token_url: String,
    /// Open ids of people who may write to the bot in private.
    #[schemars(inner(length(min = 1)))]
    pub allowed_users: Vec<String>,
    /// Open ids of groups that are served.
    #[schemars(inner(length(min = 1)))]
    pub allowed_chats: Vec<String>,
    /// How the agent behaves in groups.
    pub groups: GroupsFile,
}

impl Default for QqFile {
    fn default() -> Self {
        Self {
            enabled: true,
            app_id: String::new(),
            app_secret: None,
            sandbox: false,
            mode: QqMode::default(),
            markdown: None,
            api_url: "https://api.sgroup.qq.com".to_owned(),
            token_url: "https://bots.qq.com/app/getAppAccessToken".to_owned(),
            allowed_users: Vec::new(),
            allowed_chats: Vec::new(),
            groups: GroupsFile::default(),
        }
    }
}

/// How QQ's events arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QqMode {
    /// Over a connection the daemon opens; needs no public address.
    #[default]
    Websocket,
    /// The platform calls the daemon; needs a public HTTPS address that leads to the console's.
    Webhook,
}

/// The `groups` part of an adapter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GroupsFile {
    /// Which messages in a group are for the agent.
    pub respond: GroupRespond,
    /// Whether a group shares one conversation.
    pub threading: GroupThreading,
    /// For how many seconds after an answer the same person need not mention the agent again.
    #[schemars(range(min = 0, max = 86400))]
    pub followup_secs: u64,
}

impl Default for GroupsFile {
    fn default() -> Self {
        Self { respond: GroupRespond::default(), threading: GroupThreading::default(), followup_secs: 600 }
    }
}

/// Which messages in a group are for the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupRespond {
    /// Those that mention it or reply to it.
    #[default]
    Mention,
    /// Every one.
    All,
}

/// Whether a group shares one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupThreading {
    /// One for all.
    #[default]
    Shared,
    /// One for each person.
    PerUser,
}

/// The `adapters.web` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WebFile {
    /// Whether the console and the API are served. With no other adapter on, they are served anyway.
    pub enabled: bool,
    /// Address and port; port 0 takes a free one.
    #[schemars(extend("format" = "listen-address"))]
    pub listen: String,
    /// The token that opens the console and the API, best as ${VAR}. Without it, one is made and kept in .ship/run.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub token: Option<SecretString>,
    /// Further host names the console is reached by, for example behind a proxy.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "format": "host-name" })))]
    pub allowed_hosts: Vec<String>,
}

impl Default for WebFile {
    fn default() -> Self {
        Self { enabled: true, listen: "127.0.0.1:7717".to_owned(), token: None, allowed_hosts: Vec::new() }
    }
}
