//! Every text of the corpus at several limits: Telegram accepts it, and no text is missing.

use super::super::{MESSAGE_LIMIT, render, render_one, render_partial, visible_len};
use super::validator::{length, validate};
use super::words::{expected, words};

const CORPUS: &str = include_str!("../../../../../tests/fixtures/markdown_corpus.txt");

/// Limits at which texts are split often, sometimes, and as in production.
const LIMITS: [usize; 4] = [120, 300, 1024, MESSAGE_LIMIT];

/// The limits worth testing for a text: thousands of tiny chunks of one kind are not.
fn limits(text: &str) -> impl Iterator<Item = usize> {
    let huge = text.len() > 20_000;
    LIMITS.into_iter().filter(move |limit| !huge || *limit == MESSAGE_LIMIT)
}

fn corpus() -> Vec<(String, String)> {
    let written = CORPUS.split("%%% ").skip(1).map(|entry| {
        let (name, text) = entry.split_once('\n').unwrap();
        (name.to_owned(), text.strip_suffix('\n').unwrap().to_owned())
    });
    written.chain(generated().into_iter().map(|(name, text)| (name.to_owned(), text))).collect()
}

fn generated() -> Vec<(&'static str, String)> {
    let nested = |mark: &str, depth: usize| format!("{}core", mark.repeat(depth));
    let stairs: String = (0..50).map(|level| format!("{}- level {level}\n", "  ".repeat(level))).collect();
    let code: String =
        (0..3_000).map(|line| format!("    let value{line} = \"<{line}>\"; // 注释\n")).collect();
    let row = |number: usize| format!("| {number} | 第 {number} 行 | `code {number}` and **words** |\n");
    let table = format!("| # | 名称 | words |\n|--:|---|---|\n{}", (0..2_000).map(row).collect::<String>());
    let wide = format!("|{}\n|{}\n|{}", " head |".repeat(300), "---|".repeat(300), " cell |".repeat(300));
    vec![
        ("nothing", String::new()),
        ("only spaces", "  \n \t \n\n   ".to_owned()),
        ("control characters", "a\u{1}b\u{7}c\u{1b}[31mred\u{1b}[0m\u{7f} d\u{85}e\0f **\u{1}**".to_owned()),
        ("windows line ends", "one\r\ntwo\r\n\r\n- a\r\n- b\r\n\r\n```\r\ncode\r\n```\r\n".to_owned()),
        ("a very long word", "pneumono".repeat(3_000)),
        ("a very long word of pictures", "👩\u{200d}👧🇨🇳".repeat(1_500)),
        ("chinese without an end", "没有标点的很长的文字".repeat(2_000)),
        ("quotes fifty deep", nested("> ", 50)),
        ("lists fifty deep on one line", nested("- ", 50)),
        ("lists fifty deep", stairs),
        ("stars fifty deep", format!("{}core{}", "*a **b ".repeat(25), " b** a*".repeat(25))),
        ("quotes a thousand deep", nested(">", 1_000)),
        ("brackets a thousand deep", nested("[", 1_000)),
        ("100 KB of code", format!("Look:\n\n```rust\n{code}```\nDone.")),
        ("100 KB of code that is never closed", format!("```rust\n{code}")),
        ("a table of 2,000 rows", table),
        ("a table of 300 columns", wide),
        ("100 KB of words", "Some words, *stress* and `code`. 还有中文。\n\n".repeat(2_000)),
        ("100 KB of stars", "**".repeat(50_000)),
        ("100 KB of backticks", "` `` ".repeat(20_000)),
        ("100 KB of bars", "||a".repeat(33_000)),
        ("100 KB of tags", "<b>x</i>".repeat(12_500)),
    ]
}

/// Removes the table headers that are repeated in every chunk of a split table.
fn without_repeats(parts: &[String], source: &str) -> String {
    let rules = source.lines().zip(source.lines().skip(1)).filter(|(_, below)| below.contains("--"));
    let headers: Vec<String> = rules.map(|(header, _)| words(header)).collect();
    let whole = words(source);
    let mut out = String::new();
    for part in parts {
        let left = whole.get(out.len()..).unwrap_or_default();
        let header = headers.iter().find(|header| {
            !header.is_empty() && !left.starts_with(header.as_str()) && part.starts_with(header.as_str())
        });
        out.push_str(header.and_then(|header| part.strip_prefix(header.as_str())).unwrap_or(part));
    }
    out
}

#[test]
fn the_corpus_is_large_enough() {
    let names: std::collections::BTreeSet<_> = corpus().into_iter().map(|(name, _)| name).collect();
    assert!(names.len() >= 140, "{}", names.len());
}

#[test]
fn every_message_is_valid_and_fits() {
    for (name, text) in corpus() {
        for limit in limits(&text) {
            for message in render(&text, limit) {
                let shown =
                    validate(&message.html).unwrap_or_else(|why| panic!("{name}: {why}\n{}", message.html));
                assert!(!shown.trim().is_empty(), "{name}: an empty message");
                assert!(length(&shown) <= limit, "{name}: {} of {limit}", length(&shown));
                assert!(length(&message.plain) <= limit, "{name}: the plain text is too long");
                assert_eq!(visible_len(&message.html), length(&shown), "{name}");
            }
        }
    }
}

#[test]
fn every_word_of_a_text_is_in_its_message() {
    for (name, text) in corpus() {
        let message = render_one(&text, usize::MAX);
        let shown = words(&validate(&message.html).unwrap());
        let wide = text.lines().any(|line| line.contains('|') && line.len() > 120);
        if !(wide && is_records(&text, &shown)) {
            assert_eq!(shown, expected(&text), "{name}\n{}", message.html);
        }
    }
}

#[test]
fn the_words_of_all_chunks_are_the_words_of_the_text() {
    for (name, text) in corpus() {
        for limit in limits(&text) {
            let messages = render(&text, limit);
            let parts: Vec<String> = messages.iter().map(|message| words(&message.plain)).collect();
            // The language of split code is in every chunk; there is one in the corpus.
            let languages = |text: &str| text.replace("rust", "");
            let all = without_repeats(&parts, &text);
            assert_eq!(languages(&all), languages(&words(&text)), "{name} at {limit}");
            for message in messages {
                let shown = words(&validate(&message.html).unwrap());
                let known = [expected(&message.plain), words(&message.plain)];
                assert!(
                    known.contains(&shown) || is_records(&message.plain, &shown),
                    "{name} at {limit}: {shown}"
                );
            }
        }
    }
}

/// Records name the column before each value: every cell is present, some more than once.
fn is_records(source: &str, shown: &str) -> bool {
    let cells = source.lines().filter(|line| line.contains('|')).flat_map(|line| line.split('|'));
    source.contains('|') && cells.map(words).all(|cell| shown.contains(&cell))
}

#[test]
fn a_text_that_grows_is_valid_at_every_moment() {
    for (name, text) in corpus().into_iter().filter(|(_, text)| text.len() < 3_000) {
        for (at, _) in text.char_indices().step_by(7) {
            let message = render_partial(text.get(..at).unwrap(), 200);
            let shown =
                validate(&message.html).unwrap_or_else(|why| panic!("{name}: {why}\n{}", message.html));
            assert!(length(&shown) <= 200 && length(&message.plain) <= 200, "{name}");
        }
    }
}
