//! Calls beside the outbox, which nobody makes again: they are made again here, a few times.

use std::time::Duration;

use super::api::ApiError;

/// How often such a call is made, and the wait before it is made again.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(700);

/// Makes a call, and again where it did not work and may later. What got no answer at all may have worked: words that
/// show twice are better than none.
pub(super) async fn patiently<T, F>(call: impl Fn() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let mut tried = 1;
    loop {
        let error = match call().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let pause = PAUSE * tried;
        let wait = match &error {
            ApiError::Refused { code: 429, retry_after, .. } => retry_after.unwrap_or_default().max(pause),
            ApiError::NotSent(_) | ApiError::Unsure(_) => pause,
            broken if broken.is_broken() => pause,
            _ => return Err(error),
        };
        if tried >= TRIES {
            return Err(error);
        }
        tokio::time::sleep(wait).await;
        tried += 1;
    }
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

    /// Makes a call that meets these, one after the other, and then works. Gives whether it did, how often it was made,
    /// and the seconds that took.
    async fn met(errors: Vec<ApiError>) -> (bool, usize, u64) {
        let (left, made, began) = (RefCell::new(errors), RefCell::new(0), Instant::now());
        let done = patiently(|| {
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
}
