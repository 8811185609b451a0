//! A change of a file: its diff for the approval question, and the version of a content as a short digest. Pure.

use std::time::Duration;

use ring::digest::{Context, SHA256};
use similar::{Algorithm, TextDiff};

use crate::domain::hex;

/// Time limit for finding the smallest diff.
const PATIENCE: Duration = Duration::from_millis(250);

/// The complete unified diff between two texts of a file, empty where they are equal. `old` is `None` for a new file.
pub fn diff(path: &str, old: Option<&str>, new: &str) -> String {
    let before = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let compared = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_lines(old.unwrap_or_default(), new);
    compared.unified_diff().context_radius(3).header(&before, &format!("b/{path}")).to_string()
}

/// Computes the version of a file from its content, piece by piece.
pub(super) struct VersionOf(Context);

impl VersionOf {
    pub(super) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Sixteen hexadecimal digits: enough to distinguish contents, short enough for a model to repeat.
    pub(super) fn finish(self) -> String {
        hex(self.0.finish().as_ref().get(..8).unwrap_or_default())
    }
}

/// The version of a whole content.
pub(super) fn version_of(content: &[u8]) -> String {
    let mut version = VersionOf::new();
    version.add(content);
    version.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\n";
        insta::assert_snapshot!(diff("a.txt", Some(old), &old.replace("four", "4")), @"
        --- a/a.txt
        +++ b/a.txt
        @@ -1,6 +1,6 @@
         one
         two
         three
        -four
        +4
         five
         six
        ");
        insta::assert_snapshot!(diff("新.txt", None, "甲\n乙"), @r"
        --- /dev/null
        +++ b/新.txt
        @@ -0,0 +1,2 @@
        +甲
        +乙
        \ No newline at end of file
        ");
        assert_eq!(diff("a.txt", Some(old), old), "");
    }

    #[test]
    fn a_long_one_is_whole() {
        let new: String = (0..9_000).map(|n| format!("line {n} 中文\n")).collect();
        let shown = diff("a.txt", Some(""), &new);
        assert_eq!(shown.lines().count(), 9_000 + 3);
        assert!(shown.ends_with("+line 8999 中文\n"));
    }

    #[test]
    fn contents_have_versions_of_their_own_however_they_are_read() {
        let mut pieces = VersionOf::new();
        pieces.add(b"one ");
        pieces.add(b"two");
        assert_eq!(pieces.finish(), version_of(b"one two"));
        assert_ne!(version_of(b"one two"), version_of(b"one tw0"));
        assert_eq!(version_of(b""), "e3b0c44298fc1c14");
    }
}
