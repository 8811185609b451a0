//! A command line as data: its simple commands, however deep, and what else it does.

use std::collections::BTreeSet;

use super::word::Word;
use crate::policy::Reason;

/// What the tolerant reader found.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    /// Every simple command, in the order of the text: of lists, substitutions, functions, all alike.
    pub(super) commands: Vec<Vec<Word>>,
    /// Where input and output go.
    pub(super) redirects: Vec<Redirect>,
    /// Why it cannot run unasked, as far as its form tells.
    pub(super) oddities: BTreeSet<Reason>,
    /// The variables that are set.
    pub(super) assigned: Vec<String>,
    /// Texts that a shell may be fed with: here-documents and here-strings.
    pub(super) texts: Vec<String>,
}

/// Where a command's input or output goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Redirect {
    /// To another descriptor, nowhere, or `/dev/null`.
    Harmless,
    Read(String),
    Write(String),
}

/// What a redirection's sign says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectKind {
    Read,
    Write,
    Duplicate,
}

impl Redirect {
    /// A redirection of a kind to a target; nothing for `>&file`, which is two things in one.
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
