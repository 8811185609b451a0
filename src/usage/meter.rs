//! The meter of a daemon: records every call in the ledger and keeps the sums in memory.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit, watch};

use super::prices::cost_of;
use super::proved::ProvedPrefixes;
use super::report::read_entry;
use super::{Book, PriceList};
use crate::domain::{
    BudgetLine, BudgetRules, EntryKind, ErrorKind, Payer, Timestamp, Usage, UsageEntry, UsageEvent,
    UsageSource,
};
use crate::metrics::Metrics;
use crate::ports::{
    BoxFuture, CallEnd, Clock, Durability, Ids, KeyValueStore, LedgerMark, LineVisitor, Meter, MeterError,
    MeteredService, PlannedCall, Reach, Reserved, StoreError, UsageLedger, entry_line,
};

/// Counts of a server that are this many times the estimate are suspect.
const ABSURD: u64 = 10;
/// Below so many tokens no count is suspect.
const SMALL: u64 = 2_000;
/// The note that holds the sums up to a place in the ledger.
const SUMS_NOTE: &str = "sums";
/// How the line of a switch begins.
const SWITCH_LINE: &[u8] = br#"{"t":"switch""#;
/// The form of the saved sums. Those of another one are not read.
const SAVED_FORM: u32 = 2;
/// Lines that may be read again at the next start before the sums are saved.
const SAVE_AFTER: u64 = 500;

/// What a meter needs.
#[derive(Debug)]
pub struct MeterParts {
    pub ledger: Arc<dyn UsageLedger>,
    /// Sums that spare reading the whole ledger at a start.
    pub notes: Arc<dyn KeyValueStore>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub metrics: Arc<Metrics>,
    pub prices: PriceList,
    pub rules: BudgetRules,
    /// The time zone of days and months.
    pub zone: TimeZone,
}

/// The sums up to a place in the ledger. A cache: without it the ledger is read from the month before this one.
#[derive(Serialize, Deserialize)]
struct SavedSums {
    form: u32,
    zone: String,
    mark: LedgerMark,
    book: Book,
}

/// Measures the calls of one daemon. Clones share it.
#[derive(Clone, Debug)]
pub struct UsageMeter(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) parts: MeterParts,
    book: Mutex<Book>,
    loaded: OnceCell<()>,
    /// Whether an owner has stopped all calls.
    stopped: AtomicBool,
    /// One permit: grants and notices are written one after another.
    granting: Semaphore,
    /// Counts changes of the caps.
    changes: watch::Sender<u64>,
    /// Counts calls that were counted.
    spending: watch::Sender<u64>,
    /// What owners are to be told of.
    pub(super) events: Mutex<BTreeSet<UsageEvent>>,
    /// What providers' caches are known to hold.
    proved: ProvedPrefixes,
    /// Services that were used before the ledger was read.
    pub(super) early: Mutex<Vec<MeteredService>>,
}

impl UsageMeter {
    /// A meter that has not read its ledger yet.
    pub fn new(parts: MeterParts) -> Self {
        let book = Mutex::new(Book::new(parts.zone.clone()));
        Self(Arc::new(Inner {
            parts,
            book,
            loaded: OnceCell::new(),
            stopped: AtomicBool::new(false),
            granting: Semaphore::new(1),
            changes: watch::Sender::new(0),
            spending: watch::Sender::new(0),
            events: Mutex::default(),
            proved: ProvedPrefixes::default(),
            early: Mutex::default(),
        }))
    }

    /// Reads the sums, once; calls wait for it. What cannot be read is read again by the next call: without the sums
    /// nothing is known of caps and of the switch, so no call is made.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub async fn load(&self) -> Result<(), StoreError> {
        self.0.load().await
    }

    /// Saves the sums, so that the next start reads little.
    pub async fn save(&self) {
        if self.0.loaded.get().is_none() {
            return;
        }
        // A line about caps is in the ledger before it is in the book.
        let _alone = self.lock_grants().await;
        let (mark, book) = {
            let book = self.0.book();
            (self.0.parts.ledger.end(), book.clone())
        };
        let Ok(mark) = mark.await else { return };
        self.0.save(mark, book).await;
    }

    /// Looks at the sums.
    pub fn with_book<T>(&self, look: impl FnOnce(&Book) -> T) -> T {
        look(&self.0.book())
    }

    /// The time zone of days and months.
    pub(super) fn zone(&self) -> &TimeZone {
        &self.0.parts.zone
    }

    pub(super) fn ledger(&self) -> &dyn UsageLedger {
        &*self.0.parts.ledger
    }

    pub fn now(&self) -> Timestamp {
        self.0.parts.clock.now()
    }

    pub(super) fn parts(&self) -> &MeterParts {
        &self.0.parts
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book()
    }

    pub(super) fn proved(&self) -> &ProvedPrefixes {
        &self.0.proved
    }

    pub(super) fn stopped(&self) -> &AtomicBool {
        &self.0.stopped
    }

    /// Waits until no other grant or notice is being written.
    pub(super) async fn lock_grants(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.0.granting.acquire().await.ok()
    }

    pub(super) fn changed(&self) {
        self.0.changes.send_modify(|count| *count = count.wrapping_add(1));
        // Calls that wait for others look again.
        self.0.counted();
    }

    pub(super) fn change_counter(&self) -> &watch::Sender<u64> {
        &self.0.changes
    }

    pub(super) fn spending_counter(&self) -> &watch::Sender<u64> {
        &self.0.spending
    }
}

impl Inner {
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn load(&self) -> Result<(), StoreError> {
        let read = async {
            let book = self.read().await.inspect_err(|error| {
                tracing::error!(error = error as &dyn std::error::Error, "usage ledger not read");
            })?;
            // One that was stopped while the ledger could not be read stays stopped.
            self.stopped.fetch_or(book.is_stopped(), Ordering::AcqRel);
            *self.book() = book;
            Ok(())
        };
        self.loaded.get_or_try_init(|| read).await?;
        self.record_early();
        Ok(())
    }

    /// The month before this one: a turn may have begun in it, and a grant be given.
    fn month_before(&self) -> LedgerMark {
        let now = jiff::Timestamp::from_millisecond(self.parts.clock.now().as_millis()).unwrap_or_default();
        let local = now.to_zoned(self.parts.zone.clone());
        let first =
            local.first_of_month().and_then(|first| first.yesterday()?.first_of_month()?.start_of_day());
        let month: String = first.unwrap_or(local).timestamp().to_string().chars().take(7).collect();
        LedgerMark::from_month(month)
    }

    /// Whether calls are stopped, by the whole ledger: the switch holds for longer than sums are kept.
    async fn last_switch(&self) -> Result<Option<BudgetLine>, StoreError> {
        let last = Arc::new(Mutex::new(None));
        let found = last.clone();
        let visit: LineVisitor = Box::new(move |line| {
            if line.starts_with(SWITCH_LINE)
                && let Ok(switch) = serde_json::from_slice::<BudgetLine>(line)
            {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(switch);
            }
            true
        });
        self.parts.ledger.read(LedgerMark::default(), visit).await?;
        Ok(last.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    async fn read(&self) -> Result<Book, StoreError> {
        let saved = self.parts.notes.get(SUMS_NOTE).await.ok().flatten();
        let saved = saved.and_then(|saved| serde_json::from_value::<SavedSums>(saved).ok());
        let saved = saved.filter(|saved| saved.form == SAVED_FORM && saved.zone == self.zone_name());
        let (book, from) = match saved {
            Some(saved) => (saved.book.in_zone(self.parts.zone.clone()), saved.mark),
            None => {
                let mut book = Book::new(self.parts.zone.clone());
                self.last_switch().await?.into_iter().for_each(|switch| book.take_line(switch));
                (book, self.month_before())
            }
        };
        let book = Arc::new(Mutex::new(book));
        let reading = book.clone();
        let visit: LineVisitor = Box::new(move |line| match read_entry(line) {
            Ok(entry) => {
                let mut book = reading.lock().unwrap_or_else(PoisonError::into_inner);
                match entry {
                    Some(entry) => book.take(entry),
                    None => serde_json::from_slice(line).into_iter().for_each(|line| book.take_line(line)),
                }
                true
            }
            Err(_) => false,
        });
        let (mark, read) = self.parts.ledger.read(from, visit).await?;
        let mut book = book.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let cut_off = book.give_up_open();
        if cut_off > 0 || read.unreadable > 0 {
            tracing::warn!(cut_off, unreadable = read.unreadable, "usage of cut-off calls counts in full");
        }
        if read.lines >= SAVE_AFTER {
            self.save(mark, book.clone()).await;
        }
        Ok(book)
    }

    async fn save(&self, mark: LedgerMark, book: Book) {
        let sums = SavedSums { form: SAVED_FORM, zone: self.zone_name(), mark, book };
        let Ok(note) = serde_json::to_value(&sums) else { return };
        if let Err(error) = self.parts.notes.put(SUMS_NOTE, note, Durability::Written).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "usage sums not saved");
        }
    }

    pub(super) fn counted(&self) {
        self.spending.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn zone_name(&self) -> String {
        self.parts.zone.iana_name().unwrap_or_default().to_owned()
    }

    fn note_event(&self, entry: &UsageEntry) {
        let event = match (entry.error, entry.fallback) {
            (Some(ErrorKind::Quota), _) => UsageEvent::AccountEmpty { provider: entry.provider.clone() },
            (None, Some(ErrorKind::Budget)) => UsageEvent::StoodIn { model: entry.model.clone() },
            _ => return,
        };
        self.events.lock().unwrap_or_else(PoisonError::into_inner).insert(event);
    }

    /// Ends a call: what the server counted, or else what is estimated.
    fn settle(&self, id: &str, end: &CallEnd) -> Usage {
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

/// Whether a server's count is absurd beside the estimate.
const fn is_absurd(count: u64, estimate: u64) -> bool {
    count > SMALL && count / ABSURD > estimate
}

/// Withdraws a reservation whose line was not written, also when the caller is gone before that.
struct Unwritten<'a>(&'a Inner, Option<String>);

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.1.take() {
            let end = CallEnd { reach: Reach::Unbilled, usage: None, received: 0, error: None, ms: 0 };
            self.0.settle(&id, &end);
        }
    }
}

impl Meter for UsageMeter {
    fn reserve(&self, call: PlannedCall) -> BoxFuture<'_, Result<Reserved, MeterError>> {
        Box::pin(async move {
            let inner = &self.0;
            let loaded = inner.load().await;
            loaded.map_err(|error| MeterError::Storage(error.to_string()))?;
            let (entry, max_output) = self.admit(&call).await.map_err(MeterError::OverBudget)?;
            let (id, at, line) = (entry.id, entry.at, entry.line);
            let mut unwritten = Unwritten(inner, Some(id.clone()));
            let written = inner.parts.ledger.append(at, line).await;
            written.map_err(|error| MeterError::Storage(error.to_string()))?;
            unwritten.1 = None;
            Ok(Reserved { id, max_output })
        })
    }

    fn settle(&self, id: &str, end: CallEnd) -> Usage {
        self.0.settle(id, &end)
    }

    fn admits<'a>(&'a self, payer: &'a Payer) -> BoxFuture<'a, Result<(), MeterError>> {
        Box::pin(self.admits_service(payer))
    }

    fn record(&self, service: MeteredService) {
        self.0.early.lock().unwrap_or_else(PoisonError::into_inner).push(service);
        // Before the ledger is read it waits: what is read must not be counted twice.
        if self.0.loaded.get().is_some() {
            self.0.record_early();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::domain::{Price, Purpose};
    use crate::ports::{RandomIds, SystemClock};
    use crate::store::memory::{InMemoryNotes, InMemoryUsage};
    use crate::usage::Sums;

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
    async fn a_restart_counts_what_the_ledger_has_and_cut_off_calls_in_full() {
        let (ledger, notes) = (InMemoryUsage::default(), InMemoryNotes::default());
        let first = meter(&ledger, &notes);
        let reported = Usage { input: 900, output: 10, ..Usage::default() };
        let settled = first.reserve(call("m")).await.unwrap();
        first.settle(&settled.id, end(Reach::Answered, Some(reported)));
        first.save().await;
        first.reserve(call("m")).await.unwrap();
        ledger.record(first.now(), "{\"t\":\"settle\",\"id".to_owned());
        for _ in 0..2 {
            let next = meter(&ledger, &notes);
            next.load().await.unwrap();
            let sums = today(&next);
            // The second call counts its whole reservation: 1,000 tokens in and 500 out.
            assert_eq!((sums.calls, sums.cost, sums.uncertain), (2, 920 + 2_000, 2_000));
        }
        let rebuilt = meter(&ledger, &InMemoryNotes::default());
        rebuilt.load().await.unwrap();
        assert_eq!(today(&rebuilt).cost, 2_920, "the sums are only a cache");
    }

    #[tokio::test]
    async fn speech_is_counted_by_its_length() {
        let ledger = InMemoryUsage::default();
        let meter = meter(&ledger, &InMemoryNotes::default());
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
}
