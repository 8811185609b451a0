//! Sound as samples, and what can go wrong with audio.

/// Why audio could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AudioError {
    #[error("the audio is damaged: {0}")]
    Damaged(String),
    #[error("the audio is longer than {0} seconds")]
    TooLong(u64),
}

/// Sound with one channel, each sample from -1 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Pcm {
    pub rate: u32,
    pub samples: Vec<f32>,
}

impl Pcm {
    pub fn millis(&self) -> u64 {
        (self.samples.len() as u64).saturating_mul(1000).checked_div(u64::from(self.rate)).unwrap_or_default()
    }

    /// The same sound at another rate, by linear interpolation, which is enough for speech.
    #[must_use]
    pub fn resampled(self, rate: u32) -> Self {
        if self.rate == rate || self.rate == 0 || rate == 0 {
            return self;
        }
        let (from, to) = (u64::from(self.rate), u64::from(rate));
        let count = (self.samples.len() as u64).saturating_mul(to) / from;
        let sample = |index: u64| {
            let position = index.saturating_mul(from);
            let before = usize::try_from(position / to).unwrap_or(usize::MAX);
            let share = (position % to) as f32 / to as f32;
            let first = self.samples.get(before).copied().unwrap_or_default();
            let second = self.samples.get(before.saturating_add(1)).copied().unwrap_or(first);
            first + (second - first) * share
        };
        Self { rate, samples: (0..count).map(sample).collect() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A tone of this many milliseconds.
    pub(in crate::audio) fn tone(rate: u32, millis: u32) -> Pcm {
        let count = u64::from(rate) * u64::from(millis) / 1000;
        let step = 2.0 * std::f32::consts::PI * 440.0 / rate as f32;
        Pcm { rate, samples: (0..count).map(|index| (index as f32 * step).sin() * 0.5).collect() }
    }

    /// The mean power of the samples.
    pub(in crate::audio) fn power(pcm: &Pcm) -> f32 {
        pcm.samples.iter().map(|sample| sample * sample).sum::<f32>() / pcm.samples.len() as f32
    }

    #[test]
    fn another_rate_is_the_same_sound_of_the_same_length() {
        for (from, to) in [(22_050, 24_000), (44_100, 16_000), (48_000, 48_000), (16_000, 24_000)] {
            let tone = tone(from, 500);
            let other = tone.clone().resampled(to);
            assert!(other.millis().abs_diff(tone.millis()) <= 1, "{from} {to}");
            assert!((power(&other) - power(&tone)).abs() < 0.01, "{from} {to}");
        }
        let nothing = Pcm { rate: 0, samples: vec![0.5] };
        assert_eq!((nothing.clone().resampled(8000), nothing.millis()), (nothing, 0));
    }
}
