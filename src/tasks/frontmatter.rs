//! Reads a task file: YAML frontmatter and a prompt. Reading is strict; a file with a mistake is shown, never guessed.
//! Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use serde::Deserialize;

use super::definition::{
    Deliver, NotifyFailure, OnApproval, Problem, Quiet, ReadTask, RunThread, TaskDefinition, TaskKind,
    TaskProblem,
};
use super::planner::{Missed, Overlap};
use super::schedule::{Schedule, ScheduleError, time, zone};
use crate::domain::{RunMemory, ThreadId};

/// Most bytes of a task file.
pub const MOST_BYTES: usize = 64 * 1024;
const MEMORY: &str = "project, author, or a group such as group:telegram:chat:-100123";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15 * 60);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_GRACE: SignedDuration = SignedDuration::from_hours(6);

/// The keys of a task file as they are written.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Frontmatter {
    #[serde(alias = "cron")]
    pub(super) schedule: Option<String>,
    pub(super) every: Option<String>,
    pub(super) from: Option<String>,
    pub(super) at: Option<OneOrMany>,
    pub(super) timezone: Option<String>,
    enabled: Option<bool>,
    pub(super) deliver: Option<OneOrMany>,
    pub(super) thread: Option<String>,
    context: Option<u8>,
    missed: Option<String>,
    grace: Option<String>,
    overlap: Option<String>,
    quiet: Option<String>,
    pub(super) on_approval: Option<String>,
    timeout: Option<String>,
    max_steps: Option<u16>,
    max_cost: Option<String>,
    pub(super) memory: Option<String>,
    model: Option<String>,
    notify_failure: Option<FailureNotice>,
    pub(super) author: Option<String>,
    pub(super) kind: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, AnyValue>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn all(&self) -> Vec<&str> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many.iter().map(String::as_str).collect(),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum FailureNotice {
    Whom(String),
    Details { to: Option<String>, after: Option<u32> },
}

/// The value of an unknown key, which is skipped.
#[derive(Debug, PartialEq, Eq)]
struct AnyValue;

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(input).map(|_| Self)
    }
}

/// What a task file may refer to.
#[derive(Clone, Debug)]
pub struct TaskContext {
    /// The zone of tasks that name none.
    pub zone: TimeZone,
    /// The names of the models in `llm.models`.
    pub models: Arc<[String]>,
}

impl TaskContext {
    /// In this time zone, with no named models.
    pub fn in_zone(zone: TimeZone) -> Self {
        Self { zone, models: Arc::default() }
    }
}

/// Reads a task file. `now` tells whether a schedule has a future.
pub fn read(bytes: &[u8], context: &TaskContext, now: Timestamp) -> Result<ReadTask, TaskProblem> {
    let problem = |what| TaskProblem { line: None, what };
    if bytes.len() > MOST_BYTES {
        return Err(problem(Problem::TooLarge));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| problem(Problem::NotUtf8))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let (frontmatter, body) = split(&text).ok_or_else(|| problem(Problem::NoFrontmatter))?;
    let raw = parse_yaml(frontmatter)?;
    definition(raw, body, context, now)
        .map_err(|(key, what)| TaskProblem { line: key.and_then(|key| line_of(frontmatter, key)), what })
}

/// The text between the lines of three hyphens, and what follows.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let (first, rest) = rest.split_once('\n')?;
    if !first.trim().is_empty() {
        return None;
    }
    if let Some(body) = rest.strip_prefix("---") {
        return Some(("", body.split_once('\n').map_or("", |(_, body)| body)));
    }
    let (frontmatter, body) = rest.split_once("\n---")?;
    let (end, body) = body.split_once('\n').unwrap_or((body, ""));
    end.trim().is_empty().then_some((frontmatter, body))
}

pub(super) fn parse_yaml(frontmatter: &str) -> Result<Frontmatter, TaskProblem> {
    // An empty document is null, not a map.
    if frontmatter.trim().is_empty() {
        return Ok(Frontmatter::default());
    }
    serde_saphyr::from_str(frontmatter).map_err(|error| {
        let line = error.location().map(|at| at.line());
        let text = line
            .and_then(|line| frontmatter.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?))
            .unwrap_or_default();
        let value = text.split_once(':').filter(|(key, _)| matches!(key.trim(), "schedule" | "cron"));
        let what = match value.map(|(_, value)| value.trim()) {
            Some(value) if value.starts_with(['*', '@']) => Problem::UnquotedCron(value.to_owned()),
            _ => Problem::Yaml(first_line(&error.without_snippet().to_string())),
        };
        // The frontmatter begins on the second line of the file.
        TaskProblem { line: line.map(|line| line.saturating_add(1)), what }
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// The line of the file with this key.
fn line_of(frontmatter: &str, key: &str) -> Option<u64> {
    let at = frontmatter.lines().position(|line| {
        line.split_once(':')
            .is_some_and(|(name, _)| name.trim() == key || (key == "schedule" && name.trim() == "cron"))
    })?;
    u64::try_from(at).ok()?.checked_add(2)
}

type Mistake = (Option<&'static str>, Problem);

fn definition(
    raw: Frontmatter,
    body: &str,
    context: &TaskContext,
    now: Timestamp,
) -> Result<ReadTask, Mistake> {
    let zone = match &raw.timezone {
        Some(name) => zone(name.trim()).map_err(|error| in_schedule("timezone", error))?,
        None => context.zone.clone(),
    };
    let schedule = schedule(&raw, &zone, now)?;
    let grace = match &raw.grace {
        Some(text) => duration("grace", text)?,
        None => match &schedule {
            Schedule::Every { interval, .. } => interval.length(),
            Schedule::Cron(_) | Schedule::At(_) => DEFAULT_GRACE,
        },
    };
    let model = raw.model.as_deref().map(str::trim).filter(|model| *model != "default").map(str::to_owned);
    if let Some(model) = model.as_ref().filter(|model| !context.models.contains(model)) {
        return Err((Some("model"), Problem::UnknownModel(model.clone())));
    }
    let body = body.trim().to_owned();
    if body.is_empty() {
        return Err((None, Problem::EmptyBody));
    }
    let thread = run_thread(raw.thread.as_deref())?;
    let definition = TaskDefinition {
        grace,
        timeout: timeout(raw.timeout.as_deref())?,
        deliver: deliver(raw.deliver.as_ref(), &thread)?,
        thread,
        context: usize::from(raw.context.unwrap_or(1)),
        missed: choice(
            "missed",
            raw.missed.as_deref(),
            "skip, once, all",
            &[("skip", Missed::Skip), ("once", Missed::Once), ("all", Missed::All)],
        )?,
        overlap: choice(
            "overlap",
            raw.overlap.as_deref(),
            "skip, queue",
            &[("skip", Overlap::Skip), ("queue", Overlap::Queue)],
        )?,
        quiet: choice(
            "quiet",
            raw.quiet.as_deref(),
            "auto, never, always",
            &[("auto", Quiet::Auto), ("never", Quiet::Never), ("always", Quiet::Always)],
        )?,
        on_approval: choice(
            "onApproval",
            raw.on_approval.as_deref(),
            "ask, deny",
            &[("ask", OnApproval::Ask), ("deny", OnApproval::Deny)],
        )?,
        kind: choice(
            "kind",
            raw.kind.as_deref(),
            "prompt, message",
            &[("prompt", TaskKind::Prompt), ("message", TaskKind::Message)],
        )?,
        failures: failures(raw.notify_failure.as_ref())?,
        author: match raw.author.as_deref().map(str::trim) {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| wrong("author", id, "<platform>:user:<id>"))?),
        },
        model,
        max_steps: raw.max_steps.map(u32::from).filter(|steps| *steps > 0),
        max_cost: match raw.max_cost.as_deref().map(str::trim) {
            None => None,
            Some(text) => Some(money(text).ok_or_else(|| wrong("maxCost", text, "0.05, 1, 2.50"))?),
        },
        memory: match raw.memory.as_deref().map(str::trim) {
            None => RunMemory::default(),
            Some(name) => RunMemory::parse(name).ok_or_else(|| wrong("memory", name, MEMORY))?,
        },
        enabled: raw.enabled.unwrap_or(true),
        moved: moved(&raw, &zone),
        schedule,
        zone,
        body,
    };
    Ok(ReadTask { definition, unknown_keys: raw.rest.into_keys().collect() })
}

fn schedule(raw: &Frontmatter, zone: &TimeZone, now: Timestamp) -> Result<Schedule, Mistake> {
    let given = [raw.schedule.is_some(), raw.every.is_some(), raw.at.is_some()];
    let count = given.into_iter().filter(|given| *given).count();
    if count != 1 {
        return Err((None, Problem::NotOneSchedule(count)));
    }
    if raw.from.is_some() && raw.every.is_none() {
        return Err((Some("from"), Problem::FromWithoutEvery));
    }
    if let Some(expression) = &raw.schedule {
        return Schedule::cron(expression, zone, now).map_err(|error| in_schedule("schedule", error));
    }
    if let Some(interval) = &raw.every {
        return Schedule::every(interval, raw.from.as_deref(), zone).map_err(|error| {
            let key = if matches!(error, ScheduleError::Time(_) | ScheduleError::DateWithoutTime(_)) {
                "from"
            } else {
                "every"
            };
            in_schedule(key, error)
        });
    }
    let times = raw.at.as_ref().map(OneOrMany::all).unwrap_or_default();
    Schedule::at(times, zone).map_err(|error| in_schedule("at", error))
}

/// The times of `at` that the wall clock of the zone skips.
fn moved(raw: &Frontmatter, zone: &TimeZone) -> Vec<Timestamp> {
    let times = raw.at.as_ref().map(OneOrMany::all).unwrap_or_default();
    let given = times.into_iter().filter_map(|text| time(text, zone).ok());
    given.filter(|given| given.moved).map(|given| given.at).collect()
}

fn in_schedule(key: &'static str, error: ScheduleError) -> Mistake {
    (Some(key), Problem::Schedule { key, error })
}

fn wrong(key: &'static str, found: &str, allowed: &'static str) -> Mistake {
    (Some(key), Problem::Value { key, found: found.to_owned(), allowed })
}

fn choice<T: Copy + Default>(
    key: &'static str,
    found: Option<&str>,
    allowed: &'static str,
    values: &[(&str, T)],
) -> Result<T, Mistake> {
    let Some(found) = found.map(str::trim) else { return Ok(T::default()) };
    let value = values.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
    value.ok_or_else(|| wrong(key, found, allowed))
}

/// A length of time such as `30m`, `2h` or `1d`; days have 24 hours.
fn duration(key: &'static str, text: &str) -> Result<SignedDuration, Mistake> {
    let bad = || wrong(key, text, "30m, 2h, 1d");
    let span: Span = text.trim().parse().map_err(|_| bad())?;
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(bad());
    }
    let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| bad())?;
    if length.is_negative() { Err(bad()) } else { Ok(length) }
}

fn timeout(text: Option<&str>) -> Result<Duration, Mistake> {
    let Some(text) = text else { return Ok(DEFAULT_TIMEOUT) };
    let length = duration("timeout", text)?;
    let length = Duration::try_from(length)
        .ok()
        .filter(|length| *length >= Duration::from_secs(1) && *length <= LONGEST_TIMEOUT);
    length.ok_or_else(|| wrong("timeout", text, "1s to 24h"))
}

/// Millionths of an amount such as `0.05`, above zero.
fn money(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(part) || part.len() > 6 {
        return None;
    }
    let units: u64 = whole.parse().ok()?;
    let millionths: u64 = format!("{part:0<6}").parse().ok()?;
    units.checked_mul(1_000_000)?.checked_add(millionths).filter(|amount| *amount > 0)
}

const DELIVER: &str = "a thread such as telegram:chat:123, a list of threads, owner, none";

fn deliver(given: Option<&OneOrMany>, run_in: &RunThread) -> Result<Deliver, Mistake> {
    match (given.map(OneOrMany::all).as_deref(), run_in) {
        (None, RunThread::In(thread)) => return Ok(Deliver::Threads(vec![thread.clone()])),
        (Some(["none"] | []), RunThread::In(_)) => {
            return Err((Some("deliver"), Problem::DeliverNoneInThread));
        }
        _ => {}
    }
    let Some(given) = given else { return Ok(Deliver::Owner) };
    match given.all().as_slice() {
        ["owner"] => Ok(Deliver::Owner),
        ["none"] | [] => Ok(Deliver::Nowhere),
        threads => threads
            .iter()
            .map(|id| id.trim().parse::<ThreadId>().map_err(|_| wrong("deliver", id, DELIVER)))
            .collect::<Result<_, _>>()
            .map(Deliver::Threads),
    }
}

fn run_thread(given: Option<&str>) -> Result<RunThread, Mistake> {
    match given.map(str::trim) {
        None | Some("own") => Ok(RunThread::Own),
        Some("run") => Ok(RunThread::PerRun),
        Some(id) => id
            .parse()
            .map(RunThread::In)
            .map_err(|_| wrong("thread", id, "own, run, or a thread such as telegram:chat:123")),
    }
}

fn failures(given: Option<&FailureNotice>) -> Result<NotifyFailure, Mistake> {
    let default = NotifyFailure::default();
    let (to, after) = match given {
        None => return Ok(default),
        Some(FailureNotice::Whom(to)) => (Some(to), None),
        Some(FailureNotice::Details { to, after }) => (to.as_ref(), *after),
    };
    let owner = match to.map(|to| to.trim()) {
        None | Some("owner") => true,
        Some("none") => false,
        Some(other) => return Err(wrong("notifyFailure", other, "owner, none")),
    };
    Ok(NotifyFailure { owner, after: after.unwrap_or(default.after).max(1) })
}
