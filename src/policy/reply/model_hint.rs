//! What a model made of a reply that the rules could not read. By its type it can only lead to a question: a model
//! never decides.

use super::question::{Question, Side};
use super::reader::{Pending, Reading};
use crate::domain::ApprovalNumber;

/// What a model believes the reply leans to. It saw the reply alone, never the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelHint {
    /// The side.
    pub leaning: Leaning,
    /// The numbers it saw in the reply; none means that none was named.
    pub numbers: Vec<ApprovalNumber>,
}

/// A side, as a model sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaning {
    /// Seems to be a yes.
    Approve,
    /// Seems to be a no.
    Deny,
    /// About the approvals, but taking no side.
    Unclear,
    /// About something else.
    Unrelated,
}

/// A reading that a model had a part in. There is no way to decide in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintedReading {
    /// The person is asked.
    AskBack(Question),
    /// The reply is about something else.
    NotADecision,
}

impl From<HintedReading> for Reading {
    fn from(hinted: HintedReading) -> Self {
        match hinted {
            HintedReading::AskBack(question) => Self::AskBack(question),
            HintedReading::NotADecision => Self::NotADecision,
        }
    }
}

/// Turns what a model believes into a question to the person.
pub fn ask_back_from_model(hint: &ModelHint, pending: &[Pending<'_>]) -> HintedReading {
    let waiting: Vec<ApprovalNumber> = pending.iter().map(|one| one.number).collect();
    if waiting.is_empty() || hint.leaning == Leaning::Unrelated {
        return HintedReading::NotADecision;
    }
    let named: Vec<ApprovalNumber> =
        waiting.iter().copied().filter(|number| hint.numbers.contains(number)).collect();
    if let Some(strange) = hint.numbers.iter().find(|number| !waiting.contains(number)) {
        return HintedReading::AskBack(Question::NoSuch { said: strange.to_string(), among: waiting });
    }
    let about = if named.is_empty() { waiting } else { named };
    HintedReading::AskBack(match hint.leaning {
        Leaning::Approve | Leaning::Deny if hint.numbers.is_empty() && about.len() > 1 => {
            Question::Which { among: about }
        }
        Leaning::Approve => Question::DoYouMean { side: Side::Approve, about },
        Leaning::Deny => Question::DoYouMean { side: Side::Deny, about },
        Leaning::Unclear | Leaning::Unrelated => Question::ApproveOrDeny { about },
    })
}
