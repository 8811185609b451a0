//! What was spent and what is reserved: sums by day, month, thread, person, task and model. Pure; times are passed in.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::Sums;
use crate::domain::{BudgetGrant, BudgetLine, EntryKind, Timestamp, UsageEntry};

/// Most turns whose sums are kept.
const TURNS: usize = 4096;
/// How many days keep their sums by thread, person and task.
const DETAILED_DAYS: usize = 8;
/// How many days keep their total.
const DAYS: usize = 62;
/// How many months keep their sums.
const MONTHS: usize = 4;
/// Most notices and ended grants that are remembered.
const REMEMBERED: usize = 256;

type ByName = HashMap<Arc<str>, Sums>;

/// The sums of one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Day {
    pub all: Sums,
    /// The work of the agent's own, which is in `all` as well.
    pub helpers: Sums,
    pub threads: ByName,
    pub authors: ByName,
    pub tasks: ByName,
}

/// The sums of one month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Month {
    pub all: Sums,
    pub threads: ByName,
    pub models: ByName,
}

/// The book of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    days: BTreeMap<Date, Day>,
    /// The days by when a call was last counted there: a clock that went ahead must not push today out.
    day_order: VecDeque<Date>,
    /// By the month's first day.
    months: BTreeMap<Date, Month>,
    month_order: VecDeque<Date>,
    turns: HashMap<Arc<str>, Sums>,
    turn_order: VecDeque<Arc<str>>,
    /// Calls that were sent and have not ended.
    open: BTreeMap<String, UsageEntry>,
    /// Oldest first; a revoked one ends when it was revoked.
    #[serde(default)]
    grants: Vec<BudgetGrant>,
    /// What owners were told, oldest first.
    #[serde(default)]
    notices: VecDeque<String>,
    /// Whether an owner has stopped all calls.
    stopped: bool,
    #[serde(skip, default = "utc")]
    zone: TimeZone,
}

const fn utc() -> TimeZone {
    TimeZone::UTC
}

impl Book {
    /// An empty book whose days are those of this time zone.
    pub fn new(zone: TimeZone) -> Self {
        Self {
            days: BTreeMap::new(),
            day_order: VecDeque::new(),
            months: BTreeMap::new(),
            month_order: VecDeque::new(),
            turns: HashMap::new(),
            turn_order: VecDeque::new(),
            open: BTreeMap::new(),
            grants: Vec::new(),
            notices: VecDeque::new(),
            stopped: false,
            zone,
        }
    }

    /// The same sums. Those of a book in another time zone would be of other days.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// The civil day of a moment.
    pub fn day_of(&self, at: Timestamp) -> Date {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
        at.to_zoned(self.zone.clone()).date()
    }

    /// Takes in a line of the ledger: a reservation opens a call, a settlement ends it and counts.
    pub fn take(&mut self, entry: UsageEntry) {
        match entry.t {
            EntryKind::Reserve => {
                self.open.insert(entry.id.clone(), entry);
            }
            EntryKind::Settle => {
                self.open.remove(&entry.id);
                self.count(&entry);
            }
        }
    }

    /// Takes in a line about caps.
    pub fn take_line(&mut self, line: BudgetLine) {
        match line {
            BudgetLine::Grant(grant) if self.grants.iter().any(|known| known.id == grant.id) => {}
            BudgetLine::Grant(grant) => {
                self.grants.push(grant);
                let surplus = self.grants.len().saturating_sub(REMEMBERED);
                self.grants.drain(..surplus);
            }
            BudgetLine::Revoke { id, at, .. } => {
                for grant in self.grants.iter_mut().filter(|grant| grant.id == id) {
                    grant.until = grant.until.min(at);
                }
            }
            BudgetLine::Notice { key, .. } => {
                self.notices.push_back(key);
                let surplus = self.notices.len().saturating_sub(REMEMBERED);
                self.notices.drain(..surplus);
            }
            BudgetLine::Switch { stopped, .. } => self.stopped = stopped,
        }
    }

    /// All grants that are remembered, also those that hold no more.
    pub fn grants(&self) -> impl Iterator<Item = &BudgetGrant> {
        self.grants.iter()
    }

    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    pub fn was_told(&self, notice: &str) -> bool {
        self.notices.iter().any(|known| known == notice)
    }

    /// The first moment of a day.
    pub fn start_of(&self, date: Date) -> Timestamp {
        let start = date.to_zoned(self.zone.clone()).and_then(|midnight| midnight.start_of_day());
        start.map_or_else(
            |_| Timestamp::default(),
            |start| Timestamp::from_millis(start.timestamp().as_millisecond()),
        )
    }

    /// The reservation of a call in flight.
    pub fn reservation(&self, id: &str) -> Option<&UsageEntry> {
        self.open.get(id)
    }

    /// Withdraws a reservation of a call that was not sent.
    pub fn withdraw(&mut self, id: &str) {
        self.open.remove(id);
    }

    /// Counts all open calls in full: the process that sent them has ended.
    pub fn give_up_open(&mut self) -> usize {
        let open = std::mem::take(&mut self.open);
        for entry in open.values() {
            self.count(entry);
        }
        open.len()
    }

    /// Adds a call to all sums.
    fn count(&mut self, entry: &UsageEntry) {
        let date = self.day_of(entry.at);
        let day = self.days.entry(date).or_default();
        day.all.add(entry);
        if entry.purpose.is_helper() {
            day.helpers.add(entry);
        }
        let month = self.months.entry(date.first_of_month()).or_default();
        month.all.add(entry);
        month.models.entry(entry.model.clone()).or_default().add(entry);
        if let Some(thread) = &entry.thread {
            day.threads.entry(thread.clone()).or_default().add(entry);
            month.threads.entry(thread.clone()).or_default().add(entry);
        }
        if let Some(author) = &entry.author {
            day.authors.entry(author.clone()).or_default().add(entry);
        }
        if let Some(task) = &entry.task {
            day.tasks.entry(task.clone()).or_default().add(entry);
        }
        if let Some(turn) = &entry.turn {
            if !self.turns.contains_key(turn) {
                self.turn_order.push_back(turn.clone());
            }
            self.turns.entry(turn.clone()).or_default().add(entry);
        }
        self.trim(date);
    }

    /// Forgets what was not counted to for the longest time.
    fn trim(&mut self, counted: Date) {
        while self.turn_order.len() > TURNS {
            if let Some(oldest) = self.turn_order.pop_front() {
                self.turns.remove(&oldest);
            }
        }
        touch(&mut self.month_order, counted.first_of_month());
        while self.month_order.len() > MONTHS {
            self.month_order.pop_front().and_then(|month| self.months.remove(&month));
        }
        if !touch(&mut self.day_order, counted) {
            return;
        }
        while self.day_order.len() > DAYS {
            self.day_order.pop_front().and_then(|day| self.days.remove(&day));
        }
        for date in self.day_order.iter().rev().skip(DETAILED_DAYS) {
            if let Some(day) = self.days.get_mut(date) {
                let Day { all, helpers, .. } = *day;
                *day = Day { all, helpers, ..Day::default() };
            }
        }
    }

    pub fn day(&self, date: Date) -> Option<&Day> {
        self.days.get(&date)
    }

    /// The month that contains a day.
    pub fn month(&self, date: Date) -> Option<&Month> {
        self.months.get(&date.first_of_month())
    }

    pub fn turn(&self, turn: &str) -> Option<&Sums> {
        self.turns.get(turn)
    }

    /// The calls in flight.
    pub fn open(&self) -> impl Iterator<Item = &UsageEntry> {
        self.open.values()
    }
}

/// Moves a date to the end; returns whether it was not there yet.
fn touch(order: &mut VecDeque<Date>, date: Date) -> bool {
    if order.back() == Some(&date) {
        return false;
    }
    order.retain(|known| *known != date);
    order.push_back(date);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Payer, Purpose};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    fn entry(t: EntryKind, id: &str, when: &str, cost: u64) -> UsageEntry {
        let payer = Payer {
            thread: "web:chat:a".parse().ok(),
            turn: "turn-1".parse().ok(),
            author: "web:user:ann".parse().ok(),
            purpose: Purpose::Turn,
            ..Payer::default()
        };
        UsageEntry {
            cost: Some(cost),
            input: 10,
            output: 1,
            ..UsageEntry::new(t, id.to_owned(), at(when), &payer)
        }
    }

    #[test]
    fn a_call_counts_once_when_it_ends_and_in_full_when_its_end_is_unknown() {
        let mut book = Book::new(TimeZone::UTC);
        book.take(entry(EntryKind::Reserve, "a", "2026-11-18T10:00:00Z", 90));
        book.take(entry(EntryKind::Reserve, "b", "2026-11-18T10:00:00Z", 50));
        book.take(entry(EntryKind::Settle, "a", "2026-11-18T10:00:09Z", 7));
        let day = book.day_of(at("2026-11-18T12:00:00Z"));
        assert_eq!(book.day(day).unwrap().all.cost, 7);
        assert_eq!(book.give_up_open(), 1);
        let sums = book.day(day).unwrap().all;
        assert_eq!((sums.calls, sums.cost, sums.uncertain, sums.estimated), (2, 57, 50, 1));
        assert_eq!(book.give_up_open(), 0, "only once");
        assert_eq!(book.turn("turn-1").unwrap().cost, 57);
    }

    #[test]
    fn days_and_months_are_those_of_the_time_zone_also_when_clocks_change() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let mut book = Book::new(zone);
        // The last hour of October in UTC is November in Berlin; 25 October has 25 hours there.
        for (id, when) in [
            ("1", "2026-10-24T22:00:00Z"),
            ("2", "2026-10-25T22:59:59Z"),
            ("3", "2026-10-25T23:00:00Z"),
            ("4", "2026-10-31T23:30:00Z"),
        ] {
            book.take(entry(EntryKind::Settle, id, when, 1));
        }
        let cost = |date: &str| book.day(date.parse().unwrap()).map_or(0, |day| day.all.cost);
        assert_eq!((cost("2026-10-25"), cost("2026-10-26"), cost("2026-11-01")), (2, 1, 1));
        let month = |date: &str| book.month(date.parse().unwrap()).unwrap().all.cost;
        assert_eq!((month("2026-10-02"), month("2026-11-30")), (3, 1));
    }

    #[test]
    fn a_clock_that_jumps_moves_no_sums() {
        let mut book = Book::new(TimeZone::UTC);
        book.take(entry(EntryKind::Settle, "1", "2026-11-18T10:00:00Z", 5));
        book.take(entry(EntryKind::Settle, "2", "2026-11-19T10:00:00Z", 1));
        book.take(entry(EntryKind::Settle, "3", "2026-11-18T11:00:00Z", 2));
        let day = book.day("2026-11-18".parse().unwrap()).unwrap();
        assert_eq!((day.all.cost, day.threads["web:chat:a"].cost), (7, 7));
        // Days and months of a clock that is ahead do not push the present out.
        for (id, when) in
            [("4", "2026-11-20T10:00:00Z"), ("5", "2026-12-01T10:00:00Z"), ("6", "2031-01-01T10:00:00Z")]
        {
            book.take(entry(EntryKind::Settle, id, when, 1));
        }
        book.take(entry(EntryKind::Settle, "7", "2026-11-18T12:00:00Z", 4));
        let day = book.day("2026-11-18".parse().unwrap()).unwrap();
        let month = book.month("2026-11-18".parse().unwrap()).unwrap();
        assert_eq!((day.threads["web:chat:a"].cost, day.authors["web:user:ann"].cost), (11, 11));
        assert_eq!(month.all.cost, 13);
    }

    #[test]
    fn sums_by_thread_and_days_themselves_are_forgotten_in_their_order() {
        let mut book = Book::new(TimeZone::UTC);
        let first: Date = "2026-01-01".parse().unwrap();
        for number in 0..i64::try_from(DAYS + 3).unwrap() {
            let date = first.checked_add(jiff::Span::new().days(number)).unwrap();
            book.take(entry(EntryKind::Settle, "x", &format!("{date}T10:00:00Z"), 1));
        }
        assert_eq!((book.days.len(), book.months.len()), (DAYS, 3));
        assert_eq!(book.days.values().filter(|day| !day.threads.is_empty()).count(), DETAILED_DAYS);
    }

    #[test]
    fn a_book_survives_json() {
        let mut book = Book::new(TimeZone::UTC);
        book.take(entry(EntryKind::Settle, "1", "2026-11-18T10:00:00Z", 5));
        book.take(entry(EntryKind::Reserve, "2", "2026-11-18T10:00:00Z", 5));
        let text = serde_json::to_string(&book).unwrap();
        assert_eq!(serde_json::from_str::<Book>(&text).unwrap(), book);
    }
}
