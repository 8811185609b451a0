//! A command line as data: its simple commands, at any depth, and its other features.

use std::collections::BTreeSet;

use super::word::ShellWord;
use crate::policy::Reason;

/// The result of the tolerant parser.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    /// Every simple command, in the order of the text: of lists, substitutions, functions, all alike.
    pub(super) commands: Vec<Vec<ShellWord>>,
    /// The indexes of the commands that get input from a pipe, a file or the text of the line.
    pub(super) fed: BTreeSet<usize>,
    pub(super) redirects: Vec<Redirect>,
    /// Why it needs approval, as far as its form shows.
    pub(super) oddities: BTreeSet<Reason>,
    pub(super) assigned: Vec<String>,
    /// Input texts for a shell: here-documents and here-strings.
    pub(super) texts: Vec<String>,
}

/// A redirection of a command's input or output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Redirect {
    /// To another descriptor, nowhere, or `/dev/null`.
    Harmless,
    Read(String),
    Write(String),
}

/// The operator of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectKind {
    Read,
    Write,
    Duplicate,
}

impl Redirect {
    /// The file it writes.
    pub(super) fn written(&self) -> Option<&str> {
        match self {
            Self::Write(path) => Some(path),
            Self::Read(_) | Self::Harmless => None,
        }
    }

    /// A redirection of a kind to a target; `None` for `>&file`, which redirects two descriptors.
    pub(super) fn new(kind: RedirectKind, target: String) -> Option<Self> {
        let descriptor = target == "-" || (!target.is_empty() && target.bytes().all(|b| b.is_ascii_digit()));
        Some(match kind {
            RedirectKind::Duplicate if descriptor => Self::Harmless,
            RedirectKind::Duplicate => return None,
            RedirectKind::Read | RedirectKind::Write if target == "/dev/null" => Self::Harmless,
            RedirectKind::Read => Self::Read(target),
            RedirectKind::Write => Self::Write(target),
        })
    }
}
