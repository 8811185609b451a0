//! The callers that wait for the end of a run, each for the answer to one message.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::oneshot;

use crate::domain::{CorrelationId, MessageId};
use crate::ports::{RunOutcome, WaitUntil};

#[derive(Debug)]
struct Waiter {
    message: MessageId,
    until: WaitUntil,
    reply: oneshot::Sender<RunOutcome>,
}

/// Waiters by run.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    by_run: BTreeMap<CorrelationId, Vec<Waiter>>,
    being_read: BTreeSet<MessageId>,
}

impl Waiter {
    fn ends_when_held_back(&self, being_read: &BTreeSet<MessageId>) -> bool {
        self.until == WaitUntil::AnsweredOrHeldBack && !being_read.contains(&self.message)
    }
}

impl Waiters {
    /// Registers a waiter for the end of the run that a message belongs to.
    pub(super) fn add(
        &mut self,
        run: CorrelationId,
        message: MessageId,
        until: WaitUntil,
        reply: oneshot::Sender<RunOutcome>,
    ) {
        self.by_run.entry(run).or_default().push(Waiter { message, until, reply });
    }

    /// Moves a message and its waiters to another run.
    pub(super) fn follow(&mut self, message: &MessageId, to: &CorrelationId) {
        let mut moved = Vec::new();
        for waiters in self.by_run.values_mut() {
            moved.extend(waiters.extract_if(.., |waiter| waiter.message == *message));
        }
        self.by_run.retain(|_, waiters| !waiters.is_empty());
        if !moved.is_empty() {
            self.by_run.entry(to.clone()).or_default().extend(moved);
        }
    }

    /// Tells the waiters of a run its outcome. A waiter may be gone.
    pub(super) fn tell(&mut self, run: &CorrelationId, outcome: &RunOutcome) {
        for waiter in self.by_run.remove(run).unwrap_or_default() {
            drop(waiter.reply.send(outcome.clone()));
        }
    }

    /// Tells those who wait for the beginning of this run.
    pub(super) fn tell_begun(&mut self, run: &CorrelationId) {
        let Some(waiters) = self.by_run.get_mut(run) else { return };
        for waiter in waiters.extract_if(.., |waiter| waiter.until == WaitUntil::Begun) {
            drop(waiter.reply.send(RunOutcome { correlation: Some(run.clone()), ..RunOutcome::default() }));
        }
        self.by_run.retain(|_, waiters| !waiters.is_empty());
    }

    /// A model reads this message: it may be a reply to a question, and is not held back until that is known.
    pub(super) fn reading(&mut self, message: MessageId) {
        self.being_read.insert(message);
    }

    pub(super) fn was_read(&mut self, message: &MessageId) {
        self.being_read.remove(message);
    }

    /// Whether there are waiters that [`Self::tell_held_back`] tells.
    pub(super) fn has_held_back(&self) -> bool {
        self.by_run.values().flatten().any(|waiter| waiter.ends_when_held_back(&self.being_read))
    }

    /// Tells those who do not wait behind an approval of another run, each with the run of its message.
    pub(super) fn tell_held_back(&mut self, outcome: &RunOutcome) {
        for (run, waiters) in &mut self.by_run {
            for waiter in waiters.extract_if(.., |waiter| waiter.ends_when_held_back(&self.being_read)) {
                let correlation = Some(run.clone());
                drop(waiter.reply.send(RunOutcome { correlation, ..outcome.clone() }));
            }
        }
        self.by_run.retain(|_, waiters| !waiters.is_empty());
    }

    pub(super) fn runs(&self) -> Vec<CorrelationId> {
        self.by_run.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_message_that_was_moved_hears_of_its_new_run_only() {
        let run = |text: &str| -> CorrelationId { text.parse().unwrap() };
        let outcome = |text: &str| RunOutcome { correlation: Some(run(text)), ..RunOutcome::default() };
        let mut waiters = Waiters::default();
        let (one, mut hears_one) = oneshot::channel();
        let (two, mut hears_two) = oneshot::channel();
        let until = WaitUntil::Answered;
        waiters.add(run("run_1"), "m1".parse().unwrap(), until, one);
        waiters.add(run("run_1"), "m2".parse().unwrap(), until, two);
        waiters.follow(&"m1".parse().unwrap(), &run("run_2"));
        waiters.tell(&run("run_2"), &outcome("run_2"));
        assert_eq!(hears_one.try_recv().unwrap().correlation, Some(run("run_2")));
        assert!(hears_two.try_recv().is_err(), "its run goes on");
        waiters.tell(&run("run_1"), &outcome("run_1"));
        assert_eq!(hears_two.try_recv().unwrap().correlation, Some(run("run_1")));
        assert!(waiters.runs().is_empty());
    }

    #[test]
    fn who_waits_for_the_beginning_of_a_run_hears_of_it_before_its_end() {
        let mut waiters = Waiters::default();
        let (early, mut hears_early) = oneshot::channel();
        let (late, mut hears_late) = oneshot::channel();
        let run: CorrelationId = "run_1".parse().unwrap();
        waiters.add(run.clone(), "m1".parse().unwrap(), WaitUntil::Begun, early);
        waiters.add(run.clone(), "m1".parse().unwrap(), WaitUntil::Answered, late);
        waiters.tell_begun(&"run_2".parse().unwrap());
        assert!(hears_early.try_recv().is_err(), "another run began");
        waiters.tell_begun(&run);
        assert!(hears_early.try_recv().is_ok() && hears_late.try_recv().is_err());
        assert_eq!(waiters.runs(), [run]);
    }

    #[test]
    fn a_question_of_another_run_ends_only_the_waits_that_say_so() {
        let mut waiters = Waiters::default();
        let (patient, mut hears_patient) = oneshot::channel();
        let (impatient, mut hears_impatient) = oneshot::channel();
        let run: CorrelationId = "run_2".parse().unwrap();
        waiters.add(run.clone(), "m1".parse().unwrap(), WaitUntil::Answered, patient);
        waiters.add(run.clone(), "m2".parse().unwrap(), WaitUntil::AnsweredOrHeldBack, impatient);
        waiters.reading("m2".parse().unwrap());
        assert!(!waiters.has_held_back(), "it may be a reply");
        waiters.was_read(&"m2".parse().unwrap());
        assert!(waiters.has_held_back());
        waiters.tell_held_back(&RunOutcome::default());
        assert_eq!(hears_impatient.try_recv().unwrap().correlation, Some(run.clone()));
        assert!(hears_patient.try_recv().is_err());
        assert_eq!(waiters.runs(), [run]);
    }
}
