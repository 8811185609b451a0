//! The scheduler: starts a run for every slot that is due, and takes requests about tasks. One task of the daemon owns
//! all tasks; others send it requests.
//!
//! The wall clock is looked at after at most a minute, so that a suspended machine and a clock that was set are noticed.
//! With no task nothing wakes up.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::definition::{RunThread, TaskId};
use super::frontmatter::TaskContext;
use super::known_tasks::KnownTasks;
use super::notices::{LostSlot, tell_lost};
use super::planner::Trigger;
use super::run::{EndedRun, Run, RunEnd, RunNote, RunParts, keyed_message, slot_message};
use super::state::{TaskOutcome, TaskRun, TaskState};
use super::task_states::TaskStates;
use super::tasks_handle::TaskRequests;
use super::words;
use crate::domain::{ThreadId, Timestamp, short_digest};
use crate::fail_point::fail_point;
use crate::phrases;
use crate::ports::{TaskFiles, TaskRefusal};

/// How long the wall clock is trusted.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Changes of files within this time are read together.
const SETTLE: Duration = Duration::from_millis(100);
/// After how long files that could not be read are read again.
const RETRY: Duration = Duration::from_secs(30);
/// Runs that make up for missed slots start spread over this time.
const SPREAD_MILLIS: u64 = 60_000;
/// From this number of tasks on, runs that make up for missed slots are spread.
const SPREAD_FROM: usize = 4;
const REQUESTS: usize = 64;

/// What the scheduler works with.
#[derive(Clone, Debug)]
pub struct SchedulerParts {
    pub files: Arc<dyn TaskFiles>,
    pub states: TaskStates,
    pub run: RunParts,
    pub context: TaskContext,
}

/// A request to the scheduler.
#[derive(Debug)]
pub(super) enum Request {
    Run {
        id: TaskId,
        key: Option<String>,
        reply: oneshot::Sender<Result<ThreadId, TaskRefusal>>,
    },
    Pause {
        id: TaskId,
        reply: oneshot::Sender<Result<(), TaskRefusal>>,
    },
    Resume {
        id: TaskId,
        reply: oneshot::Sender<Result<(), TaskRefusal>>,
    },
    /// The file was removed on purpose: nothing of the task is kept.
    Forget {
        id: TaskId,
        reply: oneshot::Sender<Result<(), TaskRefusal>>,
    },
}

/// A channel for requests to a scheduler.
pub(super) fn request_channel() -> (mpsc::Sender<Request>, mpsc::Receiver<Request>) {
    mpsc::channel(REQUESTS)
}

/// Starts the runs of all tasks.
#[derive(Debug)]
pub struct Scheduler {
    files: Arc<dyn TaskFiles>,
    parts: RunParts,
    requests: mpsc::Receiver<Request>,
    tasks: KnownTasks,
    /// When what could not be read is read again.
    read_again: Option<tokio::time::Instant>,
    runs: JoinSet<EndedRun>,
    notices: JoinSet<()>,
    note_sender: mpsc::UnboundedSender<(TaskId, RunNote)>,
    notes: mpsc::UnboundedReceiver<(TaskId, RunNote)>,
    stop: CancellationToken,
}

impl Scheduler {
    /// Does nothing before [`Self::run`].
    pub fn new(parts: SchedulerParts, requests: TaskRequests, stop: CancellationToken) -> Self {
        let TaskRequests(requests) = requests;
        let (note_sender, notes) = mpsc::unbounded_channel();
        let SchedulerParts { files, states, run: parts, context } = parts;
        Self {
            parts,
            requests,
            tasks: KnownTasks::new(files.clone(), states, context),
            files,
            read_again: None,
            runs: JoinSet::new(),
            notices: JoinSet::new(),
            note_sender,
            notes,
            stop,
        }
    }

    /// Runs tasks until the daemon stops. Runs that have not ended go on at the next start.
    pub async fn run(mut self) {
        let files = self.files.clone();
        files.changed().await;
        self.load().await;
        self.fire().await;
        loop {
            let wake = self.next_look();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Some((id, note)) = self.notes.recv() => self.note(id, note).await,
                Some(ended) = self.runs.join_next() => match ended {
                    Ok(ended) => self.ended(ended).await,
                    Err(error) => tracing::error!(%error, "task run ended unexpectedly"),
                },
                Some(told) = self.notices.join_next() => if let Err(error) = told {
                    tracing::error!(%error, "task notice ended unexpectedly");
                },
                Some(request) = self.requests.recv() => self.answer(request).await,
                () = files.changed() => {
                    tokio::time::sleep(SETTLE).await;
                    self.load().await;
                }
                () = sleep_until(self.read_again) => self.load().await,
                () = sleep_for(wake) => {}
            }
            self.fire().await;
        }
        self.runs.shutdown().await;
        self.notices.shutdown().await;
    }

    fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// How long until the next slot or the next look at the wall clock; `None` where nothing is scheduled.
    fn next_look(&self) -> Option<Duration> {
        let first = self.tasks.next_look()?;
        Some(Duration::from_millis(first.millis_since(self.now())).min(LOOK_AGAIN))
    }

    /// Reads the files again; what could not be read is tried again later.
    async fn load(&mut self) {
        let loaded = self.tasks.load(self.now()).await;
        for id in &loaded.changed {
            self.resume_run(id);
            if self.tasks.get(id).is_some_and(|task| task.unsaved) {
                self.tasks.save(id).await;
            }
            self.schedule(id);
        }
        self.read_again = (!loaded.complete).then(|| tokio::time::Instant::now() + RETRY);
    }

    fn schedule(&mut self, id: &TaskId) {
        let now = self.now();
        self.tasks.schedule(id, now);
    }

    /// Handles every task that is due.
    async fn fire(&mut self) {
        let now = self.now();
        let due = self.tasks.take_due(now);
        let spread = due.len() >= SPREAD_FROM;
        let mut lost = Vec::new();
        for id in due {
            lost.extend(self.fire_one(&id, now, spread).await);
        }
        if !lost.is_empty() {
            self.notices.spawn(tell_lost(self.parts.clone(), lost));
        }
        self.tasks.drop_gone(now).await;
    }

    /// Handles a task that is due. Returns the newest slot that is lost and has to be told.
    async fn fire_one(&mut self, id: &TaskId, now: Timestamp, spread: bool) -> Option<LostSlot> {
        let task = self.tasks.get_mut(id)?;
        let plan = task.plan(now)?;
        let late = plan.run.iter().any(|(_, trigger)| *trigger == Trigger::CatchUp);
        let start = task.spread_until.take();
        if late && spread && start.is_none() {
            task.spread_until = Some(now.plus_millis(spread_of(id)));
            self.schedule(id);
            return None;
        }
        if plan.run.is_empty() && plan.given_up.is_empty() {
            self.schedule(id);
            return None;
        }
        let definition = &task.read.as_ref().ok()?.definition;
        let lost = plan.given_up.last().filter(|_| plan.lost && definition.failures.owner);
        let lost = lost.map(|(slot, _)| LostSlot {
            task: id.clone(),
            slot: from_jiff(*slot),
            zone: definition.zone.clone(),
        });
        task.settle(plan, now);
        self.start_waiting(id).await;
        self.schedule(id);
        lost
    }

    /// Starts the oldest waiting slot, if no run of the task is going on.
    async fn start_waiting(&mut self, id: &TaskId) {
        if let Some(task) = self.tasks.get_mut(id)
            && task.state.running.is_none()
            && task.read.is_ok()
            && let Some((slot, trigger)) = task.state.waiting.pop_front()
        {
            self.begin(id, slot, trigger, None);
        }
        self.start_begun(id).await;
    }

    /// Notes a run as the one in flight; `key` is that of a person's request.
    fn begin(&mut self, id: &TaskId, slot: Timestamp, trigger: Trigger, key: Option<&str>) {
        let started = self.now();
        let platform = &self.parts.platform;
        let Some(task) = self.tasks.get_mut(id) else { return };
        let Ok(read) = &task.read else { return };
        let message = key.map_or_else(|| slot_message(id, slot), |key| keyed_message(id, key));
        let run = key.map_or_else(|| slot.as_millis().to_string(), |key| short_digest(key.as_bytes(), 8));
        let thread = match &read.definition.thread {
            RunThread::Own => ThreadId::of_chat(platform, id.as_str()),
            RunThread::PerRun => ThreadId::of_chat(platform, &format!("{id}@{run}")),
            RunThread::In(thread) => Ok(thread.clone()),
        };
        match thread {
            Ok(thread) => {
                tracing::info!(task = %id, slot = slot.rfc3339(), ?trigger, "task run started");
                task.state.running = Some(TaskRun { slot, trigger, thread, message, started, refused: 0 });
            }
            Err(error) => tracing::error!(task = %id, %error, "task thread id is not valid"),
        }
    }

    /// Stores the run in flight and starts its work.
    async fn start_begun(&mut self, id: &TaskId) {
        fail_point("task-due");
        // Stored before the event is submitted: a restart submits the same event again, which threads recognise.
        self.tasks.save(id).await;
        fail_point("task-stored");
        self.resume_run(id);
    }

    /// Starts the work of the run that the state names, unless it is under way.
    fn resume_run(&mut self, id: &TaskId) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        let (Ok(read), Some(run), false) = (&task.read, &task.state.running, task.at_work) else { return };
        let last = task.state.last_result();
        let run = Run {
            parts: self.parts.clone(),
            id: id.clone(),
            definition: read.definition.clone(),
            run: run.clone(),
            last_run: task.state.history.back().map(|record| record.slot),
            last_result: last.map(|record| record.text.clone()).unwrap_or_default(),
            failures: task.state.failures,
            failure_told: task.state.failure_told,
            notes: self.note_sender.clone(),
            stop: self.stop.clone(),
        };
        task.at_work = true;
        self.runs.spawn(run.finish());
    }

    async fn note(&mut self, id: TaskId, note: RunNote) {
        let now = self.now();
        let Some(task) = self.tasks.get_also_gone(&id) else { return };
        match (note, task.state.running.as_mut()) {
            (RunNote::FailureTold, _) => task.state.failure_told = Some(now),
            (RunNote::Refused, Some(run)) => run.refused = run.refused.saturating_add(1),
            (RunNote::Refused, None) => {}
        }
        self.tasks.save(&id).await;
    }

    async fn ended(&mut self, EndedRun { task: id, message, end, cost }: EndedRun) {
        let (now, stopping) = (self.now(), self.stop.is_cancelled());
        let language = self.parts.language.unwrap_or_default();
        let Some(task) = self.tasks.get_also_gone(&id) else { return };
        // A task that was deleted and written again may have another run by now.
        if task.state.running.as_ref().is_none_or(|run| run.message != message) {
            return;
        }
        task.at_work = false;
        let (outcome, text) = match end {
            RunEnd::Ended { outcome, text } => (outcome, text),
            RunEnd::Interrupted if stopping => return,
            RunEnd::Interrupted => (TaskOutcome::Failed, phrases::tasks::run_lost(language).to_owned()),
        };
        tracing::info!(task = %id, ?outcome, "task run ended");
        task.state.end(outcome, text, cost, now);
        self.start_waiting(&id).await;
        self.schedule(&id);
    }

    async fn answer(&mut self, request: Request) {
        match request {
            Request::Run { id, key, reply } => drop(reply.send(self.run_now(&id, key).await)),
            Request::Pause { id, reply } => {
                drop(reply.send(self.change(&id, |state, _| state.paused = true).await));
            }
            Request::Resume { id, reply } => drop(reply.send(self.change(&id, TaskState::resume).await)),
            Request::Forget { id, reply } => {
                self.tasks.forget(&id).await;
                drop(reply.send(Ok(())));
            }
        }
    }

    async fn run_now(&mut self, id: &TaskId, key: Option<String>) -> Result<ThreadId, TaskRefusal> {
        let now = self.now();
        let task = self.tasks.get_mut(id).ok_or(TaskRefusal::Unknown)?;
        if let Err(problem) = &task.read {
            return Err(TaskRefusal::Broken(words::mistake(
                problem,
                self.parts.language.unwrap_or_default(),
            )));
        }
        let known = key.as_deref().and_then(|key| task.state.thread_of(&keyed_message(id, key)));
        if let Some(thread) = known {
            return Ok(thread.clone());
        }
        if task.state.running.is_some() {
            return Err(TaskRefusal::Running);
        }
        self.begin(id, now, Trigger::Manual, key.as_deref());
        self.start_begun(id).await;
        let task = self.tasks.get(id).ok_or(TaskRefusal::Unknown)?;
        task.state.running.as_ref().map(|run| run.thread.clone()).ok_or(TaskRefusal::Unknown)
    }

    async fn change(
        &mut self,
        id: &TaskId,
        change: impl FnOnce(&mut TaskState, Timestamp),
    ) -> Result<(), TaskRefusal> {
        let now = self.now();
        let task = self.tasks.get_mut(id).ok_or(TaskRefusal::Unknown)?;
        change(&mut task.state, now);
        self.tasks.save(id).await;
        self.schedule(id);
        Ok(())
    }
}

async fn sleep_for(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// When within the spread a task makes up for its missed slots: always the same for one task.
fn spread_of(id: &TaskId) -> u64 {
    let sum = id.as_str().bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    sum.checked_rem(SPREAD_MILLIS).unwrap_or(0)
}

pub(super) fn to_jiff(time: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default()
}

pub(super) fn from_jiff(time: jiff::Timestamp) -> Timestamp {
    Timestamp::from_millis(time.as_millisecond())
}
