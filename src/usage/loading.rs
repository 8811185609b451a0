//! Reads the sums from the ledger at a start, and saves them so that the next start reads little.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::Book;
use super::meter::Inner;
use super::report::read_entry;
use crate::domain::BudgetLine;
use crate::ports::{Durability, LedgerMark, LineVisitor, StoreError};

/// The note that holds the sums up to a place in the ledger.
const SUMS_NOTE: &str = "sums";
/// How the line of a switch begins.
const SWITCH_LINE: &[u8] = br#"{"t":"switch""#;
/// The form of the saved sums. Those of another one are not read.
const SAVED_FORM: u32 = 2;
/// Lines that may be read again at the next start before the sums are saved.
const SAVE_AFTER: u64 = 500;

/// The sums up to a place in the ledger. A cache: without it the ledger is read from the month before this one.
#[derive(Serialize, Deserialize)]
struct SavedSums {
    form: u32,
    zone: String,
    mark: LedgerMark,
    book: Book,
}

impl Inner {
    pub(super) async fn load(&self) -> Result<(), StoreError> {
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

    pub(super) async fn save(&self, mark: LedgerMark, book: Book) {
        let sums = SavedSums { form: SAVED_FORM, zone: self.zone_name(), mark, book };
        let Ok(note) = serde_json::to_value(&sums) else { return };
        if let Err(error) = self.parts.notes.put(SUMS_NOTE, note, Durability::Written).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "usage sums not saved");
        }
    }

    fn zone_name(&self) -> String {
        self.parts.zone.iana_name().unwrap_or_default().to_owned()
    }
}
