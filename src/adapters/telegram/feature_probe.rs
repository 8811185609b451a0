//! Remembers whether the server supports an optional call. A proxy may wrongly report a call as missing: that is
//! believed for a limited time, which doubles each time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::api::ApiError;
use crate::domain::Backoff;

/// How long a report of the server itself is believed.
const SERVER_REPORT: Duration = Duration::from_secs(3600);
/// How long a report that may come from a proxy is believed.
const PROXY_REPORT: Backoff =
    Backoff { first: Duration::from_secs(60), longest: SERVER_REPORT, stable_after: Duration::ZERO };

/// The known state of a call.
#[derive(Debug, Default)]
pub(super) struct FeatureProbe {
    absence: Mutex<Absence>,
}

#[derive(Debug, Default)]
struct Absence {
    until: Option<Instant>,
    /// How many reports in a row.
    times: u32,
}

impl FeatureProbe {
    /// Whether the call is worth an attempt.
    pub(super) fn is_there(&self) -> bool {
        self.locked(|absence| absence.until.is_none_or(|until| Instant::now() >= until))
    }

    pub(super) fn succeeded(&self) {
        self.locked(|absence| *absence = Absence::default());
    }

    /// The server accepts the call without doing it.
    pub(super) fn mark_unsupported(&self) {
        self.locked(|absence| absence.until = Some(Instant::now() + SERVER_REPORT));
    }

    /// The call is unknown to the server or proxy, or refused without a known reason. Several calls in flight count as
    /// one report.
    pub(super) fn is_missing(&self, error: &ApiError) {
        self.locked(|absence| {
            if absence.until.is_some_and(|until| Instant::now() < until) {
                return;
            }
            let lasts = match error {
                ApiError::Refused { code: 404 | 405 | 501, .. } => SERVER_REPORT,
                _ => PROXY_REPORT.delay(absence.times.saturating_add(1), 0.0),
            };
            absence.times = absence.times.saturating_add(1);
            absence.until = Some(Instant::now() + lasts);
        });
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Absence) -> T) -> T {
        work(&mut self.absence.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the call is not attempted, in seconds.
    async fn left_alone(probe: &FeatureProbe) -> u64 {
        let began = Instant::now();
        while !probe.is_there() {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_remembered_briefly_and_a_refusal_of_the_server_for_long() {
        let probe = FeatureProbe::default();
        assert_eq!(left_alone(&probe).await, 0);
        for expected in [60, 120, 240] {
            probe.is_missing(&ApiError::NoSuchCall(404));
            assert_eq!(left_alone(&probe).await, expected);
        }
        probe.succeeded();
        probe.is_missing(&ApiError::NoSuchCall(404));
        assert_eq!(left_alone(&probe).await, 60, "once it was there, an absence is new");
        for _ in 0..50 {
            probe.is_missing(&ApiError::NoSuchCall(404));
        }
        assert_eq!(left_alone(&probe).await, 120, "all at once they are one");
        for _ in 0..50 {
            probe.is_missing(&ApiError::NoSuchCall(404));
            left_alone(&probe).await;
        }
        probe.is_missing(&ApiError::NoSuchCall(404));
        assert_eq!(left_alone(&probe).await, 3600);
        probe.succeeded();
        let own = ApiError::Refused {
            code: 404,
            description: "Not Found".to_owned(),
            retry_after: None,
            migrate_to: None,
        };
        probe.is_missing(&own);
        assert_eq!(left_alone(&probe).await, 3600);
        probe.succeeded();
        probe.mark_unsupported();
        assert_eq!(left_alone(&probe).await, 3600);
        probe.succeeded();
        let unclear = ApiError::Refused {
            code: 400,
            description: "Bad Request".to_owned(),
            retry_after: None,
            migrate_to: None,
        };
        probe.is_missing(&unclear);
        assert_eq!(left_alone(&probe).await, 60, "that may have been about the message alone");
    }
}
