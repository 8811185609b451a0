//! HTTP client of a daemon on this machine, for the commands that need one.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::sse_reader::{SseEvent, SseReader};
use crate::config::Settings;
use crate::http_client::{build_client, install_tls};
use crate::store::{Layout, Lock, address};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Longer than the daemon itself allows a write to take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(40);
/// Three times the interval of the daemon's keep-alive comments.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

/// Why the daemon did not serve a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum DaemonError {
    /// No daemon runs, or none that listens.
    #[error("no daemon can be reached")]
    NotRunning,
    /// The daemon refused the request, in its own words.
    #[error("{0}")]
    Refused(String),
    /// The connection broke; the request may have been served.
    #[error("{0}")]
    Broken(String),
}

/// A client with the operator's token.
#[derive(Debug)]
pub(super) struct DaemonClient {
    http: Client,
    token: SecretString,
    address: SocketAddr,
}

impl DaemonClient {
    pub(super) fn new(address: SocketAddr, token: SecretString) -> Result<Self, DaemonError> {
        install_tls();
        // A proxy is for other hosts, and would see the token.
        let http = build_client(|| {
            Client::builder().no_proxy().connect_timeout(CONNECT_TIMEOUT).read_timeout(SILENCE_TIMEOUT)
        });
        Ok(Self { http: http.map_err(|error| broken(&error))?, token, address: reachable(address) })
    }

    /// A client of the project's running daemon, by the address it announced and the token it stored.
    pub(super) fn of_project(settings: &Settings) -> Result<Self, DaemonError> {
        if Lock::holder(&Layout::new(&settings.state)).is_none() {
            return Err(DaemonError::NotRunning);
        }
        let web = settings.web.as_ref();
        let configured = web.map(|web| web.listen).filter(|listen| listen.port() != 0);
        let address = address::announced(&settings.state).or(configured);
        let token = web.and_then(|web| web.token.clone()).or_else(|| address::known_token(&settings.state));
        match (address, token) {
            (Some(address), Some(token)) => Self::new(address, token),
            _ => Err(DaemonError::NotRunning),
        }
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, DaemonError> {
        read(self.request(Method::GET, path).timeout(RESPONSE_TIMEOUT)).await
    }

    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, DaemonError> {
        read(self.request(Method::POST, path).json(body).timeout(RESPONSE_TIMEOUT)).await
    }

    pub(super) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, DaemonError> {
        read(self.request(Method::DELETE, path).timeout(RESPONSE_TIMEOUT)).await
    }

    /// Opens a stream of server-sent events.
    pub(super) async fn events(&self, path: &str) -> Result<EventStream, DaemonError> {
        let response = send(self.request(Method::GET, path)).await?;
        Ok(EventStream { response, reader: SseReader::default(), received: VecDeque::new() })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        self.http.request(method, url).bearer_auth(self.token.expose_secret())
    }
}

/// Server-sent events of the daemon.
#[derive(Debug)]
pub(super) struct EventStream {
    response: Response,
    reader: SseReader,
    received: VecDeque<SseEvent>,
}

impl EventStream {
    /// The next event; `None` when the connection has ended. Dropping the future loses no event.
    pub(super) async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.received.pop_front() {
                return Some(event);
            }
            let bytes = self.response.chunk().await.ok()??;
            self.received.extend(self.reader.feed(&bytes));
        }
    }
}

async fn send(request: RequestBuilder) -> Result<Response, DaemonError> {
    let response = request
        .send()
        .await
        .map_err(|error| if error.is_connect() { DaemonError::NotRunning } else { broken(&error) })?;
    if !response.status().is_success() {
        return Err(DaemonError::Refused(refusal_text(response).await));
    }
    Ok(response)
}

async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, DaemonError> {
    send(request).await?.json().await.map_err(|error| broken(&error))
}

/// An address to connect to: a daemon that listens on all addresses is reached on the loopback one.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The message of an error body `{"error": {"message"}}`, else the body, else the status.
async fn refusal_text(response: Response) -> String {
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    let body = serde_json::from_str::<Value>(&text).ok();
    match body.and_then(|body| body.pointer("/error/message")?.as_str().map(str::to_owned)) {
        Some(message) => message,
        None if text.trim().is_empty() => status.to_string(),
        None => text.trim().to_owned(),
    }
}

/// Keeps the deepest cause: the URL of the request and the layers above say nothing about the reason.
fn broken(error: &reqwest::Error) -> DaemonError {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    DaemonError::Broken(deepest.to_string())
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
