//! Parses a `.env` file. Pure.
//!
//! `NAME=value`, `export NAME=value`, `#` comments, single quotes (literal) and double quotes (with `\n`, `\t`,
//! `\"`, `\\`, `\$`), quoted values over several lines. Nothing is interpolated.

/// An invalid line of a `.env` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    /// From 1.
    pub line: usize,
    pub fault: LineFault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// There is no `=`.
    NoEquals,
    /// The part before `=` is not a valid name.
    BadName,
    /// A quote is not closed.
    OpenQuote,
    /// There is text after the closing quote.
    AfterQuote,
}

/// Parses all lines. Valid lines count even where others are invalid; the last of several lines with one name counts.
pub(super) fn parse(text: &str) -> (Vec<(String, String)>, Vec<BadLine>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut pairs, mut bad) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let number = index.saturating_add(1);
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = exported(line);
        let Some((name, rest)) = line.split_once('=') else {
            bad.push(BadLine { line: number, fault: LineFault::NoEquals });
            continue;
        };
        let name = name.trim_end();
        if !is_name(name) {
            bad.push(BadLine { line: number, fault: LineFault::BadName });
            continue;
        }
        match value(rest.trim_start(), &mut lines) {
            Ok(value) => pairs.push((name.to_owned(), value)),
            Err(fault) => bad.push(BadLine { line: number, fault }),
        }
    }
    (pairs, bad)
}

/// Whether a text is a valid variable name.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn exported(line: &str) -> &str {
    match line.strip_prefix("export") {
        Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
        _ => line,
    }
}

/// Parses the value after `=`; a quoted value may span lines.
fn value<'a>(
    first: &'a str,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<String, LineFault> {
    let Some(quote @ ('"' | '\'')) = first.chars().next() else {
        return Ok(unquoted(first));
    };
    let mut out = String::new();
    let mut line = first.strip_prefix(quote).unwrap_or(first);
    loop {
        match quoted(line, quote, &mut out) {
            Some(rest) => {
                let rest = rest.trim_start();
                let fine = rest.is_empty() || rest.starts_with('#');
                return if fine { Ok(out) } else { Err(LineFault::AfterQuote) };
            }
            None => {
                out.push('\n');
                line = lines.next().ok_or(LineFault::OpenQuote)?.1;
            }
        }
    }
}

/// Without quotes a value ends before ` #` and at the end of the line, without the blanks around it.
fn unquoted(text: &str) -> String {
    let mut end = text.len();
    let mut blank_before = true;
    for (at, c) in text.char_indices() {
        if c == '#' && blank_before {
            end = at;
            break;
        }
        blank_before = c.is_whitespace();
    }
    text.get(..end).unwrap_or(text).trim_end().to_owned()
}

/// Reads up to the closing quote and returns the rest of the line; `None` where the line ends first.
fn quoted<'a>(line: &'a str, quote: char, out: &mut String) -> Option<&'a str> {
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Some(chars.as_str()),
            '\\' if quote == '"' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(c @ ('"' | '\\' | '$')) => out.push(c),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_read_in_every_form() {
        for (line, expected) in [
            ("A=b", "b"),
            ("A=", ""),
            ("A = b c ", "b c"),
            ("export A=b", "b"),
            ("  export\tA=b", "b"),
            ("A=b # why", "b"),
            ("A=b#c", "b#c"),
            ("A=# why", ""),
            ("A=\"b # c\" # why", "b # c"),
            ("A='b\\n\"c'", "b\\n\"c"),
            (r#"A="b\n\"c\" \\ \$ \x""#, "b\n\"c\" \\ $ \\x"),
            ("A=\"b\nc\"", "b\nc"),
            ("A='b\n\nc'", "b\n\nc"),
            ("A=sk=1=2", "sk=1=2"),
            ("A=${B}", "${B}"),
            ("\u{feff}A=b\r", "b"),
            ("A=中文", "中文"),
        ] {
            let (pairs, bad) = parse(line);
            assert_eq!(pairs, [("A".to_owned(), expected.to_owned())], "{line:?}");
            assert_eq!(bad, [], "{line:?}");
        }
    }

    #[test]
    fn every_bad_line_is_told_and_the_good_ones_count() {
        let text = "# all of it\n\nA=1\nnonsense\n1B=2\n=3\nexport=4\nC='x' y\nD=5\nE=\"open\nF=6\n";
        let (pairs, bad) = parse(text);
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "export", "D"]);
        assert_eq!(
            bad.iter().map(|b| (b.line, b.fault)).collect::<Vec<_>>(),
            [
                (4, LineFault::NoEquals),
                (5, LineFault::BadName),
                (6, LineFault::BadName),
                (8, LineFault::AfterQuote),
                (10, LineFault::OpenQuote),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_value_survives_double_quotes(pairs in prop::collection::btree_map("[A-Z_][A-Z0-9_]{0,8}", "[^\r]{0,20}", 0..5)) {
            let escape = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
            let text: String = pairs.iter().map(|(name, value)| format!("{name}=\"{}\"\n", escape(value))).collect();
            let (read, bad) = parse(&text);
            prop_assert_eq!(bad, vec![]);
            prop_assert_eq!(read.into_iter().collect::<BTreeMap<_, _>>(), pairs);
        }

        #[test]
        fn no_text_is_too_strange_to_read(text in any::<String>()) {
            let (_, bad) = parse(&text);
            let lines = text.lines().count();
            prop_assert!(bad.iter().all(|b| b.line >= 1 && b.line <= lines));
        }
    }
}
