//! The verdict on a call. Independent of shells, files and people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reason;
use crate::domain::{Class, Risk};

/// Whether a call may run. Ordered: the later one is the stricter one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Allow(Class),
    /// A person is asked first.
    Ask {
        risk: Risk,
        /// Why it needs approval. Never empty.
        reasons: Vec<Reason>,
    },
    Deny {
        reason: Reason,
    },
}

impl Verdict {
    /// A verdict with one reason.
    pub fn ask(risk: Risk, reason: Reason) -> Self {
        Self::Ask { risk, reasons: vec![reason] }
    }

    /// The stricter of two verdicts. Two `Ask` verdicts become one with the reasons of both.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ask { risk, mut reasons }, Self::Ask { risk: other_risk, reasons: more }) => {
                for reason in more {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
                Self::Ask { risk: risk.max(other_risk), reasons }
            }
            (one, other) => one.max(other),
        }
    }

    /// Whether it runs without approval.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }
}

/// What happens to a call that no rule knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It runs unasked.
    Allow,
    /// A person is asked first.
    #[default]
    Ask,
    /// It never runs.
    Deny,
}

/// What happens to a command line made of several commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compound {
    /// A person is asked.
    #[default]
    Ask,
    /// Each part is judged by itself, and the worst verdict counts.
    Analyze,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(risk: Risk, name: &str) -> Verdict {
        Verdict::ask(risk, Reason::UnknownCommand(name.into()))
    }

    #[test]
    fn verdicts_are_ordered_by_severity() {
        let row = [
            Verdict::Allow(Class::ReadOnly),
            Verdict::Allow(Class::ProjectWritable),
            ask(Risk::Low, "z"),
            ask(Risk::High, "a"),
            Verdict::Deny { reason: Reason::DeniedByMode },
        ];
        for (i, one) in row.iter().enumerate() {
            for (j, other) in row.iter().enumerate() {
                assert_eq!(one.cmp(other), i.cmp(&j), "{one:?} {other:?}");
                assert_eq!(
                    one.clone().and(other.clone()).is_allowed(),
                    one.is_allowed() && other.is_allowed()
                );
            }
        }
    }

    #[test]
    fn two_questions_become_one_with_the_higher_risk_and_each_reason_once() {
        let both = ask(Risk::Medium, "a").and(ask(Risk::High, "b")).and(ask(Risk::Low, "a"));
        let reasons = vec![Reason::UnknownCommand("a".into()), Reason::UnknownCommand("b".into())];
        assert_eq!(both, Verdict::Ask { risk: Risk::High, reasons });
    }
}
