//! Remembers whether the server supports an optional call. A proxy may wrongly report a call as missing: that is
//! believed for a limited time, which doubles each time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::api::ApiError;

/// How long a report of the server itself is believed.
const ITS_OWN_WORD: Duration = Duration::from_secs(3600);
/// How long a report that may come from a proxy is believed at first.
const HEARSAY: Duration = Duration::from_secs(60);
/// Most doublings.
const MOST_DOUBLINGS: u32 = 6;

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

    /// The call succeeded.
    pub(super) fn works(&self) {
        self.locked(|absence| *absence = Absence::default());
    }

    /// The server accepts the call without doing it.
    pub(super) fn mark_unsupported(&self) {
        self.locked(|absence| absence.until = Some(Instant::now() + ITS_OWN_WORD));
    }

    /// The call is unknown to the server or proxy, or refused without a known reason. Several calls in flight count as
    /// one report.
    pub(super) fn is_missing(&self, error: &ApiError) {
        self.locked(|absence| {
            if absence.until.is_some_and(|until| Instant::now() < until) {
                return;
            }
            let lasts = match error {
                ApiError::Refused { code: 404 | 405 | 501, .. } => ITS_OWN_WORD,
                _ => (HEARSAY * (1 << absence.times.min(MOST_DOUBLINGS))).min(ITS_OWN_WORD),
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
    async fn left_alone(ability: &FeatureProbe) -> u64 {
        let began = Instant::now();
        while !ability.is_there() {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn hearsay_is_believed_briefly_and_the_servers_own_word_for_long() {
        let ability = FeatureProbe::default();
        assert_eq!(left_alone(&ability).await, 0);
        for expected in [60, 120, 240] {
            ability.is_missing(&ApiError::NoSuchCall(404));
            assert_eq!(left_alone(&ability).await, expected);
        }
        ability.works();
        ability.is_missing(&ApiError::NoSuchCall(404));
        assert_eq!(left_alone(&ability).await, 60, "once it was there, an absence is new");
        for _ in 0..50 {
            ability.is_missing(&ApiError::NoSuchCall(404));
        }
        assert_eq!(left_alone(&ability).await, 120, "all at once they are one");
        for _ in 0..50 {
            ability.is_missing(&ApiError::NoSuchCall(404));
            left_alone(&ability).await;
        }
        ability.is_missing(&ApiError::NoSuchCall(404));
        assert_eq!(left_alone(&ability).await, 3600);
        ability.works();
        let own = ApiError::Refused {
            code: 404,
            description: "Not Found".to_owned(),
            retry_after: None,
            migrate_to: None,
        };
        ability.is_missing(&own);
        assert_eq!(left_alone(&ability).await, 3600);
        ability.works();
        ability.mark_unsupported();
        assert_eq!(left_alone(&ability).await, 3600);
        ability.works();
        let unclear = ApiError::Refused {
            code: 400,
            description: "Bad Request".to_owned(),
            retry_after: None,
            migrate_to: None,
        };
        ability.is_missing(&unclear);
        assert_eq!(left_alone(&ability).await, 60, "that may have been about the message alone");
    }
}
