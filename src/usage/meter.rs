//! The meter of a daemon: records every call in the ledger and keeps the sums in memory.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::tz::TimeZone;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit, watch};

use super::proved::ProvedPrefixes;
use super::{Book, PriceList};
use crate::domain::{BudgetRules, Payer, Timestamp, Usage, UsageEvent};
use crate::metrics::Metrics;
use crate::ports::{
    BoxFuture, CallEnd, Clock, Ids, KeyValueStore, Meter, MeterError, MeteredService, PlannedCall, Reach,
    Reserved, StoreError, UsageLedger,
};

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

/// Measures the calls of one daemon. Clones share it.
#[derive(Clone, Debug)]
pub struct UsageMeter(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) parts: MeterParts,
    book: Mutex<Book>,
    pub(super) loaded: OnceCell<()>,
    /// Whether an owner has stopped all calls.
    pub(super) stopped: AtomicBool,
    /// One permit: grants and notices are written one after another.
    granting: Semaphore,
    /// Counts changes of the caps.
    changes: watch::Sender<u64>,
    /// Counts calls that were counted.
    spending: watch::Sender<u64>,
    /// What owners are to be told of.
    pub(super) events: Mutex<BTreeSet<UsageEvent>>,
    /// What providers' caches are known to hold.
    pub(super) proved: ProvedPrefixes,
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

    pub(super) fn counted(&self) {
        self.spending.send_modify(|count| *count = count.wrapping_add(1));
    }
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
