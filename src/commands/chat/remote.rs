//! The agent of a running daemon, over HTTP on this machine.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::line::{LineError, Taken, ThreadEvent, fresh_id};
use super::sse::{Event, Reader};
use crate::commands::daemon::{ANSWER, CONNECT, plain, sentence};
use crate::domain::{CorrelationId, MessageId, ThreadId};
use crate::http_client::install_tls;
use crate::uimessage::{Chunk, UiMessage};

/// Three times the pause after which the daemon sends a sign of life.
const SILENCE: Duration = Duration::from_secs(45);

/// Why there is no line to the daemon.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// Nobody is there, at least not yet.
    #[error("{0}")]
    Nobody(String),
    /// Somebody is there and says no; asking again will not help.
    #[error("{0}")]
    Refused(String),
}

/// A line to a daemon.
#[derive(Debug)]
pub(super) struct Remote {
    http: Client,
    token: SecretString,
    address: SocketAddr,
    /// The address of the thread.
    url: String,
    events: Response,
    reader: Reader,
    heard: VecDeque<ThreadEvent>,
}

impl Remote {
    /// Connects to the daemon at this address, and watches the thread from now on.
    pub(super) async fn connect(
        address: SocketAddr,
        token: SecretString,
        thread: &ThreadId,
    ) -> Result<Self, ConnectError> {
        install_tls();
        let nobody = |error: reqwest::Error| ConnectError::Nobody(plain(&error));
        // A proxy is for the world outside, and would see the token.
        let http = Client::builder().no_proxy().connect_timeout(CONNECT).read_timeout(SILENCE).build();
        let http = http.map_err(nobody)?;
        let id = utf8_percent_encode(thread.as_str(), NON_ALPHANUMERIC);
        let url = format!("http://{address}/api/threads/{id}");
        let request = http.get(format!("{url}/events")).bearer_auth(token.expose_secret());
        let events = request.send().await.map_err(nobody)?;
        if events.status() != StatusCode::OK {
            return Err(ConnectError::Refused(sentence(events).await));
        }
        Ok(Self { http, token, address, url, events, reader: Reader::default(), heard: VecDeque::new() })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) async fn say(&self, text: &str) -> Result<Taken, LineError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            message_id: MessageId,
            correlation_id: Option<CorrelationId>,
        }
        let body = json!({ "id": fresh_id(), "text": text });
        let answer: Answer = self.ask(self.http.post(format!("{}/messages", self.url)).json(&body)).await?;
        let again = || LineError::Refused(format!("{} was said before", answer.message_id));
        let correlation = answer.correlation_id.clone().ok_or_else(again)?;
        Ok(Taken { message: answer.message_id, correlation })
    }

    pub(super) async fn recent(&self, limit: usize) -> Result<Vec<UiMessage>, LineError> {
        #[derive(Deserialize)]
        struct Page {
            messages: Vec<UiMessage>,
        }
        let page: Page = self.ask(self.http.get(format!("{}/messages?limit={limit}", self.url))).await?;
        Ok(page.messages)
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, LineError> {
        let request = request.bearer_auth(self.token.expose_secret()).timeout(ANSWER);
        let broken = |error: reqwest::Error| LineError::Broken(plain(&error));
        let response = request.send().await.map_err(broken)?;
        if !response.status().is_success() {
            return Err(LineError::Refused(sentence(response).await));
        }
        response.json().await.map_err(broken)
    }

    pub(super) async fn next(&mut self) -> ThreadEvent {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return heard;
            }
            match self.events.chunk().await {
                Ok(Some(bytes)) => self.heard.extend(self.reader.feed(&bytes).iter().filter_map(heard)),
                Ok(None) | Err(_) => return ThreadEvent::Gone,
            }
        }
    }
}

/// What an event of the daemon's says; nothing where it is of no interest, or of a later version than ours.
fn heard(event: &Event) -> Option<ThreadEvent> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Growth {
        message_id: MessageId,
        chunk: Chunk,
    }
    #[derive(Deserialize)]
    #[serde(tag = "kind", content = "text", rename_all = "lowercase")]
    enum Notice {
        Progress(String),
        Error(String),
    }
    let data = event.data.as_str();
    match event.name.as_str() {
        "message" => serde_json::from_str(data).ok().map(|message| ThreadEvent::Written(Arc::new(message))),
        "chunk" => {
            let Growth { message_id: message, chunk } = serde_json::from_str(data).ok()?;
            Some(ThreadEvent::Chunk { message, chunk })
        }
        "notice" => serde_json::from_str(data).ok().map(|notice| match notice {
            Notice::Progress(text) => ThreadEvent::Progress(text),
            Notice::Error(text) => ThreadEvent::Trouble(text),
        }),
        "reload" => Some(ThreadEvent::Reload),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_of_the_daemon_are_understood_and_unknown_ones_passed_over() {
        let chunk = r#"{"messageId":"m1","chunk":{"type":"text-delta","id":"0","delta":"hi"}}"#;
        let growth = ThreadEvent::Chunk {
            message: "m1".parse().unwrap(),
            chunk: Chunk::TextDelta { id: "0".to_owned(), delta: "hi".to_owned() },
        };
        for (name, data, expected) in [
            ("chunk", chunk, Some(growth)),
            ("chunk", r#"{"messageId":"m1","chunk":{"type":"from-the-future"}}"#, None),
            (
                "notice",
                r#"{"kind":"progress","text":"again"}"#,
                Some(ThreadEvent::Progress("again".to_owned())),
            ),
            ("notice", r#"{"kind":"error","text":"no"}"#, Some(ThreadEvent::Trouble("no".to_owned()))),
            ("notice", r#"{"kind":"song","text":"la"}"#, None),
            ("reload", "{}", Some(ThreadEvent::Reload)),
            ("state", r#"{"state":"idle"}"#, None),
            ("message", "{}", None),
            ("", "x", None),
        ] {
            assert_eq!(heard(&event(name, data)), expected, "{name} {data}");
        }
    }
}
