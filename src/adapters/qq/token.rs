//! The access token: fetched on first use, cached until shortly before its expiry, with one fetch at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::http::{CALL, Http, Method};
use super::trouble::{Kind, Trouble};
use crate::domain::Timestamp;
use crate::ports::Clock;

/// How long before its expiry a token is replaced. The platform returns the same token until its last minute.
const EARLY: Duration = Duration::from_secs(30);
/// Shortest lifetime: a token with a shorter one is still used once.
const SHORTEST: Duration = Duration::from_secs(1);

/// Lifetime where the platform reports none, in seconds. A token that expires earlier is refused and then replaced.
const USUAL: u64 = 7200;

#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) url: String,
    pub(super) app_id: String,
    pub(super) secret: SecretString,
}

#[derive(Clone, Debug)]
struct Kept {
    token: Arc<str>,
    until: Timestamp,
}

pub(super) struct Tokens {
    http: Http,
    credentials: Credentials,
    clock: Arc<dyn Clock>,
    kept: Mutex<Option<Kept>>,
    /// Held by the caller that fetches; the others then find its token.
    turn: Semaphore,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("app_id", &self.credentials.app_id).finish_non_exhaustive()
    }
}

impl Tokens {
    pub(super) const fn new(http: Http, credentials: Credentials, clock: Arc<dyn Clock>) -> Self {
        Self { http, credentials, clock, kept: Mutex::new(None), turn: Semaphore::const_new(1) }
    }

    /// A valid token. Dropping the future leaves the fetch to the next caller.
    pub(super) async fn get(&self) -> Result<Arc<str>, Trouble> {
        if let Some(token) = self.good() {
            return Ok(token);
        }
        let Ok(_turn) = self.turn.acquire().await else {
            return Err(Trouble::unreachable("the adapter has ended".to_owned()));
        };
        if let Some(token) = self.good() {
            return Ok(token);
        }
        let fresh = self.fetch().await?;
        let token = Arc::clone(&fresh.token);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh);
        Ok(token)
    }

    /// Drops a token that the platform refused.
    pub(super) fn refused(&self, token: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|kept| &*kept.token == token) {
            *kept = None;
        }
    }

    fn good(&self) -> Option<Arc<str>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        kept.as_ref().filter(|kept| now < kept.until).map(|kept| Arc::clone(&kept.token))
    }

    async fn fetch(&self) -> Result<Kept, Trouble> {
        let Credentials { url, app_id, secret } = &self.credentials;
        let body = json!({ "appId": app_id, "clientSecret": secret.expose_secret() });
        let answer = self.http.json(Method::POST, url, &[], Some(&body), CALL).await?;
        let asked = self.clock.now();
        let (token, lasts) = read(&answer).ok_or_else(|| Trouble {
            kind: Kind::Later,
            what: "the platform's answer has no access token".to_owned(),
            after: None,
        })?;
        let lasts = lasts.saturating_sub(EARLY).max(SHORTEST);
        let millis = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
        Ok(Kept { token: token.into(), until: asked.plus_millis(millis) })
    }
}

/// The token and its lifetime; the platform sends the number also as a string.
fn read(answer: &Value) -> Option<(&str, Duration)> {
    let token = answer["access_token"].as_str().filter(|token| !token.is_empty())?;
    let lasts = &answer["expires_in"];
    let seconds = lasts.as_u64().or_else(|| lasts.as_str().and_then(|text| text.trim().parse().ok()));
    Some((token, Duration::from_secs(seconds.unwrap_or(USUAL))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_read_with_its_number_as_a_text_too() {
        for (lasts, seconds) in
            [(json!("7200"), 7200), (json!(60), 60), (json!(null), 7200), (json!("x"), 7200)]
        {
            let answer = json!({ "access_token": "t", "expires_in": lasts });
            assert_eq!(read(&answer), Some(("t", Duration::from_secs(seconds))));
        }
        assert_eq!(read(&json!({ "code": 1 })), None);
        assert_eq!(read(&json!({ "access_token": "" })), None);
    }
}
