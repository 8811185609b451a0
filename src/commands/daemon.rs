//! The running daemon of a project, asked over HTTP on this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Client, Method, Response};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::config::Settings;
use crate::http_client::install_tls;
use crate::store::{Layout, Lock, address};

/// A daemon on this machine answers at once, or it is not there.
pub(super) const CONNECT: Duration = Duration::from_secs(3);
/// Longer than the daemon itself allows a write to take.
pub(super) const ANSWER: Duration = Duration::from_secs(40);

/// Why the daemon did not do it.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// No daemon runs, or none that can be talked to.
    #[error("no daemon can be talked to")]
    Nobody,
    /// It says no, in its own words.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Broken(String),
}

/// Where the daemon listens, and its token; nothing where that is not known.
pub(super) fn whereabouts(settings: &Settings) -> Option<(SocketAddr, SecretString)> {
    let web = settings.web.as_ref();
    let listen = web.map(|web| web.listen).filter(|listen| listen.port() != 0);
    let address = address::announced(&settings.state).or(listen)?;
    let token = web.and_then(|web| web.token.clone()).or_else(|| address::known_token(&settings.state))?;
    Some((reachable(address), token))
}

/// Asks the daemon of a project for something, with a body.
pub(super) async fn ask(
    settings: &Settings,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, AskError> {
    if Lock::holder(&Layout::new(&settings.state)).is_none() {
        return Err(AskError::Nobody);
    }
    let (address, token) = whereabouts(settings).ok_or(AskError::Nobody)?;
    install_tls();
    let broken = |error: reqwest::Error| AskError::Broken(plain(&error));
    // A proxy is for the world outside, and would see the token.
    let http = Client::builder().no_proxy().connect_timeout(CONNECT).timeout(ANSWER).build();
    let request = http.map_err(broken)?.request(method, format!("http://{address}{path}"));
    let request = request.bearer_auth(token.expose_secret()).json(body);
    let response = request.send().await.map_err(|error| {
        if error.is_connect() { AskError::Nobody } else { AskError::Broken(plain(&error)) }
    })?;
    if !response.status().is_success() {
        return Err(AskError::Refused(sentence(response).await));
    }
    response.json().await.map_err(broken)
}

/// An address that can be called: who listens everywhere is reached on this machine.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The daemon's own words on why not.
pub(super) async fn sentence(response: Response) -> String {
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    match serde_json::from_str::<Value>(&text).ok().and_then(|body| message_of(&body)) {
        Some(message) => message,
        None if text.trim().is_empty() => status.to_string(),
        None => text.trim().to_owned(),
    }
}

/// The message of an error body: `{"error": {"message"}}`.
fn message_of(body: &Value) -> Option<String> {
    body.pointer("/error/message")?.as_str().map(str::to_owned)
}

/// An error with its causes, without the address of the request: what people need is why.
pub(super) fn plain(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_called_on_this_machine() {
        for (listen, called) in
            [("0.0.0.0:1", "127.0.0.1:1"), ("[::]:2", "[::1]:2"), ("192.168.0.9:3", "192.168.0.9:3")]
        {
            assert_eq!(reachable(listen.parse().unwrap()), called.parse().unwrap());
        }
    }
}
