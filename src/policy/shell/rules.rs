//! The operator's rules for the shell. A rule is the beginning of a simple command, word by word: `git status` is not
//! the beginning of `git statusx`.

use super::deny::{self, Match};
use super::plain;
use super::word::ShellWord;
use crate::policy::{Compound, Mode};

/// A rule that is not the beginning of one simple command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the beginning of one plain command: write its first words, such as `git status`, without * or operators"
)]
pub struct BadRule(pub String);

/// The operator's rules for the shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellRules {
    mode: Mode,
    compound: Compound,
    root: String,
    allow: Vec<Vec<String>>,
    deny: Vec<Vec<String>>,
}

impl ShellRules {
    /// Parses the rules. `root` is the project's absolute path; empty when all absolute paths need approval.
    ///
    /// # Errors
    /// Names the first rule that is not the beginning of one simple command: a deny rule that matches nothing would
    /// give false safety.
    pub fn new(
        mode: Mode,
        compound: Compound,
        allow: &[impl AsRef<str>],
        deny: &[impl AsRef<str>],
        root: impl Into<String>,
    ) -> Result<Self, BadRule> {
        let allow = allow.iter().map(|rule| prefix(rule.as_ref())).collect::<Result<_, _>>()?;
        let deny = deny.iter().map(|rule| prefix(rule.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { mode, compound, root: root.into(), allow, deny })
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn compound(&self) -> Compound {
        self.compound
    }

    pub(super) fn root(&self) -> &str {
        &self.root
    }

    pub(super) fn denies_anything(&self) -> bool {
        !self.deny.is_empty()
    }

    /// Whether an allow rule is the beginning of this command.
    pub(super) fn allows(&self, argv: &[String]) -> bool {
        self.allow.iter().any(|rule| argv.starts_with(rule))
    }

    /// The deny rule that matches this command, or may.
    pub(super) fn denied(&self, words: &[ShellWord]) -> Denied {
        let mut perhaps = false;
        for rule in &self.deny {
            match deny::matches(rule, words) {
                Match::Yes => return Denied::Yes(rule.join(" ")),
                Match::Perhaps => perhaps = true,
                Match::No => {}
            }
        }
        if perhaps { Denied::Perhaps } else { Denied::No }
    }

    /// Whether the words of a deny rule occur anywhere in the text.
    pub(super) fn mentions_denied(&self, text: &str) -> bool {
        self.deny.iter().any(|rule| deny::mentions(rule, text))
    }
}

/// The result of the deny list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Denied {
    #[default]
    No,
    /// It depends on words that are unknown until it runs.
    Perhaps,
    Yes(String),
}

fn prefix(rule: &str) -> Result<Vec<String>, BadRule> {
    match plain::read(rule).as_deref() {
        Some([only]) if only.redirects.is_empty() && !rule.trim().ends_with([';', '\n']) => {
            Ok(only.argv.clone())
        }
        _ => Err(BadRule(rule.to_owned())),
    }
}

/// Checks one rule.
///
/// # Errors
/// Where it is not the beginning of one simple command.
pub fn check_rule(rule: &str) -> Result<(), BadRule> {
    prefix(rule).map(drop)
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(deny: &[&str]) -> ShellRules {
        ShellRules::new(Mode::Ask, Compound::Ask, &[] as &[&str], deny, "").unwrap()
    }

    #[test]
    fn a_rule_is_a_whole_word_prefix() {
        let rules = rules(&["git push", "rm"]);
        let words = |text: &str| text.split(' ').map(ShellWord::read).collect::<Vec<_>>();
        let git = Denied::Yes("git push".into());
        let rm = Denied::Yes("rm".into());
        for (text, want) in [
            ("git push", git.clone()),
            ("git push origin", git.clone()),
            ("/usr/bin/git push", git),
            ("git pushx", Denied::Perhaps),
            ("git log", Denied::No),
            ("git", Denied::No),
            ("git $x", Denied::Perhaps),
            ("$x push", Denied::Perhaps),
            ("rm", rm.clone()),
            ("/bin/rm x", rm.clone()),
            ("./rm x", rm.clone()),
            ("RM x", rm),
            ("rmdir x", Denied::No),
        ] {
            assert_eq!(rules.denied(&words(text)), want, "{text}");
        }
    }

    #[test]
    fn a_rule_that_could_never_match_is_refused() {
        for rule in [
            "rm *", "", "  ", "rm; ls", "rm | ls", "$X", "rm > x", "A=1 rm", "rm &&", "sudo $x", "'rm", "rm;",
        ] {
            let made = ShellRules::new(Mode::Ask, Compound::Ask, &[] as &[&str], &[rule], "");
            assert_eq!(made, Err(BadRule(rule.into())), "{rule}");
        }
    }
}
