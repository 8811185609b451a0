//! What tokens cost: the table, overrides of the operator, and the cost of a call. Pure.

use std::collections::BTreeMap;

use super::price_table::{CACHE_WRITES, EMBEDDINGS, HEARING, LONG_PROMPTS, MODELS, SPEAKING};
use crate::domain::{Price, Usage};

/// The price of a model in the table for a short prompt: by its name, without a vendor before it, and without a date
/// after it.
pub fn default_price(model: &str) -> Option<Price> {
    table_price(model, 0)
}

/// The price of a call with a prompt of so many tokens.
fn table_price(model: &str, input: u64) -> Option<Price> {
    names_of(model).find_map(|name| listed(&name, input))
}

fn listed(name: &str, prompt: u64) -> Option<Price> {
    let of = |table: &[(&str, f64)]| {
        table.iter().find(|(listed, _)| *listed == name).map(|(_, dollars)| micros(*dollars))
    };
    if let Some(hour) = of(HEARING) {
        return Some(Price { hour, ..Price::default() });
    }
    if let Some(characters) = of(SPEAKING) {
        return Some(Price { characters, ..Price::default() });
    }
    if let Some(input) = of(EMBEDDINGS) {
        return Some(Price { input, cached_input: input, cache_write: input, ..Price::default() });
    }
    let (_, input, cached, output) = MODELS.iter().find(|(listed, ..)| *listed == name)?;
    let write =
        CACHE_WRITES.iter().find(|(start, _)| name.starts_with(start)).map_or(1.0, |(_, times)| *times);
    let long = LONG_PROMPTS.iter().find(|(start, ..)| name.starts_with(start));
    let (more_in, more_out) = match long {
        Some((_, longest, more_in, more_out)) if prompt > *longest => (*more_in, *more_out),
        _ => (1.0, 1.0),
    };
    Some(Price {
        input: micros(*input * more_in),
        cached_input: micros(*cached * more_in),
        cache_write: micros(*input * write * more_in),
        output: micros(*output * more_out),
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

    /// The price of a call of a model with a prompt of so many tokens; `None` where it is unknown. A model on this machine
    /// or in its network costs nothing.
    pub fn price_of(&self, model: &str, local: bool, input: u64) -> Option<Price> {
        let written = names_of(model).find_map(|name| self.overrides.get(&name).copied());
        let written = written.or_else(|| self.overrides.get("*").copied());
        written.or_else(|| if local { Some(Price::default()) } else { table_price(model, input) })
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
        assert_eq!(list.price_of("vendor/my-model", false, 0), Some(own));
        assert_eq!(list.price_of("gpt-5-2025-08-07", false, 0), Some(own));
        assert_eq!(list.price_of("gpt-6-luna", false, 0), default_price("gpt-6-luna"));
        assert_eq!(list.price_of("llama", true, 0), Some(Price::default()));
        assert_eq!(list.price_of("my-model", true, 0), Some(own), "a local one as well");
        assert_eq!(list.price_of("llama", false, 0), None);
        assert_eq!(PriceList::new([("*".to_owned(), own)]).price_of("llama", false, 0), Some(own));
    }

    #[test]
    fn a_long_prompt_costs_more_as_a_whole_unless_the_operator_says_otherwise() {
        let own = Price { input: 7, ..Price::default() };
        let list = PriceList::new([("mine".to_owned(), own)]);
        let price = |model: &str, input: u64| list.price_of(model, false, input).unwrap();
        for model in ["gpt-5.6-luna", "openai/gpt-5.6-luna-2026-07-30"] {
            assert_eq!(price(model, 272_000), default_price("gpt-5.6-luna").unwrap());
            let long = Price {
                input: 400_000,
                cached_input: 40_000,
                cache_write: 800_000,
                output: 1_800_000,
                ..Price::default()
            };
            assert_eq!(price(model, 272_001), long, "{model}");
        }
        assert_eq!(price("qwen-plus", 256_001).output, 3_600_000);
        assert_eq!(price("gpt-5.4-mini", 300_000), default_price("gpt-5.4-mini").unwrap());
        assert_eq!(price("mine", 1_000_000), own);
        assert_eq!(list.price_of("gpt-6-luna", true, 1_000_000), Some(Price::default()));
    }

    #[test]
    fn the_table_is_dated_and_has_no_model_twice() {
        assert!(crate::usage::PRICES_AS_OF.parse::<jiff::civil::Date>().is_ok());
        let others = [EMBEDDINGS, HEARING, SPEAKING].concat();
        let mut names: Vec<_> =
            MODELS.iter().map(|row| row.0).chain(others.iter().map(|row| row.0)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(MODELS.iter().all(|(_, input, cached, output)| cached <= input && input <= output));
        let is_listed = |start: &str| MODELS.iter().any(|(name, ..)| name.starts_with(start));
        assert!(LONG_PROMPTS.iter().all(|(start, ..)| is_listed(start)), "a long prompt of no model");
    }
}
