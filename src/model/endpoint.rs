//! The address and headers of requests, for async-openai.
//!
//! async-openai's own configuration reads the environment, sends an empty bearer token where there is no key, and
//! panics on a key that is no valid header. This one does not.

use async_openai::config::Config;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

/// A server's address and headers.
#[derive(Clone, Debug)]
pub(crate) struct EndpointUrl {
    base: String,
    headers: HeaderMap,
    key: SecretString,
}

/// The key contains characters that are invalid in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the api key holds characters that no header may carry; was it pasted whole, without line breaks?")]
pub(crate) struct BadKey;

impl EndpointUrl {
    /// Checks the key and trims the address: people often paste a trailing slash, or the whole path.
    pub(crate) fn new(base_url: &str, key: Option<&SecretString>) -> Result<Self, BadKey> {
        let base = base_url.trim().trim_end_matches('/');
        let base = base.strip_suffix("/chat/completions").unwrap_or(base).trim_end_matches('/');
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let bearer = format!("Bearer {}", key.expose_secret());
            let mut value = HeaderValue::from_str(&bearer).map_err(|_| BadKey)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let key = key.cloned().unwrap_or_default();
        Ok(Self { base: base.to_owned(), headers, key })
    }
}

impl Config for EndpointUrl {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_however_it_was_pasted() {
        for pasted in [
            "http://host/v1",
            "http://host/v1/",
            " http://host/v1//",
            "http://host/v1/chat/completions",
            "http://host/v1/chat/completions/",
        ] {
            let endpoint = EndpointUrl::new(pasted, None).unwrap();
            assert_eq!(endpoint.url("/chat/completions"), "http://host/v1/chat/completions", "{pasted:?}");
        }
    }

    #[test]
    fn without_a_key_no_authorization_is_sent() {
        assert!(EndpointUrl::new("http://host", None).unwrap().headers().is_empty());
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_an_error_and_the_key_is_never_printed() {
        let key = SecretString::from("sk-se\ncret");
        assert_eq!(EndpointUrl::new("http://host", Some(&key)).err(), Some(BadKey));
        let key = SecretString::from("sk-secret");
        let endpoint = EndpointUrl::new("http://host", Some(&key)).unwrap();
        assert!(!format!("{endpoint:?}").contains("sk-secret"));
    }
}
