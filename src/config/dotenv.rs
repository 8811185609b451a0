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

/// The text with a variable set: its last line is replaced, or one is added at the end. Other lines stay.
pub(super) fn with_variable(text: &str, name: &str, value: &str) -> String {
    let line = format!("{name}={}", quoted_if_needed(value));
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    // The last of several lines with one name counts.
    let Some(old) = spans(text).into_iter().rfind(|span| span.name == name) else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        return format!("{text}{gap}{line}{newline}");
    };
    let (before, after) = (text.get(..old.start).unwrap_or(""), text.get(old.end..).unwrap_or(""));
    format!("{before}{line}{after}")
}

/// A variable of the file, as byte offsets from its name to the end of its value and comment.
struct VariableSpan<'a> {
    name: &'a str,
    start: usize,
    end: usize,
}

/// The valid variables of a text.
fn spans(text: &str) -> Vec<VariableSpan<'_>> {
    let offset_of = |part: &str| (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut found, mut lines) = (Vec::new(), body.lines().enumerate());
    while let Some((_, line)) = lines.next() {
        let start = line.trim_start();
        let Some((name, rest)) = exported(start).split_once('=').filter(|_| !start.starts_with('#')) else {
            continue;
        };
        let mut last = line;
        let mut seen = lines.by_ref().inspect(|(_, line)| last = line);
        let valid = value(rest.trim_start(), &mut seen).is_ok();
        if valid && is_name(name.trim_end()) {
            let end = offset_of(last).saturating_add(last.len());
            found.push(VariableSpan { name: name.trim_end(), start: offset_of(start), end });
        }
    }
    found
}

/// A value as it is where that reads back the same, else in quotes.
fn quoted_if_needed(value: &str) -> String {
    let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+/.,:;@%^&*~?!|<>()[]{}$".contains(c));
    if plain {
        return value.to_owned();
    }
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
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

    #[test]
    fn a_variable_is_replaced_in_its_place_or_added() {
        for (text, expected) in [
            ("", "KEY=new\n"),
            ("# c\nA=1", "# c\nA=1\nKEY=new\n"),
            ("KEY=old # why\nA=1\n", "KEY=new\nA=1\n"),
            ("export KEY=old\n", "KEY=new\n"),
            ("KEY=\"a\nb\"\nA=1\n", "KEY=new\nA=1\n"),
            ("KEY=1\n#KEY=2\n KEY=3\n", "KEY=1\n#KEY=2\n KEY=new\n"),
            ("A=1\r\nKEY=2\r\n", "A=1\r\nKEY=new\r\n"),
            ("\u{feff}KEY=1\n", "\u{feff}KEY=new\n"),
        ] {
            assert_eq!(with_variable(text, "KEY", "new"), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_set_variable_reads_back_and_the_others_stay(
            text in "([AB]=[a-z \"'#\\\\]{0,6}\n|# [a-z]{0,3}\n|\n){0,6}",
            value in "[^\\p{C}]{0,12}|[a-z\n\r\"\\\\$#' ]{0,8}",
        ) {
            let (before, bad) = parse(&text);
            // An open quote takes in all lines to the end.
            prop_assume!(bad.is_empty());
            let (after, bad) = parse(&with_variable(&text, "B", &value));
            prop_assert_eq!(bad, vec![]);
            let last = |pairs: &[(String, String)], name: &str| {
                pairs.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.clone())
            };
            prop_assert_eq!(last(&after, "B"), Some(value));
            prop_assert_eq!(last(&after, "A"), last(&before, "A"));
        }

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
