//! Ends calls: what the server counted, or else what is estimated, becomes the second line of the call in the ledger.

use std::sync::PoisonError;

use super::meter::Inner;
use super::prices::cost_of;
use crate::domain::{EntryKind, ErrorKind, Price, Usage, UsageEntry, UsageEvent, UsageSource};
use crate::ports::{CallEnd, Reach, entry_line};

/// Counts of a server that are this many times the estimate are suspect.
const ABSURD: u64 = 10;
/// Below so many tokens no count is suspect.
const SMALL: u64 = 2_000;
impl Inner {
    fn note_event(&self, entry: &UsageEntry) {
        let event = match (entry.error, entry.fallback) {
            (Some(ErrorKind::Quota), _) => UsageEvent::AccountEmpty { provider: entry.provider.clone() },
            (None, Some(ErrorKind::Budget)) => UsageEvent::StoodIn { model: entry.model.clone() },
            _ => return,
        };
        self.events.lock().unwrap_or_else(PoisonError::into_inner).insert(event);
    }

    /// Ends a call: what the server counted, or else what is estimated.
    pub(super) fn settle(&self, id: &str, end: &CallEnd) -> Usage {
        let mut book = self.book();
        let Some(reserved) = book.reservation(id).cloned() else { return end.usage.unwrap_or_default() };
        let mut entry = UsageEntry {
            t: EntryKind::Settle,
            at: self.parts.clock.now(),
            error: end.error,
            ms: end.ms,
            ..reserved
        };
        let estimate = entry.input;
        let (usage, source) = match (end.reach, end.usage) {
            (Reach::Unbilled, _) => (Usage::default(), UsageSource::Reported),
            // A prompt is never empty: a server that counts none counted the answer alone.
            (_, Some(usage)) if usage.input == 0 || usage.estimated => {
                let input = if usage.input == 0 { estimate } else { usage.input };
                (Usage { input, ..usage }, UsageSource::Estimated)
            }
            (_, Some(usage)) if usage.cost.is_some() => (usage, UsageSource::GatewayCost),
            (_, Some(usage)) => (usage, UsageSource::Reported),
            (Reach::Sent, None) => (Usage { input: estimate, ..Usage::default() }, UsageSource::Uncertain),
            (Reach::Answered, None) => {
                let usage = Usage { input: estimate, output: end.received, ..Usage::default() };
                (usage, UsageSource::Estimated)
            }
        };
        entry.count(&usage);
        entry.source = source;
        entry.price = self.price_at(&entry);
        // Reasoning need not be shown.
        let shown = usage.output.saturating_sub(usage.reasoning);
        entry.suspect = source != UsageSource::Uncertain
            && end.reach != Reach::Unbilled
            && (is_absurd(usage.input, estimate) || is_absurd(shown, end.received));
        if entry.suspect {
            tracing::warn!(model = %entry.model, input = usage.input, estimate, output = shown, received = end.received, "counts of the server do not fit the call");
        }
        entry.cost = match end.reach {
            Reach::Unbilled => Some(0),
            Reach::Sent | Reach::Answered => {
                usage.cost.or_else(|| entry.price.map(|price| cost_of(&price, &usage)))
            }
        };
        let (line, at, settled) = (entry_line(&entry), entry.at, entry.usage());
        self.parts.metrics.llm.count(&entry);
        if matches!(source, UsageSource::Reported | UsageSource::GatewayCost) && end.reach == Reach::Answered
        {
            self.proved.learn(&entry);
        }
        self.note_event(&entry);
        book.take(entry);
        // Under the lock, so that the lines are in the order of the sums.
        self.parts.ledger.record(at, line);
        drop(book);
        self.counted();
        settled
    }
}

impl Inner {
    /// The price of a call by the prompt that was counted, which may be longer or shorter than was estimated.
    fn price_at(&self, entry: &UsageEntry) -> Option<Price> {
        match entry.price {
            // Nobody but a local server is free.
            Some(free) if free == Price::default() => Some(free),
            _ => self.parts.prices.price_of(&entry.model, false, entry.input),
        }
    }
}

/// Whether a server's count is absurd beside the estimate.
const fn is_absurd(count: u64, estimate: u64) -> bool {
    count > SMALL && count / ABSURD > estimate
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::tz::TimeZone;
    use serde_json::Value;

    use super::*;
    use crate::domain::{BudgetRules, Payer, Purpose};
    use crate::metrics::Metrics;
    use crate::ports::{Meter as _, PlannedCall, RandomIds, SystemClock};
    use crate::store::memory::{InMemoryNotes, InMemoryUsage};
    use crate::usage::{MeterParts, PriceList, Sums, UsageMeter};

    const PRICE: Price = Price {
        input: 1_000_000,
        cached_input: 100_000,
        cache_write: 1_000_000,
        output: 2_000_000,
        per_call: 0,
        characters: 0,
        hour: 0,
    };

    fn meter(ledger: &InMemoryUsage, notes: &InMemoryNotes) -> UsageMeter {
        UsageMeter::new(MeterParts {
            ledger: Arc::new(ledger.clone()),
            notes: Arc::new(notes.clone()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            metrics: Arc::new(Metrics::default()),
            prices: PriceList::new([("m".to_owned(), PRICE)]),
            rules: BudgetRules::default(),
            zone: TimeZone::UTC,
        })
    }

    fn call(model: &str) -> PlannedCall {
        PlannedCall {
            payer: Payer { thread: "web:chat:a".parse().ok(), purpose: Purpose::Turn, ..Payer::default() },
            provider: "example.org".to_owned(),
            model: model.to_owned(),
            input: 1_000,
            max_output: Some(500),
            local: false,
            fallback: None,
        }
    }

    fn end(reach: Reach, usage: Option<Usage>) -> CallEnd {
        CallEnd { reach, usage, received: 30, error: None, ms: 5 }
    }

    fn today(meter: &UsageMeter) -> Sums {
        let now = meter.now();
        meter.with_book(|book| book.day(book.day_of(now)).map(|day| day.all).unwrap_or_default())
    }

    #[tokio::test]
    async fn each_end_of_a_call_has_its_count_and_its_source() {
        let ledger = InMemoryUsage::default();
        let meter = meter(&ledger, &InMemoryNotes::default());
        let reported = Usage { input: 900, cached: 400, output: 10, ..Usage::default() };
        for (ended, model, tokens, cost, source) in [
            (end(Reach::Answered, Some(reported)), "m", (900, 10), Some(500 + 40 + 20), "reported"),
            (
                end(Reach::Answered, Some(Usage { cost: Some(7), ..reported })),
                "m",
                (900, 10),
                Some(7),
                "gateway-cost",
            ),
            (end(Reach::Answered, None), "m", (1_000, 30), Some(1_060), "estimated"),
            (end(Reach::Sent, None), "m", (1_000, 0), Some(1_000), "uncertain"),
            (end(Reach::Unbilled, None), "m", (0, 0), Some(0), "reported"),
            (end(Reach::Answered, Some(reported)), "unknown", (900, 10), None, "reported"),
        ] {
            let reserved = meter.reserve(call(model)).await.unwrap();
            let settled = meter.settle(&reserved.id, ended);
            assert_eq!(((settled.input, settled.output), settled.cost), (tokens, cost), "{source}");
            let lines = ledger.lines();
            let line: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
            assert_eq!(line["source"], source);
            assert_eq!(line["cost"], cost.map_or(Value::Null, Into::into));
        }
        let sums = today(&meter);
        assert_eq!(
            (sums.calls, sums.cost, sums.estimated, sums.unknown_price),
            (6, 560 + 7 + 1_060 + 1_000, 2, 1)
        );
        assert_eq!(ledger.lines().len(), 12, "two lines for each call");
    }

    #[tokio::test]
    async fn absurd_counts_are_marked_and_a_call_is_settled_once() {
        let ledger = InMemoryUsage::default();
        let meter = meter(&ledger, &InMemoryNotes::default());
        let reserved = meter.reserve(call("m")).await.unwrap();
        let absurd = Usage { input: 50_000_000, output: 1, ..Usage::default() };
        meter.settle(&reserved.id, end(Reach::Answered, Some(absurd)));
        meter.settle(&reserved.id, end(Reach::Answered, Some(absurd)));
        let lines = ledger.lines();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains("\"suspect\":true"), "{}", lines[1]);
    }

    #[tokio::test]
    async fn a_prompt_that_was_longer_than_estimated_is_paid_at_the_price_of_long_ones() {
        let ledger = InMemoryUsage::default();
        let meter = meter(&ledger, &InMemoryNotes::default());
        let mut prices = Vec::new();
        for (estimated, counted) in [(1_000, 900), (1_000, 300_000), (300_000, 200_000), (300_000, 280_000)] {
            let call = PlannedCall { input: estimated, ..call("gpt-5.6-luna") };
            let reserved = meter.reserve(call).await.unwrap();
            let usage = Usage { input: counted, output: 10, ..Usage::default() };
            let settled = meter.settle(&reserved.id, end(Reach::Answered, Some(usage)));
            let of = |line: &String| serde_json::from_str::<Value>(line).unwrap()["price"]["input"].clone();
            let lines: Vec<Value> = ledger.lines().iter().rev().take(2).map(of).collect();
            prices.push((lines[1].as_u64().unwrap(), lines[0].as_u64().unwrap(), settled.cost.unwrap()));
        }
        let expected = [
            (200_000, 200_000, 192),
            (200_000, 400_000, 120_018),
            (400_000, 200_000, 40_012),
            (400_000, 400_000, 112_018),
        ];
        assert_eq!(prices, expected);
    }
}
