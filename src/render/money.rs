//! Sums of money and tokens for people: never more exact than they are, and an unknown price is never shown as nothing.

use crate::domain::{Currency, Footer, Language};
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
    pub fn cost(&self, currency: &Currency, language: Language) -> String {
        let (amount, name) = (currency.show(self.cost), currency.name.as_str());
        match (self.unpriced, self.about) {
            (true, _) if self.cost == 0 => words::price_unknown(language).to_owned(),
            (true, _) => words::at_least(&amount, name, language),
            (false, true) => words::about(&amount, name, language),
            (false, false) => words::cost(&amount, name, language),
        }
    }

    /// Cost, calls and tokens.
    pub fn say(&self, currency: &Currency, language: Language) -> String {
        let mut parts = vec![self.cost(currency, language)];
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
    pub fn footer(&self, footer: Footer, currency: &Currency, language: Language) -> Option<String> {
        match footer {
            Footer::Off => None,
            Footer::Tokens => Some(self.tokens(language)),
            Footer::Cost => Some(self.cost(currency, language)),
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
        let usd = Currency::default();
        let yuan = Currency { name: "CNY".to_owned(), per_dollar: 7_200_000 };
        assert_eq!(spent.cost(&yuan, Language::En), "10.80 CNY");
        assert_eq!(
            spent.say(&usd, Language::En),
            "1.50 USD · 2 calls · 1000 tokens in, 20 out · 40% from the cache"
        );
        assert_eq!(Spent { about: true, ..spent }.cost(&usd, Language::En), "about 1.50 USD");
        assert_eq!(Spent { unpriced: true, cost: 0, ..spent }.cost(&usd, Language::En), "price unknown");
        assert_eq!(
            Spent { unpriced: true, ..spent }.cost(&usd, Language::Zh),
            "至少 1.50 USD（部分价格未知）"
        );
        assert_eq!(Spent::default().say(&usd, Language::Zh), "0.00 USD");
    }
}
