//! Retries of calls outside of the outbox, and what is known of the calls that a server supports.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::Backoff;

/// Makes a call until it succeeds, fails for good or has been tried this often. `may_retry` tells whether an error allows a
/// retry, and how long the server wants it to wait.
///
/// # Errors
/// That of the last attempt.
pub async fn retry<T, E, F>(
    tries: u32,
    pause: Backoff,
    call: impl Fn() -> F,
    mut may_retry: impl FnMut(&E) -> Option<Duration>,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut tried = 1;
    loop {
        let error = match call().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let Some(asked) = may_retry(&error).filter(|_| tried < tries) else { return Err(error) };
        tokio::time::sleep(asked.max(pause.delay(tried, 0.0))).await;
        tried += 1;
    }
}

/// How long a report of the server itself is believed.
const SERVER_REPORT: Duration = Duration::from_secs(3600);
/// How long a report that may come from a proxy is believed.
const PROXY_REPORT: Backoff =
    Backoff { first: Duration::from_secs(60), longest: SERVER_REPORT, stable_after: Duration::ZERO };

/// Remembers whether the server supports an optional call. A proxy may wrongly report a call as missing: that is believed for
/// a limited time, which doubles each time.
#[derive(Debug, Default)]
pub struct FeatureProbe {
    absence: Mutex<Absence>,
}

#[derive(Debug, Default)]
struct Absence {
    until: Option<Instant>,
    /// How many reports in a row.
    times: u32,
}

/// Who reports that a call is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reporter {
    Server,
    /// The server or a proxy before it.
    Unclear,
}

impl FeatureProbe {
    /// Whether the call is worth an attempt.
    pub fn is_there(&self) -> bool {
        self.locked(|absence| absence.until.is_none_or(|until| Instant::now() >= until))
    }

    pub fn succeeded(&self) {
        self.locked(|absence| *absence = Absence::default());
    }

    /// The call is unknown, refused without a known reason, or without effect. Several calls in flight count as one report.
    pub fn is_missing(&self, reporter: Reporter) {
        self.locked(|absence| {
            if absence.until.is_some_and(|until| Instant::now() < until) {
                return;
            }
            absence.times = absence.times.saturating_add(1);
            let lasts = match reporter {
                Reporter::Server => SERVER_REPORT,
                Reporter::Unclear => PROXY_REPORT.delay(absence.times, 0.0),
            };
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
            probe.is_missing(Reporter::Unclear);
            assert_eq!(left_alone(&probe).await, expected);
        }
        probe.succeeded();
        probe.is_missing(Reporter::Unclear);
        assert_eq!(left_alone(&probe).await, 60, "once it was there, an absence is new");
        for _ in 0..50 {
            probe.is_missing(Reporter::Unclear);
        }
        assert_eq!(left_alone(&probe).await, 120, "all at once they are one");
        for _ in 0..50 {
            probe.is_missing(Reporter::Unclear);
            left_alone(&probe).await;
        }
        probe.is_missing(Reporter::Unclear);
        assert_eq!(left_alone(&probe).await, 3600);
        probe.succeeded();
        probe.is_missing(Reporter::Server);
        assert_eq!(left_alone(&probe).await, 3600);
    }
}
