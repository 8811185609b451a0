//! Compacting a conversation: one operation for every trigger. A model sums up what the plan covers, notes are flushed,
//! and only then does the checkpoint go into the thread. A failure on the way does not stop the conversation.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::actor::Actor;
use super::count;
use super::jobs::Done;
use super::learning::{FlushPlace, flush};
use super::runtime::Runtime;
use crate::domain::{Command, IngressEvent, IngressKind, Intent, Purpose, ThreadId};
use crate::fail_point::fail_point;
use crate::ports::Prompt;
use crate::render::Phrase;
use crate::turn::{
    BuiltPrompt, Compacted, CompactionSpan, Draft, Event, by_rules, correction, read_summary, summary_prompt,
};
use crate::uimessage::CheckpointReason;

/// How long a model may take to sum up, its second try included. Behind that, rules do.
const SUMMARY_DEADLINE: Duration = Duration::from_secs(60);
/// A turn that waits longer than this for a checkpoint says so.
const SILENT_FOR: Duration = Duration::from_secs(2);
/// What is kept of the helper's window for its answer: one part in so many.
const ANSWER_SHARE: usize = 4;

/// The compaction of one thread.
#[derive(Debug, Default)]
pub(super) struct CompactionState {
    in_flight: Option<InFlight>,
    next_id: u64,
    /// Whether a turn has ended since it was last seen whether the window is well filled.
    pub(super) due: bool,
    /// How much of the window the last prompt would have filled, in percent.
    pub(super) last_percent: usize,
}

#[derive(Debug)]
struct InFlight {
    id: u64,
    reason: CheckpointReason,
    /// When people are told, where a turn waits.
    tell_at: Option<Instant>,
    /// Ends it, where it is not part of a run.
    abort: Option<AbortHandle>,
}

impl CompactionState {
    /// Whether one is being made.
    pub(super) const fn is_busy(&self) -> bool {
        self.in_flight.is_some()
    }

    /// When people must be told that a turn waits for it.
    pub(super) fn tell_at(&self) -> Option<Instant> {
        self.in_flight.as_ref().and_then(|flight| flight.tell_at)
    }

    /// The run's work was cancelled, and with it a checkpoint that the run waited for.
    pub(super) fn work_cancelled(&mut self) {
        if self.in_flight.as_ref().is_some_and(|flight| flight.abort.is_none()) {
            self.in_flight = None;
        }
    }

    /// Whether this is the end of the one that is in flight.
    pub(super) fn ended(&mut self, id: u64) -> bool {
        self.in_flight.take_if(|flight| flight.id == id).is_some()
    }
}

impl Actor {
    /// Compacts the conversation, or finds that there is nothing to compact.
    pub(super) async fn compact(&mut self, reason: CheckpointReason, focus: Option<String>) {
        let built = self.prepare().await;
        if !self.start_compaction(reason, focus, &built) {
            let tokens_before = built.whole;
            let nothing = Compacted { reason, result: None, flushed: Vec::new(), tokens_before };
            self.upcoming.push_back(Event::Compacted(Box::new(nothing)));
        }
    }

    /// Has a run wait for a checkpoint before a prompt that would fill the window. Says whether it does.
    pub(super) fn compact_before_call(&mut self, built: &BuiltPrompt) -> bool {
        if built.percent() < self.runtime.settings().compaction.call_percent
            || !self.conversation.may_compact()
        {
            return false;
        }
        let waits =
            self.compaction.is_busy() || self.start_compaction(CheckpointReason::Threshold, None, built);
        if waits {
            self.conversation.note_compacting();
        }
        waits
    }

    /// Compacts where the window is well filled and the thread is idle.
    pub(super) async fn compact_when_idle(&mut self) {
        if !std::mem::take(&mut self.compaction.due) || self.compaction.is_busy() || self.storage_down {
            return;
        }
        let percent = self.runtime.settings().compaction.idle_percent;
        let long = self.conversation.is_tail_long();
        // Building a prompt is work, and an answer seldom fills a quarter of the window.
        if !self.conversation.is_idle() || (self.compaction.last_percent + 25 < percent && !long) {
            return;
        }
        let built = self.prepare().await;
        if built.percent() >= percent || long {
            self.start_compaction(CheckpointReason::Idle, None, &built);
        }
    }

    /// A person writes: ends the compaction that idleness started.
    pub(super) fn interrupt_compaction(&mut self, event: &IngressEvent) {
        let speaks = match &event.kind {
            IngressKind::Said(said) => !said.addressed.context_only,
            IngressKind::Command(order) => matches!(order.command, Command::New | Command::Compact),
            IngressKind::Edited(_)
            | IngressKind::Revised(_)
            | IngressKind::Withdrawn
            | IngressKind::Regenerate(_) => true,
            IngressKind::Decision(_) | IngressKind::StopRun(_) => false,
        };
        let idle = |flight: &mut InFlight| flight.reason == CheckpointReason::Idle;
        if let Some(InFlight { abort: Some(abort), .. }) =
            self.compaction.in_flight.take_if(|flight| speaks && idle(flight))
        {
            abort.abort();
            tracing::info!(thread = %self.id, "idle compaction interrupted");
        }
        if speaks {
            self.learning.interrupt();
        }
    }

    /// Tells people that a turn waits for a checkpoint.
    pub(super) fn tell_compacting(&mut self) {
        if let Some(flight) = &mut self.compaction.in_flight {
            flight.tell_at = None;
        }
        let text = Phrase::Compacting.say(self.conversation.language());
        self.show(Intent::Progress { text, call_id: None });
    }

    fn start_compaction(
        &mut self,
        reason: CheckpointReason,
        focus: Option<String>,
        built: &BuiltPrompt,
    ) -> bool {
        let Some(span) = self.conversation.plan_compaction(reason, focus, built.usable) else { return false };
        let id = self.compaction.next_id;
        self.compaction.next_id += 1;
        let tokens_before = scaled(built.whole, self.conversation.token_ratio());
        let nothing = Compacted { reason, result: None, flushed: Vec::new(), tokens_before };
        let on_panic = Done::Compacted(id, Box::new(nothing.clone()));
        let place = FlushPlace {
            thread: self.id.clone(),
            behind: self.conversation.behind(&span),
            private: self.conversation.private_with().is_some(),
        };
        let runtime = self.runtime.clone();
        let job = async move {
            let draft = summarise(&runtime, &place.thread, &span).await;
            fail_point("flush-summarised");
            let flushed = match &draft {
                Some(draft) => flush(&runtime, &place, &span, draft).await,
                None => Vec::new(),
            };
            let result = draft.map(|draft| (span, draft));
            Done::Compacted(id, Box::new(Compacted { result, flushed, ..nothing }))
        };
        let of_run = matches!(reason, CheckpointReason::Threshold | CheckpointReason::Overflow);
        let abort = if of_run {
            self.jobs.start_work(&self.span, job, on_panic);
            None
        } else {
            Some(self.jobs.start_apart(job, on_panic))
        };
        let tell_at = of_run.then(|| Instant::now() + SILENT_FOR);
        self.compaction.in_flight = Some(InFlight { id, reason, tell_at, abort });
        true
    }
}

/// What the span came to: by a model, which is corrected once, or else by rules; nothing where nothing would be gained.
async fn summarise(runtime: &Runtime, thread: &ThreadId, span: &CompactionSpan) -> Option<Draft> {
    let deadline = Instant::now() + SUMMARY_DEADLINE;
    let window = runtime.helper.context_tokens;
    let mut prompt = summary_prompt(span, window - window / ANSWER_SHARE);
    prompt.account = Some(runtime.account(thread, Purpose::Summary));
    if let Some(answer) = ask(runtime, prompt.clone(), deadline).await {
        let faults = match read_summary(span, &answer) {
            Ok(draft) => return Some(draft),
            Err(faults) => faults,
        };
        tracing::info!(?faults, "summary corrected");
        let second = ask(runtime, correction(prompt, &answer, &faults), deadline).await;
        match second.map(|answer| read_summary(span, &answer)) {
            Some(Ok(draft)) => return Some(draft),
            Some(Err(faults)) => tracing::warn!(?faults, "summary refused, rules write it"),
            None => {}
        }
    }
    by_rules(span)
}

async fn ask(runtime: &Runtime, prompt: Prompt, deadline: Instant) -> Option<String> {
    let (live, deltas) = mpsc::channel(1);
    // Its reasoning is not shown.
    drop(deltas);
    runtime.metrics.model_calls.count();
    runtime.metrics.checkpoint_calls.count();
    match timeout_at(deadline, runtime.helper.model.complete(prompt, live)).await {
        Ok(Ok(completion)) => {
            count::memory_usage(&runtime.metrics, completion.usage);
            tracing::info!(usage = ?completion.usage, "conversation summed up");
            Some(completion.text)
        }
        Ok(Err(error)) => {
            tracing::warn!(kind = ?error.kind, detail = %error.detail, "summary failed");
            None
        }
        Err(_) => {
            tracing::warn!("summary took too long");
            None
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small positive numbers"
)]
pub(super) fn scaled(estimate: usize, ratio: f64) -> usize {
    (estimate as f64 * ratio) as usize
}
