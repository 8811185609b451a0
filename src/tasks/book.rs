//! One task as the scheduler knows it, and as people are shown it.

use super::definition::{Deliver, Problem, ReadTask, TaskProblem};
use super::frontmatter::{TaskContext, read};
use super::planner::{Plan, PlanInput};
use super::schedule::Schedule;
use super::scheduler::{from_jiff, to_jiff};
use super::state::{TaskOutcome, TaskRecord, TaskState};
use super::words;
use crate::domain::{Language, Platform, TaskStatus, Timestamp, short_digest};
use crate::ports::{TaskInProgress, TaskSummary};

/// Most slots given up that are recorded at once.
const MOST_RECORDED: usize = 10;
/// How many next slots are shown.
const SHOWN_SLOTS: usize = 3;

/// A task file with its state.
#[derive(Debug)]
pub struct Task {
    /// The version of the file that was read.
    pub version: u64,
    pub read: Result<ReadTask, TaskProblem>,
    pub state: TaskState,
    /// The state is not what is stored.
    pub unsaved: bool,
    /// The work of the run in flight was started by this daemon.
    pub at_work: bool,
    /// When the slots that were missed are made up for.
    pub spread_until: Option<Timestamp>,
    /// When the scheduler looks at it next.
    pub due: Option<Timestamp>,
}

impl Task {
    /// Reads a file. A schedule that is new begins now and never fires for the past; times that a person gave in a new
    /// file are looked at even if they have passed.
    pub fn read(
        version: u64,
        content: &[u8],
        state: Option<TaskState>,
        context: &TaskContext,
        now: Timestamp,
    ) -> Self {
        let read = read(content, context, to_jiff(now));
        let stored = state.clone();
        let state = match &read {
            Err(_) => state.unwrap_or_default(),
            Ok(read) => {
                let schedule = schedule_digest(read);
                let one_shot = read.definition.schedule.is_one_shot();
                let mut state = match state {
                    Some(state) if state.schedule == schedule => state,
                    Some(state) => {
                        let mut state = TaskState::first_seen(schedule, now, Some(state));
                        if let Schedule::At(times) = &read.definition.schedule {
                            state
                                .note_past(times.iter().copied().map(from_jiff).filter(|at| *at <= now), now);
                        }
                        state
                    }
                    None if one_shot => TaskState::first_seen(schedule, Timestamp::default(), None),
                    None => TaskState::first_seen(schedule, now, None),
                };
                state.note_enabled(read.definition.enabled, now);
                state
            }
        };
        let unsaved = stored.as_ref() != Some(&state);
        Self { version, read, state, unsaved, at_work: false, spread_until: None, due: None }
    }

    /// A file that cannot be a task at all.
    pub fn unusable(what: Problem) -> Self {
        Self {
            version: 0,
            read: Err(TaskProblem { line: None, what }),
            state: TaskState::default(),
            unsaved: false,
            at_work: false,
            spread_until: None,
            due: None,
        }
    }

    /// When the scheduler has to look at it.
    pub fn attention(&self, now: Timestamp) -> Option<Timestamp> {
        if let Some(until) = self.spread_until {
            return Some(until);
        }
        let definition = &self.read.as_ref().ok()?.definition;
        if !definition.enabled || !self.state.is_active() {
            return None;
        }
        // The first slot that is not settled, which may have passed.
        let next = definition.schedule.next_after(to_jiff(self.state.settled), &definition.zone)?;
        Some(from_jiff(next)).map(|next| if next < now { now } else { next })
    }

    /// What is to be done for it now; `None` where its file has a mistake.
    pub fn plan(&self, now: Timestamp) -> Option<Plan> {
        let definition = &self.read.as_ref().ok()?.definition;
        let input = PlanInput {
            schedule: &definition.schedule,
            zone: &definition.zone,
            missed: definition.missed,
            grace: definition.grace,
            overlap: definition.overlap,
            settled: to_jiff(self.state.settled),
            running: self.state.running.is_some(),
            queued: !self.state.waiting.is_empty(),
        };
        Some(input.plan(to_jiff(now)))
    }

    /// Settles the slots of a plan: some wait to be run, others are recorded as given up.
    pub fn settle(&mut self, plan: Plan, now: Timestamp) {
        let skip = plan.given_up.len().saturating_sub(MOST_RECORDED);
        for (slot, reason) in plan.given_up.iter().skip(skip) {
            self.state.record(TaskRecord::not_run(from_jiff(*slot), TaskOutcome::from(*reason), now));
        }
        let slots = plan.run.iter().map(|(slot, _)| *slot).chain(plan.given_up.iter().map(|(slot, _)| *slot));
        if let Some(newest) = slots.max() {
            self.state.settled = self.state.settled.max(from_jiff(newest));
        }
        self.state.waiting.extend(plan.run.into_iter().map(|(slot, trigger)| (from_jiff(slot), trigger)));
    }

    /// The next slots from now on.
    pub fn next_slots(&self, now: Timestamp, count: usize) -> Vec<Timestamp> {
        let Ok(read) = &self.read else { return Vec::new() };
        let after = to_jiff(now.max(self.state.settled));
        let slots = read.definition.schedule.slots(after, jiff::Timestamp::MAX, &read.definition.zone, count);
        slots.into_iter().map(from_jiff).collect()
    }

    /// Whether no slot is left that could run, not even a late one.
    fn is_over(&self) -> bool {
        let Ok(read) = &self.read else { return false };
        let Schedule::At(times) = &read.definition.schedule else { return false };
        self.state.waiting.is_empty() && times.iter().all(|at| from_jiff(*at) <= self.state.settled)
    }

    /// What it is doing.
    pub fn status(&self) -> TaskStatus {
        let Ok(read) = &self.read else { return TaskStatus::Broken };
        if self.state.running.is_some() {
            TaskStatus::Running
        } else if self.state.disabled {
            TaskStatus::Disabled
        } else if self.state.paused || !read.definition.enabled {
            TaskStatus::Paused
        } else if self.is_over() {
            TaskStatus::Over
        } else {
            TaskStatus::Waiting
        }
    }

    /// As people and programs see it.
    pub fn summary(
        &self,
        id: &str,
        reply_only: &[Platform],
        now: Timestamp,
        language: Language,
    ) -> TaskSummary {
        let status = self.status();
        let definition = self.read.as_ref().ok().map(|read| &read.definition);
        let stands = matches!(status, TaskStatus::Paused | TaskStatus::Disabled);
        let next = if stands { Vec::new() } else { self.next_slots(now, SHOWN_SLOTS) };
        let clock_change = next
            .first()
            .zip(definition)
            .and_then(|(next, definition)| words::clock_change(definition, *next, language));
        let reply_only =
            definition.and_then(|definition| words::reply_only(definition, reply_only, language));
        TaskSummary {
            id: id.to_owned(),
            title: definition.map(|definition| title(&definition.body)).unwrap_or_default(),
            status,
            schedule: definition
                .map(|definition| words::schedule(&definition.schedule, &definition.zone, language))
                .unwrap_or_default(),
            timezone: definition.map(|definition| words::zone_name(&definition.zone)).unwrap_or_default(),
            next: next.into_iter().map(Timestamp::rfc3339).collect(),
            last: self.state.history.back().map(words::entry),
            failures: self.state.failures,
            mistake: self.read.as_ref().err().map(|problem| words::mistake(problem, language)),
            unknown_keys: self.read.as_ref().map(|read| read.unknown_keys.clone()).unwrap_or_default(),
            deliver: definition.map(|definition| targets(&definition.deliver)).unwrap_or_default(),
            author: definition.and_then(|definition| definition.author.clone()),
            recent_cost: self.state.recent_cost(now),
            remarks: clock_change.into_iter().chain(reply_only).collect(),
            running: self.state.running.as_ref().map(|run| TaskInProgress {
                slot: run.slot.rfc3339(),
                started_at: run.started.rfc3339(),
                thread_id: run.thread.clone(),
            }),
        }
    }
}

/// Where results go, as a task file says it.
fn targets(deliver: &Deliver) -> Vec<String> {
    match deliver {
        Deliver::Owner => vec!["owner".to_owned()],
        Deliver::Threads(threads) => threads.iter().map(ToString::to_string).collect(),
        Deliver::Nowhere => Vec::new(),
    }
}

/// The first line of a prompt, without Markdown's heading marks.
fn title(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.trim_start_matches('#').trim().chars().take(80).collect()
}

/// Differs where the schedule or its zone differs.
fn schedule_digest(read: &ReadTask) -> String {
    let definition = &read.definition;
    let text = match &definition.schedule {
        Schedule::Cron(cron) => format!("cron {}", cron.as_str()),
        Schedule::Every { interval, anchor } => format!("every {interval:?} {anchor}"),
        Schedule::At(times) => format!("at {times:?}"),
    };
    let zone = definition.zone.iana_name().unwrap_or("-").to_owned();
    short_digest(format!("{text} {zone}").as_bytes(), 8)
}
