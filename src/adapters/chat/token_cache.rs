//! A cached access token: one fetch for all concurrent callers, renewed before it expires.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use crate::ports::BoxFuture;

/// A token as the platform issues it.
#[derive(Clone, Debug)]
pub struct Granted {
    pub token: SecretString,
    pub good_for: Duration,
}

/// Fetches a token from the platform.
type Fetch<E> = dyn Fn() -> BoxFuture<'static, Result<Granted, E>> + Send + Sync;
/// One fetch, shared by all waiting callers.
type Flight<E> = Shared<BoxFuture<'static, Result<Granted, E>>>;

/// The token of all calls. The lock is never held over an await; concurrent callers share one fetch.
#[derive(Clone)]
pub struct TokenCache<E> {
    fetch: Arc<Fetch<E>>,
    /// How long before its expiry a token is renewed, at most half of its lifetime.
    early: Duration,
    state: Arc<Mutex<TokenState<E>>>,
}

enum TokenState<E> {
    Empty,
    Held { token: SecretString, until: Instant },
    Asked(Flight<E>),
}

impl<E> fmt::Debug for TokenCache<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCache").finish_non_exhaustive()
    }
}

impl<E: Clone> TokenCache<E> {
    /// Tokens from this source, renewed `early` before their expiry.
    pub fn new(
        early: Duration,
        fetch: impl Fn() -> BoxFuture<'static, Result<Granted, E>> + Send + Sync + 'static,
    ) -> Self {
        Self { fetch: Arc::new(fetch), early, state: Arc::new(Mutex::new(TokenState::Empty)) }
    }

    /// A valid token.
    ///
    /// # Errors
    /// When the fetch fails; the next caller fetches again.
    pub async fn get(&self) -> Result<SecretString, E> {
        let flight = {
            let mut state = self.state();
            match &*state {
                TokenState::Held { token, until } if Instant::now() < *until => return Ok(token.clone()),
                TokenState::Asked(flight) => flight.clone(),
                TokenState::Held { .. } | TokenState::Empty => {
                    let flight = (self.fetch)().shared();
                    *state = TokenState::Asked(flight.clone());
                    flight
                }
            }
        };
        let answer = flight.clone().await;
        let mut state = self.state();
        if matches!(&*state, TokenState::Asked(current) if current.ptr_eq(&flight)) {
            *state = match &answer {
                Ok(granted) => {
                    let early = self.early.min(granted.good_for / 2);
                    TokenState::Held {
                        token: granted.token.clone(),
                        until: Instant::now() + granted.good_for.saturating_sub(early),
                    }
                }
                Err(_) => TokenState::Empty,
            };
        }
        answer.map(|granted| granted.token)
    }

    /// Makes a call with the token, and once more with a fresh one where the platform refuses it.
    ///
    /// # Errors
    /// When no token is granted or the call fails.
    pub async fn with_token<T, F>(
        &self,
        is_refused: impl Fn(&E) -> bool,
        call: impl Fn(SecretString) -> F,
    ) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let token = self.get().await?;
        match call(token.clone()).await {
            Err(error) if is_refused(&error) => {
                tracing::info!("access token refused");
                self.reject(&token);
                call(self.get().await?).await
            }
            result => result,
        }
    }

    /// Invalidates a token that the platform rejected.
    pub fn reject(&self, bad: &SecretString) {
        let mut state = self.state();
        // Another call may have renewed it already.
        if matches!(&*state, TokenState::Held { token, .. } if token.expose_secret() == bad.expose_secret()) {
            *state = TokenState::Empty;
        }
    }

    fn state(&self) -> MutexGuard<'_, TokenState<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Numbered tokens, and the count of fetches.
    fn numbered(good_for: u64, fails: usize) -> (TokenCache<&'static str>, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let tokens = TokenCache::new(Duration::from_secs(600), move || {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            let fetched: BoxFuture<'static, Result<Granted, &'static str>> = Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                if number <= fails {
                    return Err("cut");
                }
                let token = SecretString::from(format!("t-{number}"));
                Ok(Granted { token, good_for: Duration::from_secs(good_for) })
            });
            fetched
        });
        (tokens, asked)
    }

    async fn text(tokens: &TokenCache<&'static str>) -> String {
        tokens.get().await.unwrap().expose_secret().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_need_a_token_ask_once() {
        let (tokens, asked) = numbered(7200, 0);
        let all = futures_util::future::join_all((0..20).map(|_| text(&tokens))).await;
        assert!(all.iter().all(|token| token == "t-1"));
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_replaced_before_it_lapses() {
        let (tokens, _) = numbered(7200, 0);
        assert_eq!(text(&tokens).await, "t-1");
        tokio::time::advance(Duration::from_secs(6590)).await;
        assert_eq!(text(&tokens).await, "t-1");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(text(&tokens).await, "t-2");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_token_is_replaced_and_only_that_one() {
        let (tokens, asked) = numbered(7200, 0);
        let first = tokens.get().await.unwrap();
        tokens.reject(&first);
        assert_eq!(text(&tokens).await, "t-2");
        tokens.reject(&first);
        assert_eq!(text(&tokens).await, "t-2", "an old rejection does not take the new one");
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_question_is_asked_again_by_the_next() {
        let (tokens, _) = numbered(7200, 1);
        assert!(tokens.get().await.is_err());
        assert_eq!(text(&tokens).await, "t-2");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_gives_up_does_not_take_the_others_with_them() {
        let (tokens, asked) = numbered(7200, 0);
        let hasty = tokio::time::timeout(Duration::from_millis(5), tokens.get());
        let (hasty, patient) = tokio::join!(hasty, text(&tokens));
        assert!(hasty.is_err());
        assert_eq!((patient.as_str(), asked.load(Ordering::SeqCst)), ("t-1", 1));
    }
}
