//! A schedule, a mistake and a history entry in words, English and Chinese.

use jiff::tz::TimeZone;

use super::clock_changes::ClockChange;
use super::definition::{Deliver, Problem, TaskDefinition, TaskKind, TaskProblem};
use super::planner::Trigger;
use super::schedule::{Interval, Schedule, ScheduleError};
use super::scheduler::to_jiff;
use super::state::{TaskOutcome, TaskRecord};
use crate::domain::{Language, Platform, ThreadId, Timestamp};
use crate::phrases::cron::cron;
use crate::phrases::tasks as words;
use crate::ports::{TaskChange, TaskHistoryEntry, TaskMistake, TaskPreview};

/// A time on the wall clock of a zone, with the day of the week.
pub(super) fn local(time: Timestamp, zone: &TimeZone, language: Language) -> String {
    let at = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default().to_zoned(zone.clone());
    let day = words::weekday(at.weekday().to_monday_one_offset(), language);
    format!("{} ({day}) {}", at.strftime("%Y-%m-%d"), at.strftime("%H:%M"))
}

/// A slot on the wall clock of its task, with a remark where that clock is changed.
pub(super) fn slot(definition: &TaskDefinition, slot: Timestamp, language: Language) -> String {
    let at = local(slot, &definition.zone, language);
    clock_change(definition, slot, language)
        .map_or_else(|| at.clone(), |remark| words::with_remark(&at, &remark, language))
}

/// What a change of the clock does to a slot.
pub(super) fn clock_change(
    definition: &TaskDefinition,
    slot: Timestamp,
    language: Language,
) -> Option<String> {
    Some(match ClockChange::of(definition, to_jiff(slot))? {
        ClockChange::Skipped { meant: Some(meant) } => {
            words::time_is_skipped(&meant.strftime("%H:%M").to_string(), language)
        }
        ClockChange::Skipped { meant: None } => words::given_time_is_skipped(language).to_owned(),
        ClockChange::FirstOnly => words::time_comes_twice(language).to_owned(),
        ClockChange::FirstOfTwo => words::first_of_two(language).to_owned(),
        ClockChange::SecondOfTwo => words::second_of_two(language).to_owned(),
    })
}

/// Targets on platforms where the agent may only answer.
pub(super) fn reply_only(
    definition: &TaskDefinition,
    reply_only: &[Platform],
    language: Language,
) -> Option<String> {
    let Deliver::Threads(threads) = &definition.deliver else { return None };
    let targets = threads.iter().filter(|thread| reply_only.contains(thread.platform()));
    let targets: Vec<String> = targets.map(ToString::to_string).collect();
    (!targets.is_empty())
        .then(|| words::may_wait_for_people(&targets.join(words::between(language)), language))
}

/// The name of a zone.
pub(super) fn zone_name(zone: &TimeZone) -> String {
    zone.iana_name().map_or_else(|| "UTC".to_owned(), str::to_owned)
}

pub(super) fn schedule(schedule: &Schedule, zone: &TimeZone, language: Language) -> String {
    match schedule {
        Schedule::Cron(expression) => cron(expression, language),
        Schedule::Every { interval: Interval::Days(days), anchor } => {
            let time = anchor.strftime("%H:%M").to_string();
            match days {
                1 => words::daily(&time, language),
                days => words::every_days(*days, &time, language),
            }
        }
        Schedule::Every { interval: Interval::Exact(length), .. } => {
            let minutes = length.as_mins();
            match (minutes / 60, minutes % 60) {
                (0, minutes) => words::every_minutes(minutes, language),
                (hours, 0) => words::every_hours(hours, language),
                (hours, minutes) => words::every_time(hours, minutes, language),
            }
        }
        Schedule::At(times) => {
            let shown = times
                .iter()
                .take(3)
                .map(|at| local(Timestamp::from_millis(at.as_millisecond()), zone, language));
            let shown = shown.collect::<Vec<_>>().join(words::between(language));
            match times.len().checked_sub(3).filter(|more| *more > 0) {
                Some(more) => words::and_more(&shown, more, language),
                None => shown,
            }
        }
    }
}

/// A planned task: when, the next times, and where its results go.
pub(super) fn plan(
    definition: &TaskDefinition,
    preview: &TaskPreview,
    change: &TaskChange,
    times: usize,
    language: Language,
) -> String {
    let next: Vec<&str> = preview.next.iter().take(times).map(String::as_str).collect();
    let between = words::between(language);
    let place = |thread: &ThreadId| match *thread == change.here {
        true => words::this_chat(language).to_owned(),
        false => thread.to_string(),
    };
    let targets = match &definition.deliver {
        Deliver::Owner => Some(words::owners_chat(language).to_owned()),
        Deliver::Threads(threads) => Some(threads.iter().map(place).collect::<Vec<_>>().join(between)),
        Deliver::Nowhere => None,
    };
    let delivery = match (targets, definition.kind) {
        (Some(targets), TaskKind::Message) => words::sent_as_it_is(&targets, language),
        (Some(targets), TaskKind::Prompt) => words::result_goes_to(&targets, language),
        (None, _) => words::result_is_not_sent(language).to_owned(),
    };
    let lines = [
        words::planned_for(&preview.schedule, &preview.timezone, language),
        words::next_times(&next.join(between), language),
        delivery,
        words::runs_as(change.author.as_str(), language),
    ];
    let lines = lines.iter().chain(&preview.remarks).map(|line| format!("- {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn mistake(problem: &TaskProblem, language: Language) -> TaskMistake {
    let message = match &problem.what {
        Problem::TooLarge => words::too_large(language).to_owned(),
        Problem::NotUtf8 => words::not_utf8(language).to_owned(),
        Problem::NoFrontmatter => words::no_frontmatter(language).to_owned(),
        Problem::Yaml(reason) => words::bad_yaml(reason, language),
        Problem::UnquotedCron(value) => words::unquoted_cron(value, language),
        Problem::NotOneSchedule(0) => words::no_schedule(language).to_owned(),
        Problem::NotOneSchedule(_) => words::several_schedules(language).to_owned(),
        Problem::Schedule { key, error } => words::in_key(key, &schedule_error(error, language), language),
        Problem::Value { key, found, allowed } => words::bad_value(key, found, allowed, language),
        Problem::FromWithoutEvery => words::from_without_every(language).to_owned(),
        Problem::UnknownModel(name) => words::unknown_model(name, language),
        Problem::FileName => words::bad_file_name(language).to_owned(),
        Problem::State(reason) => words::unreadable_state(reason, language),
        Problem::DeliverNoneInThread => words::deliver_none_in_thread(language).to_owned(),
        Problem::NotAsMeant => words::not_as_meant(language).to_owned(),
        Problem::EmptyBody => words::empty_body(language).to_owned(),
    };
    TaskMistake { line: problem.line, message }
}

fn schedule_error(error: &ScheduleError, language: Language) -> String {
    match error {
        ScheduleError::Cron(reason) => words::bad_cron(reason, language),
        ScheduleError::Never => words::never(language).to_owned(),
        ScheduleError::Interval => words::bad_interval(language).to_owned(),
        ScheduleError::TooShort => words::interval_too_short(language).to_owned(),
        ScheduleError::MixedInterval => words::mixed_interval(language).to_owned(),
        ScheduleError::Time(found) => words::bad_time(found, language),
        ScheduleError::DateWithoutTime(found) => words::date_without_time(found, language),
        ScheduleError::NoTimes => words::no_times(language).to_owned(),
        ScheduleError::TooManyTimes => words::too_many_times(language).to_owned(),
        ScheduleError::Zone(found) => words::bad_zone(found, language),
    }
}

pub(super) fn entry(record: &TaskRecord) -> TaskHistoryEntry {
    TaskHistoryEntry {
        slot: record.slot.rfc3339(),
        trigger: record.trigger.map(Trigger::name),
        outcome: match record.outcome {
            TaskOutcome::Done => "done",
            TaskOutcome::Quiet => "quiet",
            TaskOutcome::Failed => "failed",
            TaskOutcome::TimedOut => "timed-out",
            TaskOutcome::Stopped => "stopped",
            TaskOutcome::Missed => "missed",
            TaskOutcome::Overlap => "overlap",
            TaskOutcome::Budget => "budget",
        },
        at: record.at.rfc3339(),
        text: record.text.clone(),
        thread_id: record.thread.clone(),
        cost_micros: record.cost,
    }
}
