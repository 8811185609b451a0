//! The strict parser: simple commands of literal words and simple patterns of file names, joined by `;`, newline,
//! `&&`, `||` and pipes, with redirections. Anything else is not parsed; then approval is needed.

use std::ops::Range;

use super::script::{Redirect, RedirectKind};
use super::word::{WordReader, ends_a_word};

/// A simple command of the strict parser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandPart {
    pub(super) argv: Vec<String>,
    /// Those of the words that the shell replaces by the names of files: `src/*.rs`.
    pub(super) patterns: Vec<String>,
    /// The position of each word in the text, quotes included.
    pub(super) spans: Vec<Range<usize>>,
    pub(super) redirects: Vec<Redirect>,
    /// Whether it reads the output of the part before it.
    pub(super) piped: bool,
}

/// Words that are not commands where a command is expected.
const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// Parses a whole command line of literal words. `None` when any of it is not understood.
pub(super) fn read(text: &str) -> Option<Vec<CommandPart>> {
    read_with_patterns(text).filter(|parts| parts.iter().all(|part| part.patterns.is_empty()))
}

/// Parses a whole command line, which may contain patterns. `None` when any of it is not understood.
pub(super) fn read_with_patterns(text: &str) -> Option<Vec<CommandPart>> {
    let mut parts = Vec::new();
    let mut part = CommandPart::default();
    let mut wanted = false;
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.starts_with('#') {
            rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or("");
        }
        if rest.is_empty() {
            break;
        }
        if let Some((after, joins)) = operator(rest) {
            if part.argv.is_empty() {
                // A newline may follow an operator or another newline; nothing else may stand without a command.
                if !rest.starts_with('\n') || !part.redirects.is_empty() {
                    return None;
                }
            } else {
                parts.push(std::mem::take(&mut part));
                part.piped = rest.starts_with('|') && !rest.starts_with("||");
                wanted = joins;
            }
            rest = after;
        } else if let Some((redirect, after)) = redirect(rest).ok()? {
            part.redirects.push(redirect);
            rest = after;
        } else {
            let (word, after) = match WordReader::new(rest).word() {
                Some(literal) => literal,
                None => {
                    let (pattern, after) = pattern(rest)?;
                    part.patterns.push(pattern.to_owned());
                    (pattern.to_owned(), after)
                }
            };
            if part.argv.is_empty() && !is_command_name(&word, rest) {
                return None;
            }
            part.argv.push(word);
            part.spans.push(text.len() - rest.len()..text.len() - after.len());
            wanted = false;
            rest = after;
        }
    }
    if !part.argv.is_empty() {
        parts.push(part);
    } else if wanted || !part.redirects.is_empty() {
        return None;
    }
    (!parts.is_empty()).then_some(parts)
}

/// An unquoted pattern in the last part of a path, and the text after it. No hidden file matches it, nor `..`.
fn pattern(rest: &str) -> Option<(&str, &str)> {
    let (word, after) = rest.split_at(rest.find(ends_a_word).unwrap_or(rest.len()));
    let (folder, name) = word.rsplit_once('/').unwrap_or(("", word));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_simple = folder.chars().all(plain)
        && name.chars().all(|c| plain(c) || matches!(c, '*' | '?'))
        && name.contains(['*', '?']);
    (is_simple && !word.starts_with('-') && !name.starts_with('.')).then_some((word, after))
}

/// Whether a line is one simple command without a redirection.
pub fn is_plain_call(text: &str) -> bool {
    read(text).is_some_and(|parts| matches!(parts.as_slice(), [only] if only.redirects.is_empty()))
}

/// An operator between commands: the text after it, and whether another command must follow.
fn operator(rest: &str) -> Option<(&str, bool)> {
    if rest.starts_with(";;") || rest.starts_with(";&") {
        return None;
    }
    for (sign, joins) in [("&&", true), ("||", true), ("|&", true), ("|", true), (";", false), ("\n", false)]
    {
        if let Some(after) = rest.strip_prefix(sign) {
            return Some((after, joins));
        }
    }
    None
}

/// A redirection that is not understood.
struct NotRead;

/// A redirection at the start of the text, if there is one.
fn redirect(rest: &str) -> Result<Option<(Redirect, &str)>, NotRead> {
    // One digit: shells differ about longer numbers, and about `&>`.
    let sign_at = match rest.strip_prefix(|c: char| c.is_ascii_digit()) {
        Some(after) if after.starts_with(['<', '>']) => after,
        _ => rest,
    };
    let signs = [
        (">>", RedirectKind::Write),
        (">|", RedirectKind::Write),
        (">&", RedirectKind::Duplicate),
        ("<&", RedirectKind::Duplicate),
        (">", RedirectKind::Write),
        ("<", RedirectKind::Read),
    ];
    let Some((kind, after)) =
        signs.iter().find_map(|(sign, kind)| Some((*kind, sign_at.strip_prefix(sign)?)))
    else {
        return Ok(None);
    };
    // `<<`, `<<<`, `<>`, `<(`, `>(`
    if after.starts_with(['<', '>', '(', '&', '|']) {
        return Err(NotRead);
    }
    let (target, after) = WordReader::new(after.trim_start_matches([' ', '\t'])).word().ok_or(NotRead)?;
    Ok(Some((Redirect::new(kind, target).ok_or(NotRead)?, after)))
}

/// Whether the first word is a plainly written command name: `'r'm`, `\rm`, `A=1` and `if` are not.
fn is_command_name(word: &str, rest: &str) -> bool {
    let as_written =
        rest.strip_prefix(word).is_some_and(|after| after.chars().next().is_none_or(ends_a_word));
    as_written && !word.is_empty() && !word.contains(['=', '*', '?']) && !RESERVED.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argvs(text: &str) -> Option<Vec<Vec<String>>> {
        Some(read(text)?.into_iter().map(|part| part.argv).collect())
    }

    #[test]
    fn plain_lines_are_read() {
        for (text, want) in [
            ("ls -la", vec![vec!["ls", "-la"]]),
            ("ls;pwd", vec![vec!["ls"], vec!["pwd"]]),
            ("ls ;", vec![vec!["ls"]]),
            ("ls\n\npwd\n", vec![vec!["ls"], vec!["pwd"]]),
            ("ls &&\n pwd", vec![vec!["ls"], vec!["pwd"]]),
            ("ls | wc -l || true", vec![vec!["ls"], vec!["wc", "-l"], vec!["true"]]),
            ("ls # here; rm x", vec![vec!["ls"]]),
            ("ls 2>/dev/null >&2", vec![vec!["ls"]]),
            ("head -5 <a", vec![vec!["head", "-5"]]),
            ("[ -f a ]", vec![vec!["[", "-f", "a", "]"]]),
            ("echo 2 3>/dev/null", vec![vec!["echo", "2"]]),
            ("echo 22", vec![vec!["echo", "22"]]),
        ] {
            assert_eq!(argvs(text).unwrap_or_default(), want, "{text}");
        }
    }

    #[test]
    fn simple_patterns_are_read_only_where_they_are_expected() {
        for text in ["ls *", "ls a *.md", "ls src/?a*.rs", "ls ../*", "ls /a/*"] {
            let parts = read_with_patterns(text).unwrap();
            assert_eq!(parts[0].patterns, [text.rsplit_once(' ').unwrap().1], "{text}");
            assert_eq!(argvs(text), None, "{text}");
        }
        for text in
            ["ls .*", "ls a/.*", "ls -*", "ls */a", "ls [a]*", "ls *'a'", "ls {a,*}", "ls $x*", "*", "ls > *"]
        {
            assert!(read_with_patterns(text).is_none(), "{text}");
        }
    }

    #[test]
    fn everything_else_is_not_read() {
        for text in [
            "",
            " ",
            "# x",
            ";",
            "ls ;; rm",
            "ls &",
            "ls & rm",
            "ls &&",
            "| ls",
            "ls | | rm",
            "(ls)",
            "{ ls; }",
            "! ls",
            "if true; then ls; fi",
            "A=1 ls",
            "A=1",
            "'ls'",
            "\\ls",
            "l\"\"s",
            "> f",
            "ls <> f",
            "ls << E\nE",
            "ls <<< x",
            "ls <(id)",
            "ls >(id)",
            "ls $(id)",
            "time ls",
            "[[ -f a ]]",
            "f() { ls; }",
            "ls >& f",
            "ls > $x",
            "ls *",
            "ls ~",
            "ls &&; rm",
            "ls {fd}>x",
            "ls\n| rm",
            "ls > f\n> g",
            "case x in x) ls;; esac",
            "ls 2>& 1x",
            "ls &>/dev/null",
        ] {
            assert_eq!(argvs(text), None, "{text}");
        }
    }
}
