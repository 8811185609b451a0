//! The gateway's protocol as a state machine: frames and timer ticks in, actions out. No socket, clock or disk.

use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::authorization;
use super::event::Dispatch;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GatewayFrame {
    pub(super) op: u64,
    pub(super) d: Value,
    pub(super) s: Option<u64>,
    pub(super) t: Option<String>,
    pub(super) id: Option<String>,
}

impl GatewayFrame {
    /// Parses a frame: an object with an `op`. Other missing or malformed fields count as absent.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut frame = serde_json::from_slice::<Value>(bytes).ok()?;
        let text = |key: &str| frame.get(key).and_then(Value::as_str).map(str::to_owned);
        let (op, s) = (frame.get("op")?.as_u64()?, frame.get("s").and_then(Value::as_u64));
        let (t, id) = (text("t"), text("id"));
        let d = frame.get_mut("d").map(Value::take).unwrap_or_default();
        Some(Self { op, d, s, t, id })
    }
}

/// The state that resumes a session, also in another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GatewaySession {
    pub(super) id: String,
    /// Every event up to this sequence number is stored.
    pub(super) seq: u64,
    #[serde(default)]
    pub(super) me: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum GatewayAction {
    Send(Value),
    /// Start sending heartbeats at this interval.
    BeatEvery(Duration),
    /// A session has started.
    Identified(GatewaySession),
    /// The session is resumed; all missed events have been sent.
    Resumed,
    /// An event. Its sequence number must be settled before a later one counts.
    Event(u64, Dispatch),
    /// Close the connection and continue so.
    Disconnect(NextConnection, String),
}

/// What follows a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextConnection {
    /// Reconnect and resume the session.
    Resume,
    /// Resume once more; where that fails in the same way, start a new session.
    ResumeOnce,
    /// Start a new session.
    Identify,
    /// Start a new session after a wait: the last one was refused.
    IdentifyLater,
    /// Fetch a fresh token, then resume the session.
    NewToken,
    /// Wait a minute, then resume the session.
    SlowDown,
    /// Request fewer intents.
    FewerIntents,
    /// Stop for good.
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeState {
    Greeting,
    Identifying,
    Resuming,
    Live,
}

#[derive(Debug)]
pub(super) struct Gateway {
    stage: HandshakeState,
    token: String,
    intents: u64,
    session: Option<GatewaySession>,
    /// A heartbeat was sent and not answered.
    unanswered: bool,
}

const DISPATCH: u64 = 0;
const HEARTBEAT: u64 = 1;
const IDENTIFY: u64 = 2;
const RESUME: u64 = 6;
const RECONNECT: u64 = 7;
const INVALID_SESSION: u64 = 9;
const HELLO: u64 = 10;
const HEARTBEAT_ACK: u64 = 11;

impl Gateway {
    /// A connection that resumes a session, or starts one.
    pub(super) fn new(token: &SecretString, intents: u64, session: Option<GatewaySession>) -> Self {
        Self {
            stage: HandshakeState::Greeting,
            token: authorization(token),
            intents,
            session,
            unanswered: false,
        }
    }

    /// Whether the platform accepted the session.
    pub(super) fn is_live(&self) -> bool {
        self.stage == HandshakeState::Live
    }

    /// Handles a frame. Every event up to `accepted` is stored.
    pub(super) fn receive(&mut self, frame: GatewayFrame, accepted: Option<u64>) -> Vec<GatewayAction> {
        // Any frame proves that the peer is alive, also without a heartbeat answer.
        self.unanswered = false;
        match frame.op {
            HELLO if self.stage == HandshakeState::Greeting => self.greet(&frame.d),
            DISPATCH => self.dispatch(frame),
            HEARTBEAT => vec![beat_frame(accepted)],
            HEARTBEAT_ACK => Vec::new(),
            RECONNECT => vec![GatewayAction::Disconnect(
                NextConnection::Resume,
                "the platform asked to reconnect".to_owned(),
            )],
            INVALID_SESSION if frame.d == true => {
                vec![GatewayAction::Disconnect(
                    NextConnection::Resume,
                    "the session was interrupted".to_owned(),
                )]
            }
            INVALID_SESSION => {
                vec![GatewayAction::Disconnect(
                    NextConnection::IdentifyLater,
                    "the session is not valid any more".to_owned(),
                )]
            }
            _ => Vec::new(),
        }
    }

    /// Handles a heartbeat tick. A connection that did not answer the last heartbeat is dead, even if the socket is
    /// open.
    pub(super) fn beat(&mut self, accepted: Option<u64>) -> GatewayAction {
        if std::mem::replace(&mut self.unanswered, true) {
            return GatewayAction::Disconnect(
                NextConnection::Resume,
                "the platform does not answer heartbeats".to_owned(),
            );
        }
        beat_frame(accepted)
    }

    fn greet(&mut self, hello: &Value) -> Vec<GatewayAction> {
        let every = hello["heartbeat_interval"].as_u64().unwrap_or(40_000).max(50);
        let (stage, frame) = match &self.session {
            Some(session) => {
                let body = json!({ "token": self.token, "session_id": session.id, "seq": session.seq });
                (HandshakeState::Resuming, json!({ "op": RESUME, "d": body }))
            }
            None => {
                let body = json!({ "token": self.token, "intents": self.intents, "shard": [0, 1],
                    "properties": { "$os": std::env::consts::OS, "$browser": "shipagent", "$device": "shipagent" } });
                (HandshakeState::Identifying, json!({ "op": IDENTIFY, "d": body }))
            }
        };
        self.stage = stage;
        vec![GatewayAction::Send(frame), GatewayAction::BeatEvery(Duration::from_millis(every))]
    }

    fn dispatch(&mut self, frame: GatewayFrame) -> Vec<GatewayAction> {
        let seq = frame.s.unwrap_or_default();
        let name = frame.t.unwrap_or_default();
        match name.as_str() {
            "READY" => {
                self.stage = HandshakeState::Live;
                let text = |place: &str| frame.d.pointer(place).and_then(Value::as_str).map(str::to_owned);
                let id = text("/session_id").unwrap_or_default();
                let me = text("/user/id");
                vec![GatewayAction::Identified(GatewaySession { id, seq, me })]
            }
            "RESUMED" => {
                self.stage = HandshakeState::Live;
                vec![GatewayAction::Resumed]
            }
            _ => vec![GatewayAction::Event(seq, Dispatch { name, event_id: frame.id, body: frame.d })],
        }
    }
}

fn beat_frame(accepted: Option<u64>) -> GatewayAction {
    GatewayAction::Send(json!({ "op": HEARTBEAT, "d": accepted }))
}

/// What a close code requires.
pub(super) const fn after_close(code: Option<u16>) -> NextConnection {
    match code {
        Some(4001 | 4002 | 4010..=4012 | 4914 | 4915) => NextConnection::Stop,
        // Intents unknown to the platform or not granted: fewer of them may work.
        Some(4013 | 4014) => NextConnection::FewerIntents,
        Some(4004) => NextConnection::NewToken,
        Some(4006 | 4007 | 4900..=4913) => NextConnection::Identify,
        Some(4008) => NextConnection::SlowDown,
        Some(4009) => NextConnection::ResumeOnce,
        _ => NextConnection::Resume,
    }
}

/// Close codes as text, for the operator.
pub(super) fn close_words(code: Option<u16>) -> String {
    let meaning = match code {
        None => return "the connection broke".to_owned(),
        Some(4004) => "the token was refused",
        Some(4008) => "we sent too fast",
        Some(4009) => "the session expired",
        Some(4010..=4012) => "the platform refused what we asked of the gateway",
        Some(4013 | 4014) => "a kind of event was asked for that is not granted to this bot",
        Some(4914) => "the bot is taken down and may only use the sandbox",
        Some(4915) => "the bot is banned",
        Some(_) => "the platform closed the connection",
    };
    format!("{meaning} (code {})", code.unwrap_or_default())
}

/// Sets of intents to request, each smaller than the one before. Not every bot is granted all of them.
pub(super) const INTENTS: [u64; 4] =
    [GROUP_AND_C2C | INTERACTION | GUILD | DM, GROUP_AND_C2C | INTERACTION, GROUP_AND_C2C, GUILD];
const DM: u64 = 1 << 12;
const GROUP_AND_C2C: u64 = 1 << 25;
const INTERACTION: u64 = 1 << 26;
const GUILD: u64 = 1 << 30;

/// The names of intents, as in the platform's console.
pub(super) fn intent_names(intents: u64) -> String {
    let names = [
        (GROUP_AND_C2C, "GROUP_AND_C2C_EVENT"),
        (INTERACTION, "INTERACTION"),
        (GUILD, "PUBLIC_GUILD_MESSAGES"),
        (DM, "DIRECT_MESSAGE"),
    ];
    names
        .into_iter()
        .filter(|(bit, _)| intents & bit != 0)
        .map(|(_, name)| name)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(value: Value) -> GatewayFrame {
        GatewayFrame::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_frame_is_read_however_little_it_says() {
        assert_eq!(frame(json!({ "op": 7 })), GatewayFrame { op: 7, ..GatewayFrame::default() });
        let strange = json!({ "op": 0, "s": "x", "t": 3, "id": null, "d": [1] });
        assert_eq!(frame(strange), GatewayFrame { d: json!([1]), ..GatewayFrame::default() });
        for bytes in ["", "[]", "[0]", "{}", r#"{"op":"0"}"#, "null"] {
            assert_eq!(GatewayFrame::read(bytes.as_bytes()), None, "{bytes}");
        }
    }

    fn session() -> GatewaySession {
        GatewaySession { id: "s1".to_owned(), seq: 41, me: None }
    }

    #[test]
    fn a_new_connection_identifies_and_begins() {
        let mut gateway = Gateway::new(&"tok".into(), 5, None);
        let acts = gateway.receive(frame(json!({ "op": 10, "d": { "heartbeat_interval": 41250 } })), None);
        let [GatewayAction::Send(identify), GatewayAction::BeatEvery(every)] = acts.as_slice() else {
            panic!("{acts:?}")
        };
        assert_eq!(identify["op"], 2);
        assert_eq!(identify["d"]["token"], "QQBot tok");
        assert_eq!((&identify["d"]["intents"], &identify["d"]["shard"]), (&json!(5), &json!([0, 1])));
        assert_eq!(*every, Duration::from_millis(41_250));
        assert!(!gateway.is_live());
        let ready = json!({ "op": 0, "s": 1, "t": "READY",
            "d": { "session_id": "s9", "user": { "id": "900", "bot": true } } });
        let began = GatewaySession { id: "s9".to_owned(), seq: 1, me: Some("900".to_owned()) };
        assert_eq!(gateway.receive(frame(ready), None), [GatewayAction::Identified(began)]);
        assert!(gateway.is_live());
    }

    #[test]
    fn a_session_is_resumed_from_what_is_safe() {
        let mut gateway = Gateway::new(&"tok".into(), 5, Some(session()));
        let acts = gateway.receive(frame(json!({ "op": 10, "d": {} })), None);
        let resume = json!({ "op": 6, "d": { "token": "QQBot tok", "session_id": "s1", "seq": 41 } });
        assert_eq!(acts[0], GatewayAction::Send(resume));
        let event = json!({ "op": 0, "s": 42, "t": "C2C_MESSAGE_CREATE", "id": "e", "d": { "id": "m" } });
        let taken = Dispatch {
            name: "C2C_MESSAGE_CREATE".to_owned(),
            event_id: Some("e".to_owned()),
            body: json!({ "id": "m" }),
        };
        assert_eq!(gateway.receive(frame(event), None), [GatewayAction::Event(42, taken)]);
        assert_eq!(
            gateway.receive(frame(json!({ "op": 0, "s": 43, "t": "RESUMED", "d": "" })), None),
            [GatewayAction::Resumed]
        );
    }

    #[test]
    fn an_unanswered_beat_ends_the_connection() {
        let mut gateway = Gateway::new(&"tok".into(), 5, None);
        assert_eq!(gateway.beat(None), GatewayAction::Send(json!({ "op": 1, "d": null })));
        gateway.receive(frame(json!({ "op": 11 })), None);
        assert_eq!(gateway.beat(Some(7)), GatewayAction::Send(json!({ "op": 1, "d": 7 })));
        assert!(matches!(gateway.beat(Some(7)), GatewayAction::Disconnect(NextConnection::Resume, _)));
    }

    #[test]
    fn the_platform_may_send_us_away() {
        for (sent, next) in [
            (json!({ "op": 7 }), NextConnection::Resume),
            (json!({ "op": 9, "d": true }), NextConnection::Resume),
            (json!({ "op": 9, "d": false }), NextConnection::IdentifyLater),
        ] {
            let mut gateway = Gateway::new(&"tok".into(), 5, Some(session()));
            let acts = gateway.receive(frame(sent), None);
            assert!(
                matches!(acts.as_slice(), [GatewayAction::Disconnect(found, _)] if *found == next),
                "{acts:?}"
            );
        }
        let mut gateway = Gateway::new(&"tok".into(), 5, None);
        assert_eq!(gateway.receive(frame(json!({ "op": 1 })), Some(3)), [beat_frame(Some(3))]);
        assert_eq!(gateway.receive(frame(json!({ "op": 99 })), None), []);
    }

    #[test]
    fn close_codes_say_what_comes_next() {
        for (code, next) in [
            (None, NextConnection::Resume),
            (Some(1000), NextConnection::Resume),
            (Some(1006), NextConnection::Resume),
            (Some(4001), NextConnection::Stop),
            (Some(4004), NextConnection::NewToken),
            (Some(4006), NextConnection::Identify),
            (Some(4007), NextConnection::Identify),
            (Some(4008), NextConnection::SlowDown),
            (Some(4009), NextConnection::ResumeOnce),
            (Some(4010), NextConnection::Stop),
            (Some(4013), NextConnection::FewerIntents),
            (Some(4014), NextConnection::FewerIntents),
            (Some(4900), NextConnection::Identify),
            (Some(4913), NextConnection::Identify),
            (Some(4914), NextConnection::Stop),
            (Some(4915), NextConnection::Stop),
        ] {
            assert_eq!(after_close(code), next, "{code:?}");
        }
    }

    #[test]
    fn each_set_of_events_is_smaller_than_the_first() {
        assert_eq!(INTENTS[0], 1 << 25 | 1 << 26 | 1 << 30 | 1 << 12);
        assert!(INTENTS.iter().all(|set| INTENTS[0] & set == *set));
        assert_eq!(intent_names(INTENTS[1]), "GROUP_AND_C2C_EVENT, INTERACTION");
    }
}
