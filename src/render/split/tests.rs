//! Where texts are cut, and that nothing is lost there.

use proptest::prelude::*;

use super::super::fence::Fence;
use super::split;
use super::splitter::pieces;
use crate::domain::LengthUnit;

const UNITS: [LengthUnit; 3] = [LengthUnit::Chars, LengthUnit::Utf16, LengthUnit::Bytes];

fn chars(text: &str, limit: usize) -> Vec<String> {
    split(text, limit, LengthUnit::Chars)
}

#[test]
fn a_text_that_fits_stays_whole() {
    assert_eq!(chars("short\n\ntext\n", 100), ["short\n\ntext"]);
    assert_eq!(chars("", 10), Vec::<String>::new());
    assert_eq!(chars(" \n\n ", 10), Vec::<String>::new());
}

#[test]
fn the_best_place_to_cut_is_taken() {
    for (text, limit, expected) in [
        ("one one.\n\ntwo two\nthree", 20, vec!["one one.", "two two\nthree"]),
        ("one one\ntwo two\nthree", 16, vec!["one one\ntwo two", "three"]),
        ("One two. Three four five", 15, vec!["One two.", "Three four five"]),
        ("one two three four", 10, vec!["one two", "three four"]),
        ("今天天气很好。我们去公园吧！好的", 10, vec!["今天天气很好。", "我们去公园吧！好的"]),
        ("他说：“好。”然后走了很远很远", 10, vec!["他说：“好。”", "然后走了很远很远"]),
        ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
        ("- one\n  - two two\n  - three", 18, vec!["- one\n  - two two", "  - three"]),
    ] {
        assert_eq!(chars(text, limit), expected, "{text:?}");
    }
}

#[test]
fn code_that_is_cut_is_closed_and_opened_again() {
    let text = "Look:\n\n```rust\nfn a() {\n    one();\n}\n\nfn b() {}\n```\nDone.";
    assert_eq!(
        chars(text, 40),
        ["Look:\n\n```rust\nfn a() {\n    one();\n}\n```", "```rust\nfn b() {}\n```\nDone."]
    );
    assert_eq!(
        chars("> ```sh\n> echo one\n> echo two\n> ```", 26),
        ["> ```sh\n> echo one\n> ```", "> ```sh\n> echo two\n> ```"]
    );
}

#[test]
fn indentation_of_code_survives_a_cut() {
    let chunks = chars("```py\nif a:\n    one()\n    two()\n```", 26);
    assert_eq!(chunks, ["```py\nif a:\n    one()\n```", "```py\n    two()\n```"]);
}

#[test]
fn characters_made_of_several_are_not_cut() {
    let family = "👩\u{200d}👩\u{200d}👧";
    assert_eq!(split(&family.repeat(2), 12, LengthUnit::Utf16), [family, family]);
    assert_eq!(chars("e\u{301}e\u{301}e\u{301}", 3), ["e\u{301}", "e\u{301}", "e\u{301}"]);
}

#[test]
fn a_long_text_is_split_in_reasonable_time() {
    for text in
        ["x".repeat(300_000), "中文。".repeat(100_000), "```\n".repeat(50_000), " ".repeat(300_000) + "x"]
    {
        assert!(!chars(&text, 4_000).is_empty());
    }
}

#[test]
fn what_belongs_together_is_not_cut() {
    for (text, limit, expected) in [
        ("one two **three four** five", 19, vec!["one two", "**three four** five"]),
        ("see [the docs of it](https://e.x) now", 30, vec!["see", "[the docs of it](https://e.x)", "now"]),
        ("run `cargo test --all` now", 16, vec!["run `cargo test", "--all` now"]),
        ("run `cargo test` now", 14, vec!["run", "`cargo test`", "now"]),
        ("前文||看不见的字||后文", 9, vec!["前文", "||看不见的字||", "后文"]),
        ("前文 **重要：**后文", 9, vec!["前文", "**重要：**后文"]),
        ("text\n\nTitle here\n-----\nmore", 20, vec!["text", "Title here\n-----", "more"]),
    ] {
        let chunks = chars(text, limit);
        assert_eq!(chunks, expected, "{text:?}");
    }
}

#[test]
fn a_table_that_is_cut_has_its_header_in_every_chunk() {
    let text = "Look:\n\n| a | b |\n|---|---|\n| one one | 1 |\n| two two | 2 |\n| three | 3 |\n\nDone.";
    assert_eq!(
        chars(text, 40),
        [
            "Look:",
            "| a | b |\n|---|---|\n| one one | 1 |",
            "| a | b |\n|---|---|\n| two two | 2 |",
            "| a | b |\n|---|---|\n| three | 3 |\n\nDone."
        ]
    );
    let quoted = "> | a | b |\n> |---|---|\n> | one | 1 |\n> | two | 2 |";
    assert_eq!(
        chars(quoted, 50),
        ["> | a | b |\n> |---|---|\n> | one | 1 |", "> | a | b |\n> |---|---|\n> | two | 2 |"]
    );
    // There is no room for this one.
    assert_eq!(chars("| long name |\n|---|\n| x |\n| y |", 24), ["| long name |\n|---|", "| x |\n| y |"]);
}

#[test]
fn the_rest_of_a_deep_list_does_not_turn_into_code() {
    let text = "- a\n    - b\n        - see one\n        - see two\n        - see three\n- f";
    assert_eq!(chars(text, 44), ["- a\n    - b\n        - see one", "- see two\n- see three\n- f"]);
    let code = "1. a\n   - b\n     ```sh\n     echo one\n     echo two\n     ```";
    assert_eq!(
        chars(code, 46),
        ["1. a\n   - b\n     ```sh\n     echo one\n     ```", "```sh\necho two\n```"]
    );
    // What is code stays code.
    assert_eq!(chars("text\n\n    one one\n    two two", 18), ["text\n\n    one one", "    two two"]);
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z]{1,12}",
        2 => "\\PC{1,8}",
        2 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just("\n```rust\n".to_owned()),
        1 => Just("\n```\n".to_owned()),
        1 => Just("\n~~~~ text\n".to_owned()),
        1 => Just("\n> ```sh\n> ".to_owned()),
        1 => Just("\n- ```\n  ".to_owned()),
        1 => "[。！？，.!?] ?",
        1 => Just("**".to_owned()),
        1 => Just("[a](b)".to_owned()),
        1 => Just("\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |".to_owned()),
        1 => Just("\n      - ".to_owned()),
        1 => Just("中文字符".to_owned()),
        1 => Just("👩\u{200d}👧🇨🇳e\u{301}".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(token(), 0..80).prop_map(|tokens| tokens.concat())
}

fn solid(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn assert_whole_and_fitting(text: &str, limit: usize, unit: LengthUnit) {
    let pieces = pieces(text, limit, unit);
    let bodies: String = pieces.iter().map(|piece| piece.body).collect();
    assert_eq!(solid(&bodies), solid(text));
    for piece in &pieces {
        let chunk = piece.text();
        assert!(!piece.body.trim().is_empty());
        let one = piece.body.chars().count() == 1;
        assert!(unit.measure(&chunk) <= limit || one, "{chunk:?} is too long for {limit}");
    }
}

fn assert_code_is_closed(text: &str, limit: usize) {
    let chunks = chars(text, limit);
    for chunk in chunks.iter().rev().skip(1) {
        let mut open: Option<Fence> = None;
        for line in chunk.lines() {
            open = match open {
                Some(fence) if fence.is_left_by(line) => Fence::opened_by(line),
                Some(fence) if fence.is_closed_by(line) => None,
                None => Fence::opened_by(line),
                open => open,
            };
        }
        // Code in a quote ends with the quote.
        assert_eq!(open.filter(|fence| !fence.is_left_by("")), None, "{chunk:?}");
    }
}

#[test]
fn a_quote_of_nothing_but_an_open_fence_loses_nothing_where_there_is_no_room() {
    assert_whole_and_fitting("\n> ```sh\n> ", 0, LengthUnit::Chars);
}

#[test]
fn fences_of_two_kinds_one_inside_the_other_are_closed_in_every_chunk() {
    let (tilde, odd) = ("\n~~~~ text\n", "👩\u{200d}👧🇨🇳e\u{301}");
    let text = [
        "\n```rust\n\n```rust\n\n\n",
        tilde,
        odd,
        tilde,
        tilde,
        "aaaaa",
        tilde,
        tilde,
        "aaaaaaaaaaaaaaaaa中文字符",
        tilde,
        "中文字符",
        tilde,
        "aaaaaaaa\n```\naaaaaaaaaaaaaaa",
        odd,
        "a",
        odd,
        "𝒞\u{11d3a}a0ਅ🄀",
        odd,
        "\n> ```sh\n> aaa\n",
        tilde,
        tilde,
        "aaaaaaaaaa",
    ]
    .concat();
    assert_code_is_closed(&text, 111);
}

proptest! {
    #[test]
    fn nothing_is_lost_and_every_chunk_fits(text in text(), limit in 0usize..120, unit in 0usize..3) {
        assert_whole_and_fitting(&text, limit, UNITS[unit]);
    }

    #[test]
    fn every_chunk_closes_the_code_it_opens(text in text(), limit in 60usize..200) {
        assert_code_is_closed(&text, limit);
    }
}
