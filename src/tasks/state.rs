//! What is kept about a task beside its file: which slots are settled, the run in flight, failures, and a short history.
//! Losing it repeats nothing: a slot is an event with its own id, and threads drop repeated events.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::planner::{GivenUp, Trigger};
use crate::domain::{MessageId, ThreadId, Timestamp};

/// Most entries of a history.
const HISTORY: usize = 50;
/// Most characters of a result in a history.
const RESULT_CHARS: usize = 500;
/// How many days of costs are kept.
const COST_DAYS: i64 = 30;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// A task with this many failures in a row is disabled.
pub(super) const MOST_FAILURES: u32 = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskState {
    /// The schedule that `settled` belongs to. Another schedule starts from now.
    pub schedule: String,
    /// Slots up to this time ran or were given up.
    pub settled: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<TaskRun>,
    /// Slots that wait for the end of the run, oldest first.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub waiting: VecDeque<(Timestamp, Trigger)>,
    pub paused: bool,
    /// Its file said `enabled: false` when it was last read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub off: bool,
    /// Disabled because of failures; `resume` ends it.
    pub disabled: bool,
    /// Failures in a row.
    pub failures: u32,
    /// When the owner was last told of failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_told: Option<Timestamp>,
    /// Ended runs and slots that were given up, oldest first.
    pub history: VecDeque<TaskRecord>,
    /// What the runs of each day cost, by the number of the day since 1970 (UTC), in millionths of a US dollar.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub spent: BTreeMap<i64, u64>,
}

/// The run in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRun {
    pub slot: Timestamp,
    pub trigger: Trigger,
    pub thread: ThreadId,
    /// The event that started it.
    pub message: MessageId,
    pub started: Timestamp,
    /// How often an approval was refused because no person can decide.
    #[serde(default)]
    pub refused: u32,
}

/// How a slot ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskOutcome {
    /// It ran, and its result was handed over for delivery.
    Done,
    /// It ran and had nothing to report.
    Quiet,
    Failed,
    TimedOut,
    Stopped,
    Missed,
    Overlap,
    /// A spend cap had no room for it.
    Budget,
}

impl From<GivenUp> for TaskOutcome {
    fn from(reason: GivenUp) -> Self {
        match reason {
            GivenUp::Missed => Self::Missed,
            GivenUp::Overlap => Self::Overlap,
        }
    }
}

/// One entry of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    pub slot: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    pub outcome: TaskOutcome,
    pub at: Timestamp,
    /// The beginning of the result, or the reason of a failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The event that started it, where a person gave it a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// What it cost, in millionths of a US dollar, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

impl TaskRecord {
    /// A slot that did not run.
    pub const fn not_run(slot: Timestamp, outcome: TaskOutcome, at: Timestamp) -> Self {
        Self {
            slot,
            trigger: None,
            outcome,
            at,
            text: String::new(),
            thread: None,
            message: None,
            cost: None,
        }
    }
}

impl TaskState {
    /// The state of a task whose file is seen for the first time, or whose schedule changed.
    pub fn first_seen(schedule: String, settled: Timestamp, before: Option<Self>) -> Self {
        Self { schedule, settled, waiting: VecDeque::new(), ..before.unwrap_or_default() }
    }

    /// Whether its slots start runs.
    pub const fn is_active(&self) -> bool {
        !self.paused && !self.disabled
    }

    /// Takes up whether the file enables the task: slots of the time while it was off were given up on purpose.
    pub fn note_enabled(&mut self, enabled: bool, now: Timestamp) {
        if enabled && self.off {
            self.settled = self.settled.max(now);
        }
        self.off = !enabled;
    }

    /// Records times of a new schedule that have passed and never run.
    pub fn note_past(&mut self, slots: impl IntoIterator<Item = Timestamp>, now: Timestamp) {
        for slot in slots {
            let known = self.history.iter().any(|record| record.slot == slot)
                || self.running.as_ref().is_some_and(|run| run.slot == slot);
            if !known {
                self.record(TaskRecord::not_run(slot, TaskOutcome::Missed, now));
            }
        }
    }

    /// The thread of the run that this event started.
    pub fn thread_of(&self, message: &MessageId) -> Option<&ThreadId> {
        let running = self.running.as_ref().filter(|run| run.message == *message).map(|run| &run.thread);
        let ended = || self.history.iter().find(|record| record.message.as_ref() == Some(message));
        running.or_else(|| ended()?.thread.as_ref())
    }

    /// Adds an entry to the history; results are cut to a readable length.
    pub fn record(&mut self, mut record: TaskRecord) {
        if record.text.chars().count() > RESULT_CHARS {
            record.text = record.text.chars().take(RESULT_CHARS).chain(['…']).collect();
        }
        self.history.push_back(record);
        while self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }

    /// Ends the run in flight.
    pub fn end(
        &mut self,
        outcome: TaskOutcome,
        text: String,
        cost: Option<u64>,
        now: Timestamp,
    ) -> Option<TaskRun> {
        let run = self.running.take()?;
        self.count_cost(cost, now);
        match outcome {
            TaskOutcome::Failed | TaskOutcome::TimedOut => {
                self.failures = self.failures.saturating_add(1);
                self.disabled |= self.failures >= MOST_FAILURES;
            }
            TaskOutcome::Done | TaskOutcome::Quiet => {
                self.failures = 0;
                self.failure_told = None;
            }
            TaskOutcome::Stopped | TaskOutcome::Missed | TaskOutcome::Overlap | TaskOutcome::Budget => {}
        }
        self.record(TaskRecord {
            slot: run.slot,
            trigger: Some(run.trigger),
            outcome,
            at: now,
            text,
            thread: Some(run.thread.clone()),
            message: (run.trigger == Trigger::Manual).then(|| run.message.clone()),
            cost,
        });
        Some(run)
    }

    fn count_cost(&mut self, cost: Option<u64>, now: Timestamp) {
        let Some(cost) = cost.filter(|cost| *cost > 0) else { return };
        let today = day_of(now);
        let spent = self.spent.entry(today).or_default();
        *spent = spent.saturating_add(cost);
        self.spent.retain(|day, _| *day > today.saturating_sub(COST_DAYS));
    }

    /// What its runs cost in the last thirty days, in millionths of a US dollar; `None` where nothing is known.
    pub fn recent_cost(&self, now: Timestamp) -> Option<u64> {
        let after = day_of(now).saturating_sub(COST_DAYS);
        let days = self.spent.iter().filter(|(day, _)| **day > after).map(|(_, cost)| *cost);
        Some(days.fold(0, u64::saturating_add)).filter(|cost| *cost > 0)
    }

    /// Ends a pause and forgets failures.
    pub fn resume(&mut self, now: Timestamp) {
        (self.paused, self.disabled, self.failures) = (false, false, 0);
        // Slots of the pause were given up on purpose.
        self.settled = self.settled.max(now);
    }

    /// The last run that ended with a result.
    pub fn last_result(&self) -> Option<&TaskRecord> {
        self.history.iter().rev().find(|record| record.outcome == TaskOutcome::Done)
    }
}

fn day_of(time: Timestamp) -> i64 {
    time.as_millis().div_euclid(DAY_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(slot: i64) -> TaskState {
        let run = TaskRun {
            slot: Timestamp::from_millis(slot),
            trigger: Trigger::Schedule,
            thread: "task:chat:a".parse().unwrap(),
            message: "task_a".parse().unwrap(),
            started: Timestamp::from_millis(slot),
            refused: 0,
        };
        TaskState { running: Some(run), ..TaskState::default() }
    }

    #[test]
    fn ten_failures_in_a_row_disable_a_task_and_a_success_forgets_them() {
        let mut state = TaskState::default();
        for slot in 0..9 {
            state.running = running(slot).running;
            state.end(TaskOutcome::Failed, "no".into(), None, Timestamp::from_millis(slot));
        }
        assert!(state.is_active());
        state.running = running(9).running;
        state.end(TaskOutcome::Done, String::new(), None, Timestamp::from_millis(9));
        assert_eq!(state.failures, 0);
        for slot in 10..20 {
            state.running = running(slot).running;
            state.end(TaskOutcome::TimedOut, String::new(), None, Timestamp::from_millis(slot));
        }
        assert!(state.disabled && !state.is_active());
        state.resume(Timestamp::from_millis(99));
        assert_eq!((state.is_active(), state.failures, state.settled), (true, 0, Timestamp::from_millis(99)));
    }

    #[test]
    fn a_history_is_bounded_in_entries_and_length() {
        let mut state = TaskState::default();
        for slot in 0..70 {
            state.running = running(slot).running;
            state.end(TaskOutcome::Done, "长".repeat(2_000), None, Timestamp::from_millis(slot));
        }
        assert_eq!(state.history.len(), HISTORY);
        assert_eq!(state.history.front().map(|first| first.slot), Some(Timestamp::from_millis(20)));
        assert!(state.history.iter().all(|entry| entry.text.chars().count() == RESULT_CHARS + 1));
    }

    #[test]
    fn the_cost_of_thirty_days_is_the_sum_of_all_runs_in_them_however_many() {
        let mut state = TaskState::default();
        assert_eq!(state.recent_cost(Timestamp::default()), None);
        for day in 0..40 {
            for _ in 0..3 {
                state.running = running(day).running;
                state.end(
                    TaskOutcome::Done,
                    String::new(),
                    Some(10),
                    Timestamp::from_millis(day * DAY_MILLIS),
                );
            }
        }
        let last = Timestamp::from_millis(39 * DAY_MILLIS);
        assert_eq!(state.recent_cost(last), Some(900));
        assert_eq!(state.recent_cost(Timestamp::from_millis(68 * DAY_MILLIS)), Some(30));
        assert_eq!(state.history.back().and_then(|record| record.cost), Some(10));
        let json = serde_json::to_value(&state).unwrap();
        assert_eq!(serde_json::from_value::<TaskState>(json).unwrap(), state);
    }

    #[test]
    fn a_state_is_read_as_it_was_written_and_unknown_keys_do_not_matter() {
        let mut state = running(7);
        let (slot, at) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        state.record(TaskRecord::not_run(slot, TaskOutcome::Missed, at));
        let mut json = serde_json::to_value(&state).unwrap();
        json["later"] = 1.into();
        assert_eq!(serde_json::from_value::<TaskState>(json).unwrap(), state);
    }
}
