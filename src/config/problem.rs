//! Problems of a configuration, as data. Their messages are in `words`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::dotenv::LineFault;
use super::problem_text;
use crate::domain::Language;
use crate::phrases::config::{between_message_and_fix, warning};

/// A position in a file, from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

impl TextPosition {
    /// The position of a byte offset.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count().saturating_add(1);
        Self { line, column }
    }
}

/// The positions of the values of a file, for problems that are found after parsing.
#[derive(Debug, Default)]
pub(super) struct Positions {
    text: String,
    offsets: BTreeMap<String, usize>,
}

impl Positions {
    /// No positions yet.
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), offsets: BTreeMap::new() }
    }

    /// Records the position of a value.
    pub(super) fn note(&mut self, path: &str, offset: usize) {
        self.offsets.insert(path.to_owned(), offset);
    }

    /// Whether the file gives this key a value.
    pub(super) fn has(&self, path: &str) -> bool {
        self.offsets.contains_key(path)
    }

    /// The position of a value; where the key is missing, that of the nearest enclosing object.
    pub(super) fn near(&self, path: &str) -> Option<TextPosition> {
        let mut around = path;
        while !self.offsets.contains_key(around) && !around.is_empty() {
            around = around.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        self.offsets.get(around).map(|offset| TextPosition::of(&self.text, *offset))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConfigProblem {
    pub file: &'static str,
    /// `None` where the problem concerns the whole file.
    pub at: Option<TextPosition>,
    /// The key, such as `llm.fallbacks[0].model`; empty for the whole file.
    pub path: String,
    pub fault: ConfigFault,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConfigFault {
    Unreadable(String),
    /// The file is too large.
    TooLarge,
    /// The file is not UTF-8.
    NotUtf8,
    Syntax(SyntaxFault),
    /// An invalid line of `.env`.
    DotEnv(LineFault),
    /// A key occurs twice in one object.
    DuplicateKey {
        /// The line of the first one.
        first_line: usize,
    },
    UnknownKey {
        /// The key, or its path, that was probably meant.
        meant: Option<String>,
        known: Vec<String>,
    },
    /// A misspelt tool name.
    TypoInTool {
        /// The tool that was probably meant.
        meant: String,
    },
    /// A tool that this binary does not have.
    UnknownTool {
        known: Vec<String>,
    },
    /// A value of the wrong type.
    WrongType {
        expected: JsonType,
        found: JsonType,
        /// Whether the value would be valid without its quotes.
        in_quotes: bool,
    },
    BadChoice {
        found: String,
        choices: Vec<String>,
        /// What was probably meant.
        meant: Option<String>,
    },
    /// A number outside its range, as texts.
    OutOfRange {
        found: String,
        /// The valid range.
        range: Range,
    },
    EmptyText,
    /// A text that is too long.
    LongText {
        /// Most characters.
        max: u64,
    },
    /// A variable that is not set.
    UnsetVariable(String),
    /// `${` without `}`.
    OpenVariable,
    /// An invalid name in `${…}`.
    BadVariable(String),
    /// Not an HTTP URL.
    BadUrl(String),
    /// Not an address to listen on.
    BadListen(String),
    /// Not the id of a person.
    BadAuthor {
        found: String,
        /// The platform that was probably meant.
        meant: Option<String>,
    },
    /// Not a name for a person.
    BadPeer(String),
    /// Not a name for a model.
    BadModelName(String),
    /// An identity that is linked to two people.
    TwoPeers {
        found: String,
        other: String,
    },
    /// Neither a role nor the id of a person.
    BadApprover {
        found: String,
        /// The role that was probably meant.
        meant: Option<String>,
    },
    /// Not a host name.
    BadHost(String),
    /// No origin of a web page; `meant` is the origin of the address that was written.
    BadOrigin {
        found: String,
        meant: Option<String>,
    },
    /// Not a time zone of the IANA database.
    BadTimeZone(String),
    /// Not the beginning of one plain command.
    BadRule(String),
    /// Not the path of a socket that commands may connect to.
    BadSocket(String),
    /// A secret in the file itself.
    LiteralSecret {
        /// The name of a variable that could hold it.
        variable: String,
    },
    /// The server needs a key and there is none.
    KeyNeeded,
    /// A currency without its rate.
    CurrencyWithoutRate(String),
    /// A key that this provider cannot do without.
    NeededFor(&'static str),
    /// Not the path of a key.
    BadKey,
    /// An index behind the end of a list.
    NoElement {
        length: usize,
    },
    /// A key inside a value that has no keys.
    NotInside,
    /// The types refuse what the checker accepted: a bug.
    Disagreement(String),
}

impl ConfigFault {
    /// The same fault with another quoted text.
    #[must_use]
    pub(super) fn quoting(mut self, shown: &str) -> Self {
        if let Self::BadUrl(found)
        | Self::BadListen(found)
        | Self::BadHost(found)
        | Self::BadOrigin { found, .. }
        | Self::BadTimeZone(found)
        | Self::BadRule(found)
        | Self::BadSocket(found)
        | Self::BadPeer(found)
        | Self::BadModelName(found)
        | Self::TwoPeers { found, .. }
        | Self::BadAuthor { found, .. }
        | Self::BadApprover { found, .. } = &mut self
        {
            *found = shown.chars().take(80).collect();
        }
        self
    }
}

/// Types of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// `{}`
    Object,
    /// `[]`
    Array,
    /// `""`
    Text,
    /// `1`
    Integer,
    /// `1.5`
    Number,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

/// The range of a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Inclusive.
    Between(String, String),
    MoreThan(String),
    /// Any number that the type can hold.
    Representable,
}

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxFault {
    /// The file is empty.
    Empty,
    /// Two values without a comma between them.
    MissingComma,
    /// A text in single quotes.
    SingleQuotes,
    /// A key without quotes.
    UnquotedKey,
    /// A key without a colon.
    MissingColon,
    /// A colon without a value.
    MissingValue,
    /// A word that is neither a text nor true, false or null.
    BareWord,
    /// A number in a notation JSON does not have.
    BadNumber,
    /// A text with a bad escape.
    BadEscape,
    /// A text that does not end.
    OpenText,
    /// An object that does not end.
    OpenObject,
    /// An array that does not end.
    OpenArray,
    /// A comment that does not end.
    OpenComment,
    /// Text after the value.
    SecondValue,
    /// Too many nested brackets.
    TooDeep,
    /// An unexpected character.
    StraySign,
}

impl ConfigProblem {
    /// The message: what is wrong and what to do.
    pub fn words(&self, language: Language) -> ProblemText {
        problem_text::say(&self.fault, language)
    }

    /// The report in one line, in a form that editors can follow.
    pub fn line(&self, language: Language) -> String {
        let mut line = self.file.to_owned();
        if let Some(at) = self.at {
            line.push_str(&format!(":{}:{}", at.line, at.column));
        }
        line.push_str(": ");
        if !self.path.is_empty() {
            line.push_str(&format!("{}: ", self.path));
        }
        let words = self.words(language);
        line.push_str(&words.message);
        line.push_str(between_message_and_fix(language));
        line.push_str(&words.fix);
        line
    }

    /// The same for a warning.
    pub fn warning_line(&self, language: Language) -> String {
        warning(&self.line(language), language)
    }

    /// The problem for `--json`.
    pub fn report(&self, language: Language) -> ProblemReport {
        let words = self.words(language);
        ProblemReport {
            file: self.file,
            line: self.at.map(|at| at.line),
            column: self.at.map(|at| at.column),
            path: self.path.clone(),
            message: words.message,
            fix: words.fix,
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(Language::En))
    }
}

/// A message and its advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemText {
    pub message: String,
    pub fix: String,
}

/// A problem as `--json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemReport {
    file: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    path: String,
    message: String,
    fix: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        for (offset, expected) in [(0, (1, 1)), (3, (1, 2)), (7, (2, 1)), (8, (2, 2)), (99, (2, 3))] {
            let at = TextPosition::of("中文\nab", offset);
            assert_eq!((at.line, at.column), expected, "{offset}");
        }
    }
}
