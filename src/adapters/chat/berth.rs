//! Where the tasks of an adapter lie while nobody runs them. An adapter that broke is started again with the same ones,
//! and what was in their hands is not lost.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{BacklogTask, Finish, Painter, ScreenTask};
use crate::ports::{AdapterError, BoxFuture};

/// A place for one thing that one at a time has in use.
#[derive(Debug)]
pub struct Berth<T>(Mutex<Option<T>>);

/// The thing while it is in use, unless somebody else has it. However the use ends, also by a panic, it is put back.
#[derive(Debug)]
pub struct Lent<'a, T> {
    berth: &'a Berth<T>,
    thing: Option<T>,
}

impl<T> Berth<T> {
    /// With the thing in it.
    pub const fn new(thing: T) -> Self {
        Self(Mutex::new(Some(thing)))
    }

    /// Lends the thing, if it is here.
    pub fn lend(&self) -> Lent<'_, T> {
        let thing = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Lent { berth: self, thing }
    }

    /// Lets the thing go for good: whoever waits for it to do something waits no longer.
    pub fn let_go(&self) {
        drop(self.lend().thing.take());
    }
}

impl<T> Lent<'_, T> {
    /// The thing; nothing where somebody else has it.
    pub const fn thing(&mut self) -> Option<&mut T> {
        self.thing.as_mut()
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        if let Some(thing) = self.thing.take() {
            *self.berth.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(thing);
        }
    }
}

impl Berth<BacklogTask> {
    /// Hears what comes while what was accepted is handed in beside it, until the hearing ends.
    ///
    /// # Errors
    /// Those of the hearing; or that somebody hears already, or that what was accepted earlier cannot be read.
    pub async fn run_beside(
        &self,
        finish: Arc<dyn Finish>,
        hearing: BoxFuture<'_, Result<(), AdapterError>>,
    ) -> Result<(), AdapterError> {
        let mut lent = self.lend();
        let Some(task) = lent.thing() else {
            return Err(AdapterError::Fatal("the adapter runs already".to_owned()));
        };
        // What was accepted by an earlier run stands before whatever comes now.
        if let Err(error) = task.take_up().await {
            return Err(AdapterError::Broken(format!("what was accepted earlier cannot be read: {error}")));
        }
        let over = CancellationToken::new();
        let (ended, ()) = tokio::join!(ending(hearing, &over), task.run(finish, over.clone()));
        ended
    }
}

impl Berth<ScreenTask> {
    /// Receives while what is fleeting is shown beside it, until the receiving ends. Once `stop` was said nothing is ever
    /// shown again, and no answer that is delivered then waits for it.
    pub async fn run_beside<T>(
        &self,
        painter: Arc<dyn Painter>,
        stop: &CancellationToken,
        receiving: BoxFuture<'_, T>,
    ) -> T {
        // Where somebody else shows it, it need not be shown twice.
        let mut lent = self.lend();
        let Some(task) = lent.thing() else { return receiving.await };
        let over = CancellationToken::new();
        let (ended, ()) = tokio::join!(ending(receiving, &over), task.run(painter, over.clone()));
        if stop.is_cancelled() {
            lent.thing = None;
        }
        ended
    }
}

/// Does the work, and then tells whoever runs beside it that it is over.
async fn ending<T>(work: BoxFuture<'_, T>, over: &CancellationToken) -> T {
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

    use super::super::{Backlog, Finished, Frame, Haste, Place, Screen};
    use super::*;
    use crate::domain::{CorrelationId, ThreadId};
    use crate::store::FileNotes;

    struct Blind;

    impl Painter for Blind {
        fn paint(
            &self,
            _: ThreadId,
            _: CorrelationId,
            _: Frame,
            message: Option<String>,
        ) -> BoxFuture<'_, Option<String>> {
            Box::pin(async { message })
        }

        fn interval(&self, _: &ThreadId) -> Duration {
            Duration::ZERO
        }
    }

    #[tokio::test]
    async fn a_task_lies_in_its_berth_again_when_the_work_beside_it_has_ended() {
        let (_screen, task) = Screen::new();
        let (berth, stop) = (Berth::new(task), CancellationToken::new());
        for run in 1..=2 {
            let work = async {
                assert!(berth.lend().thing().is_none(), "it is in use");
                run
            };
            assert_eq!(berth.run_beside(Arc::new(Blind), &stop, Box::pin(work)).await, run);
        }
        assert!(berth.lend().thing().is_some());
    }

    #[tokio::test]
    async fn a_run_after_one_that_was_cut_off_still_receives() {
        let (_screen, task) = Screen::new();
        let (berth, stop) = (Berth::new(task), CancellationToken::new());
        let cut_off = berth.run_beside(Arc::new(Blind), &stop, Box::pin(std::future::pending::<()>()));
        assert!(futures_util::FutureExt::now_or_never(cut_off).is_none());
        assert!(berth.lend().thing().is_some(), "and shows");
        assert_eq!(berth.run_beside(Arc::new(Blind), &stop, Box::pin(async { 7 })).await, 7);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_delivered_after_the_stop_does_not_wait_for_what_is_shown_no_more() {
        let (screen, task) = Screen::new();
        let (berth, stop) = (Berth::new(task), CancellationToken::new());
        stop.cancel();
        berth.run_beside(Arc::new(Blind), &stop, Box::pin(async {})).await;
        let began = tokio::time::Instant::now();
        assert_eq!(screen.take(&"qq:chat:1".parse().unwrap(), &"run".parse().unwrap()).await, None);
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(berth.run_beside(Arc::new(Blind), &stop, Box::pin(async { 7 })).await, 7);
    }

    struct Idle;

    impl Finish for Idle {
        fn finish<'a>(&'a self, _: &'a Value, _: &'a mut Place) -> BoxFuture<'a, Finished> {
            Box::pin(async { Finished::Done })
        }
    }

    #[tokio::test]
    async fn a_panic_of_one_run_does_not_keep_the_next_from_hearing_and_showing() {
        let dir = tempfile::tempdir().unwrap();
        let (backlog, task) = Backlog::new(&FileNotes::new(dir.path(), &"fake".parse().unwrap()));
        let (hears, (_screen, shows)) = (Berth::new(task), Screen::new());
        let (shows, stop) = (Berth::new(shows), CancellationToken::new());
        for panics in [true, false] {
            let hearing = async {
                // What is accepted now is handed in by the next run.
                backlog.accept("k", Value::Null, backlog.enter("c", Haste::Slow)).await.unwrap();
                assert!(!panics, "on purpose");
                Ok(())
            };
            let hearing = hears.run_beside(Arc::new(Idle), Box::pin(hearing));
            let run = shows.run_beside(Arc::new(Blind), &stop, Box::pin(hearing));
            let ended = AssertUnwindSafe(run).catch_unwind().await;
            assert_eq!(ended.is_err(), panics);
            assert!(ended.is_ok_and(|ended| ended.is_ok()) != panics);
            assert!(shows.lend().thing().is_some() && hears.lend().thing().is_some());
        }
    }
}
