//! Phrases spend caps for people.

use crate::domain::{BudgetGrant, CapState, CapUnit, Currency, Language, Shortage, grouped_digits};
use crate::phrases::budget as words;

/// A message about spend caps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetPhrase {
    /// How to use the command.
    Help,
    OwnersOnly,
    NowStopped,
    NowResumed,
    /// The switch could not be stored.
    NotWritten,
    NoCaps,
    /// The project has caps that owners alone see.
    ProjectCaps,
    /// What a question adds to its summary: the thread that asks, and for whom.
    Details {
        thread: String,
        author: String,
    },
    /// So many percent of a cap are used.
    Warning {
        state: CapState,
        percent: u64,
        currency: Currency,
    },
    /// A provider refuses calls because the account there is empty.
    AccountEmpty {
        provider: String,
    },
    /// A cheaper model answers because the first choice does not fit into a cap.
    StoodIn {
        model: String,
    },
    /// So many tokens were used today of models whose price is unknown, and the day has no cap of tokens.
    NotableUnpriced {
        tokens: u64,
    },
    /// So much was spent today, and the day has no cap.
    NotableDay {
        spent: u64,
        currency: Currency,
    },
}

impl BudgetPhrase {
    /// The text, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Help => words::help(language).to_owned(),
            Self::OwnersOnly => words::owners_only(language).to_owned(),
            Self::NowStopped => words::now_stopped(language).to_owned(),
            Self::NowResumed => words::now_resumed(language).to_owned(),
            Self::NotWritten => words::not_written(language).to_owned(),
            Self::ProjectCaps => words::project_caps(language).to_owned(),
            Self::NoCaps => words::no_caps(language).to_owned(),
            Self::Warning { state, percent, currency } => {
                let say = |number: u64| amount(state.key.unit, number, currency, language);
                let cap = words::cap(state.key.scope, language);
                words::warning(cap, *percent, &say(state.used), &say(state.limit.unwrap_or(0)), language)
            }
            Self::NotableDay { spent, currency } => {
                words::notable_day(&amount(CapUnit::Money, *spent, currency, language), language)
            }
            Self::AccountEmpty { provider } => words::account_empty(provider, language),
            Self::StoodIn { model } => words::stood_in(model, language),
            Self::NotableUnpriced { tokens } => words::notable_unpriced(&grouped_digits(*tokens), language),
            Self::Details { thread, author } => words::details(thread, author, language),
        }
    }
}

/// An amount of a cap, with its unit.
pub fn amount(unit: CapUnit, amount: u64, currency: &Currency, language: Language) -> String {
    match unit {
        CapUnit::Money => words::money(&currency.show(amount), &currency.name, language),
        CapUnit::Tokens => words::tokens(&grouped_digits(amount), language),
    }
}

/// Why a call does not fit.
pub fn shortage(shortage: &Shortage, language: Language) -> String {
    match shortage {
        Shortage::Stopped => words::stopped(language).to_owned(),
        Shortage::UnknownPrice { model } => words::unknown_price(model, language),
        Shortage::Cap { state, needed, currency } => {
            let say = |number: u64| amount(state.key.unit, number, currency, language);
            let used = state.used.saturating_add(state.reserved);
            let limit = state.limit.unwrap_or(u64::MAX);
            let cap = words::cap(state.key.scope, language);
            words::used_up(cap, &say(used), &say(limit), &say(*needed), language)
        }
    }
}

/// A cap and how much of it is used, as a line of a list.
pub fn cap_line(state: &CapState, currency: &Currency, language: Language) -> String {
    let say = |number: u64| amount(state.key.unit, number, currency, language);
    let cap = words::cap(state.key.scope, language);
    let used = say(state.used.saturating_add(state.reserved));
    match state.limit {
        Some(limit) => words::line(cap, &used, &say(limit), language),
        None => words::line_lifted(cap, &used, language),
    }
}

/// What a grant allows.
pub fn budget_grant(grant: &BudgetGrant, currency: &Currency, language: Language) -> String {
    let cap = words::cap(grant.key.scope, language);
    let more = match grant.add {
        Some(add) => words::grant_more(&amount(grant.key.unit, add, currency, language), language),
        None => words::grant_unlimited(language).to_owned(),
    };
    words::grant_summary(cap, &more, language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CapKey, CapScope, Timestamp};

    #[test]
    fn a_shortage_says_what_is_used_up_and_what_is_needed() {
        let state = |unit, limit, used| CapState {
            key: CapKey { scope: CapScope::Day, unit, of: None },
            limit: Some(limit),
            used,
            reserved: 0,
            ends: Timestamp::default(),
        };
        let currency = Currency::default();
        let money = Shortage::Cap {
            state: state(CapUnit::Money, 5_000_000, 4_970_000),
            needed: 120_000,
            currency: currency.clone(),
        };
        assert_eq!(
            shortage(&money, Language::En),
            "Today's budget is used up: 4.97 USD of 5.00 USD. The next step needs up to 0.12 USD."
        );
        let tokens =
            Shortage::Cap { state: state(CapUnit::Tokens, 1_000_000, 999_500), needed: 4_000, currency };
        assert_eq!(
            shortage(&tokens, Language::Zh),
            "今日预算已用完：已用 999,500 token，上限 1,000,000 token。下一步最多需要 4,000 token。"
        );
    }
}
