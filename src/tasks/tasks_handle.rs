//! The [`Tasks`] port: reads task files and states, and sends requests to the scheduler of a daemon. Without a daemon it
//! changes the states itself.

use std::sync::Arc;

use jiff::tz::TimeZone;
use tokio::sync::{mpsc, oneshot};

use super::book::Task;
use super::compose::compose;
use super::definition::{Deliver, Problem, ReadTask, TaskId};
use super::frontmatter::{TaskContext, read};
use super::scheduler::{Request, from_jiff, request_channel, to_jiff};
use super::state::TaskState;
use super::task_states::TaskStates;
use super::words;
use crate::domain::{Language, Platform, TaskStatus, ThreadId, Timestamp};
use crate::ports::{
    BoxFuture, Clock, KeyValueStore, PlannedTask, TaskChange, TaskDetails, TaskFiles, TaskMistake,
    TaskPreview, TaskRefusal, TaskSummary, Tasks,
};

/// How many next slots a preview shows, and the words of a plan.
const PREVIEW_SLOTS: usize = 5;
const PLAN_SLOTS: usize = 3;

/// The task files and states of a project.
#[derive(Clone, Debug)]
pub struct TaskBook {
    pub files: Arc<dyn TaskFiles>,
    pub states: TaskStates,
    pub clock: Arc<dyn Clock>,
    pub context: TaskContext,
    /// The platforms where the agent may only answer.
    reply_only: Arc<[Platform]>,
    /// Requests to the scheduler; `None` without a daemon.
    scheduler: Option<mpsc::Sender<Request>>,
}

/// The scheduler's end of the requests.
#[derive(Debug)]
pub struct TaskRequests(pub(super) mpsc::Receiver<Request>);

type Answer<T> = oneshot::Sender<Result<T, TaskRefusal>>;

impl TaskBook {
    /// Without a daemon.
    pub fn new(
        files: Arc<dyn TaskFiles>,
        states: Arc<dyn KeyValueStore>,
        clock: Arc<dyn Clock>,
        zone: TimeZone,
    ) -> Self {
        let (context, reply_only) = (TaskContext::in_zone(zone), Arc::default());
        Self { files, states: TaskStates(states), clock, context, reply_only, scheduler: None }
    }

    /// Tasks may name these models.
    #[must_use]
    pub fn with_models<'a>(mut self, names: impl IntoIterator<Item = &'a String>) -> Self {
        self.context.models = names.into_iter().cloned().collect();
        self
    }

    /// On these platforms the agent may only answer: results may wait for people.
    #[must_use]
    pub fn with_reply_only(mut self, platforms: impl IntoIterator<Item = Platform>) -> Self {
        self.reply_only = platforms.into_iter().collect();
        self
    }

    /// For a daemon, with the requests for its scheduler.
    #[must_use]
    pub fn for_daemon(self) -> (Self, TaskRequests) {
        let (sender, requests) = request_channel();
        (Self { scheduler: Some(sender), ..self }, TaskRequests(requests))
    }

    /// A task as it is on the disk.
    async fn task(&self, id: &TaskId) -> Result<(Task, Vec<u8>), TaskRefusal> {
        let content = self.files.read(id.as_str()).await?.ok_or(TaskRefusal::Unknown)?;
        let task = match self.states.get(id).await {
            Ok(state) => Task::read(0, &content, state, &self.context, self.clock.now()),
            Err(error) => Task::unusable(Problem::State(error.to_string())),
        };
        Ok((task, content))
    }

    /// Sends a request to the scheduler; `None` without a daemon.
    async fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> Request) -> Option<Result<T, TaskRefusal>> {
        let scheduler = self.scheduler.as_ref()?;
        let (reply, answer) = oneshot::channel();
        if scheduler.send(request(reply)).await.is_err() {
            return Some(Err(TaskRefusal::Stopping));
        }
        Some(answer.await.unwrap_or(Err(TaskRefusal::Stopping)))
    }

    /// Changes a state without a daemon.
    async fn change(
        &self,
        id: &TaskId,
        change: impl FnOnce(&mut TaskState, Timestamp) + Send,
    ) -> Result<(), TaskRefusal> {
        self.states.get(id).await?;
        let (mut task, _) = self.task(id).await?;
        change(&mut task.state, self.clock.now());
        Ok(self.states.put(id, &task.state).await?)
    }
}

/// What a definition means at this time.
fn preview_of(
    ReadTask { definition, unknown_keys }: &ReadTask,
    reply_only: &[Platform],
    now: Timestamp,
    language: Language,
) -> TaskPreview {
    let zone = &definition.zone;
    let slots = definition.schedule.slots(to_jiff(now), jiff::Timestamp::MAX, zone, PREVIEW_SLOTS);
    TaskPreview {
        schedule: words::schedule(&definition.schedule, zone, language),
        timezone: words::zone_name(zone),
        past: slots.is_empty(),
        next: slots.into_iter().map(|slot| words::slot(definition, from_jiff(slot), language)).collect(),
        unknown_keys: unknown_keys.clone(),
        remarks: words::reply_only(definition, reply_only, language).into_iter().collect(),
        deliver: match &definition.deliver {
            Deliver::Threads(threads) => threads.clone(),
            Deliver::Owner | Deliver::Nowhere => Vec::new(),
        },
        author: definition.author.clone(),
    }
}

fn task_id(name: &str) -> Result<TaskId, TaskRefusal> {
    TaskId::new(name).ok_or(TaskRefusal::BadId)
}

fn text(content: &[u8]) -> String {
    String::from_utf8_lossy(content).into_owned()
}

impl Tasks for TaskBook {
    fn list(&self, language: Language) -> BoxFuture<'_, Result<Vec<TaskSummary>, TaskRefusal>> {
        Box::pin(async move {
            let now = self.clock.now();
            let mut all = Vec::new();
            for file in self.files.list().await? {
                let Some(id) = TaskId::new(&file.name) else {
                    all.push(Task::unusable(Problem::FileName).summary(&file.name, &[], now, language));
                    continue;
                };
                match self.task(&id).await {
                    Ok((task, _)) => all.push(task.summary(id.as_str(), &self.reply_only, now, language)),
                    Err(TaskRefusal::Unknown) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(all)
        })
    }

    fn show(&self, id: &str, language: Language) -> BoxFuture<'_, Result<TaskDetails, TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move {
            let id = id?;
            let (task, content) = self.task(&id).await?;
            Ok(TaskDetails {
                summary: task.summary(id.as_str(), &self.reply_only, self.clock.now(), language),
                file: text(&content),
                history: task.state.history.iter().rev().map(words::entry).collect(),
            })
        })
    }

    fn run(&self, id: &str, key: Option<String>) -> BoxFuture<'_, Result<ThreadId, TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move {
            let id = id?;
            self.ask(|reply| Request::Run { id, key, reply }).await.unwrap_or(Err(TaskRefusal::Stopping))
        })
    }

    fn pause(&self, id: &str) -> BoxFuture<'_, Result<(), TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move {
            let id = id?;
            match self.ask(|reply| Request::Pause { id: id.clone(), reply }).await {
                Some(answer) => answer,
                None => self.change(&id, |state, _| state.paused = true).await,
            }
        })
    }

    fn resume(&self, id: &str) -> BoxFuture<'_, Result<(), TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move {
            let id = id?;
            match self.ask(|reply| Request::Resume { id: id.clone(), reply }).await {
                Some(answer) => answer,
                None => self.change(&id, TaskState::resume).await,
            }
        })
    }

    fn preview(&self, file: &str, now: Timestamp, language: Language) -> Result<TaskPreview, TaskMistake> {
        let read = read(file.as_bytes(), &self.context, to_jiff(now))
            .map_err(|problem| words::mistake(&problem, language))?;
        Ok(preview_of(&read, &self.reply_only, now, language))
    }

    fn plan(
        &self,
        id: &str,
        change: TaskChange,
        language: Language,
    ) -> BoxFuture<'_, Result<PlannedTask, TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move {
            let (id, now) = (id?, self.clock.now());
            let before = self.files.read(id.as_str()).await?.map(|content| text(&content));
            let author_before = before.as_ref().and_then(|before| {
                read(before.as_bytes(), &self.context, to_jiff(now)).ok()?.definition.author
            });
            let broken = |problem| TaskRefusal::Broken(words::mistake(&problem, language));
            let after = compose(before.as_deref(), &change, self.context.zone.iana_name()).map_err(broken)?;
            let found = read(after.as_bytes(), &self.context, to_jiff(now)).map_err(broken)?;
            let preview = preview_of(&found, &self.reply_only, now, language);
            let words = words::plan(&found.definition, &preview, &change, PLAN_SLOTS, language);
            Ok(PlannedTask { before, author_before, after, preview, words })
        })
    }

    fn file(&self, id: &str) -> BoxFuture<'_, Result<Option<String>, TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move { Ok(self.files.read(id?.as_str()).await?.map(|content| text(&content))) })
    }

    fn write(
        &self,
        id: &str,
        before: Option<String>,
        file: String,
        language: Language,
    ) -> BoxFuture<'_, Result<(), TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move {
            let id = id?;
            self.preview(&file, self.clock.now(), language).map_err(TaskRefusal::Broken)?;
            let before = before.map(String::into_bytes);
            let written = self.files.write(id.as_str(), before, file.into_bytes()).await?;
            if written { Ok(()) } else { Err(TaskRefusal::Changed) }
        })
    }

    fn remove(&self, id: &str, before: String) -> BoxFuture<'_, Result<(), TaskRefusal>> {
        let id = task_id(id);
        Box::pin(async move {
            let id = id?;
            if self.files.read(id.as_str()).await?.is_none() {
                return Err(TaskRefusal::Unknown);
            }
            if !self.files.remove(id.as_str(), before.into_bytes()).await? {
                return Err(TaskRefusal::Changed);
            }
            // A task of the same name begins anew.
            match self.ask(|reply| Request::Forget { id: id.clone(), reply }).await {
                Some(answer) => answer,
                None => Ok(self.states.remove(&id).await?),
            }
        })
    }

    fn clean(&self) -> BoxFuture<'_, Result<Vec<String>, TaskRefusal>> {
        Box::pin(async move {
            let mut cleaned = Vec::new();
            for file in self.files.list().await? {
                let Some(id) = TaskId::new(&file.name) else { continue };
                let (task, _) = self.task(&id).await?;
                if task.status() == TaskStatus::Over {
                    self.files.set_aside(id.as_str()).await?;
                    cleaned.push(id.to_string());
                }
            }
            Ok(cleaned)
        })
    }
}
