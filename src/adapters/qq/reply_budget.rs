//! The reply budget of a thread: every message from a person allows a few replies for a limited time, and nothing else
//! may be sent. Pure; the [`ReplyBudgetHandle`](super::reply_budget_actor::ReplyBudgetHandle) stores it.
//!
//! A reply is recorded before it is sent, with the message it answers and its sequence number. After a crash between
//! the request and its receipt, the same reply is sent again under the same pair, which the platform deduplicates. A
//! refused form may have used up its sequence number: the plainer form gets its own.

use serde::{Deserialize, Serialize};

use super::compose::TextForm;
use super::scene::Scene;
use crate::domain::Timestamp;

/// How many replies are reserved for required messages: approvals, answers, errors.
const RESERVED_REPLIES: u32 = 3;
/// How many messages are kept as reply targets.
const TARGETS: usize = 8;
/// How many replies are kept after the message they answered is dropped.
const REMEMBERED: usize = 32;
/// Sequence numbers of replies go from 1 to this.
const NUMBERS: u32 = 65_535;

/// The target of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Key {
    Message(String),
    /// The event id of a pressed button or similar.
    Event(String),
}

impl Key {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Message(id) | Self::Event(id) => id,
        }
    }
}

/// A message or event that can be replied to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReplyAllowance {
    key: Key,
    at: Timestamp,
    /// The platform has refused further replies.
    #[serde(default)]
    closed: bool,
}

/// One reply: its target and sequence number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReplySlot {
    part: String,
    key: Key,
    seq: u32,
    /// The form that used the sequence number.
    #[serde(default)]
    form: TextForm,
    #[serde(default)]
    done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyPriority {
    /// Must be sent, and waits if the budget is used up.
    Needed,
    /// May be dropped: an acknowledgement, progress. It never uses the reserved replies.
    Passing,
}

/// The result of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reservation {
    /// Send it under this pair.
    Send {
        key: Key,
        seq: u32,
        form: TextForm,
    },
    Done,
    /// No reply target is left.
    Wait,
}

/// The budget of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplyBudget {
    pub(super) scene: Scene,
    #[serde(rename = "tickets")]
    targets: Vec<ReplyAllowance>,
    slots: Vec<ReplySlot>,
}

impl ReplyBudget {
    pub(super) const fn new(scene: Scene) -> Self {
        Self { scene, targets: Vec::new(), slots: Vec::new() }
    }

    /// Adds a reply target. Idempotent.
    pub(super) fn open(&mut self, scene: Scene, key: Key, at: Timestamp) {
        self.scene = scene;
        if self.targets.iter().all(|target| target.key != key) {
            self.targets.push(ReplyAllowance { key, at, closed: false });
        }
        let surplus = self.targets.len().saturating_sub(TARGETS);
        self.targets.drain(..surplus);
        let known = |slot: &ReplySlot| self.targets.iter().any(|target| target.key == slot.key);
        let mut forgettable = self.slots.iter().filter(|slot| slot.done && !known(slot)).count();
        let targets = &self.targets;
        self.slots.retain(|slot| {
            let loose = slot.done && targets.iter().all(|target| target.key != slot.key);
            let keep = !loose || forgettable <= REMEMBERED;
            forgettable -= usize::from(loose);
            keep
        });
    }

    /// The target and sequence number of a part of a delivery. A recorded part keeps its pair for as long as its target
    /// can be replied to.
    pub(super) fn reserve(
        &mut self,
        part: &str,
        reply_to: Option<&str>,
        priority: ReplyPriority,
        form: TextForm,
        now: Timestamp,
    ) -> Reservation {
        if let Some(slot) = self.slots.iter().find(|slot| slot.part == part) {
            return if slot.done {
                Reservation::Done
            } else {
                Reservation::Send { key: slot.key.clone(), seq: slot.seq, form: slot.form }
            };
        }
        let fits = |target: &&ReplyAllowance| {
            self.is_open(target, now) && self.left(target) > reserved_for(priority)
        };
        let asked = self.targets.iter().find(|target| Some(target.key.as_str()) == reply_to).filter(fits);
        let Some(target) = asked.or_else(|| self.targets.iter().rev().find(fits)) else {
            return Reservation::Wait;
        };
        let key = target.key.clone();
        let seq = self.free_number(&key, part, form);
        self.slots.push(ReplySlot { part: part.to_owned(), key: key.clone(), seq, form, done: false });
        Reservation::Send { key, seq, form }
    }

    /// The part was refused in its form; records another form with a new sequence number.
    pub(super) fn change_form(&mut self, part: &str, form: TextForm) {
        let Some(at) = self.slots.iter().position(|slot| slot.part == part && !slot.done) else { return };
        let Some(key) = self.slots.get(at).map(|slot| slot.key.clone()) else { return };
        let seq = self.free_number(&key, part, form);
        if let Some(slot) = self.slots.get_mut(at) {
            (slot.seq, slot.form) = (seq, form);
        }
    }

    /// The part was delivered.
    pub(super) fn done(&mut self, part: &str) {
        for slot in self.slots.iter_mut().filter(|slot| slot.part == part) {
            slot.done = true;
        }
    }

    /// The part was refused and used no reply.
    pub(super) fn release(&mut self, part: &str) {
        self.slots.retain(|slot| slot.part != part || slot.done);
    }

    /// The platform accepts no more replies to this target; parts reserved for it need another.
    pub(super) fn close(&mut self, key: &Key) {
        for target in self.targets.iter_mut().filter(|target| target.key == *key) {
            target.closed = true;
        }
        self.slots.retain(|slot| slot.done || slot.key != *key);
    }

    fn is_open(&self, target: &ReplyAllowance, now: Timestamp) -> bool {
        !target.closed && u128::from(now.millis_since(target.at)) < self.scene.window().as_millis()
    }

    fn left(&self, target: &ReplyAllowance) -> u32 {
        let Some(replies) = self.scene.replies() else { return u32::MAX };
        let used = self.slots.iter().filter(|slot| slot.key == target.key).count();
        replies.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX))
    }

    /// The sequence number derived from the part's name and form, or the next free one.
    fn free_number(&self, key: &Key, part: &str, form: TextForm) -> u32 {
        let taken = |seq: u32| self.slots.iter().any(|slot| slot.key == *key && slot.seq == seq);
        let first = number_of(&format!("{part} {form:?}"));
        (0..NUMBERS).map(|step| (first + step) % NUMBERS + 1).find(|seq| !taken(*seq)).unwrap_or(1)
    }
}

const fn reserved_for(priority: ReplyPriority) -> u32 {
    match priority {
        ReplyPriority::Needed => 0,
        ReplyPriority::Passing => RESERVED_REPLIES,
    }
}

/// A number below [`NUMBERS`] that depends only on the text (FNV-1a).
fn number_of(text: &str) -> u32 {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    text.bytes().fold(2_166_136_261, mix) % NUMBERS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn message(id: &str) -> Key {
        Key::Message(id.to_owned())
    }

    fn group_with(ids: &[&str]) -> ReplyBudget {
        let mut budget = ReplyBudget::new(Scene::Group);
        for id in ids {
            budget.open(Scene::Group, message(id), NOW);
        }
        budget
    }

    fn key_of(grant: &Reservation) -> Option<&str> {
        match grant {
            Reservation::Send { key, .. } => Some(key.as_str()),
            Reservation::Done | Reservation::Wait => None,
        }
    }

    #[test]
    fn a_message_allows_five_replies_and_the_sixth_waits_for_the_next_message() {
        let mut budget = group_with(&["m1"]);
        for part in 0..5 {
            let grant =
                budget.reserve(&format!("p{part}"), Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW);
            assert_eq!(key_of(&grant), Some("m1"));
        }
        assert_eq!(
            budget.reserve("p5", Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW),
            Reservation::Wait
        );
        budget.open(Scene::Group, message("m2"), NOW);
        assert_eq!(
            key_of(&budget.reserve("p5", Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW)),
            Some("m2")
        );
    }

    #[test]
    fn twenty_passing_words_leave_room_for_what_must_be_said() {
        let mut budget = group_with(&["m1"]);
        let passing = |n: usize, budget: &mut ReplyBudget| {
            budget.reserve(&format!("progress{n}"), None, ReplyPriority::Passing, TextForm::Plain, NOW)
        };
        let sent = (0..20).filter(|n| passing(*n, &mut budget) != Reservation::Wait).count();
        assert_eq!(sent, 2);
        for part in ["question", "answer", "more"] {
            assert_ne!(
                budget.reserve(part, Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW),
                Reservation::Wait,
                "{part}"
            );
        }
    }

    #[test]
    fn a_window_that_is_over_takes_nothing() {
        for (scene, minutes) in [(Scene::Group, 5), (Scene::C2c, 60), (Scene::Channel, 5), (Scene::Dm, 5)] {
            let mut budget = ReplyBudget::new(scene);
            budget.open(scene, message("m"), NOW);
            let late = NOW.plus_millis(minutes * 60_000 - 5_000);
            assert_eq!(
                budget.reserve("late", Some("m"), ReplyPriority::Needed, TextForm::Plain, late),
                Reservation::Wait,
                "{scene:?}"
            );
            let early = NOW.plus_millis(minutes * 60_000 - 30_000);
            assert_ne!(
                budget.reserve("early", Some("m"), ReplyPriority::Needed, TextForm::Plain, early),
                Reservation::Wait,
                "{scene:?}"
            );
        }
    }

    #[test]
    fn what_was_entered_goes_out_again_under_the_same_pair() {
        let mut budget = group_with(&["m1"]);
        let first = budget.reserve("p", Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW);
        budget.open(Scene::Group, message("m2"), NOW);
        let later = NOW.plus_millis(10 * 60_000);
        assert_eq!(budget.reserve("p", Some("m2"), ReplyPriority::Needed, TextForm::Plain, later), first);
        budget.done("p");
        assert_eq!(
            budget.reserve("p", Some("m2"), ReplyPriority::Needed, TextForm::Plain, later),
            Reservation::Done
        );
    }

    #[test]
    fn a_message_that_takes_no_more_is_left_for_another() {
        let mut budget = group_with(&["m1", "m2"]);
        budget.reserve("p", Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW);
        budget.close(&message("m1"));
        assert_eq!(
            key_of(&budget.reserve("p", Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW)),
            Some("m2")
        );
        budget.close(&message("m2"));
        assert_eq!(
            budget.reserve("p", Some("m1"), ReplyPriority::Needed, TextForm::Plain, NOW),
            Reservation::Wait
        );
    }

    #[test]
    fn a_refused_reply_costs_nothing() {
        let mut budget = group_with(&["m1"]);
        for n in 0..20 {
            let part = format!("p{n}");
            assert_ne!(
                budget.reserve(&part, None, ReplyPriority::Needed, TextForm::Plain, NOW),
                Reservation::Wait
            );
            budget.release(&part);
        }
    }

    #[test]
    fn a_refused_form_leaves_its_number_and_takes_no_further_reply() {
        let mut budget = group_with(&["m1"]);
        let reserve =
            |budget: &mut ReplyBudget, form| budget.reserve("p", None, ReplyPriority::Needed, form, NOW);
        let Reservation::Send { seq: rich, .. } = reserve(&mut budget, TextForm::Rich) else { panic!() };
        budget.change_form("p", TextForm::Plain);
        // A recorded part keeps its form, even if another is requested.
        let Reservation::Send { seq: plain, form, .. } = reserve(&mut budget, TextForm::Rich) else {
            panic!()
        };
        assert_eq!(form, TextForm::Plain);
        assert_ne!(rich, plain);
        let mut again = group_with(&["m1"]);
        reserve(&mut again, TextForm::Plain);
        assert_eq!(
            reserve(&mut again, TextForm::Plain),
            reserve(&mut budget, TextForm::Plain),
            "by name and form alone"
        );
        assert_eq!(budget.slots.len(), 1);
        budget.done("p");
        budget.change_form("p", TextForm::Linkless);
        assert_eq!(reserve(&mut budget, TextForm::Rich), Reservation::Done);
    }

    #[test]
    fn a_replayed_message_gives_no_further_replies() {
        let mut budget = group_with(&["m1"]);
        for n in 0..5 {
            budget.reserve(&format!("p{n}"), None, ReplyPriority::Needed, TextForm::Plain, NOW);
        }
        budget.open(Scene::Group, message("m1"), NOW);
        assert_eq!(
            budget.reserve("p5", None, ReplyPriority::Needed, TextForm::Plain, NOW),
            Reservation::Wait
        );
    }

    #[test]
    fn an_account_does_not_grow_for_ever() {
        let mut budget = ReplyBudget::new(Scene::C2c);
        for n in 0..500 {
            budget.open(Scene::C2c, message(&format!("m{n}")), NOW);
            budget.reserve(&format!("p{n}"), None, ReplyPriority::Needed, TextForm::Plain, NOW);
            budget.done(&format!("p{n}"));
        }
        assert_eq!(budget.targets.len(), TARGETS);
        assert!(budget.slots.len() <= TARGETS + REMEMBERED, "{}", budget.slots.len());
        assert_eq!(
            budget.reserve("p499", None, ReplyPriority::Needed, TextForm::Plain, NOW),
            Reservation::Done
        );
    }

    proptest! {
        #[test]
        fn no_pair_is_ever_given_twice_and_no_message_gets_more_than_five(
            steps in proptest::collection::vec((0_u8..3, 0_u8..6, 0_u8..30, any::<bool>()), 1..80)
        ) {
            let mut budget = ReplyBudget::new(Scene::Group);
            let mut given: Vec<(String, u32, String)> = Vec::new();
            for (act, id, part, passing) in steps {
                let (id, part) = (format!("m{id}"), format!("p{part}"));
                match act {
                    0 => budget.open(Scene::Group, message(&id), NOW),
                    1 => budget.done(&part),
                    _ => {
                        let priority = if passing { ReplyPriority::Passing } else { ReplyPriority::Needed };
                        if let Reservation::Send { key, seq, .. } = budget.reserve(&part, Some(&id), priority, TextForm::Plain, NOW) {
                            let pair = (key.as_str().to_owned(), seq, part);
                            if !given.contains(&pair) {
                                given.push(pair);
                            }
                        }
                    }
                }
            }
            for (key, seq, _) in &given {
                prop_assert_eq!(given.iter().filter(|(k, s, _)| k == key && s == seq).count(), 1);
                prop_assert!(given.iter().filter(|(k, _, _)| k == key).count() <= 5);
            }
        }

        #[test]
        fn a_number_depends_on_the_name_alone(part in "\\PC{0,30}") {
            let seq = |budget: &mut ReplyBudget| budget.reserve(&part, None, ReplyPriority::Needed, TextForm::Plain, NOW);
            prop_assert_eq!(seq(&mut group_with(&["m"])), seq(&mut group_with(&["m"])));
            prop_assert!(number_of(&part) < NUMBERS);
        }
    }
}
