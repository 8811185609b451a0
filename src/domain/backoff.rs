//! The back-off before a restart or retry, for everything that waits between attempts. Pure: the caller passes the
//! random number.

use std::time::Duration;

/// A wait that doubles up to a limit.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    pub longest: Duration,
    /// A run of this length resets the wait.
    pub stable_after: Duration,
}

impl Backoff {
    /// For adapters: short enough that a brief failure goes unnoticed, long enough not to overload a platform.
    pub const ADAPTERS: Self = Self {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(60),
        stable_after: Duration::from_secs(120),
    };

    /// The wait after the `breaks`th failure in a row, counted from 1. `dice` from 0 to 1 takes up to half of it away,
    /// so that clients that failed together do not restart together.
    pub fn delay(&self, breaks: u32, dice: f64) -> Duration {
        let doubled =
            self.first.saturating_mul(1_u32.checked_shl(breaks.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.longest).mul_f64(1.0 - dice.clamp(0.0, 1.0) / 2.0)
    }

    /// The number of failures in a row, after a run of this length.
    pub fn breaks_after(&self, earlier: u32, ran: Duration) -> u32 {
        if ran >= self.stable_after { 1 } else { earlier.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_limit() {
        let waits: Vec<u64> = [1, 2, 3, 6, 7, 31, 32, 33, u32::MAX]
            .map(|breaks| Backoff::ADAPTERS.delay(breaks, 0.0).as_secs())
            .into();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60, 60, 60]);
    }

    #[test]
    fn the_dice_take_up_to_half_away() {
        for (dice, millis) in [(0.0, 4000), (0.5, 3000), (1.0, 2000), (7.0, 2000), (-1.0, 4000)] {
            assert_eq!(Backoff::ADAPTERS.delay(3, dice), Duration::from_millis(millis), "{dice}");
        }
    }

    #[test]
    fn a_stable_run_forgets_the_breaks_before_it() {
        let backoff = Backoff::ADAPTERS;
        assert_eq!(backoff.breaks_after(5, Duration::from_secs(119)), 6);
        assert_eq!(backoff.breaks_after(5, Duration::from_secs(120)), 1);
    }
}
