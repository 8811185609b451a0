//! Checks the whole table.

use super::table::Row;
use super::{
    adapters, approvals, budget, chat, cli, commands, config, console, console_setup, conversation, doctor,
    onboarding, page, permissions, service, start, tasks, usage,
};
use crate::adapters::{feishu, qq, telegram};

const TOPICS: &[(&str, &[&[Row]])] = &[
    ("adapters", adapters::ROWS),
    ("approvals", approvals::ROWS),
    ("budget", budget::ROWS),
    ("feishu", feishu::phrases::ROWS),
    ("qq", qq::phrases::ROWS),
    ("telegram", telegram::phrases::ROWS),
    ("chat", chat::ROWS),
    ("cli", cli::ROWS),
    ("commands", commands::ROWS),
    ("config", config::ROWS),
    ("console", console::ROWS),
    ("console_setup", console_setup::ROWS),
    ("conversation", conversation::ROWS),
    ("doctor", doctor::ROWS),
    ("onboarding", onboarding::ROWS),
    ("page", page::ROWS),
    ("permissions", permissions::ROWS),
    ("service", service::ROWS),
    ("start", start::ROWS),
    ("tasks", tasks::ROWS),
    ("usage", usage::ROWS),
];

/// Entries whose languages need different parameters, with the reason.
const UNEVEN: &[(&str, &str)] = &[
    ("resolved", "the reason of a withdrawal is in English"),
    ("until_many_change", "English counts the files that are not named, Chinese all of them"),
    ("offline_result", "English has a singular"),
];

/// Entries that are meant to be in the other language.
const SWITCHES: &[&str] = &["to_other", "other_short", "ask_language", "own_name_en", "own_name_zh"];

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
        if SWITCHES.contains(&row.name) {
            continue;
        }
        assert!(!han(row.en), "{name}: {}", row.en);
        assert!(longest_english_run(row.zh) < 3, "{name} is not translated: {}", row.zh);
        // Signs, units and texts made of parameters have no words of their own.
        let words = row.en.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 2).count();
        assert!(words < 3 + placeholders(&row, row.en).len() || han(row.zh), "{name}: {}", row.zh);
    }
}

/// The words of the page as a module of JavaScript.
fn page_module() -> String {
    let camel = |name: &str| {
        let mut parts = name.split('_');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let (head, tail) = part.split_at(1);
            text + &head.to_uppercase() + tail
        })
    };
    let words = |words: fn(&Row) -> &'static str| {
        let mut table = serde_json::Map::new();
        for row in page::ROWS.iter().chain(console::ROWS).chain(console_setup::ROWS).flat_map(|rows| *rows) {
            let (entry, key) = row.name.split_once(' ').unwrap_or((row.name, ""));
            match (camel(entry), key.trim_matches('"'), words(row).into()) {
                (entry, "", text) => drop(table.insert(entry, text)),
                (entry, key, text) => {
                    let group = table.entry(entry).or_insert_with(|| serde_json::json!({}));
                    group.as_object_mut().unwrap().insert(key.to_owned(), text);
                }
            }
        }
        table
    };
    let table = serde_json::json!({ "en": words(|row| row.en), "zh": words(|row| row.zh) });
    format!(
        "// Written from src/phrases/page.rs, console.rs and console_setup.rs by `UPDATE_PHRASES=1 cargo test the_page_has_the_words`. Do not edit.\n\n\
         export const PHRASES = {table:#};\n"
    )
}

#[test]
fn the_page_has_the_words_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/adapters/web/page/phrases.js");
    let wanted = page_module();
    if std::env::var_os("UPDATE_PHRASES").is_some() {
        std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), wanted.as_bytes()).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap();
    assert!(
        there == wanted,
        "phrases.js is not what page.rs and console.rs say: run this test with UPDATE_PHRASES=1"
    );
}

#[test]
fn the_page_asks_only_for_words_there_are() {
    let table = page_module();
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/src/adapters/web/page");
    let mut asked = 0;
    for file in std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        for used in [" t('", "(t('", "{t('"].iter().flat_map(|call| text.split(call).skip(1)) {
            let name: String = used.chars().take_while(char::is_ascii_alphanumeric).collect();
            if used.get(name.len()..).is_some_and(|rest| rest.starts_with('\'')) {
                asked += 1;
                assert!(table.contains(&format!("\"{name}\":")), "{}: {name}", file.display());
            }
        }
    }
    assert!(asked > 50, "{asked}");
}

/// Files that know Chinese words because people and servers say them, not to say them.
const READ_CHINESE: &[&str] = &[
    "commands/init/prompt.rs",
    "distil/",
    "model/failure.rs",
    "model/offline/answers.rs",
    "model/offline/command.rs",
    "policy/reply/",
    "search/",
    "threads/grant_commands.rs",
    "threads/memory_commands.rs",
    "threads/model_command.rs",
    "threads/titles.rs",
    "uimessage/task_report.rs",
];

fn sources(dir: &std::path::Path, out: &mut Vec<(String, String)>) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.to_string_lossy().replace(root, "");
        if path.is_dir() {
            sources(&path, out);
        } else if name.ends_with(".rs") && !name.contains("/tests/") && !name.ends_with("tests.rs") {
            out.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn words_stand_only_in_the_table() {
    let mut files = Vec::new();
    sources(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut files);
    let han = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    let mut faults = Vec::new();
    for (name, text) in
        files.iter().filter(|(name, _)| !name.starts_with("phrases/") && !name.ends_with("/phrases.rs"))
    {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let reads = READ_CHINESE.iter().any(|known| name.starts_with(known));
        let fault = |line: &&str| line.contains("Language::Zh =>") || (!reads && han(line));
        faults.extend(code.filter(fault).map(|line| format!("{name}: {}", line.trim())));
    }
    assert!(faults.is_empty(), "these words belong into src/phrases:\n{}", faults.join("\n"));
}
