//! The gateway: one bot at a time, with sessions that survive its connections.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::Shared;
use super::rules::{Push, Rules};

type Socket = WebSocketStream<TcpStream>;

pub(super) async fn serve(listener: TcpListener, shared: Shared) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        // The newest connection is the bot's.
        connections.spawn(connection(stream, shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, shared: Shared) {
    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
    let hello = json!({ "op": 10, "d": { "heartbeat_interval": shared.look(|rules| rules.beat_ms) } });
    if socket.send(Message::text(hello.to_string())).await.is_err() {
        return;
    }
    let mut changes = shared.changed.subscribe();
    // The last sequence number sent on this connection; `None` before the session starts.
    let mut told: Option<u64> = None;
    loop {
        let ok = tokio::select! {
            heard = socket.next() => match heard {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    answer(&mut socket, &shared, &frame, &mut told).await
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => false,
                Some(Ok(_)) => true,
            },
            changed = changes.changed() => changed.is_ok(),
        };
        if !ok || !tell(&mut socket, &shared, &mut told).await {
            return;
        }
    }
}

/// Sends new events to the bot.
async fn tell(socket: &mut Socket, shared: &Shared, told: &mut Option<u64>) -> bool {
    let Some(last) = *told else { return true };
    let (frames, pushes) = {
        let mut rules = shared.rules.lock().unwrap();
        let frames: Vec<(u64, Value)> = rules.events.iter().filter(|(seq, _)| *seq > last).cloned().collect();
        (frames, std::mem::take(&mut rules.pushes))
    };
    for (seq, mut frame) in frames {
        if shared.look(|rules| rules.minimal)
            && let Some(fields) = frame.as_object_mut()
        {
            fields.remove("s");
        }
        if socket.send(Message::text(frame.to_string())).await.is_err() {
            return false;
        }
        *told = Some(seq);
    }
    for push in pushes {
        match push {
            Push::Frame(frame) => {
                if socket.send(Message::text(frame.to_string())).await.is_err() {
                    return false;
                }
            }
            Push::Close(code) => {
                close(socket, code).await;
                return false;
            }
        }
    }
    true
}

async fn close(socket: &mut Socket, code: u16) {
    let frame = CloseFrame { code: code.into(), reason: "".into() };
    drop(socket.close(Some(frame)).await);
}

async fn answer(socket: &mut Socket, shared: &Shared, frame: &Value, told: &mut Option<u64>) -> bool {
    match frame["op"].as_u64() {
        Some(1) => {
            let silent = shared.with(|rules| {
                rules.beats += 1;
                rules.silent
            });
            silent || socket.send(Message::text(json!({ "op": 11 }).to_string())).await.is_ok()
        }
        Some(2) => enter(socket, shared.with(|rules| identify(rules, &frame["d"])), told).await,
        Some(6) => enter(socket, shared.with(|rules| resume(rules, &frame["d"])), told).await,
        _ => true,
    }
}

/// The result of an identify or resume: first frames and the start sequence number, or a refusal.
enum Entry {
    Welcome(Vec<Value>, u64),
    Invalid,
    Closed(u16),
}

async fn enter(socket: &mut Socket, entry: Entry, told: &mut Option<u64>) -> bool {
    match entry {
        Entry::Welcome(frames, last) => {
            for frame in frames {
                if socket.send(Message::text(frame.to_string())).await.is_err() {
                    return false;
                }
            }
            *told = Some(last);
            true
        }
        Entry::Invalid => {
            socket.send(Message::text(json!({ "op": 9, "d": false }).to_string())).await.is_ok()
        }
        Entry::Closed(code) => {
            close(socket, code).await;
            false
        }
    }
}

fn identify(rules: &mut Rules, body: &Value) -> Entry {
    if !rules.is_authorized(body["token"].as_str()) {
        return Entry::Closed(4004);
    }
    let intents = body["intents"].as_u64().unwrap();
    rules.identified.push(intents);
    if intents & !rules.intents_granted != 0 {
        return Entry::Closed(4014);
    }
    rules.sessions += 1;
    let id = format!("session-{}", rules.sessions);
    rules.session = Some(id.clone());
    rules.events.clear();
    rules.next_seq = 2;
    let mut ready = json!({ "op": 0, "s": 1, "t": "READY", "d": { "version": 1, "session_id": id,
        "user": { "id": "900", "username": "shipbot", "bot": true }, "shard": [0, 1] } });
    if rules.minimal {
        ready = json!({ "op": 0, "t": "READY", "d": {} });
    }
    rules.number_events();
    Entry::Welcome(vec![ready], 1)
}

fn resume(rules: &mut Rules, body: &Value) -> Entry {
    if !rules.is_authorized(body["token"].as_str()) {
        return Entry::Closed(4004);
    }
    match rules.refuse_resume.pop_front() {
        Some(0) => return Entry::Invalid,
        Some(code) => return Entry::Closed(code),
        None => {}
    }
    if rules.session.as_deref() != body["session_id"].as_str() {
        return Entry::Invalid;
    }
    let seq = body["seq"].as_u64().unwrap();
    rules.resumed.push(seq);
    let missed = rules.events.iter().filter(|(known, _)| *known > seq);
    let mut frames: Vec<Value> = missed.map(|(_, frame)| frame.clone()).collect();
    let last = rules.next_seq - 1;
    frames.push(json!({ "op": 0, "s": last, "t": "RESUMED", "d": "" }));
    Entry::Welcome(frames, last)
}
