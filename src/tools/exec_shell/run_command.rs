//! Runs one command from start to end: output, deadline, cancellation, memory limit.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::CommandTranscript;
use super::outcome::Why;
use super::settings::ExecSettings;
use crate::ports::ToolFailure;
use crate::sandbox::{self, CommandEnd, LaunchError, RunningCommand, Spec};

/// Deadline of the helpers' own work, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same on every Linux.
const SIGKILL: i32 = 9;

/// How long pipes may stay open after every process has ended.
const PIPES: Duration = Duration::from_secs(2);

/// Runs a command. Dropping the future ends it: the sandbox does that by itself.
pub(super) async fn run_command(
    settings: &ExecSettings,
    spec: &Spec,
    environment: &[(String, String)],
    allowed: Duration,
    cancel: &CancellationToken,
    transcript: &mut CommandTranscript,
) -> Result<(Why, Option<CommandEnd>, Duration), ToolFailure> {
    let started = Instant::now();
    let running = sandbox::start(&settings.helper, spec, environment, &settings.memory)
        .await
        .map_err(|error| failed(&error))?;
    let RunningCommand { lifeline, mut end, stdout, stderr, mut memory } = running;
    let (why, ended) = {
        let mut work = pin!(async {
            let mut recording = pin!(transcript.record(stdout, stderr));
            let mut waiting = pin!(end.wait());
            tokio::select! {
                biased;
                ended = &mut waiting => {
                    // The last output may still be in the pipe.
                    timeout(PIPES, recording).await.ok();
                    ended
                }
                () = &mut recording => waiting.await,
            }
        });
        let why = tokio::select! {
            biased;
            ended = &mut work => {
                if let Some(exceeded) = memory.ended_by_kernel() {
                    // The kernel killed the helpers with it, so they report nothing.
                    let ended = ended.unwrap_or(CommandEnd::Killed(SIGKILL));
                    return Ok((Why::OutOfMemory(exceeded), Some(ended), started.elapsed()));
                }
                return Ok((Why::Done, Some(known(ended)?), started.elapsed()));
            }
            () = cancel.cancelled() => Why::Stopped,
            () = tokio::time::sleep(allowed) => Why::TimedOut,
            exceeded = memory.exceeded() => Why::OutOfMemory(exceeded),
        };
        match why {
            // During a grace period it could grow further.
            Why::OutOfMemory(_) => lifeline.cut(),
            Why::Done | Why::Stopped | Why::TimedOut => drop(lifeline),
        }
        (why, timeout(settings.grace + PATIENCE, work).await)
    };
    let ended = match ended {
        Ok(ended) => Some(known(ended)?),
        Err(_) => {
            tracing::warn!("command did not end; killing its helpers");
            timeout(PATIENCE, end.kill()).await.ok();
            None
        }
    };
    Ok((why, ended, started.elapsed()))
}

fn known(ended: Result<CommandEnd, LaunchError>) -> Result<CommandEnd, ToolFailure> {
    ended.map_err(|error| failed(&error))
}

fn failed(error: &LaunchError) -> ToolFailure {
    match error {
        LaunchError::Helper(cause) => ToolFailure::Failed(format!("{error}: {cause}")),
        LaunchError::Setup(_) | LaunchError::Silent => ToolFailure::Failed(error.to_string()),
    }
}
