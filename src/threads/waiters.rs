//! The callers that wait for the end of a run, each for the answer to one message.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use crate::domain::{CorrelationId, MessageId};
use crate::ports::RunOutcome;

type Waiter = (MessageId, oneshot::Sender<RunOutcome>);

/// Waiters by run.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    by_run: BTreeMap<CorrelationId, Vec<Waiter>>,
}

impl Waiters {
    /// Registers a waiter for the end of the run that a message belongs to.
    pub(super) fn add(&mut self, run: CorrelationId, message: MessageId, reply: oneshot::Sender<RunOutcome>) {
        self.by_run.entry(run).or_default().push((message, reply));
    }

    /// Moves a message and its waiters to another run.
    pub(super) fn follow(&mut self, message: &MessageId, to: &CorrelationId) {
        let mut moved = Vec::new();
        for waiters in self.by_run.values_mut() {
            moved.extend(waiters.extract_if(.., |(waits_for, _)| waits_for == message));
        }
        self.by_run.retain(|_, waiters| !waiters.is_empty());
        if !moved.is_empty() {
            self.by_run.entry(to.clone()).or_default().extend(moved);
        }
    }

    /// Tells the waiters of a run its outcome. A waiter may be gone.
    pub(super) fn tell(&mut self, run: &CorrelationId, outcome: &RunOutcome) {
        for (_, waiter) in self.by_run.remove(run).unwrap_or_default() {
            drop(waiter.send(outcome.clone()));
        }
    }

    /// The runs with waiters.
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
        waiters.add(run("run_1"), "m1".parse().unwrap(), one);
        waiters.add(run("run_1"), "m2".parse().unwrap(), two);
        waiters.follow(&"m1".parse().unwrap(), &run("run_2"));
        waiters.tell(&run("run_2"), &outcome("run_2"));
        assert_eq!(hears_one.try_recv().unwrap().correlation, Some(run("run_2")));
        assert!(hears_two.try_recv().is_err(), "its run goes on");
        waiters.tell(&run("run_1"), &outcome("run_1"));
        assert_eq!(hears_two.try_recv().unwrap().correlation, Some(run("run_1")));
        assert!(waiters.runs().is_empty());
    }
}
