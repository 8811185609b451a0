//! Services beside the calls of models, such as speech: whether they may be used, and what they used.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::UsageMeter;
use super::caps::caps_of;
use super::meter::Inner;
use super::prices::{cost_of, cost_of_speech};
use super::shapes::{host_of, is_local};
use crate::domain::{CapUnit, EntryKind, Payer, Shortage, UsageEntry, UsageSource};
use crate::ports::{MeterError, MeteredService, entry_line};

impl UsageMeter {
    /// Refuses a service while calls are stopped, and where a cap of money is used up.
    pub(super) async fn admits_service(&self, payer: &Payer) -> Result<(), MeterError> {
        self.load().await.map_err(|error| MeterError::Storage(error.to_string()))?;
        if self.stopped().load(Ordering::Acquire) {
            return Err(MeterError::OverBudget(Box::new(Shortage::Stopped)));
        }
        let rules = &self.parts().rules;
        let caps = caps_of(rules, payer);
        let (book, now) = (self.book(), self.now());
        for cap in caps.iter().filter(|(key, _)| key.unit == CapUnit::Money) {
            let state = book.state_of(cap, now);
            // What calls in flight reserve they seldom use.
            if state.limit.is_some_and(|limit| state.used >= limit) {
                let currency = rules.currency.clone();
                return Err(MeterError::OverBudget(Box::new(Shortage::Cap { state, needed: 0, currency })));
            }
        }
        Ok(())
    }
}

impl Inner {
    /// Records what waits to be recorded.
    pub(super) fn record_early(&self) {
        let early = std::mem::take(&mut *self.early.lock().unwrap_or_else(PoisonError::into_inner));
        early.iter().for_each(|service| self.record(service));
    }

    fn record(&self, service: &MeteredService) {
        let host = host_of(&service.provider);
        // A program on this machine has no host.
        let local = host.is_empty() || is_local(&host);
        let price =
            self.parts.prices.price_of(&service.model, local, service.usage.map_or(0, |usage| usage.input));
        let at = self.parts.clock.now();
        let mut entry = UsageEntry::new(EntryKind::Settle, self.parts.ids.unique(), at, &service.payer);
        entry.provider = host.as_str().into();
        entry.model = service.model.as_str().into();
        if let Some(usage) = &service.usage {
            entry.count(usage);
        }
        entry.sound_ms = service.sound_ms;
        entry.chars = service.chars;
        entry.error = service.error;
        entry.ms = service.ms;
        entry.price = price;
        let stated = service.usage.and_then(|usage| usage.cost);
        entry.cost = stated.or_else(|| {
            let price = price?;
            let tokens = service.usage.map_or(price.per_call, |usage| cost_of(&price, &usage));
            Some(tokens.saturating_add(cost_of_speech(&price, service.sound_ms, service.chars)))
        });
        entry.source = match stated {
            _ if service.uncertain => UsageSource::Uncertain,
            Some(_) => UsageSource::GatewayCost,
            None => UsageSource::Reported,
        };
        self.parts.metrics.llm.count(&entry);
        let line = entry_line(&entry);
        let mut book = self.book();
        book.take(entry);
        self.parts.ledger.record(at, line);
        drop(book);
        self.counted();
    }
}
