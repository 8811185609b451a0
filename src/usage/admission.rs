//! Admits calls: whether a call fits into all caps that apply to it, and its reservation, under one lock.

use std::sync::atomic::Ordering;

use super::UsageMeter;
use super::caps::{caps_of, dearest, unpriced_cap};
use super::prices::cost_of;
use crate::domain::{CapState, CapUnit, EntryKind, Shortage, Timestamp, Usage, UsageEntry, UsageSource};
use crate::ports::{PlannedCall, entry_line};

/// The tokens of an answer that is reserved for a model without a limit.
const ASSUMED_OUTPUT: u32 = 16_384;

/// A call that was reserved, and its line of the ledger.
pub(super) struct Admitted {
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) line: String,
}

/// The most that a call may cost.
fn ceiling(entry: &UsageEntry) -> Option<u64> {
    entry.price.map(|price| cost_of(&dearest(price), &entry.usage()))
}

/// Whether a call would fit if no others were in flight.
fn waits_for_others(shortage: &Shortage) -> bool {
    let Shortage::Cap { state, needed, .. } = shortage else { return false };
    let alone = CapState { reserved: 0, ..state.clone() };
    state.reserved > 0 && alone.left().is_none_or(|left| *needed <= left)
}

impl UsageMeter {
    /// Reserves a call that fits into all caps, perhaps with a shorter answer. One that would fit if calls in flight did
    /// not reserve so much waits for their end.
    pub(super) async fn admit(&self, call: &PlannedCall) -> Result<(Admitted, Option<u32>), Box<Shortage>> {
        let mut spending = self.spending_counter().subscribe();
        loop {
            spending.mark_unchanged();
            match self.try_admit(call) {
                Ok(admitted) => return Ok(admitted),
                Err(shortage) if waits_for_others(&shortage) => {
                    // The sender lives as long as the meter.
                    if spending.changed().await.is_err() {
                        return Err(shortage);
                    }
                }
                Err(shortage) => return Err(shortage),
            }
        }
    }

    fn try_admit(&self, call: &PlannedCall) -> Result<(Admitted, Option<u32>), Box<Shortage>> {
        if self.stopped().load(Ordering::Acquire) {
            return Err(Box::new(Shortage::Stopped));
        }
        let mut entry = self.planned(call);
        let mut caps = caps_of(&self.parts().rules, &call.payer);
        if entry.price.is_none() {
            caps.extend(unpriced_cap(&self.parts().rules, &call.payer));
        }
        let mut book = self.book();
        let output = book.fit(&entry, &caps, &self.parts().rules, entry.at)?;
        let paid = entry.price.is_some_and(|price| price.output > 0);
        let limited = caps.iter().any(|(key, _)| key.unit == CapUnit::Tokens || paid);
        entry.output = output;
        entry.cost = ceiling(&entry);
        let admitted = Admitted { id: entry.id.clone(), at: entry.at, line: entry_line(&entry) };
        book.take(entry);
        let max_output = if limited { u32::try_from(output).ok() } else { call.max_output };
        Ok((admitted, max_output))
    }

    fn planned(&self, call: &PlannedCall) -> UsageEntry {
        // The count may reach a higher price which the estimate is a little short of.
        let prompt = call.input.saturating_add(call.input / 10);
        let price = self.parts().prices.price_of(&call.model, call.local, prompt);
        let output = u64::from(call.max_output.unwrap_or(ASSUMED_OUTPUT));
        let cached = self.proved().cached(call, self.now()).min(call.input);
        let most = Usage { input: call.input, cached, output, ..Usage::default() };
        let mut entry =
            UsageEntry::new(EntryKind::Reserve, self.parts().ids.unique(), self.now(), &call.payer);
        entry.count(&most);
        entry.provider = call.provider.as_str().into();
        entry.model = call.model.as_str().into();
        entry.price = price;
        entry.cost = ceiling(&entry);
        entry.source = UsageSource::Uncertain;
        entry.fallback = call.fallback;
        entry
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use crate::domain::{BudgetRules, CapUnit, Caps, Payer, Price, Purpose, Shortage, Usage};
    use crate::metrics::Metrics;
    use crate::ports::{
        Budget, CallEnd, Meter, MeterError, PlannedCall, Raise, RandomIds, Reach, SystemClock,
    };
    use crate::store::memory::{InMemoryNotes, InMemoryUsage};
    use crate::usage::{MeterParts, PriceList, UsageMeter};

    const PRICE: Price = Price {
        input: 1_000_000,
        cached_input: 100_000,
        cache_write: 1_000_000,
        output: 2_000_000,
        per_call: 0,
        characters: 0,
        hour: 0,
    };

    fn meter(rules: BudgetRules) -> UsageMeter {
        UsageMeter::new(MeterParts {
            ledger: Arc::new(InMemoryUsage::default()),
            notes: Arc::new(InMemoryNotes::default()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            metrics: Arc::new(Metrics::default()),
            prices: PriceList::new([("m".to_owned(), PRICE)]),
            rules,
            zone: TimeZone::UTC,
        })
    }

    /// A call of a turn: whose, how large, and how far its estimate is off, in percent of the estimate.
    #[derive(Clone, Debug)]
    struct Planned {
        person: usize,
        turn: usize,
        input: u64,
        output: u32,
        used: u64,
        waits: usize,
    }

    fn planned() -> impl Strategy<Value = Planned> {
        (0..3usize, 0..4usize, 1..3_000u64, 1..4_000u32, 0..140u64, 0..5usize).prop_map(
            |(person, turn, input, output, used, waits)| Planned { person, turn, input, output, used, waits },
        )
    }

    fn call(planned: &Planned) -> PlannedCall {
        PlannedCall {
            payer: Payer {
                thread: format!("web:chat:{}", planned.turn % 2).parse().ok(),
                turn: format!("turn-{}", planned.turn).parse().ok(),
                author: format!("web:user:{}", planned.person).parse().ok(),
                purpose: Purpose::Turn,
                ..Payer::default()
            },
            provider: "example.org".to_owned(),
            model: "m".to_owned(),
            input: planned.input,
            max_output: Some(planned.output),
            local: false,
            fallback: None,
        }
    }

    /// What is settled and reserved exceeds no cap by more than the estimates were off.
    fn within(meter: &UsageMeter, payer: &Payer, over: &(AtomicU64, AtomicU64)) {
        for state in meter.remaining(payer) {
            let off = match state.key.unit {
                CapUnit::Money => over.0.load(Ordering::Relaxed),
                CapUnit::Tokens => over.1.load(Ordering::Relaxed),
            };
            assert!(state.used + state.reserved <= state.limit.unwrap() + off, "{state:?} {off}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn parallel_turns_exceed_a_cap_by_no_more_than_their_estimates_are_off(
            turns in prop::collection::vec(prop::collection::vec(planned(), 1..5), 1..8),
            day in 1_000u64..40_000,
            turn in 1_000u64..20_000,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let result: Result<(), TestCaseError> = runtime.block_on(async {
                let rules = BudgetRules {
                    money: Caps { day: Some(day), turn: Some(turn), user_day: Some(day / 2), ..Caps::NONE },
                    tokens: Caps { thread_day: Some(day / 2), ..Caps::NONE },
                    ..BudgetRules::default()
                };
                let meter = meter(rules);
                let mut set = tokio::task::JoinSet::new();
                // By how much calls used more than was reserved, in money and tokens.
                let over = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
                for calls in turns {
                    let (meter, over) = (meter.clone(), over.clone());
                    set.spawn(async move {
                        for planned in calls {
                            let call = call(&planned);
                            let payer = call.payer.clone();
                            let reserved = match meter.reserve(call).await {
                                Ok(reserved) => reserved,
                                Err(MeterError::OverBudget(shortage)) => {
                                    let cap = matches!(*shortage, Shortage::Cap { .. });
                                    assert!(cap, "{shortage:?}");
                                    continue;
                                }
                                Err(error) => panic!("{error}"),
                            };
                            for _ in 0..planned.waits {
                                tokio::task::yield_now().await;
                            }
                            let limit = u64::from(reserved.max_output.unwrap());
                            assert!(limit <= u64::from(planned.output));
                            let usage = Usage {
                                input: planned.input * planned.used / 100,
                                output: limit * planned.used / 100,
                                ..Usage::default()
                            };
                            let most = planned.input + 2 * limit;
                            let money = (usage.input + 2 * usage.output).saturating_sub(most);
                            let tokens = (usage.input + usage.output).saturating_sub(planned.input + limit);
                            over.0.fetch_add(money, Ordering::Relaxed);
                            over.1.fetch_add(tokens, Ordering::Relaxed);
                            within(&meter, &payer, &over);
                            let end = CallEnd {
                                reach: Reach::Answered, usage: Some(usage), received: 0, error: None, ms: 1,
                            };
                            meter.settle(&reserved.id, end);
                            within(&meter, &payer, &over);
                        }
                    });
                }
                while let Some(ended) = set.join_next().await {
                    ended.unwrap();
                }
                prop_assert!(meter.with_book(|book| book.open().count() == 0));
                Ok(())
            });
            result?;
        }
    }

    #[tokio::test]
    async fn a_call_waits_for_others_that_reserve_much_and_use_little() {
        let meter =
            meter(BudgetRules { money: Caps { day: Some(10_000), ..Caps::NONE }, ..BudgetRules::default() });
        let planned = Planned { person: 0, turn: 0, input: 1_000, output: 4_000, used: 0, waits: 0 };
        let first = meter.reserve(call(&planned)).await.unwrap();
        let mut second = tokio::task::JoinSet::new();
        second.spawn({
            let (meter, call) = (meter.clone(), call(&planned));
            async move { meter.reserve(call).await }
        });
        tokio::task::yield_now().await;
        assert!(second.try_join_next().is_none(), "9,000 of 10,000 are reserved");
        let usage = Usage { input: 1_000, output: 0, ..Usage::default() };
        let end = CallEnd { reach: Reach::Answered, usage: Some(usage), received: 0, error: None, ms: 1 };
        meter.settle(&first.id, end);
        let second = second.join_next().await.unwrap().unwrap();
        assert_eq!(second.unwrap().max_output, Some(4_000));
    }

    #[tokio::test]
    async fn the_same_raise_twice_is_one_grant_and_a_revoked_one_stops_the_next_call() {
        let meter =
            meter(BudgetRules { money: Caps { day: Some(1_000), ..Caps::NONE }, ..BudgetRules::default() });
        let planned = Planned { person: 0, turn: 0, input: 900, output: 500, used: 0, waits: 0 };
        let Err(MeterError::OverBudget(shortage)) = meter.reserve(call(&planned)).await else {
            panic!("it fits")
        };
        let Shortage::Cap { state, needed: 1_900, .. } = *shortage else { panic!("{shortage:?}") };
        let by: crate::domain::AuthorId = "web:user:ann".parse().unwrap();
        let raise = Raise {
            id: "apr_one".to_owned(),
            key: state.key.clone(),
            add: Some(5_000),
            until: state.ends,
            by: by.clone(),
        };
        let (one, two) = tokio::join!(meter.raise(raise.clone()), meter.raise(raise));
        assert_eq!(one.unwrap(), two.unwrap());
        assert_eq!(meter.grants().await.len(), 1);
        assert!(meter.reserve(call(&planned)).await.is_ok());
        assert_eq!(meter.revoke(1, by.clone()).await.unwrap().unwrap().id, "apr_one");
        assert_eq!(meter.revoke(1, by.clone()).await.unwrap(), None);
        assert!(meter.reserve(call(&planned)).await.is_err());
        meter.switch(true, by.clone()).await.unwrap();
        let stopped = meter.reserve(call(&planned)).await.unwrap_err();
        assert_eq!(stopped, MeterError::OverBudget(Box::new(Shortage::Stopped)));
        assert!(
            meter.notice("once".to_owned()).await.unwrap() && !meter.notice("once".to_owned()).await.unwrap()
        );
    }
}
