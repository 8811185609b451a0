//! The meter over restarts, clocks that jump and disks that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jiff::tz::TimeZone;
use tokio::sync::Notify;

use super::{MeterParts, PriceList, Sums, UsageMeter};
use crate::domain::{BudgetRules, CapKey, CapScope, CapUnit, Caps, Payer, Price, Purpose, Timestamp, Usage};
use crate::metrics::Metrics;
use crate::ports::{
    BoxFuture, Budget as _, CallEnd, Clock, KeyValueStore, LedgerMark, LedgerRead, LineVisitor, Meter as _,
    MeterError, MeteredService, PlannedCall, Raise, RandomIds, Reach, StoreError, UsageLedger,
};
use crate::store::files::UsageLedgerFiles;
use crate::store::memory::{InMemoryNotes, InMemoryUsage};

const PRICE: Price = Price {
    input: 1_000_000,
    cached_input: 100_000,
    cache_write: 2_000_000,
    output: 2_000_000,
    per_call: 0,
    characters: 0,
    hour: 0,
};

#[derive(Clone, Debug, Default)]
struct JumpingClock(Arc<AtomicI64>);

impl JumpingClock {
    fn set(&self, at: &str) {
        self.0.store(Timestamp::parse_rfc3339(at).unwrap().as_millis(), Ordering::Relaxed);
    }
}

impl Clock for JumpingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn meter(ledger: Arc<dyn UsageLedger>, notes: Arc<dyn KeyValueStore>, clock: &JumpingClock) -> UsageMeter {
    UsageMeter::new(MeterParts {
        ledger,
        notes,
        clock: Arc::new(clock.clone()),
        ids: Arc::new(RandomIds),
        metrics: Arc::new(Metrics::default()),
        prices: PriceList::new([("m".to_owned(), PRICE)]),
        rules: BudgetRules { money: Caps { day: Some(1_000_000), ..Caps::NONE }, ..BudgetRules::default() },
        zone: TimeZone::UTC,
    })
}

fn planned() -> PlannedCall {
    PlannedCall {
        payer: Payer {
            thread: "web:chat:a".parse().ok(),
            turn: "turn-1".parse().ok(),
            purpose: Purpose::Turn,
            ..Payer::default()
        },
        provider: "example.org".to_owned(),
        model: "m".to_owned(),
        input: 1_000,
        max_output: Some(500),
        local: false,
        fallback: None,
    }
}

/// A call of 1,000 tokens.
async fn spend(meter: &UsageMeter, cached: u64) {
    let reserved = meter.reserve(planned()).await.unwrap();
    let usage = Usage { input: 1_000, cached, ..Usage::default() };
    let end = CallEnd { reach: Reach::Answered, usage: Some(usage), received: 0, error: None, ms: 1 };
    meter.settle(&reserved.id, end);
}

fn today(meter: &UsageMeter) -> Sums {
    let now = meter.now();
    meter.with_book(|book| book.day(book.day_of(now)).map(|day| day.all).unwrap_or_default())
}

#[tokio::test]
async fn a_restart_counts_what_the_ledger_has_and_cut_off_calls_in_full() {
    let (ledger, notes, clock) =
        (InMemoryUsage::default(), Arc::new(InMemoryNotes::default()), JumpingClock::default());
    clock.set("2026-11-18T10:00:00Z");
    let first = meter(Arc::new(ledger.clone()), notes.clone(), &clock);
    spend(&first, 0).await;
    first.save().await;
    first.reserve(planned()).await.unwrap();
    ledger.record(first.now(), "{\"t\":\"settle\",\"id".to_owned());
    for _ in 0..2 {
        let next = meter(Arc::new(ledger.clone()), notes.clone(), &clock);
        next.load().await.unwrap();
        // The second call counts its whole reservation: a prompt that may be written to the cache, and 500 tokens.
        let sums = today(&next);
        assert_eq!((sums.calls, sums.cost, sums.uncertain), (2, 1_000 + 3_000, 3_000));
    }
    let rebuilt = meter(Arc::new(ledger), Arc::new(InMemoryNotes::default()), &clock);
    rebuilt.load().await.unwrap();
    assert_eq!(today(&rebuilt).cost, 4_000, "the sums are only a cache");
}

#[tokio::test]
async fn speech_is_counted_by_its_length() {
    let clock = JumpingClock::default();
    clock.set("2026-11-18T10:00:00Z");
    let meter = meter(Arc::new(InMemoryUsage::default()), Arc::new(InMemoryNotes::default()), &clock);
    meter.load().await.unwrap();
    meter.record(MeteredService {
        provider: "api.example.org".to_owned(),
        model: "whisper-large-v3-turbo".to_owned(),
        sound_ms: 90_000,
        payer: Payer { purpose: Purpose::Stt, ..Payer::default() },
        ..MeteredService::default()
    });
    assert_eq!((today(&meter).cost, today(&meter).sound_ms), (1_000, 90_000));
}

#[tokio::test]
async fn a_clock_that_jumps_into_the_next_month_and_back_loses_nothing_in_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let notes = Arc::new(InMemoryNotes::default());
    let clock = JumpingClock::default();
    let files = || Arc::new(UsageLedgerFiles::new(dir.path()));
    clock.set("2026-11-18T10:00:00Z");
    let first = meter(files(), notes.clone(), &clock);
    spend(&first, 0).await;
    clock.set("2026-12-02T10:00:00Z");
    spend(&first, 0).await;
    first.save().await;
    clock.set("2026-11-18T11:00:00Z");
    spend(&first, 0).await;
    first.ledger().flush().await;
    let next = meter(files(), notes, &clock);
    next.load().await.unwrap();
    assert_eq!((today(&next).calls, today(&next).cost), (2, 2_000));
    let rebuilt = meter(files(), Arc::new(InMemoryNotes::default()), &clock);
    rebuilt.load().await.unwrap();
    assert_eq!(today(&rebuilt), today(&next));
}

#[tokio::test]
async fn a_clock_that_is_set_back_by_months_loses_nothing_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let notes = Arc::new(InMemoryNotes::default());
    let clock = JumpingClock::default();
    let files = || Arc::new(UsageLedgerFiles::new(dir.path()));
    clock.set("2026-11-18T10:00:00Z");
    let first = meter(files(), notes.clone(), &clock);
    for call in 0..500 {
        let line = format!(
            r#"{{"t":"settle","id":"c{call}","at":"2026-11-18T09:00:00Z","purpose":"turn","model":"m","in":1,"cost":2,"source":"reported"}}"#
        );
        first.ledger().record(first.now(), line);
    }
    first.ledger().flush().await;
    // So many lines are not read again by the next start, which reads from the month before.
    meter(files(), notes.clone(), &clock).load().await.unwrap();
    clock.set("2026-08-02T10:00:00Z");
    let set_back = meter(files(), notes.clone(), &clock);
    spend(&set_back, 0).await;
    set_back.ledger().flush().await;
    let next = meter(files(), notes, &clock);
    next.load().await.unwrap();
    assert_eq!((today(&next).calls, today(&next).cost), (1, 1_000));
    clock.set("2026-11-18T11:00:00Z");
    assert_eq!((today(&next).calls, today(&next).cost), (500, 1_000), "and where it is set right");
}

#[tokio::test]
async fn grants_and_turns_of_last_month_hold_after_a_restart() {
    let (ledger, clock) = (InMemoryUsage::default(), JumpingClock::default());
    let notes = Arc::new(InMemoryNotes::default());
    clock.set("2026-11-30T23:00:00Z");
    let first = meter(Arc::new(ledger.clone()), notes.clone(), &clock);
    spend(&first, 0).await;
    let key = CapKey { scope: CapScope::Turn, unit: CapUnit::Money, of: Some("turn-1".into()) };
    let until = first.end_of(CapScope::Turn);
    let raise = Raise { id: "apr_1".to_owned(), key, add: None, until, by: "web:user:ann".parse().unwrap() };
    first.raise(raise).await.unwrap();
    first.save().await;
    clock.set("2026-12-01T01:00:00Z");
    for kept in [notes, Arc::new(InMemoryNotes::default())] {
        let next = meter(Arc::new(ledger.clone()), kept, &clock);
        next.load().await.unwrap();
        assert_eq!(next.grants().await.len(), 1);
        assert_eq!(next.with_book(|book| book.turn("turn-1").map(|sums| sums.cost)), Some(1_000));
    }
}

/// A ledger that is slow to say where it ends, and may fail to be read.
#[derive(Debug, Default)]
struct OddLedger {
    inner: InMemoryUsage,
    asked: Notify,
    answer: Notify,
    broken: AtomicBool,
}

impl UsageLedger for OddLedger {
    fn append(&self, at: Timestamp, line: String) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.append(at, line)
    }

    fn record(&self, at: Timestamp, line: String) {
        self.inner.record(at, line);
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        self.inner.flush()
    }

    fn end(&self) -> BoxFuture<'_, Result<LedgerMark, StoreError>> {
        let end = self.inner.end();
        Box::pin(async move {
            self.asked.notify_one();
            self.answer.notified().await;
            end.await
        })
    }

    fn syncs(&self) -> u64 {
        self.inner.syncs()
    }

    fn read(
        &self,
        from: LedgerMark,
        visit: LineVisitor,
    ) -> BoxFuture<'_, Result<(LedgerMark, LedgerRead), StoreError>> {
        if self.broken.load(Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::closed()) });
        }
        self.inner.read(from, visit)
    }
}

#[tokio::test]
async fn a_call_that_ends_while_the_sums_are_saved_counts_once() {
    let (ledger, clock) = (Arc::new(OddLedger::default()), JumpingClock::default());
    let notes = Arc::new(InMemoryNotes::default());
    clock.set("2026-11-18T10:00:00Z");
    let first = meter(ledger.clone(), notes.clone(), &clock);
    spend(&first, 0).await;
    let meanwhile = async {
        ledger.asked.notified().await;
        spend(&first, 0).await;
        ledger.answer.notify_one();
    };
    tokio::join!(first.save(), meanwhile);
    let next = meter(ledger, notes, &clock);
    next.load().await.unwrap();
    assert_eq!((today(&next).calls, today(&next).cost), (2, 2_000));
}

#[tokio::test]
async fn an_unreadable_ledger_allows_nothing_and_a_stop_meanwhile_holds() {
    let (ledger, clock) = (Arc::new(OddLedger::default()), JumpingClock::default());
    clock.set("2026-11-18T10:00:00Z");
    ledger.broken.store(true, Ordering::Relaxed);
    let meter = meter(ledger.clone(), Arc::new(InMemoryNotes::default()), &clock);
    assert!(matches!(meter.reserve(planned()).await, Err(MeterError::Storage(_))));
    assert!(meter.admits(&Payer::default()).await.is_err());
    assert!(meter.switch(true, "web:user:ann".parse().unwrap()).await.is_err());
    ledger.broken.store(false, Ordering::Relaxed);
    assert!(matches!(meter.reserve(planned()).await, Err(MeterError::OverBudget(_))), "stopped all the same");
    meter.switch(false, "web:user:ann".parse().unwrap()).await.unwrap();
    assert!(meter.reserve(planned()).await.is_ok());
}

#[tokio::test]
async fn services_are_refused_while_calls_are_stopped_and_at_a_cap() {
    let (ledger, clock) = (InMemoryUsage::default(), JumpingClock::default());
    clock.set("2026-11-18T10:00:00Z");
    let meter = meter(Arc::new(ledger), Arc::new(InMemoryNotes::default()), &clock);
    let by: crate::domain::AuthorId = "web:user:ann".parse().unwrap();
    assert!(meter.admits(&Payer::default()).await.is_ok());
    meter.switch(true, by.clone()).await.unwrap();
    assert!(meter.admits(&Payer::default()).await.is_err());
    meter.switch(false, by).await.unwrap();
    for _ in 0..1_000 {
        let Ok(reserved) = meter.reserve(planned()).await else { break };
        let usage = Usage { input: 100_000, ..Usage::default() };
        let end = CallEnd { reach: Reach::Answered, usage: Some(usage), received: 0, error: None, ms: 1 };
        meter.settle(&reserved.id, end);
    }
    assert!(meter.admits(&Payer::default()).await.is_err(), "the day is used up");
}

#[tokio::test]
async fn the_prefix_that_the_last_call_proved_cached_is_reserved_at_its_price() {
    let (ledger, clock) = (InMemoryUsage::default(), JumpingClock::default());
    clock.set("2026-11-18T10:00:00Z");
    let meter = meter(Arc::new(ledger), Arc::new(InMemoryNotes::default()), &clock);
    let reserved = async |meter: &UsageMeter| {
        let id = meter.reserve(planned()).await.unwrap().id;
        meter.with_book(|book| book.reservation(&id).and_then(|entry| entry.cost)).unwrap()
    };
    assert_eq!(reserved(&meter).await, 1_000 * 2 + 500 * 2, "all of the prompt may be written to the cache");
    spend(&meter, 800).await;
    assert_eq!(reserved(&meter).await, 80 + 200 * 2 + 500 * 2);
    clock.set("2026-11-18T10:06:00Z");
    assert_eq!(reserved(&meter).await, 1_000 * 2 + 500 * 2, "the cache may be gone");
}
