//! Sums of ledger entries.

use serde::{Deserialize, Serialize};

use crate::domain::{EntryKind, UsageEntry, UsageSource};

/// What several calls used together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sums {
    pub calls: u64,
    pub failed: u64,
    #[serde(rename = "in")]
    pub input: u64,
    #[serde(rename = "inCached")]
    pub cached: u64,
    #[serde(rename = "inCacheWrite")]
    pub cache_write: u64,
    #[serde(rename = "out")]
    pub output: u64,
    #[serde(rename = "outReasoning")]
    pub reasoning: u64,
    /// Milliseconds of sound that were turned into text.
    pub sound_ms: u64,
    /// Characters that were turned into speech.
    pub chars: u64,
    /// In millionths of a US dollar.
    #[serde(rename = "costMicros")]
    pub cost: u64,
    /// The part of the cost that belongs to calls without a known end.
    #[serde(rename = "uncertainMicros")]
    pub uncertain: u64,
    /// Calls whose tokens are estimated.
    pub estimated: u64,
    /// Calls whose price is unknown; their cost is not in the sum.
    pub unknown_price: u64,
    /// Tokens of calls whose price is unknown.
    pub unpriced_tokens: u64,
    /// Calls whose counts do not fit the prompt or the answer.
    pub suspect: u64,
    /// How long the calls took together.
    pub ms: u64,
}

impl Sums {
    /// Adds a call. A reservation counts as a call without a known end.
    pub fn add(&mut self, entry: &UsageEntry) {
        let uncertain = entry.t == EntryKind::Reserve || entry.source == UsageSource::Uncertain;
        let cost = entry.cost.unwrap_or(0);
        let used = entry.tokens() > 0 || entry.sound_ms > 0 || entry.chars > 0;
        self.plus(&Self {
            calls: 1,
            failed: u64::from(entry.error.is_some()),
            input: entry.input,
            cached: entry.cached,
            cache_write: entry.cache_write,
            output: entry.output,
            reasoning: entry.reasoning,
            sound_ms: entry.sound_ms,
            chars: entry.chars,
            cost,
            uncertain: if uncertain { cost } else { 0 },
            estimated: u64::from(uncertain || entry.source == UsageSource::Estimated),
            unknown_price: u64::from(entry.cost.is_none() && used),
            unpriced_tokens: if entry.cost.is_none() { entry.tokens() } else { 0 },
            suspect: u64::from(entry.suspect),
            ms: entry.ms,
        });
    }

    pub fn plus(&mut self, other: &Self) {
        for (sum, more) in self.numbers_mut().into_iter().zip(other.numbers()) {
            *sum = sum.saturating_add(more);
        }
    }

    const fn numbers(&self) -> [u64; 16] {
        [
            self.calls,
            self.failed,
            self.input,
            self.cached,
            self.cache_write,
            self.output,
            self.reasoning,
            self.sound_ms,
            self.chars,
            self.cost,
            self.uncertain,
            self.estimated,
            self.unknown_price,
            self.unpriced_tokens,
            self.suspect,
            self.ms,
        ]
    }

    const fn numbers_mut(&mut self) -> [&mut u64; 16] {
        [
            &mut self.calls,
            &mut self.failed,
            &mut self.input,
            &mut self.cached,
            &mut self.cache_write,
            &mut self.output,
            &mut self.reasoning,
            &mut self.sound_ms,
            &mut self.chars,
            &mut self.cost,
            &mut self.uncertain,
            &mut self.estimated,
            &mut self.unknown_price,
            &mut self.unpriced_tokens,
            &mut self.suspect,
            &mut self.ms,
        ]
    }

    /// Input and output together.
    pub const fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Whether the sum is only about right.
    pub const fn is_about(&self) -> bool {
        self.estimated > 0 || self.uncertain > 0 || self.suspect > 0
    }

    /// The share of the input that was read from the provider's cache, in percent.
    pub fn cached_percent(&self) -> Option<u64> {
        self.cached.saturating_mul(100).checked_div(self.input)
    }
}
