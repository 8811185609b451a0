//! What the adapter must be told.

use std::time::Duration;

use secrecy::SecretString;

use crate::adapters::chat::{AllowList, Respond, Threading};

/// How the adapter talks to the platform, and to whom.
#[derive(Clone, Debug)]
pub struct FeishuOptions {
    pub app_id: String,
    pub app_secret: SecretString,
    /// The address of the open platform, without a slash at its end.
    pub domain: String,
    pub mode: FeishuMode,
    /// Whom the settings name.
    pub guests: AllowList,
    /// Which messages of a group are answered.
    pub respond: Respond,
    /// Whether a group shares one conversation.
    pub threading: Threading,
    /// For how long after an answer the same person need not mention the agent again.
    pub followup: Duration,
    /// Whether those who run a group may decide there, so that it matters who they are.
    pub admins_decide: bool,
}

#[derive(Clone, Debug)]
pub enum FeishuMode {
    /// Over a connection the daemon opens.
    Websocket,
    /// At an address of ours.
    Webhook {
        /// Encrypts and signs what comes.
        encrypt_key: Option<SecretString>,
        /// Is in everything that comes.
        verification_token: Option<SecretString>,
    },
}
