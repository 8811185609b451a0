//! The adapter's options, as the settings resolve to.

use secrecy::SecretString;

use crate::adapters::chat::inbound::InboundOptions;

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
