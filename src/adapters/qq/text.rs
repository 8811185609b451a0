//! Words as this platform shows them: its own small Markdown, plain words, and links that it lets through. Pure.

use std::sync::LazyLock;

use regex::Regex;

use crate::render::markdown::{self, BlockKind, Layout};

/// Longest message. The platform publishes no number; longer ones are split further when it refuses them.
pub(super) const LONGEST: usize = 4000;

/// Markdown as clean words.
pub(super) fn plain(markdown: &str) -> String {
    markdown::plain(markdown, Layout::Records).trim().to_owned()
}

/// Markdown in the platform's dialect: it has no tables, and wants room around every block.
pub(super) fn dialect(markdown: &str) -> String {
    let shown = markdown::blocks(markdown).into_iter().map(|block| match block.kind {
        BlockKind::Table => plain(block.source),
        BlockKind::Rule => "***".to_owned(),
        BlockKind::Heading | BlockKind::Code | BlockKind::Words => block.source.trim_matches('\n').to_owned(),
    });
    shown.filter(|block| !block.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// What looks like an address: a name with dots whose last part is made of letters.
static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:[a-z][a-z0-9+.-]*://)?[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,}").ok()
});

/// The same words, with addresses that people can still read and the platform no longer takes for links.
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
