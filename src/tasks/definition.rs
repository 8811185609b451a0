//! A task file: YAML frontmatter and a prompt. Reading is strict; a file with a mistake is shown, never guessed. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use serde::Deserialize;

use super::planner::{Missed, Overlap};
use super::schedule::{Interval, Schedule, ScheduleError, zone};
use crate::domain::{AuthorId, ThreadId};

/// Most bytes of a task file.
pub const MOST_BYTES: usize = 64 * 1024;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15 * 60);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_GRACE: SignedDuration = SignedDuration::from_hours(6);

/// The name of a task: its file name without `.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(String);

impl TaskId {
    /// Small letters, digits and hyphens, at most 64, not beginning with a hyphen.
    pub fn new(name: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let valid = !name.is_empty() && name.len() <= 64 && !name.starts_with('-') && name.chars().all(fits);
        valid.then(|| Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A task as its file describes it.
#[derive(Clone, Debug)]
pub struct TaskDefinition {
    pub schedule: Schedule,
    pub zone: TimeZone,
    pub enabled: bool,
    pub deliver: Deliver,
    pub thread: RunThread,
    /// How many earlier results the model is shown.
    pub context: usize,
    pub missed: Missed,
    pub grace: SignedDuration,
    pub overlap: Overlap,
    pub quiet: Quiet,
    pub on_approval: OnApproval,
    pub timeout: Duration,
    pub max_steps: Option<usize>,
    pub model: Option<String>,
    pub failures: NotifyFailure,
    /// Who created it; the run has the rights of this person.
    pub author: Option<AuthorId>,
    pub kind: TaskKind,
    /// The prompt, or the words of a reminder.
    pub body: String,
}

/// Where results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deliver {
    /// To the direct chat of the first owner.
    Owner,
    Threads(Vec<ThreadId>),
    Nowhere,
}

/// The thread of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunThread {
    /// One thread for all runs of the task.
    #[default]
    Own,
    /// A new thread for each run.
    PerRun,
    /// A conversation of people: the run waits its turn like a message.
    In(ThreadId),
}

/// Whether a run may end without a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quiet {
    /// The agent decides.
    #[default]
    Auto,
    Never,
    /// Only failures are told.
    Always,
}

/// What happens when an unattended run needs an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnApproval {
    #[default]
    Ask,
    Deny,
}

/// Who hears of failures, and after how many in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotifyFailure {
    pub owner: bool,
    pub after: u32,
}

impl Default for NotifyFailure {
    fn default() -> Self {
        Self { owner: true, after: 2 }
    }
}

/// What a slot starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskKind {
    /// A turn with the body as its prompt.
    #[default]
    Prompt,
    /// The body is sent as it is; no model is asked.
    Message,
}

/// A mistake in a task file. `line` counts from 1 and includes the frontmatter's first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskProblem {
    pub line: Option<u64>,
    pub what: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    TooLarge,
    NotUtf8,
    /// The file does not begin with `---`, or the frontmatter has no end.
    NoFrontmatter,
    Yaml(String),
    /// `*` and `@` begin something else in YAML.
    UnquotedCron(String),
    /// Not exactly one of `schedule`, `every` and `at`.
    NotOneSchedule(usize),
    Schedule {
        key: &'static str,
        error: ScheduleError,
    },
    /// A value that is none of the allowed ones.
    Value {
        key: &'static str,
        found: String,
        allowed: &'static str,
    },
    /// `from` without `every`.
    FromWithoutEvery,
    EmptyBody,
}

/// What was read, and what in it has no meaning.
#[derive(Clone, Debug)]
pub struct ReadTask {
    pub definition: TaskDefinition,
    /// Keys that are unknown and have no effect.
    pub unknown_keys: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Frontmatter {
    #[serde(alias = "cron")]
    schedule: Option<String>,
    every: Option<String>,
    from: Option<String>,
    at: Option<OneOrMany>,
    timezone: Option<String>,
    enabled: Option<bool>,
    deliver: Option<OneOrMany>,
    thread: Option<String>,
    context: Option<u8>,
    missed: Option<String>,
    grace: Option<String>,
    overlap: Option<String>,
    quiet: Option<String>,
    on_approval: Option<String>,
    timeout: Option<String>,
    max_steps: Option<u16>,
    model: Option<String>,
    notify_failure: Option<FailureNotice>,
    author: Option<String>,
    kind: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, AnyValue>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
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

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FailureNotice {
    Whom(String),
    Details { to: Option<String>, after: Option<u32> },
}

/// The value of an unknown key, which is skipped.
#[derive(Debug)]
struct AnyValue;

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(input).map(|_| Self)
    }
}

/// Reads a task file. `zone` is used where the file names none; `now` tells whether a schedule has a future.
pub fn read(bytes: &[u8], default_zone: &TimeZone, now: Timestamp) -> Result<ReadTask, TaskProblem> {
    let problem = |what| TaskProblem { line: None, what };
    if bytes.len() > MOST_BYTES {
        return Err(problem(Problem::TooLarge));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| problem(Problem::NotUtf8))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let (frontmatter, body) = split(&text).ok_or_else(|| problem(Problem::NoFrontmatter))?;
    let raw = parse_yaml(frontmatter)?;
    definition(raw, body, default_zone, now)
        .map_err(|(key, what)| TaskProblem { line: key.and_then(|key| line_of(frontmatter, key)), what })
}

/// The text between the lines of three hyphens, and what follows.
fn split(text: &str) -> Option<(&str, &str)> {
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

fn parse_yaml(frontmatter: &str) -> Result<Frontmatter, TaskProblem> {
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
    default_zone: &TimeZone,
    now: Timestamp,
) -> Result<ReadTask, Mistake> {
    let zone = match &raw.timezone {
        Some(name) => zone(name.trim()).map_err(|error| in_schedule("timezone", error))?,
        None => default_zone.clone(),
    };
    let schedule = schedule(&raw, &zone, now)?;
    let grace = match &raw.grace {
        Some(text) => duration("grace", text)?,
        None => match &schedule {
            Schedule::Every { interval, .. } => interval.length(),
            Schedule::Cron(_) | Schedule::At(_) => DEFAULT_GRACE,
        },
    };
    let body = body.trim().to_owned();
    if body.is_empty() {
        return Err((None, Problem::EmptyBody));
    }
    let definition = TaskDefinition {
        grace,
        timeout: timeout(raw.timeout.as_deref())?,
        deliver: deliver(raw.deliver.as_ref())?,
        thread: run_thread(raw.thread.as_deref())?,
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
        max_steps: raw.max_steps.map(usize::from).filter(|steps| *steps > 0),
        model: raw.model.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
        enabled: raw.enabled.unwrap_or(true),
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

const DELIVER: &str = "a thread such as telegram:chat:123, a list of threads, owner, none";

fn deliver(given: Option<&OneOrMany>) -> Result<Deliver, Mistake> {
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

impl TaskDefinition {
    /// The prompt or the words of a reminder, with the placeholders filled in.
    pub fn text(&self, values: &Placeholders<'_>) -> String {
        [
            ("{{now}}", values.now),
            ("{{date}}", values.date),
            ("{{lastRun}}", values.last_run),
            ("{{lastResult}}", values.last_result),
        ]
        .into_iter()
        .fold(self.body.clone(), |text, (name, value)| text.replace(name, value))
    }

    /// The distance between slots, where it is always the same.
    pub fn interval(&self) -> Option<Interval> {
        match &self.schedule {
            Schedule::Every { interval, .. } => Some(*interval),
            Schedule::Cron(_) | Schedule::At(_) => None,
        }
    }
}

/// The values of the placeholders in a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Placeholders<'a> {
    pub now: &'a str,
    pub date: &'a str,
    pub last_run: &'a str,
    pub last_result: &'a str,
}
