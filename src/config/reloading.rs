//! Whether the configuration files changed, which keys differ, and which of them a running daemon can take up.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value;

use super::check::{SHIP_JSON, join};
use super::load::DOT_ENV;

/// Keys and sections that count from the next message on.
const LIVE: &[&str] = &[
    "$schema",
    "language",
    "owners",
    "identities",
    "permissions",
    "approvals",
    "queue",
    "llm.provider",
    "llm.baseUrl",
    "llm.apiKey",
    "llm.model",
    "llm.maxSteps",
    "llm.timeoutSecs",
    "llm.sendReasoning",
    "llm.temperature",
    "llm.maxOutputTokens",
    "llm.fallbacks",
    "llm.helper",
    "llm.titles",
    "llm.models",
    "memory",
    "groups",
    "adapters",
];

/// Keys and sections inside of those that are read once, at the start.
const AT_START: &[&str] = &[
    "permissions.exec_shell.sandbox",
    "permissions.exec_shell.sockets",
    "permissions.exec_shell.timeoutSecs",
    "llm.helper.contextTokens",
    "memory.embeddings",
    "memory.refreshMinutes",
    "groups.sharedDir",
    "groups.keepDays",
    "groups.purpose",
    "groups.aliases",
    "adapters.web",
];

/// Whether a change of a key counts only after a restart.
pub fn needs_restart(key: &str) -> bool {
    !LIVE.iter().any(|section| is_below(key, section))
        || AT_START.iter().any(|section| is_below(key, section))
        || is_below(key, "llm.models") && key.ends_with(".contextTokens")
}

/// Keys and sections that the console may change.
const EDITABLE: &[&str] = &[
    "name",
    "language",
    "timezone",
    "owners",
    "llm",
    "permissions",
    "approvals",
    "queue",
    "limits",
    "memory",
    "groups",
];

/// Keys inside of those that are only changed on the machine: they open paths of the machine, or name a place on it.
const ON_THE_MACHINE: &[&str] =
    &["permissions.exec_shell.sandbox", "permissions.exec_shell.sockets", "groups.sharedDir"];

/// Keys of a chat platform that the console may change.
const EDITABLE_OF_PLATFORM: &[&str] = &["allowedUsers", "allowedChats", "groups"];

/// Whether the console may change a key.
pub fn is_editable(key: &str) -> bool {
    if ON_THE_MACHINE.iter().any(|known| is_below(key, known)) {
        return false;
    }
    match key.strip_prefix("adapters.").and_then(|rest| rest.split_once('.')) {
        Some((platform, rest)) => {
            platform != "web" && EDITABLE_OF_PLATFORM.iter().any(|known| is_below(rest, known))
        }
        None => EDITABLE.iter().any(|known| is_below(key, known)),
    }
}

/// Whether a key is this section, or inside of it.
fn is_below(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Differs whenever one of the files was written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamps([Option<[i64; 6]>; 2]);

impl FileStamps {
    /// Of the files of a project, without reading them.
    pub fn of(project: &Path) -> Self {
        Self([SHIP_JSON, DOT_ENV].map(|name| {
            let found = fs::metadata(project.join(name)).ok()?;
            let (inode, length) = (found.ino().cast_signed(), found.len().cast_signed());
            Some([inode, length, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()])
        }))
    }
}

/// A digest of each value that is set. Tells which values differ, and keeps none of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyDigests(BTreeMap<String, u64>);

impl fmt::Debug for KeyDigests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl KeyDigests {
    /// Of a checked file, with the values of its variables.
    pub(super) fn of(value: &Value) -> Self {
        let mut digests = BTreeMap::new();
        collect(value, "", &mut digests);
        Self(digests)
    }

    /// The keys whose values differ, in order.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let keys = self.0.keys().chain(other.0.keys().filter(|key| !self.0.contains_key(*key)));
        let mut keys: Vec<String> =
            keys.filter(|key| self.0.get(*key) != other.0.get(*key)).cloned().collect();
        keys.sort();
        keys
    }
}

fn collect(value: &Value, path: &str, out: &mut BTreeMap<String, u64>) {
    match value {
        Value::Object(keys) => {
            // A section without keys may still turn these on.
            if keys.is_empty() && (is_below(path, "adapters") || path == "llm.helper") {
                out.insert(path.to_owned(), 0);
            }
            for (key, value) in keys {
                collect(value, &join(path, key), out);
            }
        }
        Value::Null => {}
        leaf => {
            let mut hasher = DefaultHasher::new();
            leaf.to_string().hash(&mut hasher);
            out.insert(path.to_owned(), hasher.finish());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differing_keys_are_named_without_their_values() {
        let old = KeyDigests::of(
            &json!({ "llm": { "model": "a", "apiKey": "secret" }, "owners": ["x"], "voice": {}, "adapters": { "web": {} } }),
        );
        let new = KeyDigests::of(
            &json!({ "llm": { "model": "b", "apiKey": "secret" }, "owners": ["x", "y"], "name": "n" }),
        );
        assert_eq!(old.differing(&new), ["adapters.web", "llm.model", "name", "owners"]);
        assert_eq!(old.differing(&old), [""; 0]);
        assert!(!format!("{old:?}").contains("secret"));
    }

    #[test]
    fn the_console_changes_no_paths_and_no_addresses() {
        for (key, expected) in [
            ("llm.apiKey", true),
            ("permissions.write_file.mode", true),
            ("permissions.exec_shell.sockets[0]", false),
            ("adapters.telegram.allowedUsers", true),
            ("adapters.telegram.botToken", false),
            ("adapters.web.listen", false),
            ("adapters", false),
            ("groups.sharedDir", false),
        ] {
            assert_eq!(is_editable(key), expected, "{key}");
        }
    }

    #[test]
    fn a_restart_is_needed_for_what_is_built_at_the_start() {
        for (key, expected) in [
            ("language", false),
            ("llm.model", false),
            ("llm.fallbacks", false),
            ("llm.contextTokens", true),
            ("llm.models.fast.model", false),
            ("llm.models.fast.contextTokens", true),
            ("budget.day", true),
            ("permissions.write_file.mode", false),
            ("permissions.exec_shell.allow", false),
            ("permissions.exec_shell.sandbox", true),
            ("adapters.telegram.allowedUsers", false),
            ("adapters.web.listen", true),
            ("memory.embeddings.model", true),
            ("limits.maxProcesses", true),
            ("languages", true),
        ] {
            assert_eq!(needs_restart(key), expected, "{key}");
        }
    }
}
