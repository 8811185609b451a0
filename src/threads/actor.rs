//! The actor of one thread: receives messages, passes events to the state machine and performs the effects it returns.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::compaction::CompactionState;
use super::deliveries::Deliveries;
use super::jobs::{DeliveryJob, Done, Jobs};
use super::learning::LearningState;
use super::progress::{LastLine, ProgressChannel};
use super::publisher::Publisher;
use super::relevance::GateState;
use super::room_history::HistoryWait;
use super::router::{Mailbox, RouterMsg};
use super::runtime::Runtime;
use super::titles::TitleState;
use super::waiters::Waiters;
use crate::domain::{Approval, ApprovalId, Intent, MessageId, ThreadId, ToolCallId};
use crate::ports::{
    Acceptance, Durability, ModelDelta, ModelError, OutboxLine, RunOutcome, StoreError, ThreadRecord,
    ThreadRequest, ThreadView, WeakThreadsHandle,
};
use crate::render::Phrase;
use crate::turn::{Conversation, Event, ReplyToken};
use crate::uimessage::UiMessage;

/// How long a stopping actor waits for a delivery in flight: an aborted delivery might be sent twice after a restart.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// A model call without output for this long is reported to subscribers with its duration, and again at this interval.
const SLOW_MODEL: Duration = Duration::from_secs(5);
/// Most deltas processed in one batch before the view is published.
const DELTAS_AT_ONCE: usize = 256;

pub(super) struct Actor {
    pub(super) id: ThreadId,
    pub(super) runtime: Arc<Runtime>,
    pub(super) threads: WeakThreadsHandle,
    pub(super) conversation: Conversation,
    pub(super) deliveries: Deliveries,
    pub(super) publisher: Publisher,
    pub(super) jobs: Jobs,
    pub(super) delivery: DeliveryJob,
    pub(super) compaction: CompactionState,
    pub(super) learning: LearningState,
    pub(super) titles: TitleState,
    pub(super) gate: GateState,
    pub(super) history: HistoryWait,
    /// The message that arrives now, where the other agents know of it already.
    pub(super) told_room: Option<MessageId>,
    /// The deltas of the running model call.
    pub(super) deltas: Option<mpsc::Receiver<ModelDelta>>,
    /// Progress of the running tool calls.
    pub(super) progress: ProgressChannel,
    pub(super) slot: Option<OwnedSemaphorePermit>,
    pub(super) tickets: BTreeMap<ReplyToken, oneshot::Sender<Acceptance>>,
    pub(super) waiters: Waiters,
    /// Events that arose while effects were performed; processed before the mailbox.
    pub(super) upcoming: VecDeque<Event>,
    /// Whether the view has changed since it was last published.
    pub(super) stale: bool,
    /// Whether the answer has grown since the platform last got a draft.
    pub(super) drafted: bool,
    /// When the typing indicator must be sent again.
    typing_at: Option<Instant>,
    /// The model call that has no output yet.
    pub(super) model_wait: Option<ModelWait>,
    /// Whether a write failed and the thread was not loaded again since.
    pub(super) storage_down: bool,
    pub(super) storage_waits: u32,
    /// Results of deliveries that could not be written.
    pub(super) unwritten: Vec<OutboxLine>,
    /// Whether the disk may list the thread as unfinished though nothing is left to do.
    pub(super) listed_unfinished: bool,
    pub(super) span: tracing::Span,
    /// Fingerprints of the calls that were judged and have not run yet.
    pub(super) fingerprints: BTreeMap<ToolCallId, String>,
    pub(super) next_ticket: u64,
    /// The message for which memory was searched last.
    pub(super) recalled_for: Option<MessageId>,
    /// The version of the settings that the conversation works with.
    pub(super) settings_version: usize,
    /// The questions of other threads that were asked here; `None` before the first look at the approvals.
    pub(super) asked_here: Option<Vec<ApprovalId>>,
    /// The question of another thread about a spend cap whose answer the run waits for.
    pub(super) joined_question: Option<Box<Approval>>,
}

/// A model call that has no output yet, and when subscribers are next told its duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelWait {
    since: Instant,
    tell_at: Instant,
}

impl ModelWait {
    pub(super) fn from_now() -> Self {
        let since = Instant::now();
        Self { since, tell_at: since + SLOW_MODEL }
    }
}

/// Why an actor is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartReason {
    /// By a message to its mailbox.
    Message,
    /// The store lists the thread as unfinished.
    UnfinishedWork,
}

/// Why the actor's loop woke.
enum LoopEvent {
    Delta(ModelDelta),
    DeltasEnded,
    Progress(LastLine),
    Done(Done),
    Stop,
    Expiry,
    Typing,
    SlowModel,
    SlowCompaction,
    Gate,
    StopGraceOver,
    Idle,
}

impl Actor {
    /// An actor of a thread that is not loaded yet, and the receiver of its view.
    pub(super) fn new(
        id: ThreadId,
        runtime: Arc<Runtime>,
        threads: WeakThreadsHandle,
        reason: StartReason,
    ) -> (Box<Self>, watch::Receiver<ThreadView>) {
        // Read before the settings: a change in between is taken up with the first event.
        let settings_version = runtime.settings.version();
        let conversation = Conversation::new(
            id.clone(),
            runtime.rules(&id),
            runtime.effects_of(&id),
            runtime.check_arguments(&id),
            ThreadRecord::default(),
        );
        let (publisher, view) = Publisher::new(id.clone(), runtime.changes.clone());
        let actor = Self {
            id,
            runtime,
            threads,
            conversation,
            deliveries: Deliveries::default(),
            publisher,
            jobs: Jobs::default(),
            delivery: DeliveryJob::default(),
            compaction: CompactionState::default(),
            learning: LearningState::default(),
            titles: TitleState::default(),
            gate: GateState::default(),
            history: HistoryWait::default(),
            told_room: None,
            deltas: None,
            progress: ProgressChannel::default(),
            slot: None,
            tickets: BTreeMap::new(),
            waiters: Waiters::default(),
            upcoming: VecDeque::new(),
            stale: false,
            drafted: false,
            typing_at: None,
            model_wait: None,
            storage_down: false,
            storage_waits: 0,
            unwritten: Vec::new(),
            listed_unfinished: reason == StartReason::UnfinishedWork,
            span: tracing::Span::none(),
            fingerprints: BTreeMap::new(),
            settings_version,
            asked_here: None,
            joined_question: None,
            next_ticket: 0,
            recalled_for: None,
        };
        // Boxed, because the future of an `async fn` reserves space for its arguments twice.
        (Box::new(actor), view)
    }

    /// Runs until the mailbox is closed and nothing is left to do, or until the daemon stops and the run in flight has
    /// ended.
    pub(super) async fn run(
        mut self: Box<Self>,
        mut mailbox: Mailbox,
        router: mpsc::Sender<RouterMsg>,
        stop: CancellationToken,
    ) {
        if let Err(error) = self.load().await {
            self.storage_failed(&error);
        }
        let mut open = true;
        let mut stopping = false;
        let mut stop_deadline: Option<Instant> = None;
        let mut read = 0;
        let mut reported_idle = false;
        loop {
            self.settle().await;
            let grace = stop_deadline.filter(|until| *until > Instant::now() && self.deliveries.is_trying());
            if (stopping || !open) && self.may_end(stopping) && grace.is_none() {
                break;
            }
            let is_idle = open && !stopping && self.is_at_rest();
            if !is_idle || self.publisher.is_watched() {
                reported_idle = false;
            } else if !std::mem::replace(&mut reported_idle, true) {
                let (thread, bytes) = (self.id.clone(), self.conversation.memory());
                // If the router's queue is full, it is told the next time the actor becomes idle.
                reported_idle = router.try_send(RouterMsg::BecameIdle { thread, read, bytes }).is_ok();
            }
            let idle = self.runtime.limits.idle;
            let expiry = self.until_expiry();
            let typing = self.typing_due();
            let slow = self.model_wait.map(|wait| wait.tell_at);
            let compacting = self.compaction.tell_at();
            let gate = self.gate.due();
            let event = tokio::select! {
                biased;
                done = self.delivery.next() => LoopEvent::Done(done),
                request = mailbox.recv(), if open => {
                    match request {
                        Some(request) => {
                            read += 1;
                            reported_idle = false;
                            Box::pin(self.read(request)).await;
                        }
                        None => open = false,
                    }
                    continue;
                }
                delta = next_delta(&mut self.deltas), if self.deltas.is_some() => delta.map_or(LoopEvent::DeltasEnded, LoopEvent::Delta),
                line = self.progress.next() => LoopEvent::Progress(line),
                done = self.jobs.next() => LoopEvent::Done(done),
                () = stop.cancelled(), if !stopping => LoopEvent::Stop,
                () = tokio::time::sleep(expiry.unwrap_or_default()), if expiry.is_some() => LoopEvent::Expiry,
                () = until(typing), if typing.is_some() => LoopEvent::Typing,
                () = until(slow), if slow.is_some() => LoopEvent::SlowModel,
                () = until(compacting), if compacting.is_some() => LoopEvent::SlowCompaction,
                () = until(gate), if gate.is_some() => LoopEvent::Gate,
                () = until(grace), if grace.is_some() => LoopEvent::StopGraceOver,
                () = tokio::time::sleep(idle), if is_idle => LoopEvent::Idle,
            };
            match event {
                LoopEvent::Delta(delta) => self.take_deltas(delta),
                LoopEvent::DeltasEnded => self.deltas = None,
                LoopEvent::Progress(line) => self.show_progress(line),
                LoopEvent::Done(done) => self.take_done(done).await,
                LoopEvent::Stop => {
                    (stopping, stop_deadline) = (true, Some(Instant::now() + STOP_GRACE));
                    self.history_told(Vec::new()).await;
                    self.upcoming.push_back(Event::Stopping);
                }
                LoopEvent::Expiry => self.upcoming.push_back(Event::Tick),
                LoopEvent::Typing => {
                    self.typing_at = None;
                    self.show(Intent::Typing);
                }
                LoopEvent::SlowModel => self.tell_model_wait(),
                LoopEvent::SlowCompaction => self.tell_compacting(),
                LoopEvent::Gate => self.gate_due().await,
                LoopEvent::StopGraceOver => {}
                LoopEvent::Idle if self.publisher.is_watched() => {}
                // The router answers by closing the mailbox. If its queue is full, the next idle timeout asks again.
                LoopEvent::Idle => {
                    drop(router.try_send(RouterMsg::IdleTimeout { thread: self.id.clone(), read }))
                }
            }
        }
    }

    /// Loads the thread from the store and resumes unfinished work.
    pub(super) async fn load(&mut self) -> Result<(), StoreError> {
        let record = self.runtime.store.load(&self.id).await?;
        let approvals = self.approvals_of(&record.tail).await?;
        self.deliveries = Deliveries::resumed(record.undelivered.clone(), &record.cut_off, record.dead);
        self.conversation = Conversation::new(
            self.id.clone(),
            self.runtime.rules(&self.id),
            self.runtime.effects_of(&self.id),
            self.runtime.check_arguments(&self.id),
            record,
        );
        self.storage_down = false;
        self.upcoming.push_back(Event::Resumed(approvals));
        self.resume_gate();
        if self.is_in_group() {
            self.note_room();
        }
        Ok(())
    }

    fn is_at_rest(&self) -> bool {
        self.conversation.is_idle()
            && self.deliveries.to_do() == 0
            && !self.compaction.is_busy()
            && !self.learning.is_busy()
            && !self.titles.is_busy()
            && !self.gate.is_pending()
            && !self.history.is_busy()
    }

    fn may_end(&self, stopping: bool) -> bool {
        let quiet = self.upcoming.is_empty() && !self.history.is_busy();
        let drained = self.conversation.is_drained() || (!stopping && self.conversation.is_idle());
        quiet && (drained || self.storage_down) && (stopping || self.deliveries.to_do() == 0)
    }

    /// Feeds pending events to the state machine, performs the effects, and starts the next delivery.
    async fn settle(&mut self) {
        while let Some(event) = self.upcoming.pop_front() {
            self.feed(event).await;
        }
        if let Some(run) = self.conversation.begun() {
            self.waiters.tell_begun(run);
        }
        self.tell_held_back();
        self.compact_when_idle().await;
        self.distil_when_idle().await;
        self.title_when_idle();
        self.conversation.trim();
        self.record_settled().await;
        self.start_delivery().await;
        if std::mem::take(&mut self.drafted)
            && let Some(text) = self.conversation.draft()
        {
            self.show(Intent::AssistantDelta { text });
        }
        if std::mem::take(&mut self.stale) {
            let view = self.conversation.view(self.publisher.is_watched());
            self.publisher.show(view);
        }
    }

    /// Records in the store that nothing is left to do, where it says otherwise and no other write follows.
    async fn record_settled(&mut self) {
        if self.storage_down || !std::mem::take(&mut self.listed_unfinished) {
            return;
        }
        if self.conversation.is_idle()
            && self.deliveries.outstanding() == 0
            && let Err(error) = self.commit(Vec::new(), Vec::new(), Durability::Written).await
        {
            self.storage_failed(&error);
        }
    }

    async fn read(&mut self, request: ThreadRequest) {
        if self.storage_down {
            self.retry_storage().await;
        }
        match request {
            ThreadRequest::Deliver { event, reply } => self.arrive(event, reply).await,
            ThreadRequest::Say { run_message, reply, .. } => self.say(run_message, reply).await,
            ThreadRequest::Watch { reply, .. } => {
                let subscription = self.publisher.subscribe();
                self.publisher.show(self.conversation.view(true));
                // The subscriber may be gone already.
                drop(reply.send(subscription));
            }
            ThreadRequest::Await { message, until, reply, .. } => self.wait_for(message, until, reply).await,
            // The router answers these itself.
            ThreadRequest::Alone { .. } | ThreadRequest::Views { .. } => {}
        }
    }

    /// When the typing indicator must be sent again; `None` while the agent is not working.
    fn typing_due(&mut self) -> Option<Instant> {
        if !self.conversation.is_working() {
            self.typing_at = None;
        } else if self.typing_at.is_none() {
            let secs = self.runtime.capabilities(self.id.platform()).typing_secs;
            self.typing_at = secs.map(|secs| Instant::now() + Duration::from_secs(secs));
        }
        self.typing_at
    }

    /// Tells subscribers how long the model call has been running.
    fn tell_model_wait(&mut self) {
        let Some(wait) = self.model_wait.as_mut() else { return };
        let seconds = wait.since.elapsed().as_secs();
        wait.tell_at += SLOW_MODEL;
        let text = Phrase::StillThinking(seconds).say(self.conversation.language());
        self.notice(Intent::Progress { text, call_id: None });
    }

    fn take_deltas(&mut self, first: ModelDelta) {
        if !matches!(first, ModelDelta::Retrying { .. } | ModelDelta::StartOver) {
            self.model_wait = None;
        }
        self.upcoming.push_back(Event::Delta(first));
        let more = std::iter::from_fn(|| self.deltas.as_mut().and_then(|deltas| deltas.try_recv().ok()));
        let more: Vec<Event> = more.take(DELTAS_AT_ONCE).map(Event::Delta).collect();
        self.upcoming.extend(more);
    }

    async fn take_done(&mut self, done: Done) {
        match done {
            Done::Entry(permit) => {
                self.slot = permit;
                self.upcoming.push_back(Event::SlotGranted);
            }
            Done::Model(result) => {
                self.model_wait = None;
                // Deltas that are still queued are processed before the model call's end.
                while let Some(delta) = self.deltas.as_mut().and_then(|deltas| deltas.try_recv().ok()) {
                    self.upcoming.push_back(Event::Delta(delta));
                }
                self.deltas = None;
                match result {
                    Err(ModelError { shortage: Some(shortage), .. }) => self.over_budget(shortage).await,
                    result => self.upcoming.push_back(Event::ModelEnded(result)),
                }
            }
            Done::Judged(call, judgement) => {
                if let Err(error) = self.judged(call, judgement).await {
                    self.storage_failed(&error);
                }
            }
            Done::ReplyRead { message, words, hint } => {
                self.waiters.was_read(&message);
                self.upcoming.push_back(Event::ReplyRead { message, words, hint });
            }
            Done::Compacted(id, done) => {
                self.learning.moved();
                if self.compaction.ended(id) {
                    self.upcoming.push_back(Event::Compacted(done));
                }
            }
            Done::Recalled(message, texts) => self.recalled(&message, &texts).await,
            Done::Distilled(id, done) => self.distilled(id, *done),
            Done::Titled(named) => self.titled(named),
            Done::Decided(decisions) => self.relevance_decided(decisions),
            Done::Lapsed(looked) => self.lost_claims_looked_at(looked),
            Done::OwnersTold => {}
            Done::History(past) => self.history_told(past).await,
            Done::Tool(call, outcome) => self.upcoming.push_back(Event::ToolEnded { call, outcome }),
            Done::CapAnswered(question) => self.cap_answered(question.as_deref()),
            Done::Delivery(result, at) => self.delivered(result, at).await,
            Done::DeliveryDue => self.deliveries.waited(),
            Done::StorageDue => self.retry_storage().await,
        }
    }

    /// Sends an ephemeral intent to the subscribers and the platform.
    pub(super) fn notice(&self, intent: Intent) {
        if matches!(intent, Intent::Progress { .. } | Intent::Error { .. }) {
            self.publisher.mention(intent);
        }
    }
}

async fn until(due: Option<Instant>) {
    tokio::time::sleep_until(due.unwrap_or_else(Instant::now)).await;
}

async fn next_delta(deltas: &mut Option<mpsc::Receiver<ModelDelta>>) -> Option<ModelDelta> {
    match deltas {
        Some(deltas) => deltas.recv().await,
        None => None,
    }
}

/// How a run ended, from its messages.
pub(super) fn outcome_of(messages: Vec<UiMessage>) -> RunOutcome {
    let (status, error) = Conversation::ending(&messages);
    let correlation = messages.first().map(|message| message.metadata.correlation_id.clone());
    let of_agent = messages.into_iter().filter(|message| message.role == crate::uimessage::Role::Assistant);
    RunOutcome {
        status,
        messages: of_agent.map(Arc::new).collect(),
        error,
        correlation,
        approvals: Vec::new(),
    }
}
