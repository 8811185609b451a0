//! Words as this platform shows them: its own small Markdown, plain words, and links that it lets through. Pure.

use std::sync::LazyLock;

use regex::Regex;

/// Longest message. The platform publishes no number; longer ones are split further when it refuses them.
pub(super) const LONGEST: usize = 4000;

/// Markdown as clean words.
pub(super) fn plain(markdown: &str) -> String {
    markdown.trim().to_owned()
}

/// Markdown in the platform's dialect.
pub(super) fn dialect(markdown: &str) -> String {
    markdown.trim().to_owned()
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
