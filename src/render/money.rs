//! Sums of money and tokens for people: never more exact than they are, and an unknown price is never shown as nothing.

use crate::domain::{Footer, Language};
use crate::phrases::usage as words;

/// What calls used together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: u64,
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// In millionths of a US dollar.
    pub cost: u64,
    /// Whether any of it is estimated.
    pub about: bool,
    /// Whether the price of any call is unknown.
    pub unpriced: bool,
}

impl Spent {
    /// The cost alone.
    pub fn cost(&self, language: Language) -> String {
        let amount = short_dollars(self.cost);
        match (self.unpriced, self.about) {
            (true, _) if self.cost == 0 => words::price_unknown(language).to_owned(),
            (true, _) => words::at_least(&amount, language),
            (false, true) => words::about(&amount, language),
            (false, false) => words::cost(&amount, language),
        }
    }

    /// Cost, calls and tokens.
    pub fn say(&self, language: Language) -> String {
        let mut parts = vec![self.cost(language)];
        match self.calls {
            0 => return parts.remove(0),
            1 => parts.push(words::one_call(language).to_owned()),
            calls => parts.push(words::calls(calls, language)),
        }
        if self.input > 0 || self.output > 0 {
            parts.push(words::tokens(&short_tokens(self.input), &short_tokens(self.output), language));
        }
        if let Some(percent) =
            self.cached.saturating_mul(100).checked_div(self.input).filter(|part| *part > 0)
        {
            parts.push(words::cached(percent, language));
        }
        parts.join(" · ")
    }

    /// The line below an answer.
    pub fn footer(&self, footer: Footer, language: Language) -> Option<String> {
        match footer {
            Footer::Off => None,
            Footer::Tokens => Some(self.tokens(language)),
            Footer::Cost => Some(self.cost(language)),
        }
    }

    fn tokens(&self, language: Language) -> String {
        let (input, output) = (short_tokens(self.input), short_tokens(self.output));
        match self.about {
            true => words::footer_about_tokens(&input, &output, language),
            false => words::footer_tokens(&input, &output, language),
        }
    }
}

/// Millionths of a dollar as dollars with six digits.
pub fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Millionths of a dollar for people: two digits, more for small sums.
pub fn short_dollars(micros: u64) -> String {
    if micros == 0 || micros >= 10_000 {
        let cents = micros.saturating_add(5_000) / 10_000;
        return format!("{}.{:02}", cents / 100, cents % 100);
    }
    let text = dollars(micros);
    text.trim_end_matches('0').to_owned()
}

/// A count of tokens: exact below ten thousand, then in thousands or millions.
fn short_tokens(count: u64) -> String {
    let tenths = |unit: u64, sign: &str| {
        let tenths = count.saturating_add(unit / 20) / (unit / 10);
        format!("{}.{}{sign}", tenths / 10, tenths % 10)
    };
    match count {
        0..10_000 => count.to_string(),
        10_000..999_950 => tenths(1_000, "k"),
        _ => tenths(1_000_000, "M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums_are_not_shown_as_nothing() {
        for (micros, text) in
            [(0, "0.00"), (1, "0.000001"), (1_200, "0.0012"), (10_000, "0.01"), (1_234_567, "1.23")]
        {
            assert_eq!(short_dollars(micros), text);
        }
    }

    #[test]
    fn tokens_are_short_and_rounded() {
        for (count, text) in [
            (0, "0"),
            (9_999, "9999"),
            (10_000, "10.0k"),
            (12_345, "12.3k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
            (1_250_000, "1.3M"),
        ] {
            assert_eq!(short_tokens(count), text);
        }
    }

    #[test]
    fn estimates_and_unknown_prices_are_told() {
        let spent =
            Spent { calls: 2, input: 1_000, cached: 400, output: 20, cost: 1_500_000, ..Spent::default() };
        assert_eq!(
            spent.say(Language::En),
            "1.50 USD · 2 calls · 1000 tokens in, 20 out · 40% from the cache"
        );
        assert_eq!(Spent { about: true, ..spent }.cost(Language::En), "about 1.50 USD");
        assert_eq!(Spent { unpriced: true, cost: 0, ..spent }.cost(Language::En), "price unknown");
        assert_eq!(Spent { unpriced: true, ..spent }.cost(Language::Zh), "至少 1.50 USD（部分价格未知）");
        assert_eq!(Spent::default().say(Language::Zh), "0.00 USD");
    }
}
