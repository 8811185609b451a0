//! Webhook requests: verification and responses. The key's seed is the bot's secret, so both sides can sign and verify.

use std::sync::Arc;

use ring::signature::{Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::event::Dispatch;
use super::gateway::GatewayFrame;
use super::inbound::RawEvent;
use crate::adapters::chat::inbound::{Outcome, WebhookRequest, WebhookScheme};
use crate::domain::{Timestamp, hex};
use crate::ports::{Clock, HookAnswer, HookRequest};

/// The allowed age of a signature, in milliseconds: limits replays.
const AGE: u64 = 10 * 60 * 1000;
const SEED: usize = 32;
/// The `op` by which the platform checks that we hold the secret.
const VALIDATION: u64 = 13;
/// Most characters of a validation token; real ones have about twenty.
const LONGEST_TOKEN: usize = 128;

/// The key that both sides derive from the secret.
pub(super) struct WebhookKey {
    pair: Ed25519KeyPair,
}

impl std::fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookKey")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum SignedRequest {
    /// The platform checks that we hold the secret: the response.
    Validation(Value),
    /// An event, answered after it is stored.
    Event(Dispatch),
    /// A heartbeat: the response.
    Beat(Value),
    /// A request with an invalid signature or body.
    Refused(&'static str),
}

impl WebhookKey {
    /// The key of a secret; `None` where the secret is empty.
    pub(super) fn new(secret: &SecretString) -> Option<Self> {
        let bytes = secret.expose_secret().as_bytes();
        if bytes.is_empty() {
            return None;
        }
        let seed: Vec<u8> = bytes.iter().copied().cycle().take(SEED).collect();
        Some(Self { pair: Ed25519KeyPair::from_seed_unchecked(&seed).ok()? })
    }

    /// Verifies and parses a request. `signature` and `timestamp` are its headers.
    pub(super) fn read(
        &self,
        signature: &str,
        timestamp: &str,
        body: &[u8],
        now: Timestamp,
    ) -> SignedRequest {
        let frame = GatewayFrame::read(body);
        // A validation request is not signed; our response is.
        if let Some(frame) = frame.as_ref().filter(|frame| frame.op == VALIDATION) {
            return self.validation(&frame.d);
        }
        if !self.is_signed(signature, timestamp, body) {
            return SignedRequest::Refused("the signature is not the platform's");
        }
        if !is_recent(timestamp, now) {
            return SignedRequest::Refused("the request is too old");
        }
        let Some(frame) = frame else {
            return SignedRequest::Refused("the body is not understood");
        };
        match frame.op {
            0 => SignedRequest::Event(Dispatch {
                name: frame.t.unwrap_or_default(),
                event_id: frame.id,
                body: frame.d,
            }),
            1 => SignedRequest::Beat(json!({ "op": 11, "d": frame.d })),
            _ => SignedRequest::Refused("the kind of request is not known"),
        }
    }

    /// Signs a validation token. The same key signs events, so a text that could be the body of an event is never
    /// signed: a token has no brackets and no quotes, and a timestamp is a number.
    fn validation(&self, body: &Value) -> SignedRequest {
        let text = |key: &str| match &body[key] {
            Value::Number(number) => Some(number.to_string()),
            value => value.as_str().map(str::to_owned),
        };
        let (Some(token), Some(at)) = (text("plain_token"), text("event_ts")) else {
            return SignedRequest::Refused("the body is not understood");
        };
        let harmless = |letter: char| letter.is_ascii_alphanumeric() || "-_+/=.".contains(letter);
        let is_token = token.len() <= LONGEST_TOKEN && token.chars().all(harmless);
        if !is_token || at.len() > LONGEST_TOKEN || !at.chars().all(|letter| letter.is_ascii_digit()) {
            return SignedRequest::Refused("what is to be signed is no token");
        }
        let signature = self.pair.sign(format!("{at}{token}").as_bytes());
        SignedRequest::Validation(json!({ "plain_token": token, "signature": hex(signature.as_ref()) }))
    }

    fn is_signed(&self, signature: &str, timestamp: &str, body: &[u8]) -> bool {
        let Some(signature) = unhex(signature) else { return false };
        let signed: Vec<u8> = timestamp.bytes().chain(body.iter().copied()).collect();
        let key = UnparsedPublicKey::new(&ring::signature::ED25519, self.pair.public_key().as_ref());
        key.verify(&signed, &signature).is_ok()
    }
}

/// The bot's webhook; `None` where the bot has no secret.
#[derive(Debug)]
pub(super) struct QqScheme {
    pub(super) key: Option<WebhookKey>,
    pub(super) clock: Arc<dyn Clock>,
}

impl WebhookScheme for QqScheme {
    const PATH: &'static str = "/hooks/qq";

    fn verify(&self, request: &HookRequest) -> WebhookRequest {
        let Some(key) = &self.key else { return WebhookRequest::Answer(HookAnswer::of(404)) };
        let header = |name: &str| request.header(name).unwrap_or_default();
        let (signature, timestamp) = (header("x-signature-ed25519"), header("x-signature-timestamp"));
        match key.read(signature, timestamp, &request.body, self.clock.now()) {
            SignedRequest::Validation(body) | SignedRequest::Beat(body) => {
                WebhookRequest::Answer(HookAnswer::json(200, &body))
            }
            SignedRequest::Event(dispatch) => {
                WebhookRequest::Event { event: RawEvent::value(dispatch, None), nonce: None }
            }
            SignedRequest::Refused(why) => {
                tracing::warn!(why, "webhook request refused");
                WebhookRequest::Answer(HookAnswer::of(401))
            }
        }
    }

    fn respond(&self, outcome: Option<&Outcome>) -> HookAnswer {
        let accepted = matches!(outcome, Some(Outcome::Taken | Outcome::Answered(_)));
        let status = if outcome.is_some() { 200 } else { 503 };
        HookAnswer::json(status, &json!({ "op": 12, "d": u8::from(!accepted) }))
    }
}

fn is_recent(timestamp: &str, now: Timestamp) -> bool {
    let Ok(seconds) = timestamp.trim().parse::<i64>() else { return false };
    let at = Timestamp::from_millis(seconds.saturating_mul(1000));
    at.millis_since(now).max(now.millis_since(at)) <= AGE
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |letter: &u8| char::from(*letter).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ports::SystemClock;

    const AT: &str = "1725442341";

    fn key() -> WebhookKey {
        WebhookKey::new(&SecretString::from("DG5g3B4j9X2KOErG")).unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(1_725_442_341_000)
    }

    fn signed(body: &str) -> String {
        hex(key().pair.sign(format!("{AT}{body}").as_bytes()).as_ref())
    }

    #[test]
    fn the_published_validation_is_answered_as_published() {
        let body = format!(r#"{{"d":{{"plain_token":"Arq0D5A61EgUu4OxUvOp","event_ts":"{AT}"}},"op":13}}"#);
        let SignedRequest::Validation(answer) = key().read(&signed(&body), AT, body.as_bytes(), now()) else {
            panic!()
        };
        assert_eq!(answer["plain_token"], "Arq0D5A61EgUu4OxUvOp");
        let signature = answer["signature"].as_str().unwrap();
        assert!(
            signature.starts_with("87befc99c42c651b") && signature.ends_with("ffc2d652c706"),
            "{signature}"
        );
    }

    #[test]
    fn a_validation_needs_no_signature_and_yields_none_for_an_event() {
        let ask = |token: &str, at: Value| {
            let body = json!({ "op": 13, "d": { "plain_token": token, "event_ts": at } }).to_string();
            key().read("", "", body.as_bytes(), now())
        };
        let signed_by = |call: SignedRequest| match call {
            SignedRequest::Validation(answer) => answer["signature"].as_str().map(str::to_owned),
            _ => None,
        };
        let text = signed_by(ask("Arq0D5A61EgUu4OxUvOp", json!(AT)));
        assert!(text.as_ref().is_some_and(|text| text.starts_with("87befc99c42c651b")), "{text:?}");
        assert_eq!(
            signed_by(ask("Arq0D5A61EgUu4OxUvOp", json!(1_725_442_341))),
            text,
            "a number is the same time"
        );
        let event = r#"{"op":0,"t":"C2C_MESSAGE_CREATE","d":{}}"#;
        for (token, at) in
            [(event, json!(AT)), ("[0]", json!(AT)), ("token", json!("17{")), ("token", json!(null))]
        {
            assert!(matches!(ask(token, at.clone()), SignedRequest::Refused(_)), "{token} {at}");
        }
    }

    #[test]
    fn an_event_is_taken_only_with_the_platforms_signature() {
        let body = r#"{"op":0,"t":"C2C_MESSAGE_CREATE","id":"e","d":{"id":"m"}}"#;
        let event = Dispatch {
            name: "C2C_MESSAGE_CREATE".to_owned(),
            event_id: Some("e".to_owned()),
            body: json!({ "id": "m" }),
        };
        let read = |signature: &str, at: &str, body: &str| key().read(signature, at, body.as_bytes(), now());
        let good = signed(body);
        assert_eq!(read(&good, AT, body), SignedRequest::Event(event));
        let refused = |call: SignedRequest| matches!(call, SignedRequest::Refused(_));
        assert!(refused(read(&good, AT, &body.replace("\"m\"", "\"n\""))), "another body");
        assert!(refused(read(&good, "1725442342", body)), "another time");
        assert!(refused(read("", AT, body)) && refused(read("zz", AT, body)) && refused(read("8", AT, body)));
        let late = Timestamp::from_millis(1_725_442_341_000 + 11 * 60 * 1000);
        assert!(refused(key().read(&good, AT, body.as_bytes(), late)), "recorded and sent again");
    }

    #[test]
    fn a_beat_is_answered_with_its_number() {
        let body = r#"{"op":1,"d":42}"#;
        assert_eq!(
            key().read(&signed(body), AT, body.as_bytes(), now()),
            SignedRequest::Beat(json!({ "op": 11, "d": 42 }))
        );
        let scheme = QqScheme { key: None, clock: Arc::new(SystemClock) };
        for (outcome, status, body) in [
            (Some(Outcome::Taken), 200, json!({ "op": 12, "d": 0 })),
            (Some(Outcome::Again(String::new())), 200, json!({ "op": 12, "d": 1 })),
            (None, 503, json!({ "op": 12, "d": 1 })),
        ] {
            assert_eq!(scheme.respond(outcome.as_ref()), HookAnswer::json(status, &body), "{outcome:?}");
        }
    }

    #[test]
    fn an_empty_secret_makes_no_key() {
        assert!(WebhookKey::new(&SecretString::from("")).is_none());
    }

    proptest! {
        #[test]
        fn bytes_come_back_from_their_digits(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        }
    }
}
