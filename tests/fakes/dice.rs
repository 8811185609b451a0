//! Reproducible randomness.

/// A small generator, so that a failing run can be repeated from its seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Starts at a seed, which may be zero.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `below`.
    pub(crate) const fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    /// True once in `times`.
    pub(crate) const fn one_in(&mut self, times: u64) -> bool {
        self.roll(times) == 0
    }
}

/// A seed that differs in each run, unless `SHIPAGENT_TEST_SEED` sets it. The caller prints it.
pub(crate) fn seed() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how a person repeats a failed run")]
    let given = std::env::var("SHIPAGENT_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761 + 1)
}
