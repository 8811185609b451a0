//! The `adapters` section of `ship.json`. The sections of chat platforms are defined by their adapters.

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

/// The `adapters` section, without the sections of the adapter table: those are read by their adapters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AdaptersFile {
    /// The web console and the HTTP API; on unless turned off.
    pub web: WebFile,
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
