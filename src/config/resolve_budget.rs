//! Makes the settings of the budget from a checked file. Pure.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use super::file::{BudgetFile, PriceFile, TokenCapsFile};
use super::formats;
use super::problem::ConfigFault;
use super::resolve::Faults;
use super::settings::{BudgetSettings, Provider};
use crate::domain::{BudgetRules, Caps, Currency, OnLimit, Price, time_zone};

/// What a turn may spend where no cap is set, in millionths of a US dollar.
const DEFAULT_TURN: u64 = 2_000_000;
/// What owners are told of once a day where the day has no cap.
const NOTABLE_DAY: u64 = 5_000_000;
/// What a turn may use of models without a price where no cap is set, in tokens.
const UNPRICED_TURN: u64 = 2_000_000;
/// What owners are told of once a day where tokens of models without a price have no cap per day.
const NOTABLE_UNPRICED: u64 = 5_000_000;
/// An entry of `budget.exempt`.
pub(super) const OWNERS: &str = "owners";

pub(super) fn budget(
    file: BudgetFile,
    zone: &TimeZone,
    platforms: &[&str],
    faults: &mut Faults,
) -> BudgetSettings {
    let dollar = Currency::default();
    let foreign = |name: &str| !name.trim().eq_ignore_ascii_case(&dollar.name);
    // Without a rate every amount would be taken for US dollars.
    if file.per_dollar.is_none() && foreign(&file.currency) {
        faults.push(("budget.currency".to_owned(), ConfigFault::CurrencyWithoutRate(file.currency.clone())));
    }
    let per_dollar = file.per_dollar.map_or(dollar.per_dollar, micros).max(1);
    let currency = Currency { name: file.currency, per_dollar };
    let dollars = |amount: f64| currency.to_dollars(micros(amount));
    let mut money = Caps {
        turn: file.per_turn.map(dollars),
        thread_day: file.per_thread_day.map(dollars),
        user_day: file.per_user_day.map(dollars),
        task_day: file.per_task_day.map(dollars),
        day: file.day.map(dollars),
        month: file.month.map(dollars),
    };
    let TokenCapsFile { day, month, per_turn, per_thread_day, per_user_day, per_task_day } = file.tokens;
    let tokens = Caps {
        turn: per_turn,
        thread_day: per_thread_day,
        user_day: per_user_day,
        task_day: per_task_day,
        day,
        month,
    };
    let uncapped = money.is_empty() && tokens.is_empty();
    if uncapped {
        money.turn = Some(DEFAULT_TURN);
    }
    let mut exempt = BTreeSet::new();
    for (index, text) in file.exempt.iter().enumerate().filter(|(_, text)| *text != OWNERS) {
        match formats::author(text, platforms) {
            Ok(person) => drop(exempt.insert(person)),
            Err(fault) => faults.push((format!("budget.exempt[{index}]"), fault)),
        }
    }
    let mut prices = Vec::new();
    for (model, written) in &file.prices {
        let own = written.currency.as_deref().unwrap_or(&currency.name);
        let of_price = if own.trim().eq_ignore_ascii_case(&currency.name) {
            &currency
        } else if !foreign(own) {
            &dollar
        } else {
            let choices = vec![currency.name.clone(), dollar.name.clone()];
            let fault = ConfigFault::BadChoice { found: own.to_owned(), choices, meant: None };
            faults.push((format!("budget.prices.{model}.currency"), fault));
            continue;
        };
        prices.push((model.clone(), price(written, of_price)));
    }
    let mut warn_at: Vec<u64> =
        file.warn_at.into_iter().map(thousandths).filter(|share| *share > 0).collect();
    warn_at.sort_unstable();
    warn_at.dedup();
    BudgetSettings {
        footer: file.footer,
        prices: prices.into_iter().collect(),
        zone: file.timezone.as_deref().and_then(time_zone).unwrap_or_else(|| zone.clone()),
        rules: BudgetRules {
            notable_day: NOTABLE_DAY,
            notable_unpriced: NOTABLE_UNPRICED,
            unpriced_turn: uncapped.then_some(UNPRICED_TURN),
            money,
            tokens,
            warn_at,
            on_limit: file.on_limit,
            unknown_price: file.unknown_price,
            owners_exempt: file.exempt.iter().any(|text| text == OWNERS),
            exempt,
            helpers_share: thousandths(file.helpers_share),
            currency,
        },
    }
}

/// Fallbacks are called at caps only where that is what happens there.
pub(super) fn allow_at_caps(fallbacks: &mut [Provider], on_limit: OnLimit) {
    for fallback in fallbacks {
        if let Provider::OpenAi(endpoint) = fallback {
            endpoint.at_caps &= on_limit == OnLimit::Fallback;
        }
    }
}

/// A price in millionths of a US dollar.
fn price(file: &PriceFile, currency: &Currency) -> Price {
    let dollars = |amount: f64| currency.to_dollars(micros(amount));
    Price {
        input: dollars(file.input),
        cached_input: dollars(file.cached_input.unwrap_or(file.input)),
        cache_write: dollars(file.cache_write.unwrap_or(file.input)),
        output: dollars(file.output),
        per_call: dollars(file.per_call),
        characters: dollars(file.characters),
        hour: dollars(file.hour),
    }
}

/// Millionths of an amount.
fn micros(amount: f64) -> u64 {
    whole(amount * 1e6)
}

fn thousandths(share: f64) -> u64 {
    whole(share * 1e3)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of whole numbers"
)]
fn whole(number: f64) -> u64 {
    number.round().clamp(0.0, 1e15) as u64
}
