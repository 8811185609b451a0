//! The tasks that the scheduler knows: reads their files and states, keeps those whose files are gone for a while, and
//! tells which are due.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::book::Task;
use super::definition::TaskId;
use super::frontmatter::TaskContext;
use super::task_states::{self, TaskStates};
use crate::domain::Timestamp;
use crate::ports::TaskFiles;

/// How long the state of a task is kept whose file is gone: an editor or a checkout may put it back.
const GONE_KEPT_MILLIS: u64 = 60_000;

/// A task whose file is gone.
#[derive(Debug)]
struct RemovedTask {
    /// When its state is removed.
    until: Timestamp,
    /// `None` where it was gone when the daemon started.
    task: Option<Task>,
}

/// What a look at the files found.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    /// The tasks that are new or whose files have changed.
    pub(super) changed: Vec<TaskId>,
    /// Whether all files and states could be read.
    pub(super) complete: bool,
}

/// The tasks by id, and when each needs attention.
#[derive(Debug)]
pub(super) struct KnownTasks {
    files: Arc<dyn TaskFiles>,
    states: TaskStates,
    context: TaskContext,
    tasks: BTreeMap<TaskId, Task>,
    gone: BTreeMap<TaskId, RemovedTask>,
    due: BTreeSet<(Timestamp, TaskId)>,
    /// Whether all files and states have been read once.
    loaded: bool,
}

impl KnownTasks {
    pub(super) fn new(files: Arc<dyn TaskFiles>, states: TaskStates, context: TaskContext) -> Self {
        let (tasks, gone, due) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { files, states, context, tasks, gone, due, loaded: false }
    }

    /// Reads the files that are new or changed, and notes those that are gone. The caller has to
    /// [`schedule`](Self::schedule) what has changed.
    pub(super) async fn load(&mut self, now: Timestamp) -> Loaded {
        let files = match self.files.list().await {
            Ok(files) => files,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "task files unavailable");
                return Loaded::default();
            }
        };
        let mut loaded = Loaded { changed: Vec::new(), complete: true };
        let mut states = if self.loaded { None } else { self.states.all().await };
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
            match self.read(&id, file.version, states.as_mut(), now).await {
                Some(true) => loaded.changed.push(id),
                Some(false) => {}
                None => loaded.complete = false,
            }
        }
        let until = now.plus_millis(GONE_KEPT_MILLIS);
        let gone: Vec<TaskId> = self.tasks.keys().filter(|id| !seen.contains(*id)).cloned().collect();
        for id in gone {
            let task = self.remove(&id);
            self.gone.insert(id, RemovedTask { until, task });
        }
        // States of tasks whose files went while no daemon ran.
        let left = states.into_iter().flatten().filter_map(|(name, _)| TaskId::new(&name));
        for id in left.filter(|id| !seen.contains(id)).collect::<Vec<_>>() {
            self.gone.entry(id).or_insert(RemovedTask { until, task: None });
        }
        self.loaded |= loaded.complete;
        loaded
    }

    /// Reads a file and, where the task is new, its state. Returns whether the file is there; `None` where something
    /// cannot be read.
    async fn read(
        &mut self,
        id: &TaskId,
        version: u64,
        states: Option<&mut BTreeMap<String, Value>>,
        now: Timestamp,
    ) -> Option<bool> {
        let content = match self.files.read(id.as_str()).await {
            Ok(Some(content)) => content,
            Ok(None) => return Some(false),
            Err(error) => {
                tracing::error!(task = %id, error = &error as &dyn std::error::Error, "task file unavailable");
                return None;
            }
        };
        let known = self.remove(id).or_else(|| self.gone.remove(id)?.task);
        let at_work = known.as_ref().is_some_and(|known| known.at_work);
        let state = match (known, states) {
            (Some(known), _) => Ok(Some(known.state)),
            (None, Some(all)) => task_states::read(id, all.remove(id.as_str())),
            (None, None) => self.states.get(id).await,
        };
        let state = match state {
            Ok(state) => state,
            // A task that may be paused must not run, and its state must not be replaced.
            Err(error) => {
                tracing::error!(task = %id, error = &error as &dyn std::error::Error, "task state unavailable");
                return None;
            }
        };
        let task = Task { at_work, ..Task::read(version, &content, state, &self.context, now) };
        if let Err(problem) = &task.read {
            tracing::warn!(task = %id, ?problem, "task file is not valid");
        }
        self.tasks.insert(id.clone(), task);
        Some(true)
    }

    pub(super) fn get(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id)
    }

    /// A task, also one whose file is gone.
    pub(super) fn get_also_gone(&mut self, id: &TaskId) -> Option<&mut Task> {
        match self.tasks.get_mut(id) {
            Some(task) => Some(task),
            None => self.gone.get_mut(id)?.task.as_mut(),
        }
    }

    /// Removes a task and what is kept about it.
    pub(super) async fn forget(&mut self, id: &TaskId) {
        self.remove(id);
        self.gone.remove(id);
        self.remove_state(id).await;
    }

    /// Writes the state of a task.
    pub(super) async fn save(&self, id: &TaskId) {
        let gone = || self.gone.get(id)?.task.as_ref();
        let Some(task) = self.tasks.get(id).or_else(gone) else { return };
        if let Err(error) = self.states.put(id, &task.state).await {
            tracing::error!(task = %id, error = &error as &dyn std::error::Error, "task state not written");
        }
    }

    /// Puts a task into the queue for its next slot.
    pub(super) fn schedule(&mut self, id: &TaskId, now: Timestamp) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        if let Some(before) = task.due.take() {
            self.due.remove(&(before, id.clone()));
        }
        task.due = task.attention(now);
        if let Some(at) = task.due {
            self.due.insert((at, id.clone()));
        }
    }

    /// Takes the tasks that are due out of the queue.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<TaskId> {
        let mut due = Vec::new();
        while let Some((at, _)) = self.due.first() {
            if *at > now {
                break;
            }
            due.extend(self.due.pop_first().map(|(_, id)| id));
        }
        due
    }

    /// When something has to be done next; `None` where nothing is scheduled.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        let due = self.due.first().map(|(at, _)| *at);
        let gone = self.gone.values().map(|gone| gone.until).min();
        due.into_iter().chain(gone).min()
    }

    /// Removes the states of tasks whose files have been gone for long enough.
    pub(super) async fn drop_gone(&mut self, now: Timestamp) {
        let over = |(_, gone): &(&TaskId, &RemovedTask)| gone.until <= now;
        let over: Vec<TaskId> = self.gone.iter().filter(over).map(|(id, _)| id.clone()).collect();
        for id in over {
            self.gone.remove(&id);
            self.remove_state(&id).await;
        }
    }

    /// Removes a task and its place in the queue.
    fn remove(&mut self, id: &TaskId) -> Option<Task> {
        let task = self.tasks.remove(id)?;
        if let Some(due) = task.due {
            self.due.remove(&(due, id.clone()));
        }
        Some(task)
    }

    async fn remove_state(&self, id: &TaskId) {
        if let Err(error) = self.states.remove(id).await {
            tracing::warn!(task = %id, %error, "task state not removed");
        }
    }
}
