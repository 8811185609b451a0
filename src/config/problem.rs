//! What can be wrong with a configuration, as data. The words for it are in `words`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::dotenv::LineFault;
use super::words;
use crate::domain::Language;
use crate::phrases::config::{between_message_and_fix, warning};

/// A place in a file, from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// The place of a byte offset in a text.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count().saturating_add(1);
        Self { line, column }
    }
}

/// Where the values of a file stand, for what is only found once all of them are known.
#[derive(Debug, Default)]
pub(super) struct Places {
    text: String,
    offsets: BTreeMap<String, usize>,
}

impl Places {
    /// No places yet in a text.
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), offsets: BTreeMap::new() }
    }

    /// Notes where the value of a key stands.
    pub(super) fn note(&mut self, path: &str, offset: usize) {
        self.offsets.insert(path.to_owned(), offset);
    }

    /// Whether the file gives this key a value.
    pub(super) fn has(&self, path: &str) -> bool {
        self.offsets.contains_key(path)
    }

    /// Where the value of a key stands, or else the nearest object around the place where it would be.
    pub(super) fn near(&self, path: &str) -> Option<Position> {
        let mut around = path;
        while !self.offsets.contains_key(around) && !around.is_empty() {
            around = around.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        self.offsets.get(around).map(|offset| Position::of(&self.text, *offset))
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The file, as the operator knows it.
    pub file: &'static str,
    /// Where in the file, unless the whole of it is meant.
    pub at: Option<Position>,
    /// The key, such as `llm.fallbacks[0].model`; empty for the whole file.
    pub path: String,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The file cannot be read at all.
    Unreadable(String),
    /// The file is larger than any configuration is.
    TooLarge,
    /// The file is not UTF-8.
    NotUtf8,
    /// It is not JSON.
    Syntax(SyntaxFault),
    /// A line of `.env` is not what it should be.
    DotEnv(LineFault),
    /// A key that stands twice in one object.
    DuplicateKey {
        /// The line of the first one.
        first_line: usize,
    },
    /// A key that nobody knows.
    UnknownKey {
        /// The key, or the path of the key, that was probably meant.
        meant: Option<String>,
        /// The keys there are.
        known: Vec<String>,
    },
    /// A tool's name that is almost another one.
    TypoInTool {
        /// The tool that was probably meant.
        meant: String,
    },
    /// The name of a tool that this binary does not bring.
    UnknownTool {
        /// The tools there are.
        known: Vec<String>,
    },
    /// A value of the wrong type.
    WrongType {
        /// What there should be.
        expected: JsonType,
        found: JsonType,
        /// Whether the text would be right if it had no quotes.
        in_quotes: bool,
    },
    /// A text that is none of the choices.
    BadChoice {
        found: String,
        /// What there is to choose from.
        choices: Vec<String>,
        /// What was probably meant.
        meant: Option<String>,
    },
    /// A number outside its range, as texts.
    OutOfRange {
        found: String,
        /// What it may be.
        range: Range,
    },
    /// A text that may not be empty.
    EmptyText,
    /// A text that is too long.
    LongText {
        /// How many characters it may have.
        max: u64,
    },
    /// A variable that is not set.
    UnsetVariable(String),
    /// `${` without an end.
    OpenVariable,
    /// `${…}` around something that is no name.
    BadVariable(String),
    /// Not an address on the web.
    BadUrl(String),
    /// Not an address to listen at.
    BadListen(String),
    /// Not the id of a person.
    BadAuthor {
        found: String,
        /// The platform that was probably meant.
        meant: Option<String>,
    },
    /// Neither a role nor the id of a person.
    BadApprover {
        found: String,
        /// The role that was probably meant.
        meant: Option<String>,
    },
    /// Not a host name.
    BadHost(String),
    /// Not the beginning of one plain command.
    BadRule(String),
    /// Not the path of a socket that commands may connect to.
    BadSocket(String),
    /// A secret that is written into the file itself.
    LiteralSecret {
        /// The name of a variable that could hold it.
        variable: String,
    },
    /// The server needs a key and there is none.
    KeyNeeded,
    /// The checker let something through that the types refuse: a fault of ours.
    Disagreement(String),
}

impl Fault {
    /// The same fault with other words in place of the text it quotes.
    #[must_use]
    pub(super) fn quoting(mut self, shown: &str) -> Self {
        if let Self::BadUrl(found)
        | Self::BadListen(found)
        | Self::BadHost(found)
        | Self::BadRule(found)
        | Self::BadSocket(found)
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
    /// From the first to the last, both included.
    Between(String, String),
    MoreThan(String),
    /// Any, as long as it can be held.
    Representable,
}

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxFault {
    /// There is nothing in it.
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
    /// Something behind the end.
    SecondValue,
    /// Too many brackets in each other.
    TooDeep,
    /// A sign where it makes no sense.
    StraySign,
}

impl Problem {
    /// What is wrong and what to do, in words.
    pub fn words(&self, language: Language) -> Words {
        words::say(&self.fault, language)
    }

    /// The whole report of this problem: one line, which editors can follow.
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

    /// The same for something that stops nobody.
    pub fn warning_line(&self, language: Language) -> String {
        warning(&self.line(language), language)
    }

    /// The problem as data, for programs.
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

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(Language::En))
    }
}

/// What is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
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
            let at = Position::of("中文\nab", offset);
            assert_eq!((at.line, at.column), expected, "{offset}");
        }
    }
}
