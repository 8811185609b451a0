//! Turns a reply into rulings: which pending approvals a statement is about, and the answer to each. Where that is
//! uncertain there is a trouble, and never an approval.

use super::closed::is_closed;
use super::fold::Folded;
use super::grammar::{Act, Group, Statement, Target, statement};
use super::question::Question;
use super::reason;
use super::scope::{Mark, Naming, NoScope, scope};
use super::tokens::{Token, tokens};
use super::unclear::ask_back;
use super::word::Weight;
use crate::domain::{Answer, ApprovalId, ApprovalKind, ApprovalNumber, Scope};

/// A longer text is a message, not an answer.
pub(super) const LONGEST: usize = 600;

/// A pending approval of this thread, with the facts that a reply can refer to.
#[derive(Clone, Copy, Debug)]
pub struct Pending<'a> {
    /// The number people see.
    pub number: ApprovalNumber,
    /// The id of buttons.
    pub id: &'a ApprovalId,
    pub kind: ApprovalKind,
    pub tool: &'a str,
    /// The command, for a shell call.
    pub command: Option<&'a str>,
    /// Its words, if it is one plain call.
    pub argv: Option<&'a [String]>,
}

/// The meaning of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It decides these, each once, in the order of the approvals.
    Decide(Vec<Ruling>),
    /// It looks like a decision, but which one is unclear.
    AskBack(Question),
    /// It is about another subject.
    NotADecision,
}

/// The answer to one approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Its index in the approvals that were passed in.
    pub index: usize,
    pub answer: Answer,
    /// The person's reason for a denial, as written.
    pub reason: Option<String>,
    /// How the reply refers to it.
    pub meant: Meant,
}

/// How a reply refers to an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meant {
    /// Not at all, or as one of several.
    #[default]
    Unnamed,
    /// By its tool or its command, which another approval may share.
    ByWords,
    /// By its number or its id, which is unique.
    ByItsName,
}

/// Why a reply that looks like a decision is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Not understood completely, or ambiguous.
    Unclear,
    /// Several are pending, none is named.
    Which,
    /// No pending approval has this number.
    NoSuch(u32),
    /// An impossible duration.
    HowLong,
    /// A scope that is not stated.
    HowFar,
    /// A bare yes or no to these interrupted calls.
    Outcome(Vec<usize>),
}

/// Reads a reply against the pending approvals of its thread. It approves only what the whole reply states plainly.
pub fn read(reply: &str, pending: &[Pending<'_>]) -> Reading {
    let folded = Folded::of(reply);
    if folded.chars.is_empty() || folded.chars.len() > LONGEST {
        return Reading::NotADecision;
    }
    let tokens = tokens(&folded, pending);
    let head = reason::after_command(&tokens, &folded);
    let decided = match &head {
        Some((head, reason)) => decide(head, pending).map(|rulings| with_reason(rulings, reason)),
        None => decide(&tokens, pending),
    };
    let denies = |rulings: &[Ruling]| rulings.iter().all(|ruling| ruling.answer == Answer::Deny);
    match decided.and_then(|rulings| {
        // A denial may use any words that deny; an approval only the closed form.
        let may = denies(&rulings) || (head.is_none() && is_closed(&tokens, &folded));
        if may { Ok(rulings) } else { Err(Trouble::Unclear) }
    }) {
        Ok(rulings) => Reading::Decide(rulings),
        Err(trouble) => match reason::of_denial(&tokens, &folded, pending) {
            Some((rulings, reason)) => Reading::Decide(with_reason(rulings, &reason)),
            None => ask_back(&trouble, &tokens, &folded, pending),
        },
    }
}

/// The rulings of these words, if all of them are understood.
pub(super) fn decide(tokens: &[Token], pending: &[Pending<'_>]) -> Result<Vec<Ruling>, Trouble> {
    let mut said = statement(tokens).ok_or(Trouble::Unclear)?;
    let only = only(&mut said, pending)?;
    let mut ruled: Vec<Option<Answer>> = vec![None; pending.len()];
    let mut said_of = vec![Meant::default(); pending.len()];
    let mut outcomes = Vec::new();
    let mut rest = None;
    for group in &said.groups {
        let act = group.act.ok_or(Trouble::Unclear)?;
        if group.targets.contains(&Target::Rest) {
            if rest.replace(group).is_some() {
                return Err(Trouble::Unclear);
            }
            continue;
        }
        for (index, meant) in targets(group, &said, only, pending)? {
            let one = pending.get(index).ok_or(Trouble::Which)?;
            let place = ruled.get_mut(index).ok_or(Trouble::Which)?;
            match answer(one.kind, act, group)? {
                Some(answer) if place.is_none() => {
                    *place = Some(answer);
                    if let Some(known) = said_of.get_mut(index) {
                        *known = meant;
                    }
                }
                // Named by two acts, even by two that agree: the reply is unclear.
                Some(_) => return Err(Trouble::Unclear),
                None => outcomes.push(index),
            }
        }
    }
    if !outcomes.is_empty() {
        return Err(Trouble::Outcome(outcomes));
    }
    deny_the_rest(rest, only, &mut ruled)?;
    let rulings: Vec<Ruling> = (0..)
        .zip(ruled.into_iter().zip(said_of))
        .filter_map(|(index, (answer, meant))| Some(Ruling { index, answer: answer?, reason: None, meant }))
        .collect();
    if rulings.is_empty() { Err(Trouble::Unclear) } else { Ok(rulings) }
}

fn with_reason(mut rulings: Vec<Ruling>, reason: &str) -> Vec<Ruling> {
    for ruling in &mut rulings {
        if ruling.answer == Answer::Deny && !reason.is_empty() {
            ruling.reason = Some(reason.to_owned());
        }
    }
    rulings
}

/// Whether the others are denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Denied,
    Untouched,
}

/// The meaning of `only`. It names what is approved, so it needs a name, and it never turns a denial into an approval.
fn only(said: &mut Statement, pending: &[Pending<'_>]) -> Result<Others, Trouble> {
    if !said.only {
        return Ok(Others::Untouched);
    }
    let pointed = said.this;
    let [group] = said.groups.as_mut_slice() else { return Err(Trouble::Unclear) };
    let approves = matches!(group.act, None | Some(Act::Approve(_))) && !group.negated;
    let names =
        !group.targets.iter().any(|target| matches!(target, Target::All | Target::Both | Target::Rest));
    if !approves || !names {
        return Err(Trouble::Unclear);
    }
    if group.targets.is_empty() {
        // `只同意这个`, `只同意一次`.
        let this_one = pending.len() == 1 && (pointed || group.marks.contains(&Mark::Once));
        return if this_one { Ok(Others::Untouched) } else { Err(Trouble::Which) };
    }
    group.act = Some(match group.act {
        Some(Act::Approve(weight)) => Act::Approve(weight.max(Weight::Plain)),
        _ => Act::Approve(Weight::Plain),
    });
    Ok(Others::Denied)
}

/// The indexes of the approvals that a group is about, each once, and how it refers to them.
fn targets(
    group: &Group,
    said: &Statement,
    only: Others,
    pending: &[Pending<'_>],
) -> Result<Vec<(usize, Meant)>, Trouble> {
    let unnamed_all = |places: Vec<usize>| places.into_iter().map(|place| (place, Meant::Unnamed)).collect();
    if group.targets.is_empty() {
        return unnamed(group, said, pending).map(unnamed_all);
    }
    let every = || unnamed_all((0..pending.len()).collect());
    match group.targets.as_slice() {
        [Target::All] if !group.negated => return Ok(every()),
        [Target::Both] if !group.negated && pending.len() == 2 => return Ok(every()),
        [Target::Both] => return Err(Trouble::Which),
        _ => {}
    }
    let mut places: Vec<(usize, Meant)> = Vec::new();
    for target in &group.targets {
        let (place, meant) = match *target {
            Target::Number(number) => (by_number(number, pending)?, Meant::ByItsName),
            Target::Ordinal(number) => (by_ordinal(number, pending)?, Meant::Unnamed),
            Target::Index(index) => (index, Meant::ByItsName),
            Target::Named(index) => (index, Meant::ByWords),
            Target::Loose { index, clause, program } => {
                let close = group.clauses.contains(&clause) || only == Others::Denied;
                let plain = !matches!(group.act, Some(Act::Approve(Weight::Nod)));
                if !close || !plain || (program && !may_go_by_its_program(index, group, pending)) {
                    return Err(Trouble::Unclear);
                }
                (index, Meant::ByWords)
            }
            Target::All | Target::Both | Target::Rest => return Err(Trouble::Unclear),
        };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => *known = meant.max(*known),
            None => places.push((place, meant)),
        }
    }
    Ok(places)
}

/// Whether naming only the program is enough: for a denial always, for an approval where its words are known and it is
/// approved once. What a longer approval of a program covers is not stated.
fn may_go_by_its_program(index: usize, group: &Group, pending: &[Pending<'_>]) -> bool {
    let known = pending.get(index).is_some_and(|one| one.argv.is_some());
    let once = group.marks.iter().all(|mark| *mark == Mark::Once);
    matches!(group.act, Some(Act::Deny(_))) || (known && once)
}

/// No approval was named: the only pending one, or all if `都` says so and can mean nothing else.
fn unnamed(group: &Group, said: &Statement, pending: &[Pending<'_>]) -> Result<Vec<usize>, Trouble> {
    let alone = said.groups.len() == 1;
    if alone && pending.len() == 1 {
        return Ok(vec![0]);
    }
    let plain = !matches!(group.act, Some(Act::Approve(Weight::Nod)));
    let just_each = said.each && !said.this && group.marks.iter().all(|mark| *mark == Mark::Each);
    if alone && plain && just_each {
        return Ok((0..pending.len()).collect());
    }
    Err(Trouble::Which)
}

/// The index of the approval with this number.
pub(super) fn by_number(number: u32, pending: &[Pending<'_>]) -> Result<usize, Trouble> {
    pending.iter().position(|one| one.number.0 == number).ok_or(Trouble::NoSuch(number))
}

/// `第一个` is certain only where the first one is also number one.
fn by_ordinal(number: u32, pending: &[Pending<'_>]) -> Result<usize, Trouble> {
    let place = by_number(number, pending).map_err(|_| Trouble::Which)?;
    let same = u32::try_from(place + 1).is_ok_and(|place| place == number);
    if same { Ok(place) } else { Err(Trouble::Which) }
}

/// The answer of an act to one approval. `None` if it is a bare yes or no to an interrupted call.
fn answer(kind: ApprovalKind, act: Act, group: &Group) -> Result<Option<Answer>, Trouble> {
    let reach = || {
        let by_words = |target: &Target| matches!(target, Target::Named(_) | Target::Loose { .. });
        let naming = if group.targets.iter().any(by_words) { Naming::ByWords } else { Naming::Otherwise };
        scope(&group.marks, naming).map_err(|none| match none {
            NoScope::HowLong => Trouble::HowLong,
            NoScope::HowFar => Trouble::HowFar,
        })
    };
    match (kind, act) {
        (ApprovalKind::Tool, Act::Approve(Weight::Nod)) if a_wait(&group.marks) => Err(Trouble::HowFar),
        (ApprovalKind::Tool, Act::Approve(_)) => Ok(Some(Answer::Approve(reach()?))),
        (ApprovalKind::Tool, Act::Deny(_)) => Ok(Some(Answer::Deny)),
        (ApprovalKind::Tool, Act::Rerun | Act::Done) => Err(Trouble::Unclear),
        // A call that may have run is run again once, not from now on.
        (ApprovalKind::UnknownOutcome, Act::Rerun | Act::Approve(Weight::Formal)) => {
            Ok((reach()? == Scope::Once).then_some(Answer::Approve(Scope::Once)))
        }
        (ApprovalKind::UnknownOutcome, Act::Approve(_) | Act::Deny(Weight::Nod)) => Ok(None),
        (ApprovalKind::UnknownOutcome, Act::Deny(_)) => Ok(Some(Answer::Deny)),
        (ApprovalKind::UnknownOutcome, Act::Done) => Ok(Some(Answer::Done)),
    }
}

/// Whether there is a duration without a purpose.
fn a_wait(marks: &[Mark]) -> bool {
    marks.iter().any(|mark| matches!(mark, Mark::Length(_))) && !marks.contains(&Mark::Each)
}

/// Denies what no group has named, if that was stated. The rest is never approved, because it was not named.
fn deny_the_rest(rest: Option<&Group>, only: Others, ruled: &mut [Option<Answer>]) -> Result<(), Trouble> {
    if let Some(group) = rest {
        let denied = matches!(group.act, Some(Act::Deny(_))) && group.targets.len() == 1;
        if !denied || ruled.iter().all(Option::is_none) {
            return Err(Trouble::Unclear);
        }
    }
    if rest.is_some() || only == Others::Denied {
        for open in ruled.iter_mut().filter(|answer| answer.is_none()) {
            *open = Some(Answer::Deny);
        }
    }
    Ok(())
}
