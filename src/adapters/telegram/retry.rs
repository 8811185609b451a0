//! Retries of calls outside of the outbox.

use std::time::Duration;

use super::api::ApiError;
use crate::adapters::Backoff;
use crate::adapters::chat::retry;

/// How many attempts, and the wait between two.
const TRIES: u32 = 4;
const PAUSE: Backoff = Backoff {
    first: Duration::from_millis(700),
    longest: Duration::from_secs(3),
    stable_after: Duration::ZERO,
};

/// How long the server wants a retry to wait; `None` where no retry helps.
fn wait_after(error: &ApiError) -> Option<Duration> {
    match error {
        ApiError::Refused { code: 429, retry_after, .. } => Some(retry_after.unwrap_or_default()),
        ApiError::NotSent(_) | ApiError::Unsure(_) => Some(Duration::ZERO),
        broken => broken.is_broken().then_some(Duration::ZERO),
    }
}

/// Makes an idempotent call, with retries of temporary errors.
pub(super) async fn with_retry<T, F>(call: impl Fn() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    retry(TRIES, PAUSE, call, wait_after).await
}

/// The same for a call that shows a message each time it succeeds. An attempt without a response may have succeeded: it
/// is repeated once, because a duplicate is better than no message. `again` is called then.
pub(super) async fn with_counted_retry<T, F>(call: impl Fn() -> F, again: impl Fn()) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let (mut tried, mut repeated) = (0, false);
    retry(TRIES, PAUSE, call, |error| {
        let wait = wait_after(error)?;
        tried += 1;
        if matches!(error, ApiError::Unsure(_) | ApiError::Gateway(_)) {
            if std::mem::replace(&mut repeated, true) {
                return None;
            }
            if tried < TRIES {
                again();
            }
        }
        Some(wait)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::time::Instant;

    use super::*;

    fn refused(code: u16, retry_after: Option<u64>) -> ApiError {
        let retry_after = retry_after.map(Duration::from_secs);
        ApiError::Refused { code, description: String::new(), retry_after, migrate_to: None }
    }

    /// Makes a call that fails with these errors, one after the other, and then succeeds. Returns whether it did, the
    /// number of attempts, and the seconds.
    async fn met(errors: Vec<ApiError>) -> (bool, usize, u64) {
        let (left, made, began) = (RefCell::new(errors), RefCell::new(0), Instant::now());
        let done = with_retry(|| {
            *made.borrow_mut() += 1;
            let next = left.borrow_mut().pop();
            async move { next.map_or(Ok(()), Err) }
        })
        .await;
        (done.is_ok(), made.into_inner(), began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_made_again_a_few_times_where_that_may_help_and_not_before_it_may() {
        let unsure = || ApiError::Unsure("reset".to_owned());
        let unsent = || ApiError::NotSent("refused".to_owned());
        for (errors, expected) in [
            (vec![], (true, 1, 0)),
            (vec![ApiError::Gateway(502), unsent(), unsure()], (true, 4, 4)),
            (vec![refused(429, Some(9))], (true, 2, 9)),
            (vec![refused(429, None), refused(500, None)], (true, 3, 2)),
            (vec![refused(400, None)], (false, 1, 0)),
            (vec![refused(403, None), ApiError::Gateway(502)], (false, 2, 0)),
            (vec![refused(501, None)], (false, 1, 0)),
            (vec![ApiError::NoSuchCall(404)], (false, 1, 0)),
            ((0..9).map(|_| unsent()).collect(), (false, 4, 4)),
        ] {
            let told = format!("{errors:?}");
            assert_eq!(met(errors).await, expected, "{told}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn words_that_may_be_there_are_said_once_more_and_that_is_told() {
        let unsure = || ApiError::Unsure("reset".to_owned());
        for (errors, expected) in [
            (vec![unsure()], (true, 2, 1)),
            (vec![unsure(), unsure()], (false, 2, 1)),
            (vec![ApiError::Gateway(502), unsure()], (false, 2, 1)),
            (vec![unsure(), refused(429, None), ApiError::NotSent("refused".to_owned())], (true, 4, 1)),
            (vec![refused(500, None), refused(429, None)], (true, 3, 0)),
        ] {
            let told = format!("{errors:?}");
            let (left, made, again) = (RefCell::new(errors), RefCell::new(0), RefCell::new(0));
            let call = || {
                *made.borrow_mut() += 1;
                let next = left.borrow_mut().pop();
                async move { next.map_or(Ok(()), Err) }
            };
            let done = with_counted_retry(call, || *again.borrow_mut() += 1).await.is_ok();
            assert_eq!((done, made.into_inner(), again.into_inner()), expected, "{told}");
        }
    }
}
