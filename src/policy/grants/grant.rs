//! Grants: calls of a tool, or commands in a folder with the files they run, approved for more than one call.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::{GrantNumber, Reach};
use crate::policy::fingerprint::FileDigest;
use crate::policy::paths::{self, PathLocation};
use crate::policy::shape::{is_plain_argument, runs_project_files, shape_of};
use crate::policy::shell::runs_its_arguments;

/// One approval that covers more than one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    pub id: GrantNumber,
    pub tool: String,
    pub calls: Calls,
    /// The files that the commands run, at the time of the grant; a file without a digest did not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<FileDigest>,
    /// Where and how long it holds.
    pub reach: Reach,
}

/// Which calls of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Every call. Never for the shell.
    Any,
    /// Shell lines of which each part is one of these.
    Commands(Vec<GrantedCommand>),
}

/// A granted simple command and its folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedCommand {
    #[serde(flatten)]
    pub pattern: Pattern,
    /// The folders of the project it may run in, all of them: more than one after a `cd` that may fail.
    #[serde(default = "project_folder")]
    pub folders: Vec<String>,
}

pub(super) fn project_folder() -> Vec<String> {
    vec![String::new()]
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Exactly this command. Grants of older versions were for commands that begin with certain words (`begins`); they
    /// are read as grants for the command of these words alone.
    #[serde(alias = "begins")]
    Exactly(Vec<String>),
    /// Commands of a shape: these words, then options and operands that are known to be harmless.
    Shape(String),
    /// A program of the project with plain arguments: no option, no assignment, no path elsewhere.
    ProgramWithPlainArguments(String),
}

impl Pattern {
    /// The shape of a command, or the command itself when it has none.
    pub fn of(argv: &[String], folders: &[String]) -> Self {
        match shape_of(argv, folders) {
            Some(shape) => Self::Shape(shape.words.to_owned()),
            None => Self::Exactly(argv.to_vec()),
        }
    }

    /// The program of a command with other plain arguments; `None` unless it is a file of the project, and for a program
    /// that runs what its arguments name: an interpreter, a launcher, or what a package manager has installed.
    pub fn program_of(argv: &[String], folders: &[String]) -> Option<Self> {
        let program = argv.first().filter(|program| program.contains('/') && !program.starts_with('/'))?;
        if runs_its_arguments(program) {
            return None;
        }
        let pattern = Self::ProgramWithPlainArguments(program.clone());
        pattern.varying(argv, folders).map(|_| pattern)
    }

    /// If the pattern matches this simple command: the words that may differ from call to call.
    pub(super) fn varying(&self, argv: &[String], folders: &[String]) -> Option<Vec<String>> {
        match self {
            Self::Exactly(words) => (!words.is_empty() && argv == words.as_slice()).then(Vec::new),
            Self::Shape(words) => {
                shape_of(argv, folders).filter(|shape| shape.words == words).map(|shape| shape.paths)
            }
            Self::ProgramWithPlainArguments(program) => {
                let (name, args) = argv.split_first()?;
                let inside = folders.iter().all(|folder| is_ordinary(folder, name));
                let plain = args.iter().all(|arg| is_plain_argument(arg, folders));
                let plain = plain && !runs_its_arguments(name);
                (name == program && !folders.is_empty() && inside && plain).then(|| args.to_vec())
            }
        }
    }

    /// Whether the command runs files of the project, as far as is known.
    pub(super) fn runs_project_files(&self) -> bool {
        match self {
            Self::Exactly(_) | Self::ProgramWithPlainArguments(_) => true,
            Self::Shape(words) => runs_project_files(words),
        }
    }
}

fn is_ordinary(folder: &str, path: &str) -> bool {
    matches!(paths::locate("", folder, path), PathLocation::Inside(inside) if !paths::is_sensitive(&inside))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(words) => f.write_str(&words.join(" ")),
            Self::Shape(words) => write!(f, "{words} …"),
            Self::ProgramWithPlainArguments(program) => write!(f, "{program} …"),
        }
    }
}

impl fmt::Display for GrantedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)?;
        match self.folders.iter().rev().find(|folder| !folder.is_empty()) {
            Some(folder) => write!(f, " ({folder}/)"),
            None => Ok(()),
        }
    }
}
