//! The platform's side of the websocket: events are sent in frames, and again until they are acknowledged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use prost::Message as _;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;

use super::server::Shared;
use super::wire::{Frame, headers};
use super::world::{Ack, Environment, Pending};

pub(super) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let number = shared.change(|world| {
            world.connections += 1;
            world.connections
        });
        let shared = shared.clone();
        connections.spawn(async move {
            serve(stream, number, &shared).await;
            // Unacknowledged events go to the next connection.
            shared.change(|world| {
                for pending in &mut world.pending {
                    if pending.sent.is_some_and(|(connection, _)| connection == number) {
                        pending.sent = None;
                    }
                }
            });
        });
    }
}

#[expect(clippy::result_large_err, reason = "the shape of the library's callback")]
async fn serve(stream: TcpStream, number: u64, shared: &Arc<Shared>) {
    let check = |request: &Request, response: Response| {
        let query = request.uri().query().unwrap_or_default();
        let ticket = query.split("ticket=").nth(1).unwrap_or_default();
        // A ticket is valid once.
        match shared.change(|world| world.tickets.remove(ticket)) {
            true => Ok(response),
            false => {
                let mut refused = ErrorResponse::new(None);
                *refused.status_mut() = StatusCode::FORBIDDEN;
                refused.headers_mut().insert("Handshake-Status", "514".parse().unwrap());
                Err(refused)
            }
        }
    };
    let Ok(socket) = tokio_tungstenite::accept_hdr_async(stream, check).await else { return };
    let (mut out, mut incoming) = socket.split();
    let mut changes = shared.watch();
    loop {
        changes.mark_unchanged();
        let (frames, next) = due(&mut shared.look(), number);
        for frame in frames {
            if out.send(Message::Binary(frame.encode_to_vec().into())).await.is_err() {
                return;
            }
        }
        let heard = tokio::select! {
            _ = changes.changed() => continue,
            () = tokio::time::sleep(next) => continue,
            heard = incoming.next() => heard,
        };
        let Some(Ok(Message::Binary(bytes))) = heard else { return };
        let frame = Frame::decode(bytes.as_ref()).unwrap();
        // The platform refuses a frame without its zero fields; a ping begins with two of them.
        match frame.header("type") {
            Some("ping") => {
                assert_eq!(bytes[..4], [0x08, 0, 0x10, 0], "required fields are written");
                if shared.look().mood.mute {
                    continue;
                }
                let payload = json!({ "PingInterval": shared.look().mood.ping }).to_string();
                let pong = Frame {
                    headers: headers([("type", "pong".to_owned())]),
                    payload: Some(payload.into_bytes()),
                    ..frame
                };
                if out.send(Message::Binary(pong.encode_to_vec().into())).await.is_err() {
                    return;
                }
            }
            _ => shared.change(|world| acknowledged(world, &frame)),
        }
    }
}

/// The frames that are due on a connection, and when to check again.
fn due(world: &mut Environment, number: u64) -> (Vec<Frame>, Duration) {
    let (pieces, again) = (world.mood.pieces.max(1), world.mood.again_after);
    let mut frames = Vec::new();
    if world.mood.mute {
        return (frames, Duration::from_secs(3600));
    }
    for pending in &mut world.pending {
        if pending.sent.is_none_or(|(_, at)| at.elapsed() >= again) {
            pending.sent = Some((number, Instant::now()));
            frames.extend(cut(pending, pieces));
        }
    }
    (frames, if world.pending.is_empty() { Duration::from_secs(3600) } else { again })
}

fn cut(pending: &Pending, pieces: usize) -> Vec<Frame> {
    let payload = pending.payload.to_string().into_bytes();
    let chunks: Vec<&[u8]> = payload.chunks(payload.len().div_ceil(pieces)).collect();
    let sum = chunks.len();
    let mut frames: Vec<Frame> = chunks
        .into_iter()
        .enumerate()
        .map(|(seq, chunk)| Frame {
            seq: 7,
            log: 8,
            service: 33_554_678,
            method: 1,
            headers: headers([
                ("type", pending.kind.to_owned()),
                ("message_id", pending.key.clone()),
                ("sum", sum.to_string()),
                ("seq", seq.to_string()),
                ("trace_id", "trace".to_owned()),
            ]),
            payload: Some(chunk.to_vec()),
        })
        .collect();
    // They may arrive in any order.
    frames.reverse();
    frames
}

fn acknowledged(world: &mut Environment, frame: &Frame) {
    let key = frame.header("message_id").unwrap().to_owned();
    assert_eq!((frame.seq, frame.log, frame.method), (7, 8, 1), "an acknowledgement echoes its frame");
    assert!(frame.header("biz_rt").is_some());
    let answer: Value = serde_json::from_slice(frame.payload.as_deref().unwrap()).unwrap();
    let code = answer["code"].as_i64().unwrap();
    let data = answer["data"].as_str().map(|data| STANDARD.decode(data).unwrap()).unwrap_or_default();
    let data = serde_json::from_slice(&data).unwrap_or_default();
    let Some(at) = world.pending.iter().position(|pending| pending.key == key) else { return };
    let took = world.pending[at].sent.map(|(_, at)| at.elapsed()).unwrap_or_default();
    if code == 200 {
        world.pending.remove(at);
    }
    world.acks.push(Ack { key, code, data, took });
}
