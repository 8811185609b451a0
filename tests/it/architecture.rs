//! The shape of the tree, kept by a test: which room may know which, and what a room may use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What each room may name of ours. A room that is not listed here is new: say what it may know.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("uimessage", &["domain"]),
    ("render", &["domain"]),
    ("policy", &["domain"]),
    ("ports", &["domain", "uimessage"]),
    ("blocking", &["domain"]),
    ("files", &["domain", "policy"]),
    ("permissions", &["domain", "policy", "ports", "files", "blocking"]),
    ("http", &[]),
    ("memory_release", &[]),
    ("metrics", &[]),
    ("turn", &["domain", "uimessage", "render", "ports", "policy"]),
    (
        "threads",
        &[
            "domain",
            "uimessage",
            "render",
            "ports",
            "turn",
            "metrics",
            "telemetry",
            "policy",
            "memory_release",
        ],
    ),
    ("config", &["domain", "policy"]),
    ("store", &["domain", "uimessage", "ports"]),
    ("model", &["domain", "uimessage", "ports", "http"]),
    ("sandbox", &["domain"]),
    ("tools", &["domain", "uimessage", "ports", "policy", "sandbox", "files", "blocking"]),
    ("telemetry", &["domain"]),
    ("adapters", &["domain", "uimessage", "render", "ports", "metrics", "http", "blocking"]),
    ("signals", &[]),
    ("notify", &[]),
    ("cli", &["domain"]),
    ("build", &[]),
    ("app", ANYTHING),
    ("chats", ANYTHING),
    ("safeguards", ANYTHING),
    ("commands", ANYTHING),
    ("main", ANYTHING),
    ("lib", ANYTHING),
];

const ANYTHING: &[&str] = &["*"];

/// Rooms that decide without doing: no runtime, no files, no sockets.
const PURE: &[&str] = &["domain", "uimessage", "render", "policy", "turn"];
const DOING: &[&str] = &["tokio::", "reqwest::", "std::fs", "std::net", "std::process", "axum::"];

/// Crates that one room alone may use.
const HOUSED: &[(&str, &str)] = &[("async_openai", "model"), ("axum::", "adapters/web"), ("clap", "cli")];

fn sources() -> BTreeMap<PathBuf, String> {
    fn walk(dir: &Path, out: &mut BTreeMap<PathBuf, String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.insert(path.clone(), std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut out);
    assert!(out.len() > 50, "the sources were not found");
    out
}

fn relative(path: &Path) -> String {
    path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

fn room(relative: &str) -> &str {
    relative.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The part of a file that is not its tests, and of that only the code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let body = text.split("#[cfg(test)]").next().unwrap_or_default();
    body.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn is_test_file(relative: &str) -> bool {
    relative.contains("/tests/") || relative.ends_with("tests.rs") || relative.ends_with("testing.rs")
}

#[test]
fn rooms_know_only_the_rooms_below_them() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if is_test_file(&relative) {
            continue;
        }
        let known = MAY_KNOW.iter().find(|(name, _)| *name == room(&relative)).map(|(_, known)| *known);
        let Some(known) = known else {
            faults.push(format!("{relative}: a room that MAY_KNOW does not list"));
            continue;
        };
        for line in code(&text) {
            for used in line.split("crate::").skip(1) {
                let name: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let known = known == ANYTHING || known.contains(&name.as_str()) || name == room(&relative);
                if !known && MAY_KNOW.iter().any(|(room, _)| *room == name) {
                    faults.push(format!("{relative} names {name}: {}", line.trim()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rooms_that_decide_do_nothing() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if !PURE.contains(&room(&relative)) || is_test_file(&relative) {
            continue;
        }
        for line in code(&text) {
            faults.extend(
                DOING
                    .iter()
                    .filter(|name| line.contains(**name))
                    .map(|name| format!("{relative} uses {name}")),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_crate_that_shapes_a_room_stays_in_it() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        for (name, home) in HOUSED {
            let at_home = relative.starts_with(home)
                || (*home == "cli" && relative.starts_with("commands/"))
                || relative == "main.rs";
            let uses = || {
                code(&text).any(|line| {
                    line.trim_start().starts_with("use ") && line.contains(&format!("use {name}"))
                })
            };
            if !at_home && uses() {
                faults.push(format!("{relative} uses {name}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for_and_mod_files_have_no_logic() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if !text.starts_with("//!") {
            faults.push(format!("{relative} does not begin with what it is for"));
        }
        if relative.ends_with("mod.rs")
            && code(&text).any(|line| line.trim_start().starts_with("fn ") || line.contains("pub fn "))
        {
            faults.push(format!("{relative} has logic"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn core_names_no_platform() {
    let core = ["domain", "uimessage", "render", "turn", "threads"];
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if !core.contains(&room(&relative)) || is_test_file(&relative) {
            continue;
        }
        for line in code(&text) {
            let low = line.to_lowercase();
            if ["telegram", "feishu", "lark", "\"qq\""].iter().any(|name| low.contains(name)) {
                faults.push(format!("{relative}: {}", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
