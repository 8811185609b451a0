//! The rendering of the main constructs.

use super::super::{escape, render, render_one, render_partial, visible_len};
use super::validator::length;

fn html(markdown: &str) -> String {
    render_one(markdown, 4096).html
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (markdown, expected) in cases {
        assert_eq!(html(markdown), *expected, "{markdown:?}");
    }
}

#[test]
fn words_are_marked() {
    check(&[
        (
            "**b** *i* ~~s~~ `c<d>` ||x||",
            "<b>b</b> <i>i</i> <s>s</s> <code>c&lt;d&gt;</code> <tg-spoiler>x</tg-spoiler>",
        ),
        ("# The `run` *way*", "<b>The </b><code>run</code><b> <i>way</i></b>"),
        ("*a **b** c*", "<i>a <b>b</b> c</i>"),
        ("||a **b|| c**", "<tg-spoiler>a <b>b</b></tg-spoiler><b> c</b>"),
        ("`||x||` \\||y\\|| a || b || c", "<code>||x||</code> ||y|| a || b || c"),
        ("**注意：**请看**这里**。", "<b>注意：</b>请看<b>这里</b>。"),
        ("f(**a,**b) 3~5天，7~10天", "f(**a,**b) 3~5天，7~10天"),
        ("a  \nb\nc<br>d", "a\nb\nc\nd"),
        ("<b>x</b> & <i>", "&lt;b&gt;x&lt;/b&gt; &amp; &lt;i&gt;"),
        ("one\n\n---\n\ntwo", "one\n\n———\n\ntwo"),
    ]);
}

#[test]
fn links_lead_where_telegram_lets_them() {
    check(&[
        ("[a](https://e.x/?q=\"1\"&r)", "<a href=\"https://e.x/?q=&quot;1&quot;&amp;r\">a</a>"),
        ("[a `b`](tg://user?id=1)", "<a href=\"tg://user?id=1\">a b</a>"),
        ("<me@e.x>", "<a href=\"mailto:me@e.x\">me@e.x</a>"),
        ("[js](javascript:x) [f](src/main.rs) [top](#top)", "js (javascript:x) f (src/main.rs) top"),
        (
            "![cat](https://e.x/c.png) ![](https://e.x/d.png)",
            "<a href=\"https://e.x/c.png\">cat</a> <a href=\"https://e.x/d.png\">https://e.x/d.png</a>",
        ),
        ("[![b](https://e.x/b.svg)](https://e.x)", "<a href=\"https://e.x\">b</a>"),
        ("[a][r]\n\n[r]: https://e.x\n[s]: https://e.y", "<a href=\"https://e.x\">a</a>\n\n[s]: https://e.y"),
    ]);
}

#[test]
fn lists_are_indented() {
    check(&[
        ("- a\n  - b\n    1. c\n    2. d\n- e", "• a\n  • b\n    1. c\n    2. d\n• e"),
        ("- [ ] a\n- [x] b\n\n1. [x] c", "☐ a\n☑ b\n\n1. ☑ c"),
        ("3. a\n\n   more\n\n4. b", "3. a\n\n  more\n\n4. b"),
        ("- a\n  b", "• a\n  b"),
        (
            "1. Run:\n   ```sh\n   ls\n   ```\n2. x",
            "1. Run:\n<pre><code class=\"language-sh\">ls</code></pre>\n2. x",
        ),
        ("- > q\n- x", "• \n\n<blockquote>q</blockquote>\n\n• x"),
        ("- - a", "• • a"),
    ]);
}

#[test]
fn blocks_are_what_they_are() {
    check(&[
        ("> a\n> > b\n\nc", "<blockquote>a\n\nb</blockquote>\n\nc"),
        ("```c++ x\na<b\n\n  c\n```", "<pre><code class=\"language-c++\">a&lt;b\n\n  c</code></pre>"),
        ("```\"><script>\nx\n```", "<pre><code class=\"language-script\">x</code></pre>"),
        ("~~~\nx", "<pre>x</pre>"),
        ("    x\n      y", "<pre>x\n  y</pre>"),
        (
            "| 名 | n |\n|---|--:|\n| 苹果 | 1 |\n| a | 23 |",
            "<pre>名   |  n\n-----+---\n苹果 |  1\na    | 23</pre>",
        ),
        ("| a |\n|---|\n| [x](https://e.x)<br>y |", "<pre>a\n-\nx\ny</pre>\n<a href=\"https://e.x\">x</a>"),
        ("a[^1]\n\n[^1]: b", "a[1]\n\n[1] b"),
        ("```\n```", "```\n```"),
    ]);
}

#[test]
fn tables_take_less_room_until_they_fit() {
    let table = "|name|v|\n|-|-|\n|a|1|\n|a longer one|22|";
    assert_eq!(
        html(table),
        "<pre>name         | v\n-------------+---\na            | 1\na longer one | 22</pre>"
    );
    let least = length(table);
    assert_eq!(render_one(table, least).html, "<pre>name|v\n---\na|1\na longer one|22</pre>");
    // Links below the table make even bare cells longer than the source.
    let linked = "|n|u|\n|-|-|\n|1|<tg:abcdefghijklmnopq>|";
    assert_eq!(
        render_one(linked, length(linked)).html,
        "n: 1\nu: <a href=\"tg:abcdefghijklmnopq\">tg:abcdefghijklmnopq</a>"
    );
    let rules = "a\n***\n***\n***\nb";
    assert_eq!(render_one(rules, length(rules)).html, rules);
    assert_eq!(render_one("words that do not fit", 8).html, "words t…");
}

#[test]
fn a_wide_table_becomes_records() {
    let long = "x".repeat(130);
    let markdown = format!("| k | v |\n|---|---|\n| **a** | {long} |\n| b | c |");
    assert_eq!(html(&markdown), format!("k: <b>a</b>\nv: {long}\n\nk: b\nv: c"));
}

#[test]
fn a_long_answer_is_several_messages() {
    let messages = render("# One\n\nSome words **and more** here.\n\n```rs\nlet a = 1;\nlet b = 2;\n```", 44);
    let html: Vec<_> = messages.iter().map(|message| message.html.as_str()).collect();
    assert_eq!(
        html,
        [
            "<b>One</b>\n\nSome words <b>and more</b> here.",
            "<pre><code class=\"language-rs\">let a = 1;\nlet b = 2;</code></pre>",
        ]
    );
    assert_eq!(messages[0].plain, "# One\n\nSome words **and more** here.");
    assert!(render(" \n ", 10).is_empty());
}

#[test]
fn a_text_that_grows_is_closed() {
    for (markdown, expected) in [
        ("**bo", "<b>bo</b>"),
        ("a `co", "a <code>co</code>"),
        ("**a ~~b `c", "<b>a <s>b </s></b><code>c</code>"),
        ("||hid", "<tg-spoiler>hid</tg-spoiler>"),
        ("done **x** and **", "done <b>x</b> and **"),
        ("```rs\nlet **a", "<pre><code class=\"language-rs\">let **a</code></pre>"),
        ("Steps\n-", "Steps"),
        ("- one\n- tw", "• one\n• tw"),
        ("", ""),
        ("one two three\n\nfour five six", "four five six"),
    ] {
        assert_eq!(render_partial(markdown, 20).html, expected, "{markdown:?}");
    }
}

#[test]
fn length_is_counted_as_telegram_does() {
    for (html, expected) in [
        ("", 0),
        ("<b>a</b>", 1),
        ("&lt;&amp;", 2),
        ("😀", 2),
        ("a & b", 5),
        ("<a href=\"x&amp;y\">中</a>", 1),
    ] {
        assert_eq!(visible_len(html), expected, "{html}");
    }
    assert_eq!(escape("a<b>&\"c\"\0\r\n\u{7}d"), "a&lt;b&gt;&amp;&quot;c&quot;\nd");
}
