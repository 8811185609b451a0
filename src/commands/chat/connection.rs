//! The connection of a chat to a daemon, over HTTP on this machine: messages in, events of the thread out. The daemon
//! is the running one of the project, or one that this process started for the chat.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;

use super::open::EmbeddedDaemon;
use crate::commands::daemon_client::{DaemonClient, DaemonError, EventStream};
use crate::commands::sse_reader::SseEvent;
use crate::domain::{Approval, ApprovalFile, CorrelationId, MessageId, ThreadId};
use crate::uimessage::{Chunk, UiMessage, unfinished_runs};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ThreadEvent {
    Chunk {
        message: MessageId,
        chunk: Chunk,
    },
    /// A message was written, or replaced by a newer version.
    Written(Arc<UiMessage>),
    Progress(String),
    /// An error that no message records.
    Error(String),
    /// Events were missed: the thread must be read again.
    Reload,
    /// The daemon has ended.
    Disconnected,
}

/// A message that the daemon has stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentMessage {
    pub(super) id: MessageId,
    /// The run that answers it.
    pub(super) correlation: CorrelationId,
}

/// A connection to one thread.
#[derive(Debug)]
pub(super) struct Connection {
    client: DaemonClient,
    /// The path of the thread in the HTTP interface.
    path: String,
    events: EventStream,
    embedded: Option<EmbeddedDaemon>,
    /// Runs that were unfinished when the daemon inside this process started.
    resumed: Vec<CorrelationId>,
}

impl Connection {
    /// Connects to a thread of a running daemon. Events are received from now on.
    pub(super) async fn open(client: DaemonClient, thread: &ThreadId) -> Result<Self, DaemonError> {
        let path = format!("/api/threads/{}", utf8_percent_encode(thread.as_str(), NON_ALPHANUMERIC));
        let events = client.events(&format!("{path}/events")).await?;
        Ok(Self { client, path, events, embedded: None, resumed: Vec::new() })
    }

    /// Connects to a thread of a daemon inside this process, which ends with the connection.
    pub(super) async fn to_embedded(daemon: EmbeddedDaemon, thread: &ThreadId) -> anyhow::Result<Self> {
        let client = daemon.client()?;
        match Self::open(client, thread).await {
            Ok(connection) => Ok(Self { embedded: Some(daemon), ..connection }),
            Err(error) => {
                daemon.stop(Duration::ZERO).await;
                Err(error.into())
            }
        }
    }

    pub(super) fn resuming(self, resumed: Vec<CorrelationId>) -> Self {
        Self { resumed, ..self }
    }

    /// The runs of the thread that are or were unfinished when the chat began.
    pub(super) fn unfinished(&self, recent: &[UiMessage]) -> Vec<CorrelationId> {
        let mut runs = unfinished_runs(recent);
        runs.extend(self.resumed.iter().filter(|run| !runs.contains(run)).cloned().collect::<Vec<_>>());
        runs
    }

    /// Where the daemon listens, unless it runs inside this process.
    pub(super) const fn daemon_address(&self) -> Option<SocketAddr> {
        match self.embedded {
            Some(_) => None,
            None => Some(self.client.address()),
        }
    }

    /// Sends a message for the agent, or a command for the daemon.
    pub(super) async fn send(&self, text: &str) -> Result<SentMessage, DaemonError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct SendResponse {
            message_id: MessageId,
            correlation_id: Option<CorrelationId>,
        }
        let id = format!("cli:{}", uuid::Uuid::now_v7());
        let body = json!({ "id": id, "text": text });
        let sent: SendResponse = self.client.post(&format!("{}/messages", self.path), &body).await?;
        let duplicate = || DaemonError::Refused(format!("{} was said before", sent.message_id));
        let correlation = sent.correlation_id.clone().ok_or_else(duplicate)?;
        Ok(SentMessage { id: sent.message_id, correlation })
    }

    /// The next event of the thread. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> ThreadEvent {
        loop {
            match self.events.next().await.as_ref().map(parse_event) {
                Some(Some(event)) => return event,
                Some(None) => {}
                None => return ThreadEvent::Disconnected,
            }
        }
    }

    /// The newest messages, the oldest of them first.
    pub(super) async fn recent(&self, limit: usize) -> Result<Vec<UiMessage>, DaemonError> {
        #[derive(Deserialize)]
        struct MessagePage {
            messages: Vec<UiMessage>,
        }
        let page: MessagePage = self.client.get(&format!("{}/messages?limit={limit}", self.path)).await?;
        Ok(page.messages)
    }

    /// The pending approvals of all threads.
    pub(super) async fn pending_approvals(&self) -> Result<Vec<Approval>, DaemonError> {
        #[derive(Deserialize)]
        struct ApprovalPage {
            approvals: Vec<ApprovalFile>,
        }
        let page: ApprovalPage = self.client.get("/api/approvals?state=pending").await?;
        let approvals: Result<Vec<Approval>, _> =
            page.approvals.into_iter().map(Approval::try_from).collect();
        approvals.map_err(|error| DaemonError::Broken(error.to_string()))
    }

    /// Closes the connection. A daemon inside this process stops; its running turn gets until `grace` is over.
    pub(super) async fn close(self, grace: Duration) {
        let Self { embedded, client, events, .. } = self;
        drop((client, events));
        if let Some(daemon) = embedded {
            daemon.stop(grace).await;
        }
    }
}

/// An event of the daemon; `None` for those that a terminal does not show, or that a later version added.
fn parse_event(event: &SseEvent) -> Option<ThreadEvent> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ChunkEvent {
        message_id: MessageId,
        chunk: Chunk,
    }
    #[derive(Deserialize)]
    #[serde(tag = "kind", content = "text", rename_all = "lowercase")]
    enum NoticeEvent {
        Progress(String),
        Error(String),
    }
    let data = event.data.as_str();
    match event.name.as_str() {
        "message" => serde_json::from_str(data).ok().map(|message| ThreadEvent::Written(Arc::new(message))),
        "chunk" => {
            let ChunkEvent { message_id: message, chunk } = serde_json::from_str(data).ok()?;
            Some(ThreadEvent::Chunk { message, chunk })
        }
        "notice" => serde_json::from_str(data).ok().map(|notice| match notice {
            NoticeEvent::Progress(text) => ThreadEvent::Progress(text),
            NoticeEvent::Error(text) => ThreadEvent::Error(text),
        }),
        "reload" => Some(ThreadEvent::Reload),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("notice", r#"{"kind":"error","text":"no"}"#, Some(ThreadEvent::Error("no".to_owned()))),
            ("notice", r#"{"kind":"song","text":"la"}"#, None),
            ("reload", "{}", Some(ThreadEvent::Reload)),
            ("state", r#"{"state":"idle"}"#, None),
            ("message", "{}", None),
            ("", "x", None),
        ] {
            let event = SseEvent { name: name.to_owned(), data: data.to_owned() };
            assert_eq!(parse_event(&event), expected, "{name} {data}");
        }
    }
}
