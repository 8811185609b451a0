//! Work on files happens off the runtime's threads, and ends when nobody waits for it any more.

use tokio_util::sync::CancellationToken;

use crate::ports::{ToolContext, ToolFailure, ToolOutcome};

/// Runs a blocking job. Its token is cancelled when the call is, and when the returned future is dropped.
pub(super) async fn run<J>(context: ToolContext, job: J) -> ToolOutcome
where
    J: FnOnce(&ToolContext, &CancellationToken) -> ToolOutcome + Send + 'static,
{
    let cancel = context.cancel.child_token();
    let _ends_with_this_future = cancel.clone().drop_guard();
    let watched = cancel.clone();
    let work = tokio::task::spawn_blocking(move || job(&context, &watched));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(stopped()),
        done = work => done.unwrap_or_else(|_| Err(ToolFailure::Failed("the tool broke down".into()))),
    }
}

/// What a cancelled call says.
pub(super) fn stopped() -> ToolFailure {
    ToolFailure::Failed("stopped before it was done".into())
}
