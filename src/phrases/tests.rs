//! Checks the whole table.

use super::table::Row;
use super::{adapters, approvals, chat, commands, config, conversation, permissions};

/// Every topic.
const TOPICS: &[(&str, &[&[Row]])] = &[
    ("adapters", adapters::ROWS),
    ("approvals", approvals::ROWS),
    ("chat", chat::ROWS),
    ("commands", commands::ROWS),
    ("config", config::ROWS),
    ("conversation", conversation::ROWS),
    ("permissions", permissions::ROWS),
];

/// Entries whose languages need different parameters, with the reason.
const UNEVEN: &[(&str, &str)] = &[
    ("resolved", "the reason of a withdrawal is in English"),
    ("until_many_change", "English counts the files that are not named, Chinese all of them"),
    ("offline_result", "English has a singular"),
];

fn rows() -> impl Iterator<Item = (&'static str, Row)> {
    TOPICS.iter().flat_map(|(topic, entries)| entries.iter().flat_map(|rows| *rows).map(|row| (*topic, *row)))
}

/// The names in braces, once each and in order. Braces in a `text` are only braces.
fn placeholders<'a>(row: &Row, text: &'a str) -> Vec<&'a str> {
    if row.kind != "format" {
        return Vec::new();
    }
    let mut found: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let inside = rest.get(at + 1..).unwrap_or_default();
        if let Some(escaped) = inside.strip_prefix('{') {
            rest = escaped;
            continue;
        }
        let (name, behind) = inside.split_once('}').unwrap_or((inside, ""));
        found.push(name);
        rest = behind;
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The longest run of English words with nothing else between them, without code, placeholders and names.
fn longest_english_run(text: &str) -> usize {
    let mut plain = String::new();
    for (index, part) in text.split('`').enumerate() {
        plain.push_str(if index % 2 == 0 { part } else { "，" });
    }
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
    let mut longest = 0;
    let mut run = 0;
    for word in plain.split(' ') {
        run = if is_word(word) { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[test]
fn every_entry_has_both_languages_with_the_same_placeholders() {
    let mut count = 0;
    for (topic, row) in rows() {
        count += 1;
        let name = format!("{topic}::{}", row.name);
        assert!(!row.en.is_empty(), "{name} has no English");
        let uneven = UNEVEN.iter().any(|(entry, _)| row.name.split(' ').next() == Some(entry));
        if !uneven {
            assert_eq!(placeholders(&row, row.en), placeholders(&row, row.zh), "{name}");
        }
    }
    assert!(count > 150, "{count} entries were found");
}

#[test]
fn chinese_is_chinese_and_english_is_english() {
    let han = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    for (topic, row) in rows() {
        let name = format!("{topic}::{}", row.name);
        assert!(!han(row.en), "{name}: {}", row.en);
        assert!(longest_english_run(row.zh) < 3, "{name} is not translated: {}", row.zh);
        // Signs, units and texts made of parameters have no words of their own.
        let words = row.en.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 2).count();
        assert!(words < 3 + placeholders(&row, row.en).len() || han(row.zh), "{name}: {}", row.zh);
    }
}
