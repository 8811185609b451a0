//! The reason that a person adds to a denial. Only to a denial: words that are not understood may explain why something
//! is not done, never why it is.

use super::fold::{Folded, is_han};
use super::reader::{PendingApproval, ReplyRuling, rulings_of};
use super::tokens::Token;
use super::word::{Word, WordWeight};
use crate::domain::Answer;

/// Most unknown words after a weak no before it is a message of its own.
const AFTER_A_NOD: usize = 16;

/// `/deny A1 too risky`: the words of the command, and the reason as written.
pub(super) fn after_command<'t>(tokens: &'t [Token], folded: &Folded<'_>) -> Option<(&'t [Token], String)> {
    let first = tokens.first()?;
    if first.word != Word::Deny(WordWeight::Formal) {
        return None;
    }
    let named = tokens.iter().skip(1).take_while(|token| token.word.names() || joins(token.word)).count();
    let (head, reason) = tokens.split_at_checked(1 + named)?;
    let written = reason.first().map(|token| folded.written_from(token.at)).unwrap_or_default();
    Some((head, written.to_owned()))
}

/// `拒绝，太危险了`: a denial that is complete by itself, and the text after it.
pub(super) fn of_denial(
    tokens: &[Token],
    folded: &Folded<'_>,
    pending: &[PendingApproval<'_>],
) -> Option<(Vec<ReplyRuling>, String)> {
    (1..tokens.len()).rev().find_map(|at| {
        let (head, tail) = tokens.split_at_checked(at)?;
        if !parts(head, tail, folded) {
            return None;
        }
        let rulings = rulings_of(head, pending).ok()?;
        let denied = rulings.iter().all(|ruling| ruling.answer == Answer::Deny);
        let mut tail = tail;
        while let [first, more @ ..] = tail
            && (first.word == Word::Because || first.word == Word::Colon || first.word.ends_a_clause())
        {
            tail = more;
        }
        if !denied || !explains(tail, plainly(head), pending) {
            return None;
        }
        let written = folded.written_from(tail.first()?.at);
        Some((rulings, written.to_owned()))
    })
}

/// Whether a reason may begin here: after punctuation or a `because`, or after the space that replaces it in Chinese.
fn parts(head: &[Token], tail: &[Token], folded: &Folded<'_>) -> bool {
    let (Some(last), Some(first)) = (head.last(), tail.first()) else { return false };
    let spaced = last.end < first.at;
    let han = folded.chars.get(first.at).is_some_and(|c| is_han(*c));
    match first.word {
        Word::Because | Word::Colon => true,
        word if word.ends_a_clause() => true,
        // `deny A1 too risky`: but in `deny git push` the words may be another target.
        _ if last.word.names() => {
            let one_clause = !head.iter().any(|token| token.word.ends_a_clause());
            spaced && one_clause && plainly(head) && !is_loose(last.word)
        }
        Word::Unknown(_) => spaced && han && plainly(head),
        _ => false,
    }
}

/// Whether a no is more than a weak one.
fn plainly(head: &[Token]) -> bool {
    head.iter().any(|token| match token.word {
        Word::Deny(weight) => weight >= WordWeight::Plain,
        Word::Approve(yes) => yes.weight() >= WordWeight::Plain,
        _ => false,
    })
}

/// Whether words are a reason and no second decision.
fn explains(tail: &[Token], plain: bool, pending: &[PendingApproval<'_>]) -> bool {
    let mut unknown = 0;
    for token in tail {
        match token.word {
            Word::Unknown(weight) => unknown += weight,
            Word::Approve(_) | Word::Rerun | Word::Done | Word::Only | Word::Rest => return false,
            Word::Question | Word::Doubt | Word::Elsewhere if !plain => return false,
            word if word.names() && pending.len() > 1 => return false,
            _ => {}
        }
    }
    unknown > 0 && (plain || unknown <= AFTER_A_NOD)
}

const fn is_loose(word: Word) -> bool {
    matches!(word, Word::Named(_) | Word::NamedLoosely(_) | Word::Program(_) | Word::NamedSeveral)
}

const fn joins(word: Word) -> bool {
    matches!(word, Word::And | Word::Comma)
}
