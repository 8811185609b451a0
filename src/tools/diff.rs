//! What a change changes, for a person who is to decide about it. Pure.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

/// Longer ones nobody reads.
const DIFF_BYTES: usize = 8 * 1024;
const DIFF_LINES: usize = 120;

/// Beyond this the smallest difference is not looked for any longer.
const PATIENCE: Duration = Duration::from_millis(250);

/// A unified diff, cut where it is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The lines; none where nothing changes.
    pub text: String,
    /// How many lines were left out.
    pub left_out: usize,
}

/// The difference between two texts of a file; nothing for one that is made anew.
pub fn diff(path: &str, old: Option<&str>, new: &str) -> Diff {
    let before = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let compared = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_lines(old.unwrap_or_default(), new);
    let text = compared.unified_diff().context_radius(3).header(&before, &format!("b/{path}")).to_string();
    shortened(text)
}

fn shortened(mut text: String) -> Diff {
    let lines = text.match_indices('\n').nth(DIFF_LINES - 1).map_or(text.len(), |(at, _)| at + 1);
    let mut end = lines.min(text.floor_char_boundary(DIFF_BYTES));
    if end < text.len() {
        // Whole lines only, where there are any.
        end = text.get(..end).and_then(|kept| kept.rfind('\n')).map_or(end, |at| at + 1);
    }
    let left_out = text.get(end..).unwrap_or_default().lines().count();
    text.truncate(end);
    Diff { text, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\n";
        insta::assert_snapshot!(diff("a.txt", Some(old), &old.replace("four", "4")).text, @"
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
        insta::assert_snapshot!(diff("新.txt", None, "甲\n乙").text, @r"
        --- /dev/null
        +++ b/新.txt
        @@ -0,0 +1,2 @@
        +甲
        +乙
        \ No newline at end of file
        ");
        assert_eq!(diff("a.txt", Some(old), old), Diff { text: String::new(), left_out: 0 });
    }

    #[test]
    fn a_long_one_is_cut_between_lines() {
        let new: String = (0..9_000).map(|n| format!("line {n} 中文\n")).collect();
        let cut = diff("a.txt", Some(""), &new);
        assert_eq!((cut.text.lines().count(), cut.left_out), (DIFF_LINES, 9_000 + 3 - DIFF_LINES));
        assert!(cut.text.ends_with('\n'));
        let wide: String = (0..90).map(|n| format!("{n} {}\n", "中".repeat(100))).collect();
        let cut = diff("a.txt", Some(""), &wide);
        assert!(cut.text.len() <= DIFF_BYTES && cut.text.ends_with('\n'));
        assert_eq!(cut.text.lines().count() + cut.left_out, 90 + 3);
        let one_line = diff("a.txt", Some(""), &"中".repeat(100_000));
        assert!(one_line.text.len() <= DIFF_BYTES && one_line.left_out > 0);
    }
}
