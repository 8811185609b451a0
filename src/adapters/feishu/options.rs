//! The adapter's options, as the settings resolve to.

use std::time::Duration;

use secrecy::SecretString;

use crate::adapters::chat::{AllowList, Respond, Threading};

/// Options of the adapter.
#[derive(Clone, Debug)]
pub struct FeishuOptions {
    pub app_id: String,
    pub app_secret: SecretString,
    /// The address of the open platform, without a slash at its end.
    pub domain: String,
    pub mode: FeishuMode,
    /// The allow-list of the settings.
    pub guests: AllowList,
    /// Which messages of a group are answered.
    pub respond: Respond,
    /// Whether a group shares one conversation.
    pub threading: Threading,
    /// How long after an answer the same person need not mention the agent again.
    pub followup: Duration,
    /// Whether group administrators may decide approvals.
    pub admins_decide: bool,
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
