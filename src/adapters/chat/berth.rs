//! Where the tasks of an adapter lie while nobody runs them. An adapter that broke is started again with the same ones,
//! and what was in their hands is not lost.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{BacklogTask, Finish, Painter, ScreenTask};
use crate::ports::{AdapterError, BoxFuture};

/// A place for one thing that is somewhere else while it is in use.
#[derive(Debug)]
pub struct Berth<T>(Mutex<Option<T>>);

impl<T> Berth<T> {
    /// With the thing in it.
    pub const fn new(thing: T) -> Self {
        Self(Mutex::new(Some(thing)))
    }

    /// The thing, unless it is in use.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts it back for the next one to take.
    pub fn put(&self, thing: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(thing);
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
        let Some(mut task) = self.take() else {
            return Err(AdapterError::Fatal("the adapter runs already".to_owned()));
        };
        // What was accepted by an earlier run stands before whatever comes now.
        if let Err(error) = task.take_up().await {
            self.put(task);
            return Err(AdapterError::Broken(format!("what was accepted earlier cannot be read: {error}")));
        }
        let over = CancellationToken::new();
        let (ended, task) = tokio::join!(ending(hearing, &over), task.run(finish, over.clone()));
        self.put(task);
        ended
    }
}

impl Berth<ScreenTask> {
    /// Receives while what is fleeting is shown beside it, until the receiving ends.
    pub async fn run_beside<T>(&self, painter: Arc<dyn Painter>, receiving: BoxFuture<'_, T>) -> T {
        // It is gone only where an earlier run was cut off: then nothing fleeting is shown.
        let Some(task) = self.take() else { return receiving.await };
        let over = CancellationToken::new();
        let (ended, task) = tokio::join!(ending(receiving, &over), task.run(painter, over.clone()));
        self.put(task);
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
    use std::time::Duration;

    use super::super::{Frame, Screen};
    use super::*;
    use crate::domain::{CorrelationId, ThreadId};

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
        let berth = Berth::new(task);
        for run in 1..=2 {
            let work = async {
                assert!(berth.take().is_none(), "it is in use");
                run
            };
            assert_eq!(berth.run_beside(Arc::new(Blind), Box::pin(work)).await, run);
        }
        assert!(berth.take().is_some());
    }

    #[tokio::test]
    async fn a_run_after_one_that_was_cut_off_still_receives() {
        let (_screen, task) = Screen::new();
        let berth = Berth::new(task);
        let cut_off = berth.run_beside(Arc::new(Blind), Box::pin(std::future::pending::<()>()));
        assert!(futures_util::FutureExt::now_or_never(cut_off).is_none());
        assert_eq!(berth.run_beside(Arc::new(Blind), Box::pin(async { 7 })).await, 7);
    }
}
