//! What tokens cost: a small dated table, overrides of the operator, and the cost of a call. Pure.
//!
//! Where a price depends on the hour or on the length of the prompt, the table has the dear side: a cap that stops early
//! is right.

use std::collections::BTreeMap;

use crate::domain::{Price, Usage};

/// When the table was last checked.
pub const PRICES_AS_OF: &str = "2026-11-18";

/// US dollars for a million tokens: input, cached input, output. The price of a cache write is the input's, except where
/// `CACHE_WRITES` says otherwise.
const TABLE: &[(&str, f64, f64, f64)] = &[
    ("gpt-6-luna", 0.10, 0.01, 0.50),
    ("gpt-5.6-luna", 0.20, 0.02, 1.20),
    ("gpt-5.6-terra", 2.0, 0.20, 12.0),
    ("gpt-5.4-mini", 0.75, 0.075, 4.50),
    ("gpt-5", 1.25, 0.125, 10.0),
    ("gpt-5-mini", 0.25, 0.025, 2.0),
    ("gpt-5-nano", 0.05, 0.005, 0.40),
    ("gpt-4.1", 2.0, 0.50, 8.0),
    ("gpt-4.1-mini", 0.40, 0.10, 1.60),
    ("gpt-4.1-nano", 0.10, 0.025, 0.40),
    ("gpt-4o", 2.50, 1.25, 10.0),
    ("gpt-4o-mini", 0.15, 0.075, 0.60),
    ("o3", 2.0, 0.50, 8.0),
    ("o4-mini", 1.10, 0.275, 4.40),
    ("deepseek-flash", 0.30, 0.006, 1.20),
    ("deepseek-v4-pro", 1.32, 0.044, 3.96),
    ("kimi-k2.6", 0.95, 0.16, 4.0),
    ("kimi-k3", 3.0, 0.30, 15.0),
    ("glm-4.6", 0.60, 0.11, 2.20),
    ("glm-4.5", 0.60, 0.11, 2.20),
    ("gemini-2.5-flash", 0.30, 0.03, 2.50),
    ("gemini-2.5-flash-lite", 0.10, 0.01, 0.40),
    ("gemini-2.5-pro", 2.50, 0.25, 15.0),
    ("claude-opus-4-5", 5.0, 0.50, 25.0),
    ("claude-opus-4-1", 15.0, 1.50, 75.0),
    ("claude-sonnet-4-5", 6.0, 0.60, 22.50),
    ("claude-sonnet-4", 6.0, 0.60, 22.50),
    ("claude-haiku-4-5", 1.0, 0.10, 5.0),
];

/// Cache writes that cost more than input, as a share of the input's price, by the beginning of the name.
const CACHE_WRITES: &[(&str, f64)] = &[("gpt-5.6", 2.0), ("gpt-6", 2.0), ("claude-", 2.0), ("kimi-k3", 1.25)];

/// US dollars for an hour of sound that is turned into text.
const SPEECH: &[(&str, f64)] =
    &[("gpt-transcribe", 0.27), ("whisper-large-v3-turbo", 0.04), ("whisper-1", 0.36)];

/// The price of a model in the table: by its name, without a vendor before it, and without a date after it.
pub fn default_price(model: &str) -> Option<Price> {
    names_of(model).find_map(|name| listed(&name))
}

fn listed(name: &str) -> Option<Price> {
    if let Some((_, hour)) = SPEECH.iter().find(|(listed, _)| *listed == name) {
        return Some(Price { hour: micros(*hour), ..Price::default() });
    }
    let (_, input, cached, output) = TABLE.iter().find(|(listed, ..)| *listed == name)?;
    let write =
        CACHE_WRITES.iter().find(|(start, _)| name.starts_with(start)).map_or(1.0, |(_, times)| *times);
    Some(Price {
        input: micros(*input),
        cached_input: micros(*cached),
        cache_write: micros(*input * write),
        output: micros(*output),
        ..Price::default()
    })
}

fn micros(dollars: f64) -> u64 {
    super::shapes::micros(dollars - 1e-9).unwrap_or(0)
}

/// The spellings under which a model may be listed, the most exact first.
fn names_of(model: &str) -> impl Iterator<Item = String> {
    let whole = model.trim().to_ascii_lowercase();
    let last = whole.rsplit('/').next().unwrap_or_default().to_owned();
    let bare = last.split(':').next().unwrap_or_default().to_owned();
    let undated = without_date(&bare).to_owned();
    let mut names = vec![whole, last, bare, undated];
    names.dedup();
    names.into_iter()
}

/// A name without `-2026-08-07`, `-20260807`, `-latest` or `-preview` at its end.
fn without_date(name: &str) -> &str {
    let name = ["-latest", "-preview"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let fits = |tail: &str, shape: &str| {
        tail.len() == shape.len()
            && tail
                .bytes()
                .zip(shape.bytes())
                .all(|(byte, shape)| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape })
    };
    let cut = |shape: &str| {
        let at = name.len().checked_sub(shape.len())?;
        name.get(at..).filter(|tail| fits(tail, shape)).and_then(|_| name.get(..at))
    };
    cut("-0000-00-00").or_else(|| cut("-00000000")).unwrap_or(name)
}

/// The operator's prices before the table's.
#[derive(Clone, Debug, Default)]
pub struct PriceList {
    overrides: BTreeMap<String, Price>,
}

impl PriceList {
    /// By the name of the model; `*` is for all others.
    pub fn new(overrides: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self {
            overrides: overrides
                .into_iter()
                .map(|(name, price)| (name.to_ascii_lowercase(), price))
                .collect(),
        }
    }

    /// The price of a model; `None` where it is unknown. A model on this machine or in its network costs nothing.
    pub fn price_of(&self, model: &str, local: bool) -> Option<Price> {
        let written = names_of(model).find_map(|name| self.overrides.get(&name).copied());
        let written = written.or_else(|| self.overrides.get("*").copied());
        written.or_else(|| if local { Some(Price::default()) } else { default_price(model) })
    }
}

/// The cost of a call in millionths of a US dollar, rounded up.
pub fn cost_of(price: &Price, usage: &Usage) -> u64 {
    let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
    let parts = [
        (fresh, price.input),
        (usage.cached, price.cached_input),
        (usage.cache_write, price.cache_write),
        (usage.output, price.output),
    ];
    per_million(&parts).saturating_add(price.per_call)
}

/// The cost of speech in millionths of a US dollar, rounded up.
pub fn cost_of_speech(price: &Price, sound_ms: u64, chars: u64) -> u64 {
    let sound = u128::from(sound_ms).saturating_mul(u128::from(price.hour)).div_ceil(3_600_000);
    u64::try_from(sound).unwrap_or(u64::MAX).saturating_add(per_million(&[(chars, price.characters)]))
}

fn per_million(parts: &[(u64, u64)]) -> u64 {
    let sum: u128 =
        parts.iter().map(|(count, price)| u128::from(*count).saturating_mul(u128::from(*price))).sum();
    u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_without_vendor_date_and_variant() {
        let plain = default_price("gpt-5-mini").unwrap();
        for name in
            ["openai/gpt-5-mini", "gpt-5-mini-2025-08-07", "GPT-5-mini", "openrouter/openai/gpt-5-mini:nitro"]
        {
            assert_eq!(default_price(name), Some(plain), "{name}");
        }
        assert_eq!(default_price("claude-haiku-4-5-20251001").unwrap().input, 1_000_000);
        for name in ["gpt-5-mini-pro", "my-model", "", "2026-08-07"] {
            assert_eq!(default_price(name), None, "{name}");
        }
    }

    #[test]
    fn cached_input_written_input_and_output_have_prices_of_their_own() {
        let price = default_price("gpt-6-luna").unwrap();
        assert_eq!(
            price,
            Price {
                input: 100_000,
                cached_input: 10_000,
                cache_write: 200_000,
                output: 500_000,
                ..Price::default()
            }
        );
        let usage =
            Usage { input: 10_000, cached: 6_000, cache_write: 3_000, output: 2_000, ..Usage::default() };
        // 1,000 × 0.10 + 6,000 × 0.01 + 3,000 × 0.20 + 2,000 × 0.50 dollars per million
        assert_eq!(cost_of(&price, &usage), 100 + 60 + 600 + 1_000);
        assert_eq!(cost_of(&price, &Usage { input: 1, ..Usage::default() }), 1, "rounded up, never free");
        assert_eq!(cost_of_speech(&default_price("whisper-large-v3-turbo").unwrap(), 90_000, 0), 1_000);
    }

    #[test]
    fn an_override_wins_and_local_models_are_free_and_others_unknown() {
        let own = Price { input: 7, ..Price::default() };
        let list = PriceList::new([("My-Model".to_owned(), own), ("gpt-5".to_owned(), own)]);
        assert_eq!(list.price_of("vendor/my-model", false), Some(own));
        assert_eq!(list.price_of("gpt-5-2025-08-07", false), Some(own));
        assert_eq!(list.price_of("gpt-6-luna", false), default_price("gpt-6-luna"));
        assert_eq!(list.price_of("llama", true), Some(Price::default()));
        assert_eq!(list.price_of("my-model", true), Some(own), "a local one as well");
        assert_eq!(list.price_of("llama", false), None);
        assert_eq!(PriceList::new([("*".to_owned(), own)]).price_of("llama", false), Some(own));
    }

    #[test]
    fn the_table_is_dated_and_has_no_model_twice() {
        assert!(PRICES_AS_OF.parse::<jiff::civil::Date>().is_ok());
        let mut names: Vec<_> = TABLE.iter().map(|row| row.0).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
        assert!(TABLE.iter().all(|(_, input, cached, output)| cached <= input && input < output));
    }
}
