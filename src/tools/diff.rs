//! What a change changes, for a person who is to decide about it. Pure.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

/// Longer ones nobody reads.
const DIFF_BYTES: usize = 16 * 1024;

/// Beyond this the smallest difference is not looked for any longer.
const PATIENCE: Duration = Duration::from_millis(250);

/// A unified diff between two texts of a file; nothing for one that is made anew. Empty where they are the same;
/// cut, and saying so, where it is too long.
pub fn diff(path: &str, old: Option<&str>, new: &str) -> String {
    let before = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let compared = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_lines(old.unwrap_or_default(), new);
    let text = compared.unified_diff().context_radius(3).header(&before, &format!("b/{path}")).to_string();
    shortened(text)
}

fn shortened(mut text: String) -> String {
    if text.len() <= DIFF_BYTES {
        return text;
    }
    let room = text.floor_char_boundary(DIFF_BYTES);
    // Whole lines only, where there are any.
    let end = text.get(..room).and_then(|kept| kept.rfind('\n')).map_or(room, |at| at + 1);
    let lines = text.get(end..).unwrap_or_default().lines().count();
    text.truncate(end);
    text.push_str(&format!("[... {lines} more lines ...]\n"));
    text
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
    fn a_long_one_is_cut_between_lines() {
        let new: String = (0..9_000).map(|n| format!("line {n} 中文\n")).collect();
        let text = diff("a.txt", Some(""), &new);
        assert!(text.len() <= DIFF_BYTES + 100);
        let (shown, note) = text.rsplit_once("\n[").unwrap();
        let left_out = 9_000 + 3 - shown.lines().count();
        assert_eq!(note, format!("... {left_out} more lines ...]\n"));
        let one_line = diff("a.txt", Some(""), &"中".repeat(100_000));
        assert!(one_line.len() <= DIFF_BYTES + 100);
    }
}
