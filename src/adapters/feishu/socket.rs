//! The long connection: opened at a fresh address each time, kept alive by pings, and closed when it is silent for too
//! long. Events go to the pipeline; each is acknowledged with its outcome.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use secrecy::ExposeSecret as _;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::{self, Message, protocol::WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};
use tokio_util::sync::CancellationToken;

use super::api::FeishuApi;
use super::connection::{ClientConfig, ConnectionEndpoint, ConnectionRefused, read_endpoint, read_handshake};
use super::fragments::{Fragments, Taken};
use super::frame::{FrameKind, SocketFrame};
use super::section::FeishuOptions;
use crate::adapters::chat::inbound::{Outcome, Pipeline};
use crate::http_client::install_tls;
use crate::ports::AdapterIo;

const CONNECT_WITHIN: Duration = Duration::from_secs(15);
const SEND_WITHIN: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 16 << 20;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

#[derive(Debug)]
pub(super) struct LongConnection {
    socket: Socket,
    service: i32,
    pub(super) config: ClientConfig,
}

pub(super) async fn connect(
    api: &FeishuApi,
    options: &FeishuOptions,
) -> Result<LongConnection, ConnectionRefused> {
    let ConnectionEndpoint { url, service, config } = endpoint(api, options).await?;
    install_tls();
    let limits =
        WebSocketConfig::default().max_message_size(Some(MOST_BYTES)).max_frame_size(Some(MOST_BYTES));
    let opened = timeout(CONNECT_WITHIN, connect_async_with_config(url, Some(limits), true)).await;
    match opened {
        Ok(Ok((socket, _))) => Ok(LongConnection { socket, service, config }),
        Ok(Err(error)) => Err(refusal(&error)),
        Err(_) => Err(ConnectionRefused::Later("the connection could not be opened in time".to_owned())),
    }
}

/// Requests the address of a new connection. It is valid once.
pub(super) async fn endpoint(
    api: &FeishuApi,
    options: &FeishuOptions,
) -> Result<ConnectionEndpoint, ConnectionRefused> {
    let body = json!({ "AppID": options.app_id, "AppSecret": options.app_secret.expose_secret() });
    match api.bare("/callback/ws/endpoint", &body).await {
        Ok((status, body)) => read_endpoint(status, &body),
        Err(error) => Err(ConnectionRefused::Later(error.to_string())),
    }
}

fn refusal(error: &tungstenite::Error) -> ConnectionRefused {
    match error {
        tungstenite::Error::Http(response) => {
            let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
            read_handshake(
                header("Handshake-Status"),
                header("Handshake-Msg"),
                header("Handshake-Autherrcode"),
            )
        }
        // Other errors could print the address, which holds a ticket.
        tungstenite::Error::Io(error) => ConnectionRefused::Later(format!("the handshake failed: {error}")),
        _ => ConnectionRefused::Later("the handshake failed".to_owned()),
    }
}

impl LongConnection {
    /// Receives and acknowledges events until the connection is lost or `stop` is cancelled; returns the reason.
    pub(super) async fn serve(
        self,
        pipeline: &Arc<Pipeline>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> String {
        let Self { socket, service, mut config } = self;
        let (mut out, mut incoming) = socket.split();
        let (mut fragments, mut answers) = (Fragments::default(), JoinSet::new());
        let (mut last_heard, mut next_ping) = (Instant::now(), Instant::now());
        io.health.alive(io.clock.now());
        loop {
            let frame = tokio::select! {
                () = stop.cancelled() => return "told to stop".to_owned(),
                () = tokio::time::sleep_until(last_heard + config.silence()) => {
                    return "nothing was heard for too long".to_owned();
                }
                () = tokio::time::sleep_until(next_ping) => {
                    next_ping = Instant::now() + config.ping;
                    SocketFrame::ping(service)
                }
                Some(answered) = answers.join_next() => match answered {
                    Ok(frame) => frame,
                    Err(error) => {
                        tracing::error!(%error, "event task failed");
                        continue;
                    }
                },
                heard = incoming.next() => {
                    let bytes = match heard {
                        Some(Ok(Message::Binary(bytes))) => bytes,
                        Some(Ok(Message::Close(_))) | None => return "the platform closed it".to_owned(),
                        Some(Ok(_)) => {
                            last_heard = Instant::now();
                            continue;
                        }
                        Some(Err(error)) => return format!("it broke: {error}"),
                    };
                    last_heard = Instant::now();
                    io.health.alive(io.clock.now());
                    match SocketFrame::read(&bytes) {
                        Ok(frame) if frame.kind() == FrameKind::Pong => {
                            config = config.updated(frame.payload.as_deref().unwrap_or_default());
                            next_ping = next_ping.min(Instant::now() + config.ping);
                        }
                        Ok(frame) if frame.kind() == FrameKind::Event => {
                            if let Some(task) = take(&mut fragments, frame, pipeline) {
                                answers.spawn(task);
                            }
                        }
                        Ok(_) => {}
                        Err(error) => tracing::warn!(%error, "frame not readable"),
                    }
                    continue;
                }
            };
            let sent = timeout(SEND_WITHIN, out.send(Message::Binary(frame.bytes().into()))).await;
            if !matches!(sent, Ok(Ok(()))) {
                return "nothing can be sent over it".to_owned();
            }
        }
    }
}

/// The task of an event frame; `None` while pieces are missing.
fn take(
    fragments: &mut Fragments,
    frame: SocketFrame,
    pipeline: &Arc<Pipeline>,
) -> Option<impl Future<Output = SocketFrame> + Send + use<>> {
    let began = Instant::now();
    let (frame, payload) = match fragments.take(frame, began) {
        Taken::Whole { frame, payload } => (frame, payload),
        Taken::Part => return None,
        Taken::Refused(reason) => {
            tracing::warn!(reason, "event fragment refused");
            return None;
        }
    };
    // The position in the order is taken here, in the order of the frames.
    let handled = pipeline.receive(&serde_json::from_slice(&payload).unwrap_or_default());
    Some(async move {
        let outcome = handled.await;
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        frame.answered(took, acknowledgement(&outcome))
    })
}

fn acknowledgement(outcome: &Outcome) -> Vec<u8> {
    let answer = match outcome {
        Outcome::Taken => json!({ "code": 200 }),
        Outcome::Answered(data) => json!({ "code": 200, "data": STANDARD.encode(data.to_string()) }),
        Outcome::Again(_) => json!({ "code": 500 }),
    };
    answer.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_says_what_became_of_the_event() {
        let said = |outcome| String::from_utf8(acknowledgement(&outcome)).unwrap();
        assert_eq!(said(Outcome::Taken), r#"{"code":200}"#);
        assert_eq!(said(Outcome::Again(String::new())), r#"{"code":500}"#);
        assert_eq!(said(Outcome::Answered(json!({}))), r#"{"code":200,"data":"e30="}"#);
    }
}
