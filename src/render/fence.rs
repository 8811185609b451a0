//! Code fences, read line by line: what opens one, what closes it, and how to close and open it elsewhere.

/// A text in a code fence that is longer than any in the text.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// An opening or closing code fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// The prefix of every line: spaces and quote marks.
    margin: String,
    marker: char,
    length: usize,
    info: String,
}

impl Fence {
    /// Parses the fence that a line opens, also inside a list item or quote.
    pub(super) fn opened_by(line: &str) -> Option<Self> {
        let (margin, rest) = margin(line);
        let marker = rest.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
        let info = rest.trim_start_matches(marker);
        let length = rest.len() - info.len();
        // A line such as ```code``` is inline code.
        let inline = marker == '`' && info.contains('`');
        (length >= 3 && !inline).then(|| Self { margin, marker, length, info: info.trim().to_owned() })
    }

    /// Whether a line closes it.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_start_matches([' ', '\t', '>']);
        let after = rest.trim_start_matches(self.marker);
        rest.len() - after.len() >= self.length && after.trim().is_empty()
    }

    /// Whether the enclosing quote, and with it the code, ended before this line.
    pub(super) fn is_left_by(&self, line: &str) -> bool {
        self.margin.contains('>') && !line.trim_start().starts_with('>')
    }

    /// The line that opens it again.
    pub(super) fn opening(&self) -> String {
        format!("{}{}", self.closing(), self.info)
    }

    /// The line that closes it.
    pub(super) fn closing(&self) -> String {
        let marks: String = std::iter::repeat_n(self.marker, self.length).collect();
        format!("{}{marks}", self.margin)
    }
}

/// The prefix of a line, as the following lines repeat it, and its text.
fn margin(line: &str) -> (String, &str) {
    let (mut margin, mut rest) = (String::new(), line);
    loop {
        let text = rest.trim_start_matches([' ', '\t', '>']);
        margin.extend(rest.chars().take(rest.len() - text.len()));
        let Some(after) = after_list_mark(text) else { return (margin, text) };
        margin.extend(std::iter::repeat_n(' ', text.len() - after.len()));
        rest = after;
    }
}

/// The text after a list marker: `- `, `1. `.
fn after_list_mark(text: &str) -> Option<&str> {
    let unmarked = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let after = match text.len() - unmarked.len() {
        0 => text.strip_prefix(['-', '*', '+'])?,
        1..=9 => unmarked.strip_prefix(['.', ')'])?,
        _ => return None,
    };
    after.strip_prefix([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_told_from_other_lines() {
        for (line, opening, closing) in [
            ("```", "```", "```"),
            ("```rust ", "```rust", "```"),
            ("~~~~ js", "~~~~js", "~~~~"),
            ("  ````md", "  ````md", "  ````"),
            ("> ```py", "> ```py", "> ```"),
            ("- ```sh", "  ```sh", "  ```"),
            ("12. ```sh", "    ```sh", "    ```"),
        ] {
            let fence = Fence::opened_by(line).unwrap();
            assert_eq!((fence.opening().as_str(), fence.closing().as_str()), (opening, closing), "{line:?}");
        }
        for line in ["", "``", "text ```", "```inline```", "-```", "1```", "中```", "* * *"] {
            assert_eq!(Fence::opened_by(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_fence_is_closed_by_its_like() {
        let fence = Fence::opened_by("````md").unwrap();
        for (line, expected) in
            [("````", true), ("  `````  ", true), ("```", false), ("````x", false), ("~~~~", false)]
        {
            assert_eq!(fence.is_closed_by(line), expected, "{line:?}");
        }
        let quoted = Fence::opened_by("> ```").unwrap();
        assert!(quoted.is_closed_by("> ```") && quoted.is_left_by("words") && !quoted.is_left_by("> words"));
    }
}
