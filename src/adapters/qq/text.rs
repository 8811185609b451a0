//! Converts text for this platform: its Markdown dialect, plain text, and links that it accepts. Pure.

use std::sync::LazyLock;

use regex::Regex;

use crate::render::markdown::{self, BlockKind, TableLayout};

/// Most characters of a message. The platform documents no limit; a message that it refuses as too long is split
/// further.
pub(super) const LONGEST: usize = 4000;

/// Markdown as plain text.
pub(super) fn plain(markdown: &str) -> String {
    markdown::plain(markdown, TableLayout::Records).trim().to_owned()
}

/// Markdown in the platform's dialect: it has no tables, and needs blank lines around every block. The result loads
/// nothing without a click, mentions no one, and makes no one send text they did not write.
pub(super) fn dialect(markdown: &str) -> String {
    let markdown = markdown::without_pictures(markdown);
    let shown = markdown::blocks(&markdown).into_iter().map(|block| match block.kind {
        BlockKind::Table => plain(block.source),
        BlockKind::Rule => "***".to_owned(),
        BlockKind::Heading | BlockKind::Code | BlockKind::Words => block.source.trim_matches('\n').to_owned(),
    });
    let blocks: Vec<String> =
        shown.filter(|block| !block.trim().is_empty()).map(|block| without_actions(&block)).collect();
    blocks.join("\n\n")
}

/// The platform's own tags (mentions, buttons that send a message in the reader's name), HTML tags, and links with a
/// scheme other than the web's. The dialect guarantees no code blocks, so those are searched too.
static ACTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let tag = r"<(?:/?(?:qqbot|img|image|picture|video|audio|iframe|embed|object|svg|script|style|link|input)\b|@|#\d|emoji:|faceType)";
    let link = r"\]\s*\(\s*<?\s*[a-z][a-z0-9+.-]*:|<[a-z][a-z0-9+.-]*:";
    Regex::new(&format!("(?i){tag}|{link}")).ok()
});

/// Inserts a character into each sequence that would trigger an action of the platform.
fn without_actions(text: &str) -> String {
    let Some(action) = ACTION.as_ref() else { return text.to_owned() };
    let separated = |found: &regex::Captures<'_>| {
        let whole = found.get(0).map(|found| found.as_str()).unwrap_or_default();
        let scheme = whole.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
        if ["http:", "https:", "mailto:"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
            return whole.to_owned();
        }
        let mut letters = whole.chars();
        let first: String = letters.by_ref().take(1).collect();
        format!("{first}{}{}", markdown::ZERO_WIDTH_SPACE, letters.as_str())
    };
    action.replace_all(text, separated).into_owned()
}

/// A URL or domain name: labels with dots whose last one consists of letters.
static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:[a-z][a-z0-9+.-]*://)?[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,}").ok()
});

/// Rewrites URLs so that people can read them and the platform does not recognise them as links.
pub(super) fn without_links(text: &str) -> String {
    let Some(address) = ADDRESS.as_ref() else { return text.to_owned() };
    let broken = |found: &regex::Captures<'_>| {
        let whole = found.get(0).map(|found| found.as_str()).unwrap_or_default();
        let host = whole.split_once("://").map_or(whole, |(_, host)| host);
        host.replace('.', "[.]")
    };
    address.replace_all(text, broken).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str =
        "# Done\n- **two** files\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n[docs](https://x.test)";

    #[test]
    fn plain_words_have_no_signs_and_lose_nothing() {
        let words = plain(ANSWER);
        assert!(!words.contains("**") && !words.contains('#') && !words.contains("|---"), "{words}");
        for kept in ["Done", "two files", "1", "2", "docs", "https://x.test"] {
            assert!(words.contains(kept), "{kept}: {words}");
        }
    }

    #[test]
    fn the_dialect_keeps_marks_and_has_no_tables() {
        let shown = dialect(ANSWER);
        assert!(shown.starts_with("# Done\n\n- **two** files\n\n"), "{shown}");
        assert!(shown.contains("***") && shown.ends_with("[docs](https://x.test)"), "{shown}");
        assert!(!shown.contains("|---"), "{shown}");
    }

    #[test]
    fn nothing_is_fetched_or_sent_by_reading() {
        for (source, expected) in [
            ("![x #9px #9px](http://e.x/?d=1)", "[x #9px #9px](http://e.x/?d=1)"),
            ("[![x](http://e.x/i)](http://e.x/p)", "[x](http://e.x/p) [🖼](http://e.x/i)"),
            ("![x][1]\n\n[1]: http://e.x/i", "[x](http://e.x/i)\n\n[1]: http://e.x/i"),
            ("a <img src=\"http://e.x/i\">", "a <\u{200b}img src=\"http://e.x/i\">"),
            ("< IMG src=x>", "< IMG src=x>"),
            ("<qqbot-cmd-enter text=\"同意 A1\" />", "<\u{200b}qqbot-cmd-enter text=\"同意 A1\" />"),
            ("<@!123> <@everyone>", "<\u{200b}@!123> <\u{200b}@everyone>"),
            ("[go](mqqapi://aio/inlinecmd?command=x)", "[go]\u{200b}(mqqapi://aio/inlinecmd?command=x)"),
            ("[go](https://e.x) <https://e.x>", "[go](https://e.x) <https://e.x>"),
            ("[me](mailto:a@e.x)", "[me](mailto:a@e.x)"),
            ("`Vec<String>` and a < b", "`Vec<String>` and a < b"),
        ] {
            assert_eq!(dialect(source), expected, "{source}");
        }
    }

    #[test]
    fn addresses_stay_readable_and_are_no_links() {
        for (text, expected) in [
            ("see https://docs.rs/ring/latest?x=1.", "see docs[.]rs/ring/latest?x=1."),
            ("www.example.com，好", "www[.]example[.]com，好"),
            ("version 1.2.3 and 3.14", "version 1.2.3 and 3.14"),
            ("Agent.md 已更新。", "Agent[.]md 已更新。"),
            ("end. Next", "end. Next"),
        ] {
            assert_eq!(without_links(text), expected);
        }
    }
}
