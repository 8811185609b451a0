//! Whether and when to retry. A pure schedule: the failure and the elapsed time are passed in.

use std::hash::{DefaultHasher, Hasher};
use std::time::Duration;

use crate::domain::{Backoff, ErrorKind};

/// Most attempts of one call per model.
pub(crate) const MAX_ATTEMPTS: u32 = 4;

const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(600),
    longest: Duration::from_secs(10),
    stable_after: Duration::ZERO,
};

/// A failed attempt without shown output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed {
    /// From 1.
    pub attempt: u32,
    pub kind: ErrorKind,
    /// The duration of all attempts so far.
    pub elapsed: Duration,
    /// The server's `Retry-After`.
    pub retry_after: Option<Duration>,
    /// A seed that differs between callers, for the jitter.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// Retry after this delay.
    Wait(Duration),
    /// A retry is useless, or there is no time left.
    GiveUp,
}

/// The schedule: exponential back-off with jitter, at least the server's `Retry-After`, all within `budget`.
pub(crate) fn next(failed: &Failed, budget: Duration) -> RetryDecision {
    if failed.attempt >= MAX_ATTEMPTS || !failed.kind.retryable() {
        return RetryDecision::GiveUp;
    }
    let dice = fraction(failed.seed ^ u64::from(failed.attempt));
    let wait = BACKOFF.delay(failed.attempt, dice).max(failed.retry_after.unwrap_or_default());
    if failed.elapsed.saturating_add(wait) >= budget {
        RetryDecision::GiveUp
    } else {
        RetryDecision::Wait(wait)
    }
}

/// A seed for the jitter, from a unique text.
pub(crate) fn seed_of(unique: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(unique.as_bytes());
    hasher.finish()
}

/// A number from 0 to 1 that depends on every bit of the seed.
fn fraction(seed: u64) -> f64 {
    let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let top = u32::try_from(mixed >> 32).unwrap_or_default();
    f64::from(top) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUDGET: Duration = Duration::from_secs(60);

    fn failed(attempt: u32, kind: ErrorKind) -> Failed {
        Failed { attempt, kind, elapsed: Duration::ZERO, retry_after: None, seed: 7 }
    }

    #[test]
    fn only_trouble_that_may_pass_is_waited_for() {
        for (kind, again) in [
            (ErrorKind::Rate, true),
            (ErrorKind::Network, true),
            (ErrorKind::Timeout, true),
            (ErrorKind::Server, true),
            (ErrorKind::BadResponse, true),
            (ErrorKind::Auth, false),
            (ErrorKind::Quota, false),
            (ErrorKind::ContextLength, false),
            (ErrorKind::BadRequest, false),
        ] {
            assert_eq!(matches!(next(&failed(1, kind), BUDGET), RetryDecision::Wait(_)), again, "{kind:?}");
        }
    }

    #[test]
    fn the_fourth_attempt_is_the_last() {
        assert_ne!(next(&failed(3, ErrorKind::Server), BUDGET), RetryDecision::GiveUp);
        assert_eq!(next(&failed(4, ErrorKind::Server), BUDGET), RetryDecision::GiveUp);
    }

    #[test]
    fn the_servers_wish_is_honoured_only_within_the_budget() {
        let wish =
            |secs| Failed { retry_after: Some(Duration::from_secs(secs)), ..failed(1, ErrorKind::Rate) };
        assert_eq!(next(&wish(20), BUDGET), RetryDecision::Wait(Duration::from_secs(20)));
        assert_eq!(next(&wish(60), BUDGET), RetryDecision::GiveUp);
        assert_eq!(next(&wish(u64::MAX), BUDGET), RetryDecision::GiveUp);
        let late = Failed { elapsed: Duration::from_secs(50), ..wish(20) };
        assert_eq!(next(&late, BUDGET), RetryDecision::GiveUp);
    }

    proptest! {
        #[test]
        fn waits_grow_and_stay_in_their_band(attempt in 1u32..4, seed: u64) {
            let RetryDecision::Wait(wait) = next(&Failed { seed, ..failed(attempt, ErrorKind::Server) }, BUDGET) else {
                panic!("there is time")
            };
            let full = BACKOFF.delay(attempt, 0.0);
            prop_assert!(wait >= full / 2 && wait <= full, "{:?}", wait);
        }

        #[test]
        fn whatever_happens_the_waiting_ends_within_the_budget(
            takes in prop::collection::vec(0u64..30_000, 1..9),
            wish in prop::option::of(0u64..40),
            seed: u64,
        ) {
            let mut elapsed = Duration::ZERO;
            for (attempt, takes) in (1u32..).zip(takes) {
                elapsed += Duration::from_millis(takes);
                let failed = Failed {
                    attempt, elapsed, seed, kind: ErrorKind::Rate, retry_after: wish.map(Duration::from_secs),
                };
                match next(&failed, BUDGET) {
                    RetryDecision::GiveUp => return Ok(()),
                    RetryDecision::Wait(wait) => elapsed += wait,
                }
                prop_assert!(elapsed < BUDGET && attempt < MAX_ATTEMPTS);
            }
        }
    }
}
