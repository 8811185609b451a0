//! Handles a reply that decides nothing: asks back if it looks like a decision, ignores it if it is about another
//! subject. Nothing here can approve.

use super::fold::Folded;
use super::question::{ReplyQuestion, Side};
use super::reader::{PendingApproval, ReadReply, ReplyProblem, by_number};
use super::tokens::Token;
use super::word::{Word, WordWeight};
use crate::domain::{ApprovalKind, ApprovalNumber};

/// How much unknown text may accompany a weak yes, and a plain word, in a reply that is still about approvals.
const BESIDE_A_NOD: usize = 4;
const BESIDE_A_PLAIN_WORD: usize = 10;

/// The counted content of a reply.
#[derive(Debug, Default)]
struct Tally {
    yes: Option<WordWeight>,
    no: Option<WordWeight>,
    negated: bool,
    outcome: bool,
    doubt: bool,
    elsewhere: bool,
    only: bool,
    bounded: bool,
    timed: bool,
    unknown: usize,
    named: Vec<usize>,
}

/// The question that would make the reply clear, or none.
pub(super) fn ask_back(
    trouble: &ReplyProblem,
    tokens: &[Token],
    folded: &Folded<'_>,
    pending: &[PendingApproval<'_>],
) -> ReadReply {
    let tally = Tally::of(tokens, pending);
    let command = folded.chars.first() == Some(&'/') && tally.heaviest() == Some(WordWeight::Formal);
    if !command && !tally.looks_like_a_decision() {
        return ReadReply::NotADecision;
    }
    let waiting: Vec<ApprovalNumber> = pending.iter().map(|one| one.number).collect();
    if pending.is_empty() {
        let said = tokens.get(1).map(|token| folded.text(token.at, token.end)).unwrap_or_default();
        let asked = ReplyQuestion::NoSuch { said, among: waiting };
        return if command { ReadReply::AskBack(asked) } else { ReadReply::NotADecision };
    }
    let named = |places: &[usize]| -> Vec<ApprovalNumber> {
        pending
            .iter()
            .enumerate()
            .filter(|(index, _)| places.contains(index))
            .map(|(_, one)| one.number)
            .collect()
    };
    let about = if tally.named.is_empty() { waiting.clone() } else { named(&tally.named) };
    let strange = tokens.iter().find(|token| token.word == Word::StrangeId);
    ReadReply::AskBack(match trouble {
        _ if strange.is_some() => ReplyQuestion::NoSuch {
            said: strange.map(|token| folded.text(token.at, token.end)).unwrap_or_default(),
            among: waiting,
        },
        ReplyProblem::NoSuch(number) => {
            ReplyQuestion::NoSuch { said: ApprovalNumber(*number).to_string(), among: waiting }
        }
        ReplyProblem::HowLong => ReplyQuestion::HowLong { about },
        ReplyProblem::HowFar => ReplyQuestion::HowFar { about },
        ReplyProblem::Outcome(places) => ReplyQuestion::Outcome { about: named(places) },
        ReplyProblem::Which | ReplyProblem::Unclear if tally.named.is_empty() && pending.len() > 1 => {
            ReplyQuestion::Which { among: waiting }
        }
        // A duration without an explicit form: `approve 30m`.
        ReplyProblem::Which | ReplyProblem::Unclear if tally.timed && tally.approves_only(pending) => {
            ReplyQuestion::HowLong { about }
        }
        ReplyProblem::Which | ReplyProblem::Unclear => tally.which_side(about, pending),
    })
}

impl Tally {
    fn of(tokens: &[Token], pending: &[PendingApproval<'_>]) -> Self {
        let mut tally = Self::default();
        for token in tokens {
            match token.word {
                Word::Approve(yes) => tally.yes = tally.yes.max(Some(yes.weight())),
                Word::Deny(weight) => tally.no = tally.no.max(Some(weight)),
                Word::Negation(_) => tally.negated = true,
                Word::Rerun | Word::Done => {
                    tally.outcome |= pending.iter().any(|one| one.kind == ApprovalKind::UnknownOutcome);
                }
                Word::Doubt | Word::Because => tally.doubt = true,
                Word::Elsewhere => tally.elsewhere = true,
                Word::Only | Word::Just => tally.only = true,
                Word::All(_) | Word::Both(_) | Word::Rest => tally.bounded = true,
                Word::Window(..) | Word::Length(_) => {
                    tally.bounded = true;
                    tally.timed = true;
                }
                Word::Ever | Word::Later | Word::Forever | Word::Once => tally.bounded = true,
                Word::Thread(_)
                | Word::InThread
                | Word::Project(_)
                | Word::InProject
                | Word::Kind(_)
                | Word::ThisKind => tally.bounded = true,
                Word::Unknown(weight) => tally.unknown += weight,
                Word::Number(number) | Word::Ordinal(number) => {
                    tally.named.extend(by_number(number, pending).ok());
                }
                Word::Id(index) | Word::Named(index) | Word::NamedLoosely(index) | Word::Program(index) => {
                    tally.named.push(index);
                }
                _ => {}
            }
        }
        tally
    }

    fn heaviest(&self) -> Option<WordWeight> {
        self.yes.max(self.no)
    }

    fn looks_like_a_decision(&self) -> bool {
        let sided = self.heaviest().is_some() || self.negated || self.outcome || self.only;
        let told = sided || ((self.doubt || self.bounded || !self.named.is_empty()) && self.unknown == 0);
        let room = match self.heaviest() {
            Some(WordWeight::Plain | WordWeight::Formal) => BESIDE_A_PLAIN_WORD,
            Some(WordWeight::Nod) | None => BESIDE_A_NOD,
        };
        told && !self.elsewhere && self.unknown <= room
    }

    fn approves_only(&self, pending: &[PendingApproval<'_>]) -> bool {
        let plain = self.yes >= Some(WordWeight::Plain) && self.no.is_none() && !self.negated && !self.doubt;
        plain && self.unknown == 0 && pending.iter().all(|one| one.kind == ApprovalKind::Tool)
    }

    fn which_side(&self, about: Vec<ApprovalNumber>, pending: &[PendingApproval<'_>]) -> ReplyQuestion {
        let cut_off = |one: &&PendingApproval<'_>| {
            one.kind == ApprovalKind::UnknownOutcome && about.contains(&one.number)
        };
        let outcomes: Vec<ApprovalNumber> = pending.iter().filter(cut_off).map(|one| one.number).collect();
        if !outcomes.is_empty() {
            return ReplyQuestion::Outcome { about: outcomes };
        }
        match (self.yes.is_some(), self.no.is_some() || self.negated) {
            (true, false) => ReplyQuestion::DoYouMean { side: Side::Approve, about },
            (false, true) => ReplyQuestion::DoYouMean { side: Side::Deny, about },
            (false, false) if !self.doubt && !self.named.is_empty() => {
                ReplyQuestion::DoYouMean { side: Side::Approve, about }
            }
            _ => ReplyQuestion::ApproveOrDeny { about },
        }
    }
}
