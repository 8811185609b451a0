//! The connections: one client for all models, and one choice of cryptography for all of TLS.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Client;

use super::classify::Failure;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Chooses the cryptography of all TLS in this process. May be called any number of times.
pub fn install_tls() {
    // An error says that a provider stands already, which is all that is wanted.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// The connections to model servers, shared by all who hold a clone. Costs nothing until the first call.
#[derive(Clone, Debug, Default)]
pub struct Http {
    client: Arc<OnceLock<Client>>,
}

impl Http {
    /// Not connected to anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The client, built when first asked for.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        install_tls();
        let built = Client::builder()
            .user_agent(concat!("shipagent/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(Duration::from_secs(30))
            .pool_idle_timeout(Duration::from_secs(60))
            // A redirected POST becomes a GET and an answer that explains nothing.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Failure::Internal(format!("cannot set up http: {}", whole_story(&error))))?;
        Ok(self.client.get_or_init(|| built).clone())
    }
}

/// An error with its causes; reqwest alone says little more than that there was one.
pub(crate) fn whole_story(error: &dyn Error) -> String {
    let mut story = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !story.contains(&words) {
            story = format!("{story}: {words}");
        }
        cause = inner.source();
    }
    story
}
