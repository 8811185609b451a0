//! Updates in progress: which callers wait for them, and whether they are stored on disk. An update may be confirmed to
//! Telegram when it is accepted, or when it is stored durably. Pure: the clock is a parameter.
//!
//! The store is bounded, and no order key can fill it: a key may use as much as is still free, so one alone gets
//! half and two get a third each; the first update of a key has reserved space. Updates beyond that cannot stay
//! unconfirmed, because Telegram returns no updates past a hundred of those: they are refused with a message.
//! The updates of a key are stored oldest first, so that a crash leaves no gap.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::albums::OrderKey;

/// Most updates stored on disk.
const MOST_KEPT: usize = 1100;
/// Space reserved for the first update of each order key.
const RESERVED: usize = 100;
/// Most updates in progress.
const MOST_TAKEN: usize = 2 * MOST_KEPT;

/// The number of an update.
pub(super) fn number_of(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

/// An update in progress.
#[derive(Debug)]
struct Taken {
    id: Option<i64>,
    update: Value,
    /// `None` until it is parsed.
    order_key: Option<OrderKey>,
    since: Instant,
    /// Callers waiting for the confirmation, by their ids.
    waiters: Vec<i64>,
    state: State,
}

/// Where an update is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In memory, unconfirmed at Telegram.
    Here,
    Saving,
    Safe,
}

/// What the caller does with a received update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// New, with this key.
    New(i64),
    /// In progress; the caller waits with the others.
    Waits,
    /// In progress, and stored durably.
    Safe,
}

/// An update to store: key, name and content.
pub(super) type ToSave = (i64, String, Value);

/// What to do with the unstored updates of an order key.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Keeping {
    /// Store these.
    pub(super) to_save: Vec<ToSave>,
    /// Refuse these: the store is full.
    pub(super) beyond: Vec<i64>,
}

/// All updates in progress.
#[derive(Debug, Default)]
pub(super) struct PendingUpdates {
    last: i64,
    taken: BTreeMap<i64, Taken>,
    /// The keys by the updates' own numbers.
    keys: BTreeMap<i64, i64>,
    /// How many are stored or being stored, in total and per share.
    kept: usize,
    shares: BTreeMap<OrderKey, usize>,
}

impl PendingUpdates {
    /// Adds an update; `number` is the caller to notify.
    pub(super) fn take(&mut self, number: i64, update: Value, now: Instant) -> Given {
        let id = number_of(&update);
        let key = id.and_then(|id| self.keys.get(&id)).copied();
        let Some(known) = key.and_then(|key| self.taken.get_mut(&key)) else {
            return Given::New(self.insert(id, update, vec![number], State::Here, now));
        };
        if known.update != update {
            // Update ids may restart. An update whose name is taken stays in memory until the other one is gone.
            return Given::New(self.insert(None, update, vec![number], State::Here, now));
        }
        if known.state == State::Safe {
            return Given::Safe;
        }
        known.waiters.push(number);
        Given::Waits
    }

    /// Adds an update found on disk.
    pub(super) fn take_up(&mut self, update: Value, now: Instant) -> i64 {
        self.insert(number_of(&update), update, Vec::new(), State::Safe, now)
    }

    fn insert(
        &mut self,
        id: Option<i64>,
        update: Value,
        waiters: Vec<i64>,
        state: State,
        since: Instant,
    ) -> i64 {
        self.last += 1;
        if let Some(id) = id {
            self.keys.insert(id, self.last);
        }
        self.kept += usize::from(state != State::Here);
        self.taken.insert(self.last, Taken { id, update, order_key: None, since, waiters, state });
        self.last
    }

    /// Sets the order key of an update.
    pub(super) fn assign(&mut self, key: i64, order_key: OrderKey) {
        let Some(taken) = self.taken.get_mut(&key) else { return };
        if taken.state != State::Here {
            *self.shares.entry(share(&order_key)).or_default() += 1;
        }
        taken.order_key = Some(order_key);
    }

    /// The order key of an update.
    pub(super) fn lane(&self, key: i64) -> Option<&OrderKey> {
        self.taken.get(&key).and_then(|taken| taken.order_key.as_ref())
    }

    /// An update in progress.
    pub(super) fn update(&self, key: i64) -> Option<&Value> {
        self.taken.get(&key).map(|taken| &taken.update)
    }

    /// Whether the store has free space.
    pub(super) fn has_room(&self) -> bool {
        self.kept < MOST_KEPT
    }

    /// Whether one more update of a key fits.
    fn has_room_for(&self, order_key: &OrderKey) -> bool {
        let kept = self.shares.get(&share(order_key)).copied().unwrap_or_default();
        let free = (MOST_KEPT - RESERVED).saturating_sub(self.kept);
        self.has_room() && (kept == 0 || kept < free)
    }

    /// Whether no more updates may be added.
    pub(super) fn is_full(&self) -> bool {
        self.taken.len() >= MOST_TAKEN
    }

    /// The updates of a key to store, oldest first; they are marked as being stored. Nothing while an earlier store of the
    /// key is in progress.
    pub(super) fn begin_saving(&mut self, order_key: &OrderKey) -> Keeping {
        let of_key = || self.taken.iter().filter(|(_, taken)| taken.order_key.as_ref() == Some(order_key));
        if of_key().any(|(_, taken)| taken.state == State::Saving) {
            return Keeping::default();
        }
        let here = |(key, taken): (&i64, &Taken)| {
            let id = taken.id.filter(|_| taken.state == State::Here)?;
            Some((*key, id))
        };
        let keys: Vec<(i64, i64)> = of_key().filter_map(here).collect();
        let mut keeping = Keeping::default();
        for (key, id) in keys {
            if !keeping.beyond.is_empty() || !self.has_room_for(order_key) {
                keeping.beyond.push(key);
            } else if let Some(taken) = self.taken.get_mut(&key) {
                taken.state = State::Saving;
                keeping.to_save.push((key, name(id), taken.update.clone()));
                self.kept += 1;
                *self.shares.entry(share(order_key)).or_default() += 1;
            }
        }
        keeping
    }

    /// The order keys with unstored updates older than this.
    pub(super) fn slow_lanes(&self, age: Duration, now: Instant) -> BTreeSet<OrderKey> {
        let slow = |taken: &&Taken| taken.state == State::Here && now.duration_since(taken.since) > age;
        self.taken.values().filter(slow).filter_map(|taken| taken.order_key.clone()).collect()
    }

    /// Records the outcome of a store. Returns the callers to notify; nothing where the update has ended meanwhile.
    pub(super) fn saved(&mut self, key: i64, safe: bool) -> Option<Vec<i64>> {
        let taken = self.taken.get_mut(&key)?;
        taken.state = if safe { State::Safe } else { State::Here };
        if safe {
            return Some(std::mem::take(&mut taken.waiters));
        }
        let order_key = taken.order_key.clone();
        self.give_back(order_key.as_ref());
        Some(Vec::new())
    }

    /// Frees the space of an update.
    fn give_back(&mut self, order_key: Option<&OrderKey>) {
        self.kept = self.kept.saturating_sub(1);
        let Some(share) = order_key.map(share) else { return };
        if let Some(kept) = self.shares.get_mut(&share) {
            *kept = kept.saturating_sub(1);
        }
        self.shares.retain(|_, kept| *kept > 0);
    }

    /// Ends an update. Returns the callers to notify, and the name it is stored under.
    pub(super) fn end(&mut self, key: i64) -> (Vec<i64>, Option<String>) {
        let Some(taken) = self.taken.remove(&key) else { return Default::default() };
        if let Some(id) = taken.id {
            self.keys.remove(&id);
        }
        if taken.state != State::Here {
            self.give_back(taken.order_key.as_ref());
        }
        let name = taken.id.filter(|_| taken.state == State::Safe).map(name);
        (taken.waiters, name)
    }
}

fn name(id: i64) -> String {
    id.to_string()
}

/// The share an update counts to. Updates without an order key share one.
fn share(order_key: &OrderKey) -> OrderKey {
    match order_key {
        OrderKey::Thread(_) | OrderKey::Orders(_) => order_key.clone(),
        OrderKey::Alone(_) => OrderKey::Alone(0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(id: i64) -> Value {
        json!({ "update_id": id, "message": {} })
    }

    fn order_key(name: &str) -> OrderKey {
        OrderKey::Thread(format!("telegram:chat:{name}").parse().unwrap())
    }

    /// The updates to store, by key.
    fn saving(unsettled: &mut PendingUpdates, order_key: &OrderKey) -> Vec<i64> {
        unsettled.begin_saving(order_key).to_save.into_iter().map(|(key, ..)| key).collect()
    }

    /// Adds updates to an order key, stores those that fit, and returns how many did not.
    fn fill(unsettled: &mut PendingUpdates, order_key: &OrderKey, count: usize) -> usize {
        let now = Instant::now();
        for _ in 0..count {
            let id = 10_000 + unsettled.last;
            let Given::New(key) = unsettled.take(id, update(id), now) else { panic!("{id} is known") };
            unsettled.assign(key, order_key.clone());
        }
        let Keeping { to_save, beyond } = unsettled.begin_saving(order_key);
        for (key, ..) in to_save {
            unsettled.saved(key, true);
        }
        for key in &beyond {
            unsettled.end(*key);
        }
        beyond.len()
    }

    #[tokio::test]
    async fn an_update_may_be_confirmed_when_it_is_at_its_end_or_safe() {
        let (mut unsettled, now) = (PendingUpdates::default(), Instant::now());
        assert_eq!(unsettled.take(70, update(70), now), Given::New(1));
        assert_eq!(unsettled.take(71, update(71), now), Given::New(2));
        unsettled.assign(2, order_key("a"));
        assert_eq!(unsettled.end(1), (vec![70], None), "accepted, and never on the disk");
        let keeping = unsettled.begin_saving(&order_key("a"));
        assert_eq!(keeping, Keeping { to_save: vec![(2, "71".to_owned(), update(71))], beyond: vec![] });
        assert_eq!(unsettled.begin_saving(&order_key("a")), Keeping::default(), "once is enough");
        assert_eq!(unsettled.saved(2, true), Some(vec![71]));
        assert_eq!(
            unsettled.take(71, update(71), now),
            Given::Safe,
            "given again, it may be confirmed at once"
        );
        assert_eq!(unsettled.end(2), (vec![], Some("71".to_owned())));
        assert_eq!(unsettled.end(2), (vec![], None));
        assert_eq!((unsettled.kept, unsettled.shares.len()), (0, 0));
    }

    #[tokio::test]
    async fn what_cannot_be_written_down_waits_and_is_tried_again() {
        let (mut unsettled, now) = (PendingUpdates::default(), Instant::now());
        unsettled.take(1, update(70), now);
        unsettled.assign(1, order_key("a"));
        assert_eq!(unsettled.take(2, update(70), now), Given::Waits, "a second call about the same");
        assert_eq!(saving(&mut unsettled, &order_key("a")), [1]);
        assert_eq!(unsettled.saved(1, false), Some(vec![]));
        assert_eq!(saving(&mut unsettled, &order_key("a")), [1]);
        assert_eq!(unsettled.end(1), (vec![1, 2], None));
        assert_eq!(unsettled.saved(1, true), None, "whoever wrote it down lets it go");
        assert_eq!((unsettled.kept, unsettled.shares.len()), (0, 0));
    }

    #[tokio::test]
    async fn what_was_found_on_the_disk_is_safe_and_another_of_its_number_is_another() {
        let (mut unsettled, now) = (PendingUpdates::default(), Instant::now());
        assert_eq!(unsettled.take_up(update(70), now), 1);
        unsettled.assign(1, order_key("a"));
        assert_eq!(unsettled.take(70, update(70), now), Given::Safe);
        let other = json!({ "update_id": 70, "callback_query": {} });
        assert_eq!(unsettled.take(70, other, now), Given::New(2));
        unsettled.assign(2, order_key("b"));
        for name in ["a", "b"] {
            assert_eq!(unsettled.begin_saving(&order_key(name)), Keeping::default());
        }
        let (age, later) = (Duration::from_secs(1), now + Duration::from_secs(2));
        assert_eq!(unsettled.slow_lanes(age, now), BTreeSet::new());
        assert_eq!(
            unsettled.slow_lanes(age, later),
            BTreeSet::from([order_key("b")]),
            "what is safe may be slow"
        );
    }

    #[tokio::test]
    async fn a_lane_is_written_down_from_its_oldest_on() {
        let (mut unsettled, now) = (PendingUpdates::default(), Instant::now());
        for id in 1..=3 {
            unsettled.take(id, update(id), now);
            unsettled.assign(id, order_key("a"));
        }
        assert_eq!(saving(&mut unsettled, &order_key("a")), [1, 2, 3]);
        unsettled.take(4, update(4), now);
        unsettled.assign(4, order_key("a"));
        assert_eq!(
            saving(&mut unsettled, &order_key("a")),
            [] as [i64; 0],
            "whether those before it will be is not known"
        );
        for (key, safe) in [(1, true), (2, false), (3, false)] {
            unsettled.saved(key, safe);
        }
        assert_eq!(saving(&mut unsettled, &order_key("a")), [2, 3, 4]);
    }

    #[tokio::test]
    async fn no_lane_takes_all_the_room_and_the_first_of_another_always_finds_some() {
        let mut unsettled = PendingUpdates::default();
        assert_eq!(fill(&mut unsettled, &order_key("a"), 1500), 1000, "half of the room is one's own");
        assert_eq!(fill(&mut unsettled, &order_key("a"), 1), 1);
        let alone = |key: i64| OrderKey::Alone(key);
        for key in 1..=50 {
            assert_eq!(fill(&mut unsettled, &alone(key), 1), 0, "a press");
        }
        assert_eq!(fill(&mut unsettled, &order_key("b"), 300), 75, "a third of what was left");
        for number in 0..80 {
            assert_eq!(fill(&mut unsettled, &order_key(&format!("c{number}")), 1), 0);
        }
        for number in 0..2000 {
            fill(&mut unsettled, &order_key(&format!("d{number}")), 2);
            assert!(unsettled.kept <= MOST_KEPT && unsettled.taken.len() <= MOST_KEPT);
        }
        assert_eq!(fill(&mut unsettled, &order_key("e"), 1), 1, "there is an end to it");
        assert!(!unsettled.has_room());
    }

    #[tokio::test]
    async fn no_more_are_taken_in_than_can_be_held() {
        let (mut unsettled, now) = (PendingUpdates::default(), Instant::now());
        let most = i64::try_from(MOST_TAKEN).unwrap();
        for id in 1..=most {
            assert!(!unsettled.is_full());
            unsettled.take(id, update(id), now);
        }
        assert!(unsettled.is_full());
        unsettled.end(1);
        assert!(!unsettled.is_full());
    }
}
