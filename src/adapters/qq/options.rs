//! The options of the QQ adapter.

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::adapters::chat::inbound::InboundOptions;

/// The base URL of the API, and of its sandbox.
const REAL: &str = "https://api.sgroup.qq.com";
const SANDBOX: &str = "https://sandbox.api.sgroup.qq.com";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QqEvents {
    /// Over a connection the daemon opens; needs no public address.
    #[default]
    #[serde(rename = "websocket")]
    Gateway,
    /// The platform calls the daemon; needs a public HTTPS address that leads to the console's.
    Webhook,
}

#[derive(Clone, Debug)]
pub struct QqOptions {
    pub app_id: String,
    pub app_secret: SecretString,
    pub api_url: String,
    /// The URL that issues access tokens.
    pub token_url: String,
    pub sandbox: bool,
    pub events: QqEvents,
    /// Whether Markdown and buttons are granted to the bot. If unset, buttons are tried with approvals and everything
    /// else is plain text.
    pub markdown: Option<bool>,
    pub inbound: InboundOptions,
}

impl QqOptions {
    /// The base URL of the API; the sandbox's where that is set.
    pub(super) fn base(&self) -> String {
        let base = self.api_url.trim_end_matches('/');
        if self.sandbox && base == REAL { SANDBOX.to_owned() } else { base.to_owned() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::adapters::qq) fn options() -> QqOptions {
        QqOptions {
            app_id: "102".to_owned(),
            app_secret: SecretString::from("secret"),
            api_url: format!("{REAL}/"),
            token_url: String::new(),
            sandbox: false,
            events: QqEvents::Gateway,
            markdown: None,
            inbound: InboundOptions::default(),
        }
    }

    #[test]
    fn the_sandbox_has_an_address_of_its_own() {
        assert_eq!(options().base(), REAL);
        assert_eq!(QqOptions { sandbox: true, ..options() }.base(), SANDBOX);
        let own = QqOptions { sandbox: true, api_url: "http://127.0.0.1:1".to_owned(), ..options() };
        assert_eq!(own.base(), "http://127.0.0.1:1");
    }
}
