//! Webhook requests: verification, decryption and responses.

use std::sync::Arc;

use aes::Aes256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cbc::cipher::{BlockDecryptMut as _, KeyIvInit as _, block_padding::Pkcs7};
use ring::digest::{SHA256, digest};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;

use crate::adapters::chat::inbound::{Outcome, WebhookRequest, WebhookScheme};
use crate::domain::{Timestamp, hex};
use crate::ports::{Clock, HookAnswer, HookRequest};

/// The allowed clock difference.
const WINDOW_MS: i64 = 5 * 60 * 1000;

/// The keys that prove a request.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestVerifier {
    pub(super) encrypt_key: Option<SecretString>,
    /// Part of every event.
    pub(super) verification_token: Option<SecretString>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signature<'a> {
    pub(super) timestamp: Option<&'a str>,
    pub(super) nonce: Option<&'a str>,
    pub(super) signature: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum OpenedRequest {
    /// The platform verifies the address: this text is the response.
    Challenge(String),
    Event {
        event: Value,
        /// The nonce of a signed request.
        nonce: Option<String>,
    },
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejected {
    #[error("the body cannot be read")]
    Malformed,
    #[error("the body cannot be decrypted")]
    Sealed,
    #[error("the signature or the token is wrong")]
    Forged,
    #[error("the request is too old, or from the future")]
    Stale,
    #[error("neither adapters.feishu.encryptKey nor adapters.feishu.verificationToken is set")]
    Unprotected,
}

impl RequestVerifier {
    /// Whether there is a key to verify requests with.
    pub(super) fn protects(&self) -> bool {
        self.encrypt_key.is_some() || self.verification_token.is_some()
    }

    /// Verifies and decrypts a request.
    pub(super) fn open(
        &self,
        proof: Signature<'_>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<OpenedRequest, Rejected> {
        if !self.protects() {
            return Err(Rejected::Unprotected);
        }
        let outer: Value = serde_json::from_slice(body).map_err(|_| Rejected::Malformed)?;
        let event = match (&self.encrypt_key, outer.get("encrypt").and_then(Value::as_str)) {
            (Some(key), Some(sealed)) => decrypt(key, sealed)?,
            // With an encrypt key, the platform encrypts every request.
            (Some(_), None) => return Err(Rejected::Forged),
            (None, Some(_)) => return Err(Rejected::Sealed),
            (None, None) => outer,
        };
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        let token = text("/header/token").or_else(|| text("/token"));
        if let Some(expected) = &self.verification_token
            && !same(token.unwrap_or_default().as_bytes(), expected.expose_secret().as_bytes())
        {
            return Err(Rejected::Forged);
        }
        if text("/type") == Some("url_verification") {
            return text("/challenge")
                .map(|words| OpenedRequest::Challenge(words.to_owned()))
                .ok_or(Rejected::Malformed);
        }
        let nonce = match &self.encrypt_key {
            Some(key) => Some(verify(key, proof, body, now)?),
            None => None,
        };
        Ok(OpenedRequest::Event { event, nonce })
    }
}

fn decrypt(key: &SecretString, sealed: &str) -> Result<Value, Rejected> {
    let bytes = STANDARD.decode(sealed).map_err(|_| Rejected::Sealed)?;
    let (iv, text) = bytes.split_at_checked(16).ok_or(Rejected::Sealed)?;
    let key = digest(&SHA256, key.expose_secret().as_bytes());
    let cipher = cbc::Decryptor::<Aes256>::new_from_slices(key.as_ref(), iv).map_err(|_| Rejected::Sealed)?;
    let plain = cipher.decrypt_padded_vec_mut::<Pkcs7>(text).map_err(|_| Rejected::Sealed)?;
    serde_json::from_slice(&plain).map_err(|_| Rejected::Sealed)
}

fn verify(key: &SecretString, proof: Signature<'_>, body: &[u8], now: Timestamp) -> Result<String, Rejected> {
    let (Some(timestamp), Some(nonce), Some(signature)) = (proof.timestamp, proof.nonce, proof.signature)
    else {
        return Err(Rejected::Forged);
    };
    let mut signed = Vec::with_capacity(body.len() + 128);
    for part in [timestamp.as_bytes(), nonce.as_bytes(), key.expose_secret().as_bytes(), body] {
        signed.extend_from_slice(part);
    }
    let expected = hex(digest(&SHA256, &signed).as_ref());
    if !same(expected.as_bytes(), signature.to_ascii_lowercase().as_bytes()) {
        return Err(Rejected::Forged);
    }
    let at = timestamp.trim().parse::<i64>().map_err(|_| Rejected::Stale)?.saturating_mul(1000);
    if now.as_millis().saturating_sub(at).saturating_abs() > WINDOW_MS {
        return Err(Rejected::Stale);
    }
    Ok(format!("{timestamp}.{nonce}.{signature}"))
}

fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[derive(Debug)]
pub(super) struct FeishuScheme {
    pub(super) verifier: RequestVerifier,
    pub(super) clock: Arc<dyn Clock>,
}

impl WebhookScheme for FeishuScheme {
    const PATH: &'static str = "/hooks/feishu";

    fn verify(&self, request: &HookRequest) -> WebhookRequest {
        let proof = Signature {
            timestamp: request.header("x-lark-request-timestamp"),
            nonce: request.header("x-lark-request-nonce"),
            signature: request.header("x-lark-signature"),
        };
        match self.verifier.open(proof, &request.body, self.clock.now()) {
            Ok(OpenedRequest::Event { event, nonce }) => WebhookRequest::Event { event, nonce },
            Ok(OpenedRequest::Challenge(challenge)) => {
                WebhookRequest::Answer(HookAnswer::json(200, &json!({ "challenge": challenge })))
            }
            Err(rejected) => {
                tracing::warn!(%rejected, "webhook request refused");
                WebhookRequest::Answer(HookAnswer::json(403, &json!({ "msg": "refused" })))
            }
        }
    }

    fn respond(&self, outcome: Option<&Outcome>) -> HookAnswer {
        match outcome {
            Some(Outcome::Taken) => HookAnswer::json(200, &json!({})),
            Some(Outcome::Answered(data)) => HookAnswer::json(200, data),
            Some(Outcome::Again(_)) => HookAnswer::json(500, &json!({})),
            None => HookAnswer::of(503),
        }
    }
}

#[cfg(test)]
mod tests {
    use cbc::cipher::BlockEncryptMut as _;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn verifier(key: Option<&str>, token: Option<&str>) -> RequestVerifier {
        let secret = |text: &str| SecretString::from(text.to_owned());
        RequestVerifier { encrypt_key: key.map(secret), verification_token: token.map(secret) }
    }

    fn encrypted(key: &str, event: &Value) -> Vec<u8> {
        let key = digest(&SHA256, key.as_bytes());
        let cipher = cbc::Encryptor::<Aes256>::new_from_slices(key.as_ref(), &[7; 16]).unwrap();
        let mut bytes = vec![7; 16];
        bytes.extend(cipher.encrypt_padded_vec_mut::<Pkcs7>(event.to_string().as_bytes()));
        json!({ "encrypt": STANDARD.encode(bytes) }).to_string().into_bytes()
    }

    fn signed(key: &str, timestamp: &str, nonce: &str, body: &[u8]) -> String {
        let all = [timestamp.as_bytes(), nonce.as_bytes(), key.as_bytes(), body].concat();
        hex(digest(&SHA256, &all).as_ref())
    }

    #[test]
    fn the_published_example_is_decrypted() {
        // From the platform's documentation.
        let sealed = "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=";
        let bytes = STANDARD.decode(sealed).unwrap();
        let key = digest(&SHA256, b"test key");
        let cipher = cbc::Decryptor::<Aes256>::new_from_slices(key.as_ref(), &bytes[..16]).unwrap();
        assert_eq!(cipher.decrypt_padded_vec_mut::<Pkcs7>(&bytes[16..]).unwrap(), b"hello world");
    }

    #[test]
    fn a_challenge_is_answered_once_its_token_is_right() {
        let ask = json!({ "type": "url_verification", "challenge": "c", "token": "t" });
        let plain = ask.to_string();
        let open = |verifier: RequestVerifier, body: &[u8]| verifier.open(Signature::default(), body, NOW);
        assert_eq!(
            open(verifier(None, Some("t")), plain.as_bytes()),
            Ok(OpenedRequest::Challenge("c".into()))
        );
        assert_eq!(open(verifier(None, Some("x")), plain.as_bytes()), Err(Rejected::Forged));
        assert_eq!(
            open(verifier(Some("k"), None), &encrypted("k", &ask)),
            Ok(OpenedRequest::Challenge("c".into()))
        );
        assert_eq!(open(verifier(Some("k"), None), &encrypted("y", &ask)), Err(Rejected::Sealed));
        assert_eq!(open(verifier(Some("k"), None), plain.as_bytes()), Err(Rejected::Forged));
        assert_eq!(open(verifier(None, None), plain.as_bytes()), Err(Rejected::Unprotected));
        assert_eq!(open(verifier(None, Some("t")), b"{"), Err(Rejected::Malformed));
    }

    #[test]
    fn an_event_needs_the_right_signature_and_a_recent_time() {
        let event = json!({ "schema": "2.0", "header": { "token": "t", "event_type": "x" } });
        let body = encrypted("k", &event);
        let stamp = |shift: i64| (NOW.as_millis() / 1000 + shift).to_string();
        let open = |timestamp: &str, signature: &str, body: &[u8]| {
            let proof =
                Signature { timestamp: Some(timestamp), nonce: Some("n"), signature: Some(signature) };
            verifier(Some("k"), Some("t")).open(proof, body, NOW)
        };
        let good = signed("k", &stamp(0), "n", &body);
        let Ok(OpenedRequest::Event { event: read, nonce: Some(nonce) }) = open(&stamp(0), &good, &body)
        else {
            panic!("refused")
        };
        assert_eq!(read, event);
        assert!(nonce.contains('n'));
        assert_eq!(
            open(&stamp(0), &good.replace(|c: char| c == good.chars().next().unwrap(), "0"), &body).is_ok(),
            good.starts_with('0')
        );
        assert_eq!(open(&stamp(1), &good, &body), Err(Rejected::Forged), "another time");
        assert_eq!(open(&stamp(0), &signed("x", &stamp(0), "n", &body), &body), Err(Rejected::Forged));
        for shift in [-301, 301] {
            let old = signed("k", &stamp(shift), "n", &body);
            assert_eq!(open(&stamp(shift), &old, &body), Err(Rejected::Stale), "{shift}");
        }
        let unsigned = verifier(Some("k"), None).open(Signature::default(), &body, NOW);
        assert_eq!(unsigned, Err(Rejected::Forged));
    }
}
