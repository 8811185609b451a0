//! Task files: defaults, every key, and mistakes in words.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::domain::{Language, RunMemory};
use crate::tasks::definition::{
    Deliver, NotifyFailure, OnApproval, Placeholders, Quiet, ReadTask, RunThread, TaskId, TaskKind,
    TaskProblem,
};
use crate::tasks::frontmatter::{TaskContext, read};
use crate::tasks::planner::{Missed, Overlap};
use crate::tasks::words::mistake;

fn parse(text: &str) -> Result<ReadTask, TaskProblem> {
    let now: Timestamp = "2026-11-18T00:00:00Z".parse().unwrap();
    let models = ["deep".to_owned()].into();
    read(text.as_bytes(), &TaskContext { zone: TimeZone::UTC, models }, now)
}

#[test]
fn a_short_file_has_the_documented_defaults() {
    let task = parse("---\nschedule: \"0 9 * * 1-5\"\n---\nSummarise the commits.\n").unwrap().definition;
    assert_eq!(task.body, "Summarise the commits.");
    assert!(task.enabled);
    assert_eq!((task.deliver, task.thread, task.context), (Deliver::Owner, RunThread::Own, 1));
    assert_eq!((task.missed, task.overlap, task.quiet), (Missed::Once, Overlap::Skip, Quiet::Auto));
    assert_eq!((task.on_approval, task.kind), (OnApproval::Ask, TaskKind::Prompt));
    assert_eq!(task.grace, SignedDuration::from_hours(6));
    assert_eq!(task.timeout, Duration::from_secs(900));
    assert_eq!(task.failures, NotifyFailure { owner: true, after: 2 });
    let every = parse("---\nevery: 30m\n---\nx").unwrap().definition;
    assert_eq!(every.grace, SignedDuration::from_mins(30), "one interval");
}

#[test]
fn every_key_is_read() {
    let file = "\u{feff}---\r\nat:\r\n  - 2026-12-01 09:00\r\n  - 2026-12-02 09:00\r\ntimezone: Asia/Shanghai\r\n\
                enabled: no\r\ndeliver: [telegram:chat:1, feishu:chat:oc_1]\r\nthread: run\r\ncontext: 3\r\n\
                missed: all\r\ngrace: 1d\r\noverlap: queue\r\nquiet: never\r\nonApproval: deny\r\ntimeout: 1h\r\n\
                maxSteps: 5\r\nmaxCost: 0.25\r\nmemory: author\r\nnotifyFailure: {to: none, after: 3}\r\nauthor: telegram:user:7\r\n\
                kind: message\r\ncolour: red\r\n---\r\n\r\nTea is ready.\r\n";
    let ReadTask { definition: task, unknown_keys } = parse(file).unwrap();
    assert_eq!(unknown_keys, ["colour"]);
    assert!(!task.enabled);
    let targets = ["telegram:chat:1", "feishu:chat:oc_1"].map(|id| id.parse().unwrap());
    assert_eq!(task.deliver, Deliver::Threads(targets.to_vec()));
    assert_eq!((task.thread, task.context, task.missed), (RunThread::PerRun, 3, Missed::All));
    assert_eq!(task.grace, SignedDuration::from_hours(24));
    assert_eq!(
        (task.overlap, task.quiet, task.on_approval),
        (Overlap::Queue, Quiet::Never, OnApproval::Deny)
    );
    assert_eq!((task.timeout, task.max_steps), (Duration::from_secs(3600), Some(5)));
    assert_eq!(task.max_cost, Some(250_000));
    assert_eq!((task.memory, task.kind), (RunMemory::Author, TaskKind::Message));
    assert_eq!(task.failures, NotifyFailure { owner: false, after: 3 });
    assert_eq!(task.author.unwrap().as_str(), "telegram:user:7");
    assert_eq!(task.body, "Tea is ready.");
    assert_eq!(task.zone.iana_name(), Some("Asia/Shanghai"));
}

#[test]
fn a_mistake_names_its_line_and_what_to_do() {
    for (file, line, words) in [
        ("just words", None, "between two lines of ---"),
        ("---\nevery: 1h\nno end", None, "between two lines of ---"),
        ("---\n---\nx", None, "one of schedule, every or at"),
        ("---\nevery: 1h\nat: 2026-12-01 09:00\n---\nx", None, "only one of"),
        ("---\nschedule: */5 * * * *\n---\nx", Some(2), "in quotes: \"*/5 * * * *\""),
        ("---\nenabled: true\ncron: @daily\n---\nx", Some(3), "in quotes: \"@daily\""),
        ("---\nevery: 1h\nevery: 2h\n---\nx", Some(3), "YAML"),
        ("---\nevery: 1h\ncontext: many\n---\nx", Some(3), "YAML"),
        ("---\nschedule: 0 9 * * * *\n---\nx", Some(2), "five fields"),
        ("---\nschedule: 0 0 30 2 *\n---\nx", Some(2), "never happens"),
        ("---\nevery: 10s\n---\nx", Some(2), "one minute"),
        ("---\nat: 2026-12-01\n---\nx", Some(2), "no time of day"),
        ("---\nevery: 1h\ntimezone: CST\n---\nx", Some(3), "Asia/Shanghai"),
        ("---\nevery: 1h\nmaxCost: 0\n---\nx", Some(3), "0.05, 1, 2.50"),
        ("---\nevery: 1h\nmaxCost: 1,5\n---\nx", Some(3), "0.05, 1, 2.50"),
        ("---\nevery: 1h\nmaxCost: -1\n---\nx", Some(3), "0.05, 1, 2.50"),
        ("---\nevery: 1h\nmissed: maybe\n---\nx", Some(3), "skip, once, all"),
        ("---\nevery: 1h\ndeliver: ann\n---\nx", Some(3), "telegram:chat:123"),
        ("---\nevery: 1h\nauthor: ann\n---\nx", Some(3), "<platform>:user:<id>"),
        ("---\nevery: 1h\ntimeout: 2d\n---\nx", Some(3), "1s to 24h"),
        ("---\nat: 2026-12-01 09:00\nfrom: 2026-01-01 00:00\n---\nx", Some(3), "beside every"),
        ("---\nevery: 1h\n---\n \n", None, "no prompt"),
    ] {
        let problem = parse(file).unwrap_err();
        let told = mistake(&problem, Language::En);
        assert!(told.message.contains(words), "{file:?}: {told:?}");
        assert_eq!(told.line, line, "{file:?}: {told:?}");
        assert_ne!(mistake(&problem, Language::Zh).message, told.message);
    }
    let now: Timestamp = "2026-11-18T00:00:00Z".parse().unwrap();
    assert!(read(&[0xff, 0xfe], &TaskContext::in_zone(TimeZone::UTC), now).is_err());
    assert!(read(&vec![b'x'; 65 * 1024], &TaskContext::in_zone(TimeZone::UTC), now).is_err());
}

#[test]
fn placeholders_are_filled_in_and_results_are_not_searched_for_them() {
    let task = parse("---\nevery: 1h\n---\n{{date}} {{now}} {{lastRun}}: {{lastResult}}").unwrap().definition;
    let values = Placeholders { now: "N", date: "D", last_run: "L", last_result: "{{now}}" };
    assert_eq!(task.text(&values), "D N L: {{now}}");
}

#[test]
fn a_task_id_is_a_plain_file_name() {
    for good in ["a", "daily-report", "7", &"x".repeat(64)] {
        assert!(TaskId::new(good).is_some(), "{good}");
    }
    for bad in ["", "-a", "A", "a_b", "a/b", "..", "日报", &"x".repeat(65)] {
        assert!(TaskId::new(bad).is_none(), "{bad}");
    }
}
