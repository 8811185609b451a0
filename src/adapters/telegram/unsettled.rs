//! What was taken in and is not at its end: who waits to hear of it, and whether it is safe on the disk meanwhile. An
//! update may be confirmed when it is accepted, or when it is kept where a crash cannot take it. Pure: the time is
//! handed in.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

/// How many are kept on the disk. What comes then is not confirmed before one of them is at its end: it is safe at
/// Telegram, and in nobody's way there but its own.
const MOST_KEPT: usize = 1000;
/// How many are worked on at once. More are not to be taken in.
const MOST_TAKEN: usize = 2 * MOST_KEPT;

/// The number of an update.
pub(super) fn number_of(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

/// An update that is not at its end.
#[derive(Debug)]
struct Taken {
    id: Option<i64>,
    update: Value,
    since: Instant,
    /// Those who want to hear when it may be confirmed, by the numbers they gave.
    waiters: Vec<i64>,
    state: State,
}

/// Where an update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Only here, and at Telegram.
    Here,
    /// Being written down.
    Saving,
    /// On the disk.
    Safe,
}

/// What is to be done about an update that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// It is new, and goes by this key.
    New(i64),
    /// It is being worked on; whoever gave it waits with the others.
    Waits,
    /// It is being worked on, and safe.
    Safe,
}

/// What is to be written down: its key, the name to keep it under, and the update.
pub(super) type ToSave = (i64, String, Value);

/// All that is not at its end.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    last: i64,
    taken: BTreeMap<i64, Taken>,
    /// The keys by the updates' own numbers.
    keys: BTreeMap<i64, i64>,
    /// How many are on the disk, or about to be.
    kept: usize,
}

impl Unsettled {
    /// Takes an update in; `number` is whom to tell.
    pub(super) fn take(&mut self, number: i64, update: Value, now: Instant) -> Given {
        let id = number_of(&update);
        let key = id.and_then(|id| self.keys.get(&id)).copied();
        let Some(known) = key.and_then(|key| self.taken.get_mut(&key)) else {
            return Given::New(self.insert(id, update, vec![number], State::Here, now));
        };
        if known.update != update {
            // Numbers may start anew. What cannot be told apart on the disk stays here until the other one is gone.
            return Given::New(self.insert(None, update, vec![number], State::Here, now));
        }
        if known.state == State::Safe {
            return Given::Safe;
        }
        known.waiters.push(number);
        Given::Waits
    }

    /// Takes an update in that was found on the disk.
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
        self.taken.insert(self.last, Taken { id, update, since, waiters, state });
        self.last
    }

    /// An update that is not at its end.
    pub(super) fn update(&self, key: i64) -> Option<&Value> {
        self.taken.get(&key).map(|taken| &taken.update)
    }

    /// Whether there is room for more on the disk.
    pub(super) fn has_room(&self) -> bool {
        self.kept < MOST_KEPT
    }

    /// Whether there are so many that no more are to be taken in.
    pub(super) fn is_full(&self) -> bool {
        self.taken.len() >= MOST_TAKEN
    }

    /// Those of these that have to be written down, as far as there is room. From now on they are being.
    pub(super) fn begin_saving(&mut self, keys: impl IntoIterator<Item = i64>) -> Vec<ToSave> {
        let mut found = Vec::new();
        for key in keys {
            if !self.has_room() {
                break;
            }
            let Some(taken) = self.taken.get_mut(&key).filter(|taken| taken.state == State::Here) else {
                continue;
            };
            if let Some(id) = taken.id {
                taken.state = State::Saving;
                self.kept += 1;
                found.push((key, name(id), taken.update.clone()));
            }
        }
        found
    }

    /// Those that have been worked on for longer than this.
    pub(super) fn older_than(&self, age: Duration, now: Instant) -> Vec<i64> {
        let old = self.taken.iter().filter(|(_, taken)| now.duration_since(taken.since) > age);
        old.map(|(key, _)| *key).collect()
    }

    /// One was written down, or could not be. Gives those to be told that it may be confirmed; nothing where it has
    /// come to its end meanwhile.
    pub(super) fn saved(&mut self, key: i64, safe: bool) -> Option<Vec<i64>> {
        let taken = self.taken.get_mut(&key)?;
        taken.state = if safe { State::Safe } else { State::Here };
        if !safe {
            self.kept = self.kept.saturating_sub(1);
        }
        Some(if safe { std::mem::take(&mut taken.waiters) } else { Vec::new() })
    }

    /// One is at its end. Gives those to be told, and the name it is kept under if it is.
    pub(super) fn end(&mut self, key: i64) -> (Vec<i64>, Option<String>) {
        let Some(taken) = self.taken.remove(&key) else { return Default::default() };
        if let Some(id) = taken.id {
            self.keys.remove(&id);
        }
        if taken.state != State::Here {
            self.kept = self.kept.saturating_sub(1);
        }
        let name = taken.id.filter(|_| taken.state == State::Safe).map(name);
        (taken.waiters, name)
    }
}

fn name(id: i64) -> String {
    id.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(id: i64) -> Value {
        json!({ "update_id": id, "message": {} })
    }

    #[tokio::test]
    async fn an_update_may_be_confirmed_when_it_is_at_its_end_or_safe() {
        let (mut unsettled, now) = (Unsettled::default(), Instant::now());
        assert_eq!(unsettled.take(70, update(70), now), Given::New(1));
        assert_eq!(unsettled.take(71, update(71), now), Given::New(2));
        assert_eq!(unsettled.end(1), (vec![70], None), "accepted, and never on the disk");
        assert_eq!(unsettled.begin_saving([1, 2]), [(2, "71".to_owned(), update(71))]);
        assert_eq!(unsettled.begin_saving([2]), [], "once is enough");
        assert_eq!(unsettled.saved(2, true), Some(vec![71]));
        assert_eq!(
            unsettled.take(71, update(71), now),
            Given::Safe,
            "given again, it may be confirmed at once"
        );
        assert_eq!(unsettled.end(2), (vec![], Some("71".to_owned())));
        assert_eq!(unsettled.end(2), (vec![], None));
    }

    #[tokio::test]
    async fn what_cannot_be_written_down_waits_and_is_tried_again() {
        let (mut unsettled, now) = (Unsettled::default(), Instant::now());
        unsettled.take(1, update(70), now);
        assert_eq!(unsettled.take(2, update(70), now), Given::Waits, "a second call about the same");
        assert_eq!(unsettled.begin_saving([1]).len(), 1);
        assert_eq!(unsettled.saved(1, false), Some(vec![]));
        assert_eq!(unsettled.begin_saving([1]).len(), 1);
        assert_eq!(unsettled.end(1), (vec![1, 2], None));
        assert_eq!(unsettled.saved(1, true), None, "whoever wrote it down lets it go");
    }

    #[tokio::test]
    async fn what_was_found_on_the_disk_is_safe_and_another_of_its_number_is_another() {
        let (mut unsettled, now) = (Unsettled::default(), Instant::now());
        assert_eq!(unsettled.take_up(update(70), now), 1);
        assert_eq!(unsettled.take(70, update(70), now), Given::Safe);
        let other = json!({ "update_id": 70, "callback_query": {} });
        assert_eq!(unsettled.take(70, other, now), Given::New(2));
        assert_eq!(unsettled.begin_saving([1, 2]), []);
        assert_eq!(unsettled.older_than(Duration::from_secs(1), now), [] as [i64; 0]);
        assert_eq!(unsettled.older_than(Duration::from_secs(1), now + Duration::from_secs(2)), [1, 2]);
    }

    #[tokio::test]
    async fn what_there_is_no_room_for_on_the_disk_stays_unconfirmed_until_there_is() {
        let (mut unsettled, now) = (Unsettled::default(), Instant::now());
        let most = i64::try_from(MOST_KEPT).unwrap();
        for id in 1..=most + 2 {
            assert_eq!(unsettled.take(id, update(id), now), Given::New(id));
        }
        assert_eq!(unsettled.begin_saving(1..=most + 2).len(), MOST_KEPT);
        assert_eq!(unsettled.saved(1, true), Some(vec![1]));
        assert_eq!(unsettled.begin_saving([most + 1]), [], "what is safe takes room too");
        assert_eq!(unsettled.take(most + 1, update(most + 1), now), Given::Waits, "and nothing is dropped");
        unsettled.saved(2, false);
        assert_eq!(unsettled.begin_saving([most + 1]).len(), 1, "what could not be written takes none");
        unsettled.end(1);
        assert_eq!(unsettled.begin_saving([most + 2]).len(), 1);
        assert_eq!(unsettled.begin_saving([2]), []);
        assert_eq!(unsettled.end(most + 1).0, [most + 1, most + 1]);
    }

    #[tokio::test]
    async fn no_more_are_taken_in_than_can_be_held() {
        let (mut unsettled, now) = (Unsettled::default(), Instant::now());
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
