//! Texts with entities: parsing, errors, detection.

use serde_json::{Value, json};

use crate::fakes::telegram::formatted::{Formatted, detect, units};

fn entities(list: &[(&str, usize, usize)]) -> Vec<(String, u64, u64)> {
    list.iter().map(|(kind, at, length)| ((*kind).to_owned(), *at as u64, *length as u64)).collect()
}

fn brief(list: &[Value]) -> Vec<(String, u64, u64)> {
    let number = |entity: &Value, name: &str| entity[name].as_u64().unwrap();
    let one = |e: &Value| (e["type"].as_str().unwrap().to_owned(), number(e, "offset"), number(e, "length"));
    list.iter().map(one).collect()
}

#[test]
fn html_becomes_text_and_entities_in_utf16_units() {
    for (html, text, found) in [
        ("plain", "plain", vec![]),
        ("<b>bold</b> <i>it</i>", "bold it", vec![("bold", 0, 4), ("italic", 5, 2)]),
        ("😀<b>x</b>", "😀x", vec![("bold", 2, 1)]),
        ("<b>a<i>b</i></b>", "ab", vec![("bold", 0, 2), ("italic", 1, 1)]),
        ("&lt;b&gt; &amp; &quot; &#x41;&#66; &nbsp;", "<b> & \" AB &nbsp;", vec![]),
        ("<pre><code class=\"language-rust\">fn</code></pre>", "fn", vec![("pre", 0, 2)]),
        ("<code class=\"language-rust\">fn</code>", "fn", vec![("code", 0, 2)]),
        ("<a href=\"https://a.example/?x=1&amp;y=2\">go</a>", "go", vec![("text_link", 0, 2)]),
        ("<a href='tg://user?id=7'>Ann</a>", "Ann", vec![("text_mention", 0, 3)]),
        ("<a href=\"nonsense\">go</a>", "go", vec![]),
        ("<a>docs.example</a>", "docs.example", vec![("text_link", 0, 12)]),
        ("<span class=\"tg-spoiler\">s</span>", "s", vec![("spoiler", 0, 1)]),
        ("<blockquote expandable>q</blockquote>", "q", vec![("expandable_blockquote", 0, 1)]),
        ("<blockquote>q</blockquote>", "q", vec![("blockquote", 0, 1)]),
        ("<tg-emoji emoji-id=\"5\">👍</tg-emoji>", "👍", vec![("custom_emoji", 0, 2)]),
        ("<B>x</b >", "x", vec![("bold", 0, 1)]),
        ("  <u>x</u>  \n", "x", vec![("underline", 0, 1)]),
        ("<pre>  x\n</pre>", "  x", vec![("pre", 0, 3)]),
        ("<s></s>x", "x", vec![]),
        ("<code>@nobody</code> @somebody", "@nobody @somebody", vec![("code", 0, 7), ("mention", 8, 9)]),
    ] {
        let read = Formatted::parse(html, "HTML").unwrap_or_else(|error| panic!("{html}: {error}"));
        assert_eq!(read.text, text, "{html}");
        assert_eq!(brief(&read.entities), entities(&found), "{html}");
    }
    let block = Formatted::parse("<code class=language-c><pre>x</pre></code>", "html").unwrap();
    assert_eq!(block.entities, [json!({ "type": "pre", "offset": 0, "length": 1, "language": "c" })]);
}

#[test]
fn html_the_server_does_not_know_is_refused_in_its_words() {
    for (html, words) in [
        ("a<br>b", "Unsupported start tag \"br\" at byte offset 1"),
        ("<p>x</p>", "Unsupported start tag \"p\" at byte offset 0"),
        ("1 < 2", "Unsupported start tag \"\" at byte offset 2"),
        ("a <b", "Unclosed start tag at byte offset 2"),
        ("é<b>x", "Can't find end tag corresponding to start tag \"b\""),
        ("x</b>", "Unexpected end tag at byte offset 1"),
        ("<b>x</i>", "Unmatched end tag at byte offset 4, expected \"</b>\", found \"</i>\""),
        ("<b><i>x</b></i>", "Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\""),
        ("<b>x</b", "Unclosed end tag at byte offset 4"),
        ("<span>x</span>", "Tag \"span\" must have class \"tg-spoiler\" at byte offset 0"),
        (
            "<a href>x</a>",
            "Expected equal sign in declaration of an attribute of the tag \"a\" at byte offset 0",
        ),
        ("<a =x>x</a>", "Empty attribute name in the tag \"a\" at byte offset 0"),
        ("<a href=", "Unclosed start tag \"a\" at byte offset 0"),
        ("<a href=a/b>x</a>", "Unexpected end of name token at byte offset 8"),
        ("<a href=\"x", "Unclosed start tag at byte offset 0"),
        ("<tg-emoji emoji-id=\"x\">y</tg-emoji>", "Invalid custom emoji identifier specified"),
    ] {
        assert_eq!(Formatted::parse(html, "HTML"), Err(words.to_owned()), "{html}");
    }
}

#[test]
fn markdown_must_be_escaped_and_closed() {
    for (markdown, text, found) in [
        (
            "*b* _i_ __u__ ~s~ ||p||",
            "b i u s p",
            vec!["bold", "italic", "underline", "strikethrough", "spoiler"],
        ),
        ("`a.b` \\. ok", "a.b . ok", vec!["code"]),
        ("```rust\nlet x;\n```", "let x;", vec!["pre"]),
        ("[a](https://x.example/\\))", "a", vec!["text_link"]),
        (">quoted", "quoted", vec![]),
    ] {
        let read =
            Formatted::parse(markdown, "MarkdownV2").unwrap_or_else(|error| panic!("{markdown}: {error}"));
        assert_eq!(read.text, text);
        let kinds: Vec<&str> = read.entities.iter().map(|entity| entity["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, found, "{markdown}");
    }
    for (markdown, words) in [
        ("a.b", "Character '.' is reserved and must be escaped with the preceding '\\'"),
        ("ab *c", "Can't find end of Bold entity at byte offset 3"),
        ("`c", "Can't find end of Code entity at byte offset 0"),
        ("[a](b", "Can't find end of a URL at byte offset 2"),
    ] {
        assert_eq!(Formatted::parse(markdown, "MarkdownV2"), Err(words.to_owned()), "{markdown}");
    }
}

#[test]
fn mentions_commands_and_links_are_found_where_a_person_would_see_them() {
    for (text, found) in [
        ("hi @ship_test_bot!", vec![("mention", 3, 14)]),
        ("😀😀 @ship_test_bot", vec![("mention", 5, 14)]),
        ("/start CODE", vec![("bot_command", 0, 6)]),
        ("/stop@ship_test_bot now", vec![("bot_command", 0, 19)]),
        ("你好 /new", vec![("bot_command", 3, 4)]),
        ("a/b and/or /usr/bin 1/2", vec![]),
        ("see https://a.example/x?y=1.", vec![("url", 4, 23)]),
        ("#tag me@mail.example", vec![("hashtag", 0, 4), ("email", 5, 15)]),
        ("@ab", vec![]),
    ] {
        assert_eq!(brief(&detect(text)), entities(&found), "{text}");
    }
    assert_eq!(units("a😀你"), 4);
}
