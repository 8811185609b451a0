//! Logging in: `POST /api/login` exchanges the token for a session, `POST /api/session` renews one, and every request
//! under `/api` is authenticated here.
//!
//! The page keeps its session in the storage of its origin and sends it as `Authorization: Bearer`. There is no cookie:
//! browsers send cookies to every port of a host, so a server on another port would receive the credential.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::body::JsonBody;
use super::credentials::{Bearer, hex, sha256};
use super::limiter::ClientAddress;
use super::problem::Problem;
use super::server::Web;

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

#[derive(Deserialize)]
pub(super) struct Login {
    token: String,
}

/// Exchanges the token for a session.
pub(super) async fn login(
    State(web): State<Arc<Web>>,
    client: ClientAddress,
    JsonBody(login): JsonBody<Login>,
) -> Result<Json<Value>, Problem> {
    web.refuse_if_blocked(&client)?;
    if !web.credentials.token_is(&login.token) {
        web.count_failure(&client, "token")?;
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "this is not the token"));
    }
    web.session()
}

/// Issues a new session to an authenticated caller.
pub(super) async fn renew(State(web): State<Arc<Web>>) -> Result<Json<Value>, Problem> {
    web.session()
}

/// A project's opaque id: the page finds the stored login of a project by it.
pub(super) fn project_id(project: &Path) -> String {
    let digest = sha256(project.as_os_str().as_encoded_bytes());
    hex(digest.as_ref()).get(..16).unwrap_or_default().to_owned()
}

impl Web {
    fn session(&self) -> Result<Json<Value>, Problem> {
        let issued = self.credentials.issue_session(&self.parts.ids.unguessable(), self.clock.now());
        let issued = issued.ok_or_else(|| self.unauthenticated("there is no token to log in with"))?;
        Ok(Json(json!({
            "session": issued.text,
            "expiresAt": issued.expires.rfc3339(),
            "project": self.project,
        })))
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
    fn projects_have_different_ids() {
        let (one, other) = (project_id(Path::new("/a/.ship/files")), project_id(Path::new("/b/.ship/files")));
        assert_eq!(one.len(), 16);
        assert_ne!(one, other);
    }
}
