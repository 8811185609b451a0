//! One word of a command: its value where the text alone determines it. Quotes are parsed here by our own rules, not by
//! the grammar.

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellWord {
    /// The text alone determines its value.
    Literal(String),
    /// Its value is unknown until the command runs. The text as written.
    Dynamic(String),
}

impl ShellWord {
    /// The value, when it is known.
    pub(super) fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(_) => None,
        }
    }

    /// The value, or the text as written.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Dynamic(text) => text,
        }
    }

    /// Parses the whole text as one word.
    pub(super) fn read(text: &str) -> Self {
        match WordReader::new(text).word() {
            Some((value, "")) => Self::Literal(value),
            _ => Self::Dynamic(text.to_owned()),
        }
    }
}

/// Parses words from the start of a text.
#[derive(Debug)]
pub(super) struct WordReader<'a> {
    rest: &'a str,
    value: String,
    /// Whether anything, even only `''`, was read.
    some: bool,
    /// The last character outside quotes, for `~` after `=` and `:`.
    before: Option<char>,
}

impl<'a> WordReader<'a> {
    pub(super) fn new(rest: &'a str) -> Self {
        Self { rest, value: String::new(), some: false, before: None }
    }

    /// The next word and the text after it; `None` when its value is unknown.
    pub(super) fn word(mut self) -> Option<(String, &'a str)> {
        // These are words of their own, as arguments of `find` and `[`.
        for alone in ["{}", "!", "[", "]"] {
            if let Some(rest) = self.rest.strip_prefix(alone)
                && rest.chars().next().is_none_or(ends_a_word)
            {
                return Some((alone.to_owned(), rest));
            }
        }
        while let Some(c) = self.rest.chars().next() {
            if ends_a_word(c) {
                break;
            }
            self.rest = self.rest.strip_prefix(c)?;
            self.some = true;
            match c {
                '\'' => self.single()?,
                '"' => self.double()?,
                '\\' => {
                    let escaped = self.rest.chars().next().filter(|c| *c != '\n')?;
                    self.rest = self.rest.strip_prefix(escaped)?;
                    self.value.push(escaped);
                    self.before = None;
                }
                // Empty braces are literal: `-I{}`.
                '{' if self.rest.starts_with('}') => {
                    self.rest = self.rest.strip_prefix('}')?;
                    self.value.push_str("{}");
                    self.before = Some('}');
                }
                _ => self.bare(c)?,
            }
        }
        self.some.then_some((self.value, self.rest))
    }

    fn single(&mut self) -> Option<()> {
        let (inner, rest) = self.rest.split_once('\'')?;
        self.value.push_str(inner);
        self.rest = rest;
        self.before = None;
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.before = None;
        loop {
            let c = self.rest.chars().next()?;
            self.rest = self.rest.strip_prefix(c)?;
            let next = self.rest.chars().next();
            match c {
                '"' => return Some(()),
                '`' => return None,
                // A dollar sign before nothing is literal: `"end$"`.
                '$' if matches!(next, Some('"' | ' ' | '|' | ')' | '/')) => self.value.push('$'),
                '$' => return None,
                '\\' => match next? {
                    '\n' => return None,
                    escaped @ ('"' | '\\' | '$' | '`') => {
                        self.rest = self.rest.strip_prefix(escaped)?;
                        self.value.push(escaped);
                    }
                    _ => self.value.push('\\'),
                },
                c => self.value.push(c),
            }
        }
    }

    fn bare(&mut self, c: char) -> Option<()> {
        let plain = match c {
            '~' => self.before.is_some_and(|before| !matches!(before, '=' | ':')),
            '#' => !self.value.is_empty(),
            c => !c.is_ascii() || c.is_ascii_alphanumeric() || "_-./,:=@%+^".contains(c),
        };
        if !plain {
            return None;
        }
        self.value.push(c);
        self.before = Some(c);
        Some(())
    }
}

/// Whether an unquoted character ends the word before it.
pub(super) fn ends_a_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_taken_off_as_the_shell_does() {
        for (text, value) in [
            ("abc", "abc"),
            ("'r'm", "rm"),
            ("\\rm", "rm"),
            ("r\"\"m", "rm"),
            ("''", ""),
            ("\"a b\"", "a b"),
            ("\"end$\"", "end$"),
            ("'$x `y` *'", "$x `y` *"),
            ("\"\\$x \\n \\\\\"", "$x \\n \\"),
            ("--since=\"2 days\"", "--since=2 days"),
            ("\\*.rs", "*.rs"),
            ("\\(", "("),
            ("\\;", ";"),
            ("HEAD~1", "HEAD~1"),
            ("HEAD^", "HEAD^"),
            ("{}", "{}"),
            ("-I{}", "-I{}"),
            ("a{}/b", "a{}/b"),
            ("!", "!"),
            ("a#b", "a#b"),
            ("会议", "会议"),
            ("'a\nb'", "a\nb"),
        ] {
            assert_eq!(ShellWord::read(text), ShellWord::Literal(value.into()), "{text}");
        }
    }

    #[test]
    fn what_is_only_known_at_run_time_is_not_literal() {
        for text in [
            "$x",
            "${x}",
            "\"$x\"",
            "\"${x@P}\"",
            "$(id)",
            "`id`",
            "\"`id`\"",
            "$'a'",
            "$\"a\"",
            "*.rs",
            "a?",
            "[ab]",
            "~",
            "~/x",
            "a=~/x",
            "a:~",
            "{a,b}",
            "a{1..3}",
            "{a,{}}",
            "{},x}",
            "a!b",
            "'a",
            "\"a",
            "a\\",
            "",
            "\"$'\"",
            "#x",
            "a b",
            "\"$*\"",
            "\"$[1]\"",
            "''~",
            "\\~$x",
        ] {
            assert_eq!(ShellWord::read(text), ShellWord::Dynamic(text.into()), "{text}");
        }
    }
}
