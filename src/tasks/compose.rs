//! Changes the text of a task file: sets keys of its frontmatter and its prompt, and leaves the rest as a person wrote
//! it. Pure.

use super::frontmatter::split;
use crate::ports::{TaskChange, TaskText, TaskTimes};

/// The keys that say when a task is due.
const TIMES: [&str; 5] = ["schedule", "cron", "every", "at", "from"];

/// The file after a change; `zone` is the time zone that a new file names.
pub(super) fn compose(before: Option<&str>, change: &TaskChange, zone: Option<&str>) -> String {
    let before = before.map(|text| text.trim_start_matches('\u{feff}').replace("\r\n", "\n"));
    let (frontmatter, body) = before.as_deref().and_then(split).unwrap_or_default();
    let mut entries = Entries::of(frontmatter);
    if let Some(times) = &change.times {
        let (key, value) = match times {
            TaskTimes::At(time) => ("at", time),
            TaskTimes::Every(interval) => ("every", interval),
            TaskTimes::Cron(expression) => ("schedule", expression),
        };
        for other in TIMES.into_iter().filter(|other| *other != key) {
            entries.remove(other);
        }
        entries.set(key, &quoted(value));
    }
    if let Some(zone) = change.timezone.as_deref().or(zone.filter(|_| before.is_none())) {
        entries.set("timezone", zone);
    }
    if let Some(threads) = &change.deliver {
        let threads: Vec<&str> = threads.iter().map(|thread| thread.as_str()).collect();
        match threads.as_slice() {
            [] => entries.set("deliver", "none"),
            [one] => entries.set("deliver", &quoted(one)),
            several => {
                let several: Vec<String> = several.iter().map(|thread| quoted(thread)).collect();
                entries.set("deliver", &format!("[{}]", several.join(", ")));
            }
        }
    }
    let body = match &change.text {
        Some(TaskText::Prompt(text)) => {
            entries.remove("kind");
            text
        }
        Some(TaskText::Message(text)) => {
            entries.set("kind", "message");
            text
        }
        None => body,
    };
    entries.set("author", &quoted(change.author.as_str()));
    format!("---\n{}---\n{}\n", entries.text(), body.trim())
}

/// A YAML string in double quotes, which are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text.trim()).to_string()
}

/// The entries of a frontmatter, each with the lines that belong to it.
#[derive(Debug)]
struct Entries(Vec<(Option<String>, Vec<String>)>);

impl Entries {
    fn of(frontmatter: &str) -> Self {
        let mut entries: Vec<(Option<String>, Vec<String>)> = Vec::new();
        for line in frontmatter.lines() {
            let key =
                line.split_once(':').map(|(key, _)| key).filter(|_| !line.starts_with([' ', '\t', '-', '#']));
            match (key, entries.last_mut()) {
                (None, Some((_, lines))) if !line.starts_with('#') => lines.push(line.to_owned()),
                (key, _) => entries.push((key.map(|key| key.trim().to_owned()), vec![line.to_owned()])),
            }
        }
        Self(entries)
    }

    fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name.as_deref() != Some(key));
    }

    fn set(&mut self, key: &str, value: &str) {
        let lines = vec![format!("{key}: {value}")];
        match self.0.iter_mut().find(|(name, _)| name.as_deref() == Some(key)) {
            Some((_, found)) => *found = lines,
            None => self.0.push((Some(key.to_owned()), lines)),
        }
    }

    fn text(&self) -> String {
        self.0.iter().flat_map(|(_, lines)| lines).map(|line| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ThreadId;

    fn change(times: Option<TaskTimes>, text: Option<TaskText>) -> TaskChange {
        let here: ThreadId = "web:chat:1".parse().unwrap();
        TaskChange {
            times,
            timezone: None,
            deliver: None,
            text,
            author: "web:user:ann".parse().unwrap(),
            here,
        }
    }

    #[test]
    fn a_new_file_says_everything_that_it_means() {
        let change = TaskChange {
            deliver: Some(vec!["web:chat:1".parse().unwrap()]),
            ..change(
                Some(TaskTimes::Cron("0 9 * * 1-5".into())),
                Some(TaskText::Message("Stand \"up\"\n---\nnow".into())),
            )
        };
        assert_eq!(
            compose(None, &change, Some("Asia/Shanghai")),
            "---\nschedule: \"0 9 * * 1-5\"\ntimezone: Asia/Shanghai\ndeliver: \"web:chat:1\"\nkind: message\n\
             author: \"web:user:ann\"\n---\nStand \"up\"\n---\nnow\n"
        );
    }

    #[test]
    fn a_change_leaves_alone_what_it_does_not_name() {
        let before = "---\n# mine\nevery: 2h\nfrom: 2026-01-01 08:00\nnotifyFailure:\n  to: owner\n  after: 3\n\
                      timeout: 5m # short\nauthor: web:user:bob\n---\n\nLook.\n";
        let times = change(Some(TaskTimes::At("2026-12-01 09:00".into())), None);
        assert_eq!(
            compose(Some(before), &times, Some("UTC")),
            "---\n# mine\nnotifyFailure:\n  to: owner\n  after: 3\ntimeout: 5m # short\n\
             author: \"web:user:ann\"\nat: \"2026-12-01 09:00\"\n---\nLook.\n"
        );
        let text = change(None, Some(TaskText::Prompt("Look again.".into())));
        let after = compose(Some(before), &text, None);
        assert!(after.contains("every: 2h\nfrom:") && after.ends_with("---\nLook again.\n"), "{after}");
    }
}
