//! The scheduler: reads the task files, starts a run for every slot that is due, and keeps the state of the tasks. One
//! task of the daemon owns all of it; others send it requests.
//!
//! The wall clock is looked at after at most a minute, so that a suspended machine and a clock that was set are noticed.
//! With no task nothing wakes up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::book::Task;
use super::definition::{RunThread, TaskId};
use super::frontmatter::TaskContext;
use super::notices::{LostSlot, tell_lost};
use super::planner::{PlanInput, Trigger};
use super::run::{EndedRun, Run, RunEnd, RunNote, RunParts, keyed_message, slot_message};
use super::state::{TaskOutcome, TaskRecord, TaskRun, TaskState};
use super::tasks_handle::TaskRequests;
use super::words;
use crate::domain::{ThreadId, Timestamp, short_digest};
use crate::fail_point::fail_point;
use crate::phrases;
use crate::ports::{Durability, KeyValueStore, StoreError, StoreErrorKind, TaskFiles, TaskRefusal};

/// How long the wall clock is trusted.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Changes of files within this time are read together.
const SETTLE: Duration = Duration::from_millis(100);
/// After how long files that could not be read are read again.
const RETRY: Duration = Duration::from_secs(30);
/// How long the state of a task is kept whose file is gone: an editor or a checkout may put it back.
const GONE_KEPT_MILLIS: u64 = 60_000;
/// Runs that make up for missed slots start spread over this time.
const SPREAD_MILLIS: u64 = 60_000;
/// From this number of tasks on, runs that make up for missed slots are spread.
const SPREAD_FROM: usize = 4;
/// Most slots given up that are recorded at once.
const MOST_RECORDED: usize = 10;
const REQUESTS: usize = 64;

/// What the scheduler works with.
#[derive(Clone, Debug)]
pub struct SchedulerParts {
    pub files: Arc<dyn TaskFiles>,
    /// The states of the tasks.
    pub states: Arc<dyn KeyValueStore>,
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

/// A task whose file is gone.
#[derive(Debug)]
struct RemovedTask {
    /// When its state is removed.
    until: Timestamp,
    /// `None` where it was gone when the daemon started.
    task: Option<Task>,
}

/// A channel for requests to a scheduler.
pub(super) fn request_channel() -> (mpsc::Sender<Request>, mpsc::Receiver<Request>) {
    mpsc::channel(REQUESTS)
}

/// Starts the runs of all tasks.
#[derive(Debug)]
pub struct Scheduler {
    parts: SchedulerParts,
    requests: mpsc::Receiver<Request>,
    tasks: BTreeMap<TaskId, Task>,
    gone: BTreeMap<TaskId, RemovedTask>,
    /// Whether all files and states have been read once.
    loaded: bool,
    /// When what could not be read is read again.
    read_again: Option<tokio::time::Instant>,
    /// When each task needs attention.
    due: BTreeSet<(Timestamp, TaskId)>,
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
        Self {
            parts,
            requests,
            tasks: BTreeMap::new(),
            gone: BTreeMap::new(),
            loaded: false,
            read_again: None,
            due: BTreeSet::new(),
            runs: JoinSet::new(),
            notices: JoinSet::new(),
            note_sender,
            notes,
            stop,
        }
    }

    /// Runs tasks until the daemon stops. Runs that have not ended go on at the next start.
    pub async fn run(mut self) {
        let files = self.parts.files.clone();
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
        self.parts.run.clock.now()
    }

    /// How long until the next slot or the next look at the wall clock; `None` where nothing is scheduled.
    fn next_look(&self) -> Option<Duration> {
        let due = self.due.first().map(|(at, _)| *at);
        let gone = self.gone.values().map(|gone| gone.until).min();
        let first = due.into_iter().chain(gone).min()?;
        Some(Duration::from_millis(first.millis_since(self.now())).min(LOOK_AGAIN))
    }

    /// Reads the files again; what could not be read is tried again later.
    async fn load(&mut self) {
        let complete = self.load_files().await;
        self.loaded |= complete;
        self.read_again = (!complete).then(|| tokio::time::Instant::now() + RETRY);
    }

    /// Reads the files that are new or changed, and notes those that are gone. Returns whether all could be read.
    async fn load_files(&mut self) -> bool {
        let files = match self.parts.files.list().await {
            Ok(files) => files,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "task files unavailable");
                return false;
            }
        };
        let mut complete = true;
        let mut states = if self.loaded { None } else { self.states().await };
        let mut seen = BTreeSet::new();
        for file in files {
            let Some(id) = TaskId::new(&file.name) else {
                tracing::warn!(file = file.name, "task file name is not valid");
                continue;
            };
            seen.insert(id.clone());
            if self.tasks.get(&id).is_some_and(|task| task.version == file.version) {
                continue;
            }
            let content = match self.parts.files.read(&file.name).await {
                Ok(Some(content)) => content,
                Ok(None) => continue,
                Err(error) => {
                    tracing::error!(task = %id, error = &error as &dyn std::error::Error, "task file unavailable");
                    complete = false;
                    continue;
                }
            };
            let known = self.forget(&id).or_else(|| self.gone.remove(&id)?.task);
            let at_work = known.as_ref().is_some_and(|known| known.at_work);
            let state = match known {
                Some(known) => Ok(Some(known.state)),
                None => self.stored_state(&id, states.as_mut()).await,
            };
            let state = match state {
                Ok(state) => state,
                // A task that may be paused must not run, and its state must not be replaced.
                Err(error) => {
                    tracing::error!(task = %id, error = &error as &dyn std::error::Error, "task state unavailable");
                    complete = false;
                    continue;
                }
            };
            let task = Task::read(file.version, &content, state, &self.parts.context, self.now());
            let task = Task { at_work, ..task };
            if let Err(problem) = &task.read {
                tracing::warn!(task = %id, ?problem, "task file is not valid");
            }
            let unsaved = task.unsaved;
            self.tasks.insert(id.clone(), task);
            self.resume_run(&id);
            if unsaved {
                self.save(&id).await;
            }
            self.schedule(&id);
        }
        let until = self.now().plus_millis(GONE_KEPT_MILLIS);
        let gone: Vec<TaskId> = self.tasks.keys().filter(|id| !seen.contains(*id)).cloned().collect();
        for id in gone {
            let task = self.forget(&id);
            self.gone.insert(id, RemovedTask { until, task });
        }
        // States of tasks whose files went while no daemon ran.
        let left = states.into_iter().flatten().filter_map(|(name, _)| TaskId::new(&name));
        for id in left.filter(|id| !seen.contains(id)).collect::<Vec<_>>() {
            self.gone.entry(id).or_insert(RemovedTask { until, task: None });
        }
        complete
    }

    /// All states at once; `None` where one of them cannot be read.
    async fn states(&self) -> Option<BTreeMap<String, serde_json::Value>> {
        match self.parts.states.all().await {
            Ok(all) => Some(all.into_iter().collect()),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "task states unavailable");
                None
            }
        }
    }

    async fn stored_state(
        &self,
        id: &TaskId,
        all: Option<&mut BTreeMap<String, serde_json::Value>>,
    ) -> Result<Option<TaskState>, StoreError> {
        let found = match all {
            Some(all) => all.remove(id.as_str()),
            None => self.parts.states.get(id.as_str()).await?,
        };
        read_state(id, found)
    }

    /// Removes the states of tasks whose files have been gone for long enough.
    async fn drop_gone(&mut self, now: Timestamp) {
        let over: Vec<TaskId> =
            self.gone.iter().filter(|(_, gone)| gone.until <= now).map(|(id, _)| id.clone()).collect();
        for id in over {
            self.gone.remove(&id);
            self.remove_state(&id).await;
        }
    }

    async fn remove_state(&self, id: &TaskId) {
        if let Err(error) = self.parts.states.remove(id.as_str()).await {
            tracing::warn!(task = %id, %error, "task state not removed");
        }
    }

    /// A task that is known, also one whose file is gone.
    fn known(&mut self, id: &TaskId) -> Option<&mut Task> {
        match self.tasks.get_mut(id) {
            Some(task) => Some(task),
            None => self.gone.get_mut(id)?.task.as_mut(),
        }
    }

    /// Removes a task and its place in the queue.
    fn forget(&mut self, id: &TaskId) -> Option<Task> {
        let task = self.tasks.remove(id)?;
        if let Some(due) = task.due {
            self.due.remove(&(due, id.clone()));
        }
        Some(task)
    }

    /// Puts a task into the queue for its next slot.
    fn schedule(&mut self, id: &TaskId) {
        let now = self.now();
        let Some(task) = self.tasks.get_mut(id) else { return };
        if let Some(before) = task.due.take() {
            self.due.remove(&(before, id.clone()));
        }
        task.due = task.attention(now);
        if let Some(at) = task.due {
            self.due.insert((at, id.clone()));
        }
    }

    /// Handles every task that is due.
    async fn fire(&mut self) {
        let now = self.now();
        let mut due = Vec::new();
        while let Some((at, _)) = self.due.first() {
            if *at > now {
                break;
            }
            due.extend(self.due.pop_first().map(|(_, id)| id));
        }
        let spread = due.len() >= SPREAD_FROM;
        let mut lost = Vec::new();
        for id in due {
            lost.extend(self.fire_one(&id, now, spread).await);
        }
        if !lost.is_empty() {
            self.notices.spawn(tell_lost(self.parts.run.clone(), lost));
        }
        self.drop_gone(now).await;
    }

    /// Handles a task that is due. Returns the newest slot that is lost and has to be told.
    async fn fire_one(&mut self, id: &TaskId, now: Timestamp, spread: bool) -> Option<LostSlot> {
        let task = self.tasks.get_mut(id)?;
        let read = task.read.as_ref().ok()?;
        let definition = &read.definition;
        let plan = PlanInput {
            schedule: &definition.schedule,
            zone: &definition.zone,
            missed: definition.missed,
            grace: definition.grace,
            overlap: definition.overlap,
            settled: to_jiff(task.state.settled),
            running: task.state.running.is_some(),
            queued: !task.state.waiting.is_empty(),
        }
        .plan(to_jiff(now));
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
        let lost = plan.given_up.last().filter(|_| plan.lost && definition.failures.owner);
        let lost = lost.map(|(slot, _)| LostSlot {
            task: id.clone(),
            slot: from_jiff(*slot),
            zone: definition.zone.clone(),
        });
        let skip = plan.given_up.len().saturating_sub(MOST_RECORDED);
        for (slot, reason) in plan.given_up.iter().skip(skip) {
            task.state.record(TaskRecord::not_run(from_jiff(*slot), TaskOutcome::from(*reason), now));
        }
        let newest =
            plan.run.iter().map(|(slot, _)| *slot).chain(plan.given_up.iter().map(|(slot, _)| *slot));
        if let Some(newest) = newest.max() {
            task.state.settled = task.state.settled.max(from_jiff(newest));
        }
        task.state.waiting.extend(plan.run.into_iter().map(|(slot, trigger)| (from_jiff(slot), trigger)));
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
        let platform = &self.parts.run.platform;
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
        self.save(id).await;
        fail_point("task-stored");
        self.resume_run(id);
    }

    /// Starts the work of the run that the state names, unless it is under way.
    fn resume_run(&mut self, id: &TaskId) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        let (Ok(read), Some(run), false) = (&task.read, &task.state.running, task.at_work) else { return };
        let last = task.state.last_result();
        let run = Run {
            parts: self.parts.run.clone(),
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
        let Some(task) = self.known(&id) else { return };
        match (note, task.state.running.as_mut()) {
            (RunNote::FailureTold, _) => task.state.failure_told = Some(now),
            (RunNote::Refused, Some(run)) => run.refused = run.refused.saturating_add(1),
            (RunNote::Refused, None) => {}
        }
        self.save(&id).await;
    }

    async fn ended(&mut self, EndedRun { task: id, message, end, cost }: EndedRun) {
        let (now, stopping) = (self.now(), self.stop.is_cancelled());
        let language = self.parts.run.language.unwrap_or_default();
        let Some(task) = self.known(&id) else { return };
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
                self.forget(&id);
                self.gone.remove(&id);
                self.remove_state(&id).await;
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
                self.parts.run.language.unwrap_or_default(),
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
        self.save(id).await;
        self.schedule(id);
        Ok(())
    }

    async fn save(&self, id: &TaskId) {
        let gone = || self.gone.get(id)?.task.as_ref();
        let Some(task) = self.tasks.get(id).or_else(gone) else { return };
        let Ok(state) = serde_json::to_value(&task.state) else { return };
        if let Err(error) = self.parts.states.put(id.as_str(), state, Durability::Written).await {
            tracing::error!(task = %id, error = &error as &dyn std::error::Error, "task state not written");
        }
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

/// A state as it is stored. One of another shape is not guessed.
pub(super) fn read_state(
    id: &TaskId,
    stored: Option<serde_json::Value>,
) -> Result<Option<TaskState>, StoreError> {
    let read = stored.map(serde_json::from_value).transpose();
    read.map_err(|error| StoreError::new(StoreErrorKind::Invalid, format!("the state of task {id}"), error))
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
