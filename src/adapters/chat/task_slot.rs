//! Holds the tasks of an adapter while they do not run. An adapter that failed is restarted with the same tasks, so
//! their state is not lost.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::inbound::{Finish, InboxTask, QueuedEvent};
use super::{DraftTarget, DraftTask};
use crate::ports::{AdapterError, BoxFuture};

/// A slot for one value with one user at a time.
#[derive(Debug)]
pub struct TaskSlot<T>(Mutex<Option<T>>);

/// The borrowed value, if it was free. It is put back when the guard is dropped, also by a panic.
#[derive(Debug)]
pub struct SlotGuard<'a, T> {
    slot: &'a TaskSlot<T>,
    value: Option<T>,
}

impl<T> TaskSlot<T> {
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    /// Borrows the value, if it is free.
    pub fn lend(&self) -> SlotGuard<'_, T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        SlotGuard { slot: self, value }
    }

    /// Drops the value for good; callers that wait for it stop waiting.
    pub fn close(&self) {
        drop(self.lend().value.take());
    }
}

impl<T> SlotGuard<'_, T> {
    /// The value; `None` while another user has it.
    pub const fn get_mut(&mut self) -> Option<&mut T> {
        self.value.as_mut()
    }
}

impl<T> Drop for SlotGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            *self.slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        }
    }
}

impl TaskSlot<InboxTask> {
    /// Receives events while the inbox is submitted beside it, until `receiving` ends. `convert` and the argument of
    /// `receiving` are those of [`InboxTask::take_up`].
    ///
    /// # Errors
    /// Those of `receiving`; when the adapter runs already; when the stored events cannot be read.
    pub async fn run_beside<R>(
        &self,
        convert: impl Fn(&Value) -> Option<QueuedEvent>,
        finish: Arc<dyn Finish>,
        receiving: impl FnOnce(Vec<(String, Value)>) -> R,
    ) -> Result<(), AdapterError>
    where
        R: Future<Output = Result<(), AdapterError>>,
    {
        let mut task_guard = self.lend();
        let Some(task) = task_guard.get_mut() else {
            return Err(AdapterError::Fatal("the adapter runs already".to_owned()));
        };
        // Events that an earlier run accepted come before new ones.
        let earlier = task.take_up(convert).await.map_err(|error| {
            AdapterError::Broken(format!("what was accepted earlier cannot be read: {error}"))
        })?;
        let over = CancellationToken::new();
        let (ended, ()) = tokio::join!(ending(receiving(earlier), &over), task.run(finish, over.clone()));
        ended
    }
}

impl TaskSlot<DraftTask> {
    /// Receives events while drafts are shown beside it, until `receiving` ends. Once `stop` is cancelled no draft is
    /// shown again, and no later delivery waits for one.
    pub async fn run_beside<T>(
        &self,
        target: Arc<impl DraftTarget>,
        stop: &CancellationToken,
        receiving: BoxFuture<'_, T>,
    ) -> T {
        // Another user already runs the task.
        let mut task_guard = self.lend();
        let Some(task) = task_guard.get_mut() else { return receiving.await };
        let over = CancellationToken::new();
        let (ended, ()) = tokio::join!(ending(receiving, &over), task.run(target, over.clone()));
        if stop.is_cancelled() {
            task_guard.value = None;
        }
        ended
    }
}

/// Runs the future, then cancels `over` for the task beside it.
async fn ending<T>(work: impl Future<Output = T>, over: &CancellationToken) -> T {
    let ended = work.await;
    over.cancel();
    ended
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use serde_json::Value;

    use super::super::inbound::{Finished, Inbound, Inbox, InboxEntry, Position, Speed};
    use super::super::{DraftScheduler, DraftTiming, DraftTurn, DraftView, LiveMessage, LiveMessages, Shown};
    use super::*;
    use crate::domain::{Addressed, ThreadId};
    use crate::store::FileNotes;
    use crate::store::memory::InMemoryNotes;

    struct NoTarget(LiveMessages);

    impl NoTarget {
        fn new() -> Arc<Self> {
            Arc::new(Self(LiveMessages::new(Arc::new(InMemoryNotes::default()), "live:")))
        }
    }

    impl DraftTarget for NoTarget {
        type Rendered = String;

        fn live_messages(&self) -> &LiveMessages {
            &self.0
        }

        fn timing(&self, _: &ThreadId) -> DraftTiming {
            DraftTiming { hold: Duration::ZERO, between: Duration::ZERO, silence: None, lasts: None }
        }

        fn render(&self, _: &DraftView) -> Option<String> {
            None
        }

        async fn show_view(&self, _: &DraftTurn, _: &String, _: Option<LiveMessage>) -> Shown {
            Shown::No
        }
    }

    #[tokio::test]
    async fn a_task_lies_in_its_berth_again_when_the_work_beside_it_has_ended() {
        let (_screen, task) = DraftScheduler::new();
        let (slot, stop) = (TaskSlot::new(task), CancellationToken::new());
        for run in 1..=2 {
            let work = async {
                assert!(slot.lend().get_mut().is_none(), "it is in use");
                run
            };
            assert_eq!(slot.run_beside(NoTarget::new(), &stop, Box::pin(work)).await, run);
        }
        assert!(slot.lend().get_mut().is_some());
    }

    #[tokio::test]
    async fn a_run_after_one_that_was_cut_off_still_receives() {
        let (_screen, task) = DraftScheduler::new();
        let (slot, stop) = (TaskSlot::new(task), CancellationToken::new());
        let cut_off = slot.run_beside(NoTarget::new(), &stop, Box::pin(std::future::pending::<()>()));
        assert!(futures_util::FutureExt::now_or_never(cut_off).is_none());
        assert!(slot.lend().get_mut().is_some(), "and shows");
        assert_eq!(slot.run_beside(NoTarget::new(), &stop, Box::pin(async { 7 })).await, 7);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_delivered_after_the_stop_does_not_wait_for_what_is_shown_no_more() {
        let (drafts, task) = DraftScheduler::new();
        let (slot, stop) = (TaskSlot::new(task), CancellationToken::new());
        stop.cancel();
        slot.run_beside(NoTarget::new(), &stop, Box::pin(async {})).await;
        let began = tokio::time::Instant::now();
        drafts.end(&"qq:chat:1".parse().unwrap(), &"run".parse().unwrap()).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(slot.run_beside(NoTarget::new(), &stop, Box::pin(async { 7 })).await, 7);
    }

    struct Idle;

    impl Finish for Idle {
        fn finish<'a>(
            &'a self,
            _: &'a mut QueuedEvent,
            _: &'a mut Position,
            _: &'a InboxEntry,
        ) -> BoxFuture<'a, Finished> {
            Box::pin(async { Finished::Done })
        }
    }

    #[tokio::test]
    async fn a_panic_of_one_run_does_not_keep_the_next_from_hearing_and_showing() {
        let dir = tempfile::tempdir().unwrap();
        let (inbox, task) = Inbox::new(&FileNotes::new(dir.path(), &"fake".parse().unwrap()), "inbox");
        let (hears, (_screen, shows)) = (TaskSlot::new(task), DraftScheduler::new());
        let (shows, stop) = (TaskSlot::new(shows), CancellationToken::new());
        for panics in [true, false] {
            let hearing = async |_| {
                // The next run submits what is accepted now.
                let event = Inbound::Platform { key: "k".to_owned(), event: Value::Null };
                let place = inbox.enter("c", Speed::Slow);
                inbox.accept(QueuedEvent::new(event, Addressed::ANSWER), place).await.unwrap();
                assert!(!panics, "on purpose");
                Ok(())
            };
            let hearing = hears.run_beside(|_| None, Arc::new(Idle), hearing);
            let run = shows.run_beside(NoTarget::new(), &stop, Box::pin(hearing));
            let ended = AssertUnwindSafe(run).catch_unwind().await;
            assert_eq!(ended.is_err(), panics);
            assert!(ended.is_ok_and(|ended| ended.is_ok()) != panics);
            assert!(shows.lend().get_mut().is_some() && hears.lend().get_mut().is_some());
        }
    }
}
