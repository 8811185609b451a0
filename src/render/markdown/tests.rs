//! Words, tables and blocks, apart from any platform.

use proptest::prelude::*;

use super::*;

#[test]
fn plain_words_have_no_signs() {
    for (markdown, expected) in [
        ("# A **b** `c`", "A b c"),
        ("[docs](https://e.x) <https://e.y>", "docs (https://e.x) https://e.y"),
        ("> one\n> two\n\nthree", "> one\n> two\n\nthree"),
        ("- a\n  - b\n\n```sh\nls\n```", "• a\n  • b\n\nls"),
        ("| 名 | n |\n|---|---|\n| 苹果 | 1 |", "名   | n\n-----+--\n苹果 | 1"),
        ("||x||", "x"),
    ] {
        assert_eq!(plain(markdown, TableLayout::Aligned), expected, "{markdown:?}");
    }
    let table = "| k | v |\n|---|---|\n| a | 1 |\n| b | |";
    assert_eq!(plain(table, TableLayout::Compact), "k|v\n---\na|1\nb|");
    assert_eq!(plain(table, TableLayout::Records), "k: a\nv: 1\n\nk: b\nv:");
}

#[test]
fn columns_stand_below_each_other_in_every_script() {
    let table = "| a | b |\n|---|---|\n| 中文 | x |\n| 👩\u{200d}👩\u{200d}👧 | x |\n| e\u{301}e\u{301} | x |\n| ｗｉｄｅ | x |";
    let text = plain(table, TableLayout::Aligned);
    let ends: Vec<usize> = text
        .lines()
        .filter_map(|line| line.strip_suffix("x"))
        .map(unicode_width::UnicodeWidthStr::width)
        .collect();
    assert_eq!(ends, [11; 4], "{text}");
}

#[test]
fn marks_are_kept_beside_the_words() {
    let style = Style { tables: TableLayout::Aligned, schemes: &["https"] };
    let rich = rich("> **[a](https://e.x)** b", &style);
    assert_eq!(rich.text(), "a b");
    let marks: Vec<_> = rich.spans().iter().map(|span| (span.range.clone(), span.mark.clone())).collect();
    assert_eq!(
        marks,
        [(0..3, Mark::Quote), (0..1, Mark::Link { url: "https://e.x".into() }), (0..1, Mark::Bold)]
    );
}

#[test]
fn a_source_is_taken_apart_at_its_outermost_blocks() {
    use BlockKind::{Code, Heading, Rule, Table, Words};
    let source = "intro\n\n# Head\n- a\n\n  ```\n  x\n  ```\n\n---\n\n```rs\nlet a;\n\n# not a head\n```\n\n| a |\n|---|\n| 1 |\n\n[r]: https://e.x\n\nend";
    let found = blocks(source);
    let kinds: Vec<_> = found.iter().map(|block| block.kind).collect();
    assert_eq!(kinds, [Words, Heading, Words, Rule, Code, Table, Words]);
    assert_eq!(found[5].source, "| a |\n|---|\n| 1 |\n\n[r]: https://e.x");
    assert_eq!(blocks("[r]: https://e.x").len(), 1);
    assert!(blocks(" \n").is_empty());
}

#[test]
fn a_text_of_any_length_is_read_in_proportion_to_it() {
    let style = Style { tables: TableLayout::Aligned, schemes: &[] };
    for unit in [
        "**a：**b ",
        "||a",
        "> ",
        "- ",
        "[a][b]\n\n[b]: x\n\n",
        "| a | b |\n|---|---|\n",
        "`a ``",
        "~~~\n",
        "[^a]: ",
    ] {
        let text = unit.repeat(200_000 / unit.len());
        let rich = rich(&text, &style);
        assert!(rich.text().len() <= 4 * text.len(), "{unit:?} grows to {}", rich.text().len());
    }
    // One long cell does not make all rows as long.
    let table = format!("| a |\n|---|\n| {} |\n{}", "x".repeat(50_000), "| y |\n".repeat(10_000));
    assert!(plain(&table, TableLayout::Aligned).len() < 2 * table.len());
}

proptest! {
    #[test]
    fn blocks_hold_the_whole_source(text in "([a-z#>|`*\\-] ?|\n|\n\n|    ){0,80}") {
        let all: String = blocks(&text).iter().map(|block| block.source).collect();
        let solid = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(solid(&all), solid(&text));
    }
}
