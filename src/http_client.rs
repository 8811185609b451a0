//! HTTP clients for models and chat platforms: shared connections, one TLS provider, and readable errors.

use std::error::Error;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Certificate, Client, ClientBuilder, Response};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Most idle connections kept per server: each has its own buffers.
const IDLE_CONNECTIONS: usize = 128;

/// Installs the TLS provider of this process. May be called any number of times.
pub fn install_tls() {
    // An error means that a provider is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// HTTP clients, shared between clones and built on first use. Each client holds the root certificates in memory, so
/// there are at most two.
#[derive(Clone, Debug, Default)]
pub struct Http {
    client: Arc<OnceLock<Client>>,
    /// The client for loopback servers, which bypasses the proxy.
    local: Arc<OnceLock<Client>>,
}

impl Http {
    /// Builds no client yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The client for the server at this address, built on first use.
    pub(crate) fn client(&self, base_url: &str) -> Result<Client, reqwest::Error> {
        self.built(is_loopback(base_url))
    }

    /// The client for servers that are not on this machine.
    pub(crate) fn far(&self) -> Result<Client, reqwest::Error> {
        self.built(false)
    }

    fn built(&self, local: bool) -> Result<Client, reqwest::Error> {
        let place = if local { &self.local } else { &self.client };
        if let Some(client) = place.get() {
            return Ok(client.clone());
        }
        install_tls();
        let builder = || {
            let builder = if local { Client::builder().no_proxy() } else { Client::builder() };
            configured(builder)
        };
        let built = build_client(builder)?;
        Ok(place.get_or_init(|| built).clone())
    }
}

fn configured(builder: ClientBuilder) -> ClientBuilder {
    builder
        .user_agent(concat!("shipagent/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        // A redirected POST becomes a GET with a misleading answer; and addresses and bodies contain secrets that
        // only the intended server may see.
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
}

/// Builds a client that trusts the certificates of the system; where it has none, as a container made from scratch, those
/// inside this program.
pub(crate) fn build_client(builder: impl Fn() -> ClientBuilder) -> Result<Client, reqwest::Error> {
    builder().build().or_else(|_| builder().tls_certs_only(bundled_roots()).build())
}

/// The root certificates of Mozilla's list.
fn bundled_roots() -> Vec<Certificate> {
    let known = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    known.filter_map(|certificate| Certificate::from_der(certificate).ok()).collect()
}

/// Whether an address is on the loopback interface.
fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url.trim()) else { return false };
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or_else(
        |_| host == "localhost" || host.ends_with(".localhost"),
        |address| address.to_canonical().is_loopback(),
    )
}

/// An error with its causes; the message of reqwest alone says little.
pub(crate) fn whole_story(error: &dyn Error) -> String {
    with_causes(error.to_string(), error)
}

/// A text of our own followed by the causes of an error, for errors whose own message contains a secret address.
pub(crate) fn with_causes(words: impl Into<String>, error: &dyn Error) -> String {
    let mut story = words.into();
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

/// Why the body of a response could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the answer is too long")]
    TooLong,
    #[error("{0}")]
    Broken(String),
}

/// The body of a response of at most `most` bytes.
pub(crate) async fn read_body(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(piece) =
        response.chunk().await.map_err(|error| BodyError::Broken(transport_error(&error)))?
    {
        if body.len() + piece.len() > most {
            return Err(BodyError::TooLong);
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The text of a transport error, without the URL, which may hold a secret.
pub(crate) fn transport_error(error: &reqwest::Error) -> String {
    let words = match () {
        () if error.is_timeout() => "timed out",
        () if error.is_connect() => "cannot connect",
        () if error.is_builder() => "not a valid request",
        () => "the connection broke",
    };
    with_causes(words, error)
}

/// A form with one file.
pub(crate) fn file_form(
    fields: impl IntoIterator<Item = (&'static str, String)>,
    field: &'static str,
    file: Part,
) -> Form {
    let form = fields.into_iter().fold(Form::new(), |form, (name, value)| form.text(name, value));
    form.part(field, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificates_inside_the_program_make_a_client() {
        install_tls();
        let roots = bundled_roots();
        assert_eq!(roots.len(), webpki_root_certs::TLS_SERVER_ROOT_CERTS.len());
        assert!(roots.len() > 100);
        assert!(Client::builder().tls_certs_only(roots).build().is_ok());
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        for (url, expected) in [
            ("http://127.0.0.1:8080/v1", true),
            (" http://127.9.9.9/v1", true),
            ("http://localhost:11434/v1", true),
            ("http://LOCALHOST/v1", true),
            ("http://models.localhost/v1", true),
            ("http://[::1]:8080/v1", true),
            ("http://[::ffff:127.0.0.1]/v1", true),
            ("http://localhost.example.com/v1", false),
            ("http://user@10.0.0.1/127.0.0.1", false),
            ("https://api.example.com/v1", false),
            ("not an address", false),
        ] {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }
}
