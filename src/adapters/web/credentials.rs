//! The credentials of the operator: the token, the console sessions derived from it, and signed links to files.
//!
//! Sessions and links are keyed digests (HMAC-SHA-256) of the token. They need no table, survive a restart and end with
//! the token. Pure: the time is an argument.

use std::fmt;

use ring::{digest, hmac};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use crate::domain::{ThreadId, Timestamp, hex};

/// How long a console session is valid: 30 days.
const SESSION_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// How long a link to a file is valid.
const LINK_MS: u64 = 60 * 1000;

/// A token of at least this many bytes cannot be guessed.
const LONG_TOKEN: usize = 32;

/// The kind of a bearer credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bearer {
    Token,
    Session,
    /// A session that this daemon issued and that is no longer valid.
    Expired,
    Wrong,
}

/// The result of checking a link's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkSignature {
    Valid,
    Expired,
    Wrong,
}

/// A credential with its expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Issued {
    pub(super) text: String,
    pub(super) expires: Timestamp,
}

struct Keys {
    token: digest::Digest,
    session: hmac::Key,
    link: hmac::Key,
    long: bool,
}

/// Checks and issues credentials. With an empty token there are none.
pub(super) struct Credentials {
    keys: Option<Keys>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    pub(super) fn new(token: &SecretString) -> Self {
        let token = token.expose_secret().as_bytes();
        let derived = |purpose: &[u8]| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, token);
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, purpose).as_ref())
        };
        let keys = || Keys {
            token: sha256(token),
            session: derived(b"shipagent console session 1"),
            link: derived(b"shipagent file link 1"),
            long: token.len() >= LONG_TOKEN,
        };
        Self { keys: (!token.is_empty()).then(keys) }
    }

    /// Whether the token is too long to be guessed, with or without a limit on failed attempts.
    pub(super) fn cannot_be_guessed(&self) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.long)
    }

    /// Compares in constant time.
    pub(super) fn token_is(&self, given: &str) -> bool {
        // The digests are compared, so the time does not depend on the token's length either.
        let given = sha256(given.as_bytes());
        self.keys.as_ref().is_some_and(|keys| bool::from(keys.token.as_ref().ct_eq(given.as_ref())))
    }

    pub(super) fn check_bearer(&self, given: &str, now: Timestamp) -> Bearer {
        if self.token_is(given) {
            return Bearer::Token;
        }
        match self.check_session(given, now) {
            Some(LinkSignature::Valid) => Bearer::Session,
            Some(LinkSignature::Expired) => Bearer::Expired,
            Some(LinkSignature::Wrong) | None => Bearer::Wrong,
        }
    }

    /// A new console session. `nonce` makes two sessions of the same millisecond differ.
    pub(super) fn issue_session(&self, nonce: &str, now: Timestamp) -> Option<Issued> {
        let expires = now.plus_millis(SESSION_MS);
        let at = expires.as_millis().to_string();
        let mac = mac(&self.keys.as_ref()?.session, &[&at, nonce]);
        Some(Issued { text: format!("session.{at}.{nonce}.{mac}"), expires })
    }

    fn check_session(&self, given: &str, now: Timestamp) -> Option<LinkSignature> {
        let mut fields = given.strip_prefix("session.")?.split('.');
        let (at, nonce, given_mac) = (fields.next()?, fields.next()?, fields.next()?);
        let genuine =
            fields.next().is_none() && same(&mac(&self.keys.as_ref()?.session, &[at, nonce]), given_mac);
        Some(verdict(genuine, at, SESSION_MS, now))
    }

    /// A signature that lets one file be fetched without any other credential.
    pub(super) fn sign_link(&self, thread: &ThreadId, name: &str, now: Timestamp) -> Option<Issued> {
        let expires = now.plus_millis(LINK_MS);
        let at = expires.as_millis().to_string();
        Some(Issued { text: mac(&self.keys.as_ref()?.link, &[thread.as_str(), name, &at]), expires })
    }

    /// `at` is the time of expiry in the link.
    pub(super) fn check_link(
        &self,
        thread: &ThreadId,
        name: &str,
        (at, signature): (&str, &str),
        now: Timestamp,
    ) -> LinkSignature {
        let Some(keys) = &self.keys else { return LinkSignature::Wrong };
        let genuine = same(&mac(&keys.link, &[thread.as_str(), name, at]), signature);
        verdict(genuine, at, LINK_MS, now)
    }
}

/// `at` is covered by the signature. A time further ahead than anything issued now could reach means that the clock was
/// set back; such a credential counts as expired.
fn verdict(genuine: bool, at: &str, lifetime: u64, now: Timestamp) -> LinkSignature {
    let Some(expires) = at.parse().ok().map(Timestamp::from_millis).filter(|_| genuine) else {
        return LinkSignature::Wrong;
    };
    if now < expires && expires <= now.plus_millis(lifetime) {
        LinkSignature::Valid
    } else {
        LinkSignature::Expired
    }
}

/// The keyed digest of these fields. Each is preceded by its length, so no two lists of fields give the same input.
fn mac(key: &hmac::Key, fields: &[&str]) -> String {
    let mut context = hmac::Context::with_key(key);
    for field in fields {
        context.update(&(field.len() as u64).to_be_bytes());
        context.update(field.as_bytes());
    }
    hex(context.sign().as_ref())
}

/// Compares two digests in constant time.
fn same(expected: &str, given: &str) -> bool {
    expected.as_bytes().ct_eq(given.as_bytes()).into()
}

pub(super) fn sha256(bytes: &[u8]) -> digest::Digest {
    digest::digest(&digest::SHA256, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    fn of(token: &str) -> Credentials {
        Credentials::new(&SecretString::from(token))
    }

    fn thread(id: &str) -> ThreadId {
        id.parse().unwrap()
    }

    #[test]
    fn the_token_and_a_session_are_accepted_and_nothing_else() {
        let credentials = of("s3cret");
        let session = credentials.issue_session("n1", NOW).unwrap().text;
        let mac = session.rsplit('.').next().unwrap();
        let at = NOW.plus_millis(SESSION_MS).as_millis();
        for (given, expected) in [
            ("s3cret".to_owned(), Bearer::Token),
            (session.clone(), Bearer::Session),
            (String::new(), Bearer::Wrong),
            ("s3cre".to_owned(), Bearer::Wrong),
            ("s3cret ".to_owned(), Bearer::Wrong),
            ("session.".to_owned(), Bearer::Wrong),
            ("session...".to_owned(), Bearer::Wrong),
            (mac.to_owned(), Bearer::Wrong),
            (format!("{session}."), Bearer::Wrong),
            (format!("{session}.x"), Bearer::Wrong),
            (session.to_uppercase(), Bearer::Wrong),
            (format!("session.{}.n1.{mac}", at + 1), Bearer::Wrong),
            (format!("session.+{at}.n1.{mac}"), Bearer::Wrong),
            (format!("session.0{at}.n1.{mac}"), Bearer::Wrong),
            (format!("session.{at}.n2.{mac}"), Bearer::Wrong),
            (format!("session.{at}n.1.{mac}"), Bearer::Wrong),
            (format!("session.{at}.n1."), Bearer::Wrong),
            (format!("session.{at}.n1.{}", mac.replacen(|_| true, "x", 1)), Bearer::Wrong),
        ] {
            assert_eq!(credentials.check_bearer(&given, NOW), expected, "{given:?}");
        }
    }

    #[test]
    fn a_session_is_valid_for_thirty_days() {
        let credentials = of("s3cret");
        let session = credentials.issue_session("n1", NOW).unwrap();
        assert_eq!(session.expires, NOW.plus_millis(30 * DAY_MS));
        let check = |now| credentials.check_bearer(&session.text, now);
        assert_eq!(check(NOW), Bearer::Session);
        assert_eq!(check(NOW.plus_millis(30 * DAY_MS - 1)), Bearer::Session);
        assert_eq!(check(NOW.plus_millis(30 * DAY_MS)), Bearer::Expired);
        assert_eq!(check(NOW.plus_millis(3000 * DAY_MS)), Bearer::Expired);
        let before = Timestamp::from_millis(NOW.as_millis() - 1);
        assert_eq!(check(before), Bearer::Expired, "issued by a clock that was wrong");
    }

    #[test]
    fn a_session_survives_a_restart_and_ends_with_the_token() {
        let session = of("s3cret").issue_session("n1", NOW).unwrap().text;
        assert_eq!(of("s3cret").check_bearer(&session, NOW), Bearer::Session);
        for token in ["other", "s3cret2", ""] {
            assert_eq!(of(token).check_bearer(&session, NOW), Bearer::Wrong, "{token:?}");
        }
    }

    #[test]
    fn an_empty_token_accepts_and_issues_nothing() {
        let credentials = of("");
        assert!(!credentials.token_is(""));
        assert_eq!(credentials.check_bearer("", NOW), Bearer::Wrong);
        assert_eq!(credentials.issue_session("n1", NOW), None);
        assert_eq!(credentials.sign_link(&thread("web:chat:1"), "a.png", NOW), None);
        // Nor a credential computed from the empty token.
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"");
        let key =
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, b"shipagent console session 1").as_ref());
        let at = NOW.plus_millis(1000).as_millis().to_string();
        let forged = format!("session.{at}.n.{}", mac(&key, &[&at, "n"]));
        assert_eq!(credentials.check_bearer(&forged, NOW), Bearer::Wrong);
    }

    #[test]
    fn neither_a_session_nor_the_debug_text_holds_the_token() {
        let credentials = of("s3cret");
        let session = credentials.issue_session("n1", NOW).unwrap().text;
        let digest = hex(sha256(b"s3cret").as_ref());
        for text in [session, format!("{credentials:?}")] {
            assert!(!text.contains("s3cret") && !text.contains(&digest), "{text}");
        }
    }

    #[test]
    fn a_link_is_valid_for_one_file_and_one_minute() {
        let credentials = of("s3cret");
        let (one, other) = (thread("web:chat:1"), thread("web:chat:2"));
        let link = credentials.sign_link(&one, "a.png", NOW).unwrap();
        let at = link.expires.as_millis().to_string();
        let later = (link.expires.as_millis() + 1).to_string();
        let check = |thread, name, at: &str, now| credentials.check_link(thread, name, (at, &link.text), now);
        assert_eq!(check(&one, "a.png", &at, NOW), LinkSignature::Valid);
        assert_eq!(check(&one, "a.png", &at, NOW.plus_millis(59_999)), LinkSignature::Valid);
        assert_eq!(check(&one, "a.png", &at, NOW.plus_millis(60_000)), LinkSignature::Expired);
        assert_eq!(check(&one, "b.png", &at, NOW), LinkSignature::Wrong);
        assert_eq!(check(&other, "a.png", &at, NOW), LinkSignature::Wrong);
        assert_eq!(check(&one, "a.png", &later, NOW), LinkSignature::Wrong);
        assert_eq!(check(&one, "a.png", "", NOW), LinkSignature::Wrong);
        assert_eq!(credentials.check_link(&one, "a.png", (&at, ""), NOW), LinkSignature::Wrong);
        assert_eq!(of("other").check_link(&one, "a.png", (&at, &link.text), NOW), LinkSignature::Wrong);
    }

    #[test]
    fn a_link_is_no_session_and_a_session_no_link() {
        let credentials = of("s3cret");
        let one = thread("web:chat:1");
        let link = credentials.sign_link(&one, "a.png", NOW).unwrap();
        let as_session = format!("session.{}.n1.{}", link.expires.as_millis(), link.text);
        assert_eq!(credentials.check_bearer(&as_session, NOW), Bearer::Wrong);
        assert_eq!(credentials.check_bearer(&link.text, NOW), Bearer::Wrong);
        let session = credentials.issue_session("n1", NOW).unwrap();
        let (at, mac) = (session.expires.as_millis().to_string(), session.text.rsplit('.').next().unwrap());
        assert_eq!(credentials.check_link(&one, "a.png", (&at, mac), NOW), LinkSignature::Wrong);
    }

    #[test]
    fn only_a_long_token_cannot_be_guessed() {
        assert!(!of(&"x".repeat(31)).cannot_be_guessed());
        assert!(of(&"x".repeat(32)).cannot_be_guessed());
    }
}
