//! Which caps a call must fit into, and how much of each is left. Pure.

use std::sync::Arc;

use jiff::ToSpan;

use super::book::Book;
use super::prices::cost_of;
use crate::domain::{
    BudgetRules, CapKey, CapScope, CapState, CapUnit, Caps, Payer, Price, Shortage, Timestamp, UnknownPrice,
    Usage, UsageEntry,
};

/// An answer is never limited to fewer tokens than this to make it fit.
const SHORTEST_ANSWER: u64 = 1_024;
/// A turn may outlive midnight: a grant for it holds this long.
const TURN_GRANT_DAYS: i64 = 7;

/// A cap that applies, and its limit without grants.
type Applying = (CapKey, u64);

/// The caps that apply to the calls of a payer, the narrowest first.
pub fn caps_of(rules: &BudgetRules, payer: &Payer) -> Vec<Applying> {
    let mut caps = in_unit(rules, payer, CapUnit::Money, &rules.money);
    caps.extend(in_unit(rules, payer, CapUnit::Tokens, &rules.tokens));
    caps
}

/// The cap of a turn that holds for calls without a price alone.
pub(super) fn unpriced_cap(rules: &BudgetRules, payer: &Payer) -> Option<Applying> {
    let caps = Caps { turn: rules.unpriced_turn, ..Caps::NONE };
    in_unit(rules, payer, CapUnit::Tokens, &caps).pop()
}

fn in_unit(rules: &BudgetRules, payer: &Payer, unit: CapUnit, caps: &Caps) -> Vec<Applying> {
    let listed = payer.author.as_ref().is_some_and(|author| rules.exempt.contains(author));
    let exempt = listed || (rules.owners_exempt && payer.owner);
    let text = |text: Option<String>| text.map(Arc::<str>::from);
    let turn = text(payer.turn.as_ref().map(ToString::to_string));
    let thread = text(payer.thread.as_ref().map(ToString::to_string));
    let author = text(payer.author.as_ref().map(ToString::to_string));
    let task = text(payer.task.clone());
    let share = |day: u64| {
        let share = u128::from(day) * u128::from(rules.helpers_share.min(1_000)) / 1_000;
        u64::try_from(share).unwrap_or(u64::MAX)
    };
    let own = |of: Option<Arc<str>>, limit: Option<u64>| of.zip(limit).filter(|_| !exempt);
    // A task's own limit holds for everybody.
    let own_turn = caps.turn.filter(|_| !exempt);
    let turn_limit = own_turn.into_iter().chain(payer.max_cost.filter(|_| unit == CapUnit::Money)).min();
    let of_task = |of: Option<Arc<str>>, limit: Option<u64>| of.zip(limit);
    let narrow = [
        (CapScope::Turn, turn.zip(turn_limit)),
        (CapScope::TaskDay, of_task(task, caps.task_day)),
        (CapScope::UserDay, own(author, caps.user_day)),
        (CapScope::ThreadDay, own(thread, caps.thread_day)),
    ];
    let narrow = narrow.into_iter().filter_map(|(scope, found)| Some((scope, found?)));
    let mut out: Vec<Applying> =
        narrow.map(|(scope, (of, limit))| (CapKey { scope, unit, of: Some(of) }, limit)).collect();
    let helpers = caps.day.filter(|_| payer.purpose.is_helper()).map(share);
    let wide = [(CapScope::HelpersDay, helpers), (CapScope::Day, caps.day), (CapScope::Month, caps.month)];
    out.extend(
        wide.into_iter().filter_map(|(scope, limit)| Some((CapKey { scope, unit, of: None }, limit?))),
    );
    out
}

impl Book {
    /// How much of a cap is used, reserved and left.
    pub fn state_of(&self, (key, base): &Applying, now: Timestamp) -> CapState {
        let mut limit = Some(*base);
        for grant in self.grants().filter(|grant| grant.key == *key && now < grant.until) {
            limit = limit.zip(grant.add).map(|(limit, add)| limit.saturating_add(add));
        }
        let open = self.open().filter(|entry| covers(key, entry)).map(|entry| amount(key.unit, entry));
        CapState {
            key: key.clone(),
            limit,
            used: self.used_of(key, now),
            reserved: open.fold(0, u64::saturating_add),
            ends: self.end_of(key.scope, now),
        }
    }

    fn used_of(&self, key: &CapKey, now: Timestamp) -> u64 {
        let date = self.day_of(now);
        let of = key.of.as_deref().unwrap_or_default();
        let day = || self.day(date);
        let sums = match key.scope {
            CapScope::Turn => self.turn(of),
            CapScope::ThreadDay => day().and_then(|day| day.threads.get(of)),
            CapScope::UserDay => day().and_then(|day| day.authors.get(of)),
            CapScope::TaskDay => day().and_then(|day| day.tasks.get(of)),
            CapScope::HelpersDay => day().map(|day| &day.helpers),
            CapScope::Day => day().map(|day| &day.all),
            CapScope::Month => self.month(date).map(|month| &month.all),
        };
        sums.map_or(0, |sums| match key.unit {
            CapUnit::Money => sums.cost,
            CapUnit::Tokens => sums.tokens(),
        })
    }

    /// When a cap begins anew: at midnight, at the end of the month, or long after a turn.
    pub fn end_of(&self, scope: CapScope, now: Timestamp) -> Timestamp {
        let today = self.day_of(now);
        let next = match scope {
            CapScope::Month => today.last_of_month().tomorrow().ok(),
            CapScope::Turn => today.checked_add(TURN_GRANT_DAYS.days()).ok(),
            CapScope::ThreadDay
            | CapScope::UserDay
            | CapScope::TaskDay
            | CapScope::HelpersDay
            | CapScope::Day => today.tomorrow().ok(),
        };
        self.start_of(next.unwrap_or(today))
    }

    /// The output limit with which a call fits into these caps: the wanted one, or what is left where that is at least a
    /// quarter of it and 1,024 tokens.
    ///
    /// # Errors
    /// If a cap leaves less.
    pub fn fit(
        &self,
        entry: &UsageEntry,
        caps: &[Applying],
        rules: &BudgetRules,
        now: Timestamp,
    ) -> Result<u64, Box<Shortage>> {
        if entry.price.is_none() && rules.unknown_price == UnknownPrice::Deny {
            return Err(Box::new(Shortage::UnknownPrice { model: entry.model.to_string() }));
        }
        let wanted = entry.output;
        let mut fits = wanted;
        let mut short = None;
        for cap in caps {
            let state = self.state_of(cap, now);
            let room = room_for_answer(&state, entry).unwrap_or(u64::MAX);
            if room < fits {
                fits = room;
                let needed = amount(cap.0.unit, entry);
                short = Some(Shortage::Cap { state, needed, currency: rules.currency.clone() });
            }
        }
        match short {
            Some(shortage) if fits < wanted.min(SHORTEST_ANSWER.max(wanted.div_ceil(4))) => {
                Err(Box::new(shortage))
            }
            _ => Ok(fits),
        }
    }
}

/// How many tokens an answer may have; `None` without a limit.
fn room_for_answer(state: &CapState, entry: &UsageEntry) -> Option<u64> {
    let left = state.left()?;
    match state.key.unit {
        CapUnit::Tokens => Some(left.saturating_sub(entry.input)),
        CapUnit::Money => {
            let price = entry.price.map(dearest)?;
            let total = cost_of(&price, &entry.usage());
            if total <= left {
                return None;
            }
            let prompt = cost_of(&price, &Usage { output: 0, ..entry.usage() });
            let rest = u128::from(left.saturating_sub(prompt)) * 1_000_000;
            Some(u64::try_from(rest / u128::from(price.output.max(1))).unwrap_or(u64::MAX))
        }
    }
}

/// The price with what a prompt costs if all of it is written to the provider's cache.
pub(super) fn dearest(price: Price) -> Price {
    Price { input: price.input.max(price.cache_write), ..price }
}

/// The most that a call may use.
pub(super) fn amount(unit: CapUnit, entry: &UsageEntry) -> u64 {
    match unit {
        CapUnit::Money => entry.cost.unwrap_or(0),
        CapUnit::Tokens => entry.tokens(),
    }
}

/// Whether a call counts for a cap.
fn covers(key: &CapKey, entry: &UsageEntry) -> bool {
    match key.scope {
        CapScope::Turn => entry.turn == key.of,
        CapScope::ThreadDay => entry.thread == key.of,
        CapScope::UserDay => entry.author == key.of,
        CapScope::TaskDay => entry.task == key.of,
        CapScope::HelpersDay => entry.purpose.is_helper(),
        CapScope::Day | CapScope::Month => true,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::domain::{BudgetGrant, BudgetLine, EntryKind, Price, Purpose};

    const PRICE: Price = Price {
        input: 1_000_000,
        cached_input: 100_000,
        cache_write: 1_000_000,
        output: 2_000_000,
        per_call: 0,
        characters: 0,
        hour: 0,
    };

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    fn payer() -> Payer {
        Payer {
            thread: "web:chat:a".parse().ok(),
            turn: "turn-1".parse().ok(),
            author: "web:user:ann".parse().ok(),
            purpose: Purpose::Turn,
            ..Payer::default()
        }
    }

    fn entry(t: EntryKind, id: &str, when: &str, tokens: (u64, u64)) -> UsageEntry {
        let mut entry = UsageEntry::new(t, id.to_owned(), at(when), &payer());
        entry.count(&Usage { input: tokens.0, output: tokens.1, ..Usage::default() });
        entry.price = Some(PRICE);
        entry.cost = Some(cost_of(&PRICE, &entry.usage()));
        entry
    }

    fn rules(money: Caps, tokens: Caps) -> BudgetRules {
        BudgetRules { money, tokens, ..BudgetRules::default() }
    }

    fn day(limit: u64) -> BudgetRules {
        rules(Caps { day: Some(limit), ..Caps::NONE }, Caps::NONE)
    }

    const NOON: &str = "2026-11-18T12:00:00Z";

    fn fits(book: &Book, rules: &BudgetRules, tokens: (u64, u64)) -> Option<u64> {
        let call = entry(EntryKind::Reserve, "new", NOON, tokens);
        book.fit(&call, &caps_of(rules, &payer()), rules, at(NOON)).ok()
    }

    #[test]
    fn a_call_fits_whole_or_with_a_shorter_answer_or_not_at_all() {
        let mut book = Book::new(TimeZone::UTC);
        // A prompt of 1,000 tokens costs 1,000; each token of the answer 2.
        for (limit, wanted, expected) in [
            (9_000, 4_000, Some(4_000)),
            (8_999, 4_000, Some(3_999)),
            (3_048, 4_000, Some(1_024)),
            (3_047, 4_000, None),
            (9_000, 16_000, Some(4_000)),
            (8_999, 16_000, None),
            (1_200, 100, Some(100)),
            (1_199, 100, None),
            // Vectors of texts: a prompt alone.
            (1_002, 1, Some(1)),
            (1_001, 1, None),
        ] {
            let found = fits(&book, &day(limit), (1_000, wanted));
            assert_eq!(found, expected, "{limit} {wanted}");
        }
        book.take(entry(EntryKind::Settle, "a", NOON, (1_000, 500)));
        book.take(entry(EntryKind::Reserve, "b", NOON, (1_000, 500)));
        assert_eq!(fits(&book, &day(6_200), (1_000, 600)), Some(600));
        assert_eq!(fits(&book, &day(6_199), (1_000, 600)), None, "what is spent and what is reserved");
        let tokens = rules(Caps::NONE, Caps { thread_day: Some(4_600), ..Caps::NONE });
        assert_eq!(fits(&book, &tokens, (1_000, 600)), Some(600));
        assert_eq!(fits(&book, &tokens, (1_001, 600)), None);
    }

    #[test]
    fn each_scope_counts_its_own_calls() {
        let mut book = Book::new(TimeZone::UTC);
        book.take(entry(EntryKind::Settle, "a", NOON, (100, 0)));
        let other = Payer {
            thread: "web:chat:b".parse().ok(),
            turn: "turn-2".parse().ok(),
            author: "web:user:bob".parse().ok(),
            ..payer()
        };
        let mut elsewhere = UsageEntry::new(EntryKind::Settle, "b".to_owned(), at(NOON), &other);
        elsewhere.count(&Usage { input: 50, ..Usage::default() });
        book.take(elsewhere);
        let all = Caps {
            turn: Some(1_000),
            thread_day: Some(1_000),
            user_day: Some(1_000),
            task_day: Some(1_000),
            day: Some(1_000),
            month: Some(1_000),
        };
        let rules = rules(Caps::NONE, all);
        let used = |payer: &Payer| -> Vec<(&'static str, u64)> {
            let caps = caps_of(&rules, payer);
            caps.iter().map(|cap| (cap.0.scope.as_str(), book.state_of(cap, at(NOON)).used)).collect()
        };
        let expected = [("turn", 100), ("user-day", 100), ("thread-day", 100), ("day", 150), ("month", 150)];
        assert_eq!(used(&payer()), expected);
        assert_eq!(used(&Payer::default()), [("day", 150), ("month", 150)]);
        let helper = Payer { purpose: Purpose::Gate, ..Payer::default() };
        assert_eq!(used(&helper), [("helpers-day", 0), ("day", 150), ("month", 150)]);
        let task = Payer { task: Some("report".to_owned()), ..Payer::default() };
        assert_eq!(used(&task), [("task-day", 0), ("day", 150), ("month", 150)]);
    }

    #[test]
    fn a_run_has_the_smaller_of_its_own_limit_and_that_of_all_turns_also_for_exempt_people() {
        let turn = rules(Caps { turn: Some(900), ..Caps::NONE }, Caps { turn: Some(70), ..Caps::NONE });
        let limits = |rules: &BudgetRules, max_cost, owner| {
            let payer = Payer { max_cost, owner, ..payer() };
            let caps = caps_of(rules, &payer);
            caps.iter().map(|(key, limit)| (key.unit, *limit)).collect::<Vec<_>>()
        };
        let (money, tokens) = (CapUnit::Money, CapUnit::Tokens);
        assert_eq!(limits(&turn, Some(500), false), [(money, 500), (tokens, 70)]);
        assert_eq!(limits(&turn, Some(5_000), false), [(money, 900), (tokens, 70)]);
        let exempt = BudgetRules { owners_exempt: true, ..turn };
        assert_eq!(limits(&exempt, Some(5_000), true), [(money, 5_000)]);
        assert_eq!(limits(&exempt, None, true), []);
    }

    #[test]
    fn exempt_people_have_the_caps_of_the_project_alone() {
        let caps = Caps { turn: Some(1), thread_day: Some(1), user_day: Some(1), day: Some(1), ..Caps::NONE };
        let scopes = |rules: &BudgetRules, payer: &Payer| caps_of(rules, payer).len();
        let named =
            BudgetRules { exempt: ["web:user:ann".parse().unwrap()].into(), ..rules(caps, Caps::NONE) };
        let owners = BudgetRules { owners_exempt: true, ..rules(caps, Caps::NONE) };
        let owner = Payer { owner: true, ..payer() };
        assert_eq!((scopes(&named, &payer()), scopes(&owners, &payer()), scopes(&owners, &owner)), (1, 4, 1));
    }

    #[test]
    fn a_model_without_a_price_has_caps_of_tokens_or_is_denied() {
        let book = Book::new(TimeZone::UTC);
        let mut call = entry(EntryKind::Reserve, "new", NOON, (1_000, 1_000));
        (call.price, call.cost) = (None, None);
        let fit = |rules: &BudgetRules| book.fit(&call, &caps_of(rules, &payer()), rules, at(NOON));
        assert_eq!(fit(&day(1)), Ok(1_000));
        let tokens = rules(Caps::NONE, Caps { day: Some(10), ..Caps::NONE });
        assert!(matches!(*fit(&tokens).unwrap_err(), Shortage::Cap { needed: 2_000, .. }));
        let unpriced = BudgetRules { unpriced_turn: Some(1_500), ..day(1) };
        assert_eq!(
            unpriced_cap(&unpriced, &payer()).map(|(key, limit)| (key.scope, key.unit, limit)),
            Some((CapScope::Turn, CapUnit::Tokens, 1_500))
        );
        let deny = BudgetRules { unknown_price: UnknownPrice::Deny, ..BudgetRules::default() };
        assert!(matches!(*fit(&deny).unwrap_err(), Shortage::UnknownPrice { .. }));
    }

    #[test]
    fn a_grant_raises_its_cap_until_it_ends_or_is_revoked() {
        let mut book = Book::new(TimeZone::UTC);
        book.take(entry(EntryKind::Settle, "a", NOON, (5_000, 0)));
        let key = CapKey { scope: CapScope::Day, unit: CapUnit::Money, of: None };
        let grant = |id: &str, add: Option<u64>| BudgetGrant {
            id: id.to_owned(),
            number: 1,
            at: at(NOON),
            key: key.clone(),
            add,
            until: at("2026-11-19T00:00:00Z"),
            by: "web:user:ann".parse().unwrap(),
        };
        let rules = day(5_000);
        let left = |book: &Book, now: &str| book.state_of(&caps_of(&rules, &payer())[0], at(now)).left();
        assert_eq!(left(&book, NOON), Some(0));
        book.take_line(BudgetLine::Grant(grant("one", Some(700))));
        book.take_line(BudgetLine::Grant(grant("one", Some(700))));
        assert_eq!(left(&book, NOON), Some(700), "the same approval raises it once");
        book.take_line(BudgetLine::Grant(grant("two", None)));
        assert_eq!(left(&book, "2026-11-18T23:59:59Z"), None, "lifted until midnight");
        assert_eq!(left(&book, "2026-11-19T00:00:00Z"), Some(5_000), "a new day without grants");
        let revoked =
            BudgetLine::Revoke { id: "two".to_owned(), at: at(NOON), by: "web:user:ann".parse().unwrap() };
        book.take_line(revoked);
        assert_eq!(left(&book, NOON), Some(700));
    }

    #[test]
    fn days_end_at_midnight_of_the_time_zone_and_months_with_their_last_day() {
        let berlin = Book::new(TimeZone::get("Europe/Berlin").unwrap());
        let shanghai = Book::new(TimeZone::get("Asia/Shanghai").unwrap());
        for (book, scope, now, end) in [
            // The day on which the clock goes back has 25 hours, the one on which it goes forward 23.
            (&berlin, CapScope::Day, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            (&berlin, CapScope::Day, "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"),
            (&berlin, CapScope::UserDay, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            (&berlin, CapScope::Month, "2026-12-31T22:59:59Z", "2026-12-31T23:00:00Z"),
            (&berlin, CapScope::Month, "2026-12-31T23:00:00Z", "2027-01-31T23:00:00Z"),
            (&shanghai, CapScope::ThreadDay, "2026-11-18T15:59:59Z", "2026-11-18T16:00:00Z"),
            (&shanghai, CapScope::Month, "2026-02-10T00:00:00Z", "2026-02-28T16:00:00Z"),
        ] {
            assert_eq!(book.end_of(scope, at(now)), at(end), "{scope:?} {now}");
        }
    }

    #[test]
    fn a_new_day_and_a_new_month_begin_with_nothing_used_and_a_clock_that_goes_back_finds_its_sums() {
        let mut book = Book::new(TimeZone::get("Europe/Berlin").unwrap());
        book.take(entry(EntryKind::Settle, "a", "2026-10-31T22:59:00Z", (100, 0)));
        let both = rules(Caps::NONE, Caps { day: Some(1_000), month: Some(1_000), ..Caps::NONE });
        let used = |book: &Book, now: &str| -> Vec<u64> {
            caps_of(&both, &payer()).iter().map(|cap| book.state_of(cap, at(now)).used).collect()
        };
        assert_eq!(used(&book, "2026-10-31T22:59:59Z"), [100, 100]);
        assert_eq!(used(&book, "2026-10-31T23:00:00Z"), [0, 0]);
        book.take(entry(EntryKind::Settle, "b", "2031-01-01T00:00:00Z", (7, 0)));
        assert_eq!(used(&book, "2026-10-31T20:00:00Z"), [100, 100], "after the clock went ahead and back");
    }
}
