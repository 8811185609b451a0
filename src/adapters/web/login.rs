//! Logging in: `POST /api/login` exchanges the token or a one-time code for a session, `POST /api/session` renews one,
//! `POST /api/login-code` issues a code, and every request under `/api` is authenticated here.
//!
//! The page keeps its session in the storage of its origin and sends it as `Authorization: Bearer`. There is no cookie:
//! browsers send cookies to every port of a host, so a server on another port would receive the credential.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::body::JsonBody;
use super::credentials::{Bearer, Issued, sha256};
use super::limiter::ClientAddress;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{Timestamp, short_digest};

/// The credential that admitted a request. Both carry the operator's rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    Token,
    Session,
}

impl Caller {
    /// The surface a request came through: sessions are made by the console's login.
    pub(super) const fn via(self) -> &'static str {
        match self {
            Self::Token => "http",
            Self::Session => "console",
        }
    }
}

/// How long a one-time code is valid.
const CODE_MS: u64 = 5 * 60 * 1000;

/// How many codes are valid at once; a new one replaces the oldest.
const MAX_CODES: usize = 16;

/// One-time codes for logging in: each is good for one login within five minutes, in the life of this process.
#[derive(Debug, Default)]
pub(super) struct LoginCodes {
    issued: Mutex<VecDeque<Issued>>,
}

impl LoginCodes {
    /// Issues a code; `secret` is unguessable.
    fn issue(&self, secret: &str, now: Timestamp) -> Issued {
        let code = Issued { text: format!("once.{secret}"), expires: now.plus_millis(CODE_MS) };
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.retain(|code| now < code.expires);
        if issued.len() == MAX_CODES {
            issued.pop_front();
        }
        issued.push_back(code.clone());
        code
    }

    /// Whether this is a valid code, which it no longer is afterwards.
    fn redeem(&self, given: &str, now: Timestamp) -> bool {
        // Digests are compared, so the time does not tell how much of a guess was right.
        let given = sha256(given.as_bytes());
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        let found = issued.iter().position(|code| sha256(code.text.as_bytes()).as_ref() == given.as_ref());
        found.and_then(|at| issued.remove(at)).is_some_and(|code| now < code.expires)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Login {
    /// The token, or a one-time code.
    token: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoginCode {
    code: String,
    /// RFC 3339.
    expires_at: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionGrant {
    /// A bearer like the token.
    session: String,
    /// RFC 3339.
    expires_at: String,
    /// The opaque id of the project.
    project: String,
}

/// Issues a one-time code to an authenticated caller.
pub(super) async fn issue_code(State(web): State<Arc<Web>>) -> Json<LoginCode> {
    let code = web.login_codes.issue(&web.parts.ids.unguessable(), web.clock.now());
    Json(LoginCode { code: code.text, expires_at: code.expires.rfc3339() })
}

/// Exchanges the token or a one-time code for a session.
pub(super) async fn login(
    State(web): State<Arc<Web>>,
    client: ClientAddress,
    JsonBody(login): JsonBody<Login>,
) -> Result<Json<SessionGrant>, Problem> {
    web.refuse_if_blocked(&client)?;
    if !web.credentials.token_is(&login.token) && !web.login_codes.redeem(&login.token, web.clock.now()) {
        web.count_failure(&client, "token")?;
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "this is not the token"));
    }
    web.session()
}

/// Issues a new session to an authenticated caller.
pub(super) async fn renew(State(web): State<Arc<Web>>) -> Result<Json<SessionGrant>, Problem> {
    web.session()
}

/// A project's opaque id: the page finds the stored login of a project by it.
pub(super) fn project_id(project: &Path) -> String {
    short_digest(project.as_os_str().as_encoded_bytes(), 8)
}

impl Web {
    fn session(&self) -> Result<Json<SessionGrant>, Problem> {
        let issued = self.credentials.issue_session(&self.parts.ids.unguessable(), self.clock.now());
        let issued = issued.ok_or_else(|| self.unauthenticated("there is no token to log in with"))?;
        Ok(Json(SessionGrant {
            session: issued.text,
            expires_at: issued.expires.rfc3339(),
            project: self.project.clone(),
        }))
    }

    /// Checks the credential of a request. Only a wrong one counts as a failure: a request without one is no guess, and
    /// an expired session was valid once.
    pub(super) fn authenticate(
        &self,
        client: &ClientAddress,
        headers: &HeaderMap,
    ) -> Result<Caller, Problem> {
        let Some(given) = bearer(headers) else {
            return Err(
                self.unauthenticated("the token is missing or wrong: send `Authorization: Bearer <token>`")
            );
        };
        self.refuse_if_blocked(client)?;
        match self.credentials.check_bearer(given, self.clock.now()) {
            Bearer::Token => Ok(Caller::Token),
            Bearer::Session => Ok(Caller::Session),
            Bearer::Expired => Err(self.unauthenticated("the login has expired: log in again")),
            Bearer::Wrong => {
                self.count_failure(client, "bearer")?;
                Err(self
                    .unauthenticated("the token is missing or wrong: send `Authorization: Bearer <token>`"))
            }
        }
    }

    /// Refuses a client that failed too often without checking its credential, where the token is short enough to be
    /// guessed. With a long token the credential is checked all the same, so that one process cannot lock out others of
    /// its address.
    pub(super) fn refuse_if_blocked(&self, client: &ClientAddress) -> Result<(), Problem> {
        if self.credentials.cannot_be_guessed() {
            return Ok(());
        }
        self.failures.blocked_for(client, Instant::now()).map_or(Ok(()), |wait| Err(too_many_failures(wait)))
    }

    /// Counts a wrong credential; an error if the client failed too often before.
    pub(super) fn count_failure(&self, client: &ClientAddress, credential: &str) -> Result<(), Problem> {
        if let Some(wait) = self.failures.count(client, Instant::now()) {
            return Err(too_many_failures(wait).wanting(self.challenge()));
        }
        tracing::warn!(credential, ?client, "login failed");
        Ok(())
    }

    fn unauthenticated(&self, text: &str) -> Problem {
        Problem::new(StatusCode::UNAUTHORIZED, text)
            .hint("the daemon prints the console's address with the token at start; .ship/run/token holds it too")
            .wanting(self.challenge())
    }

    fn challenge(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("Bearer realm=\"{}\"", self.project))
            .unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

fn too_many_failures(wait: Duration) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens: wait a little")
        .after(wait.as_secs().max(1))
}

/// The bearer credential of a request, if it sends one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, credential) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let credential = credential.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty()).then_some(credential)
}

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions, &parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_read_from_the_authorization_header_alone() {
        for (name, value, expected) in [
            ("authorization", "Bearer s3cret", Some("s3cret")),
            ("authorization", "bearer  s3cret ", Some("s3cret")),
            ("authorization", "Bearer ", None),
            ("authorization", "Bearer", None),
            ("authorization", "Basic s3cret", None),
            ("authorization", "s3cret", None),
            ("cookie", "shipagent=s3cret", None),
            ("proxy-authorization", "Bearer s3cret", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(bearer(&headers), expected, "{name}: {value}");
        }
    }

    #[test]
    fn a_code_is_good_for_one_login_within_five_minutes() {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let codes = LoginCodes::default();
        let code = codes.issue("s1", now);
        assert!(!codes.redeem("s1", now) && !codes.redeem("", now) && !codes.redeem("once.s2", now));
        assert!(codes.redeem(&code.text, now.plus_millis(CODE_MS - 1)));
        assert!(!codes.redeem(&code.text, now), "used");
        let code = codes.issue("s3", now);
        assert!(!codes.redeem(&code.text, code.expires), "too late");
        let first = codes.issue("first", now);
        let others: Vec<_> = (0..MAX_CODES).map(|number| codes.issue(&number.to_string(), now)).collect();
        assert!(!codes.redeem(&first.text, now), "replaced by newer ones");
        assert!(others.iter().all(|code| codes.redeem(&code.text, now)));
    }

    #[test]
    fn projects_have_different_ids() {
        let (one, other) = (project_id(Path::new("/a/.ship/files")), project_id(Path::new("/b/.ship/files")));
        assert_eq!(one.len(), 16);
        assert_ne!(one, other);
    }
}
