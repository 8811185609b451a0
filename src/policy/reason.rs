//! Why a call needs approval or is denied, as data; the words are in `phrases`.

use crate::domain::Language;
use crate::phrases::permissions as words;

/// Why a call does not run without approval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The operator's deny list has it.
    DeniedByRule(String),
    /// The operator denies what no rule covers.
    DeniedByMode,
    /// The operator requires approval for this tool.
    AskedByMode(String),
    UnknownTool(String),
    /// The tool has side effects.
    Changes(String),
    /// The deny list may match: part of the command is unknown until it runs.
    PerhapsDenied,
    /// The text is no shell command that can be parsed.
    Unparsed,
    /// The text is too long to be parsed.
    TooLong,
    /// The text has a character that is invisible or looks like another.
    StrangeCharacter(char),
    /// The text has a spelling that hides what runs.
    HiddenSpelling,
    /// It consists of several commands.
    Compound,
    /// A command runs inside another: `$(…)`, backticks, `<(…)`.
    Substitution,
    /// It contains input text: `<<EOF`, `<<<`.
    HereDocument,
    /// It has loops, conditions or functions.
    ControlFlow,
    /// It continues in the background.
    Background,
    /// It sets a variable.
    Assignment,
    /// A part is unknown until it runs: a variable, `*`, `~`, `{a,b}`.
    NotLiteral(String),
    WritesFile(String),
    /// It names a path outside the project.
    Outside(String),
    /// It names a file that is reserved or looks like a secret.
    Secret(String),
    /// It names a file that can start programs.
    Sensitive(String),
    /// It reads everything below this directory, which is too large to search for secrets.
    TooLargeToCheck(String),
    /// The command is not on the read-only list.
    UnknownCommand(String),
    /// The command is on the list, but not with this argument.
    Argument {
        command: String,
        argument: String,
    },
    /// It starts another command.
    Wrapper(String),
    /// It uses the network.
    Network(String),
    /// It deletes or overwrites.
    Destroys(String),
    /// It runs a program in the command itself, or one that cannot be inspected.
    Inline(String),
    /// It posts a message to another conversation.
    Elsewhere,
    /// A message of a program led to it.
    AskedByProgram,
    /// It names a file whose class could not be determined with certainty.
    Unchecked(String),
}

impl Reason {
    /// The reason as one short phrase.
    pub fn words(&self, language: Language) -> String {
        match self {
            Self::DeniedByRule(rule) => words::reason_denied_by_rule(rule, language),
            Self::AskedByMode(tool) => words::reason_asked_by_mode(tool, language),
            Self::UnknownTool(tool) => words::reason_unknown_tool(tool, language),
            Self::Changes(tool) => words::reason_changes(tool, language),
            Self::StrangeCharacter(c) => words::reason_strange_character(u32::from(*c), language),
            Self::NotLiteral(text) => words::reason_not_literal(text, language),
            Self::WritesFile(path) => words::reason_writes_file(path, language),
            Self::Outside(path) => words::reason_outside(path, language),
            Self::Secret(path) => words::reason_secret(path, language),
            Self::Sensitive(path) => words::reason_sensitive(path, language),
            Self::TooLargeToCheck(path) => words::reason_too_large_to_check(path, language),
            Self::UnknownCommand(name) => words::reason_unknown_command(name, language),
            Self::Argument { command, argument } => words::reason_argument(command, argument, language),
            Self::Wrapper(name) => words::reason_wrapper(name, language),
            Self::Network(name) => words::reason_network(name, language),
            Self::Destroys(name) => words::reason_destroys(name, language),
            Self::Inline(name) => words::reason_inline(name, language),
            Self::Unchecked(path) => words::reason_unchecked(path, language),
            Self::DeniedByMode => words::reason_denied_by_mode(language).into(),
            Self::PerhapsDenied => words::reason_perhaps_denied(language).into(),
            Self::Unparsed => words::reason_unparsed(language).into(),
            Self::TooLong => words::reason_too_long(language).into(),
            Self::HiddenSpelling => words::reason_hidden_spelling(language).into(),
            Self::Compound => words::reason_compound(language).into(),
            Self::Substitution => words::reason_substitution(language).into(),
            Self::HereDocument => words::reason_here_document(language).into(),
            Self::ControlFlow => words::reason_control_flow(language).into(),
            Self::Background => words::reason_background(language).into(),
            Self::Assignment => words::reason_assignment(language).into(),
            Self::Elsewhere => words::reason_elsewhere(language).into(),
            Self::AskedByProgram => words::reason_asked_by_program(language).into(),
        }
    }
}
