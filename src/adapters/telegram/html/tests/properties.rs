//! Random texts, half of them close to Markdown.

use proptest::prelude::*;

use super::super::{escape, render, render_one, render_partial, visible_len};
use super::validator::{length, validate};
use super::words::{expected, words};

fn token() -> impl Strategy<Value = String> {
    let signs = [
        "**",
        "*",
        "_",
        "~~",
        "~",
        "`",
        "``",
        "||",
        "[",
        "](https://e.x/?a&b)",
        "![",
        "](x y)",
        "<b>",
        "<br>",
        "</",
        "&lt;",
        "&",
        "\\",
        "\n",
        "\n\n",
        "\n- ",
        "\n  - ",
        "\n1. ",
        "\n> ",
        "\n>> ",
        "\n# ",
        "\n```rs\n",
        "\n```\n",
        "\n~~~\n",
        "\n    ",
        "\n| a | 中 |\n|---|--:|\n",
        "| x | y |\n",
        "\n---\n",
        "\n- [x] ",
        "[^1]",
        "\n[^1]: ",
        "\n[a]: http://b\n",
        "<https://e.x>",
        " ",
        "\t",
        "\u{0}",
        "\r\n",
        "。",
        "：",
    ];
    prop_oneof![
        5 => proptest::sample::select(signs.to_vec()).prop_map(str::to_owned),
        2 => "[a-z]{1,8}",
        1 => "\\PC{1,6}",
        1 => Just("中文👩\u{200d}👧".to_owned()),
    ]
}

fn markdown() -> impl Strategy<Value = String> {
    proptest::collection::vec(token(), 0..60).prop_map(|tokens| tokens.concat())
}

fn sorted(words: &str) -> String {
    let mut letters: Vec<char> = words.chars().collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

fn assert_valid_and_fitting(text: &str, limit: usize) {
    for message in render(text, limit) {
        let shown = validate(&message.html).unwrap();
        assert!(length(&shown) <= limit);
        assert_eq!(visible_len(&message.html), length(&shown));
    }
    assert!(validate(&render_partial(text, limit).html).is_ok_and(|shown| length(&shown) <= limit));
}

fn assert_fits_like_its_source(text: &str) {
    let limit = length(text);
    let shown = validate(&render_one(text, limit).html);
    assert!(shown.as_ref().is_ok_and(|shown| length(shown) <= limit), "{shown:?}");
}

fn assert_whole(text: &str) {
    let shown = validate(&render_one(text, usize::MAX).html).unwrap();
    let (mut known, mut shown) = ([expected(text), words(text)], words(&shown));
    if text.contains('|') && text.contains("<br>") {
        // The lines of a cell are between those of its neighbours.
        shown = sorted(&shown);
        known = known.map(|words| sorted(&words));
    }
    assert!(known.contains(&shown), "{shown:?} is not {known:?}");
}

#[test]
fn what_was_once_rendered_wrongly_is_not() {
    for text in [
        "[\0](https://e.x/?a&b)\n- [x] ",
        "**\n> \t\t**",
        "\n> `\n    **`",
        "\n| a | 中 |\n|---|--:|\n[^1]<br>A|®",
    ] {
        assert_valid_and_fitting(text, 20);
        assert_fits_like_its_source(text);
        assert_whole(text);
    }
}

proptest! {
    #[test]
    fn whatever_is_rendered_is_valid_and_fits(text in markdown(), limit in 20usize..400) {
        assert_valid_and_fitting(&text, limit);
    }

    #[test]
    fn what_fits_as_source_fits_as_a_message(text in markdown()) {
        assert_fits_like_its_source(&text);
    }

    #[test]
    fn no_word_is_lost(text in markdown()) {
        assert_whole(&text);
    }

    #[test]
    fn any_unicode_is_valid(text in "\\PC{0,200}|(?s:.{0,200})", limit in 1usize..100) {
        for message in render(&text, limit.max(2)) {
            prop_assert!(validate(&message.html).is_ok_and(|shown| length(&shown) <= limit.max(2)));
        }
        prop_assert!(validate(&escape(&text)).is_ok());
    }
}
