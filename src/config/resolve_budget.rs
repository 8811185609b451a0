//! Makes the settings of the budget from a checked file. Pure.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use super::file::{BudgetFile, PriceFile, TokenCapsFile};
use super::formats;
use super::resolve::Faults;
use super::settings::{BudgetSettings, Provider};
use crate::domain::{BudgetRules, Caps, Currency, OnLimit, Price, time_zone};

/// What a turn may spend where no cap is set, in millionths of a US dollar.
const DEFAULT_TURN: u64 = 2_000_000;
/// What owners are told of once a day where the day has no cap.
const NOTABLE_DAY: u64 = 5_000_000;
/// An entry of `budget.exempt`.
pub(super) const OWNERS: &str = "owners";

pub(super) fn budget(
    file: BudgetFile,
    zone: &TimeZone,
    platforms: &[&str],
    faults: &mut Faults,
) -> BudgetSettings {
    let currency = Currency { name: file.currency, per_dollar: micros(file.per_dollar).max(1) };
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
    if money.is_empty() && tokens.is_empty() {
        money.turn = Some(DEFAULT_TURN);
    }
    let mut exempt = BTreeSet::new();
    for (index, text) in file.exempt.iter().enumerate().filter(|(_, text)| *text != OWNERS) {
        match formats::author(text, platforms) {
            Ok(person) => drop(exempt.insert(person)),
            Err(fault) => faults.push((format!("budget.exempt[{index}]"), fault)),
        }
    }
    let mut warn_at: Vec<u64> =
        file.warn_at.into_iter().map(thousandths).filter(|share| *share > 0).collect();
    warn_at.sort_unstable();
    warn_at.dedup();
    BudgetSettings {
        footer: file.footer,
        prices: file
            .prices
            .iter()
            .map(|(model, written)| (model.clone(), price(written, &currency)))
            .collect(),
        zone: file.timezone.as_deref().and_then(time_zone).unwrap_or_else(|| zone.clone()),
        rules: BudgetRules {
            notable_day: NOTABLE_DAY,
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
