//! How far a new index was filled with what is older than itself: every area that has files, in the order of their keys.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension};

use super::super::layout::Layout;
use crate::domain::{ScopeKey, ThreadId};
use crate::ports::SearchArea;

const KEY: &str = "filled";
/// Sorts behind every area.
const WHOLE: &str = "~";

/// How far the index was filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// Up to and including the area of this key; empty at the beginning.
    Through(String),
    Whole,
}

pub(super) fn filling(connection: &Connection) -> rusqlite::Result<Filling> {
    let sql = "SELECT value FROM progress WHERE key = ?1";
    let value: Option<String> = connection.query_row(sql, [KEY], |row| row.get(0)).optional()?;
    Ok(match value {
        Some(value) if value == WHOLE => Filling::Whole,
        value => Filling::Through(value.unwrap_or_default()),
    })
}

pub(super) fn set_filling(connection: &Connection, filling: &Filling) -> rusqlite::Result<()> {
    let value = match filling {
        Filling::Through(key) => key.as_str(),
        Filling::Whole => WHOLE,
    };
    connection.execute("INSERT OR REPLACE INTO progress(key, value) VALUES (?1, ?2)", [KEY, value])?;
    Ok(())
}

/// Every thread and every scope that has files, by a key.
pub(super) fn areas_with_files(layout: &Layout) -> BTreeMap<String, SearchArea> {
    let threads = names(layout.threads()).into_iter().filter_map(|name| {
        ThreadId::from_file_name(name.strip_suffix(".jsonl")?).ok().map(SearchArea::Thread)
    });
    let memory = layout.memory();
    let mut scopes = vec![ScopeKey::Project, ScopeKey::Main];
    scopes.extend(names(memory.join("notes")).iter().filter_map(|name| scope_of(name)));
    scopes.extend(names(memory.join("users")).iter().filter_map(|name| scope_of(name.strip_suffix(".md")?)));
    let group = |name: &String| scope_of(&format!("group%3A{}", name.strip_suffix(".md")?));
    scopes.extend(names(memory.join("groups")).iter().filter_map(group));
    scopes.into_iter().map(SearchArea::Memory).chain(threads).map(|area| (key_of(&area), area)).collect()
}

fn key_of(area: &SearchArea) -> String {
    match area {
        SearchArea::Memory(scope) => format!("memory {scope}"),
        SearchArea::Thread(thread) => format!("thread {thread}"),
        SearchArea::History(scope) => format!("history {scope}"),
    }
}

fn names(folder: PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn scope_of(name: &str) -> Option<ScopeKey> {
    let key = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
    key.parse().ok()
}
