//! Runs file operations on the blocking pool and cancels them when the caller is gone.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::arguments;
use crate::blocking::{BlockingJobs, Panicked};
use crate::domain::ThreadId;
use crate::ports::{BoxFuture, ToolContext, ToolFailure, ToolOutcome};

/// Most concurrent jobs of all tools, and of one conversation. With those of the judge they leave a quarter of the
/// daemon's blocking threads to the store. The pool is per process, and so is the limit.
static JOBS: LazyLock<BlockingJobs> = LazyLock::new(|| BlockingJobs::new(6, 2));

/// Parses the arguments of a call and runs it as a blocking job.
pub(super) fn call<A, W>(arguments: Value, context: ToolContext, work: W) -> BoxFuture<'static, ToolOutcome>
where
    A: JsonSchema + DeserializeOwned + Send + 'static,
    W: FnOnce(&A, &ToolContext, &CancellationToken) -> ToolOutcome + Send + 'static,
{
    Box::pin(async move {
        let arguments: A = arguments::read(arguments)?;
        run(context, move |context, cancel| work(&arguments, context, cancel)).await
    })
}

/// Runs a blocking job. Its token is cancelled with the call, and when the returned future is dropped.
pub(super) async fn run<J>(context: ToolContext, job: J) -> ToolOutcome
where
    J: FnOnce(&ToolContext, &CancellationToken) -> ToolOutcome + Send + 'static,
{
    let cancel = context.cancel.child_token();
    let _ends_with_this_future = cancel.clone().drop_guard();
    let watched = cancel.clone();
    let thread = context.thread.clone();
    let work = on_blocking_thread(&thread, move || job(&context, &watched));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(stopped()),
        done = work => done,
    }
}

/// Runs a job of a tool on a blocking thread, within the limit of its conversation.
pub(super) async fn on_blocking_thread<T: Send + 'static>(
    thread: &ThreadId,
    job: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    let done = JOBS.run(thread, job).await;
    done.unwrap_or_else(|Panicked| Err(ToolFailure::Failed("the tool broke down".into())))
}

/// The failure of a cancelled call.
pub(super) fn stopped() -> ToolFailure {
    ToolFailure::Failed("stopped before it was done".into())
}
