//! Turns a reply into rulings: which pending approvals a statement is about, and the answer to each. Where that is
//! uncertain there is a trouble, and never an approval.

use super::closed::is_closed;
use super::fold::Folded;
use super::grammar::{Act, Statement, Target, TargetGroup, statement};
use super::question::ReplyQuestion;
use super::reason;
use super::scope::{Naming, NoScope, ScopeWord, scope};
use super::tokens::{Token, tokens};
use super::unclear::ask_back;
use super::word::WordWeight;
use crate::domain::{Answer, ApprovalId, ApprovalKind, ApprovalNumber, Scope};

/// A longer text is a message, not an answer.
pub(super) const LONGEST: usize = 600;

/// A pending approval of this thread, with the facts that a reply can refer to.
#[derive(Clone, Copy, Debug)]
pub struct PendingApproval<'a> {
    /// The number people see.
    pub number: ApprovalNumber,
    /// The id of buttons.
    pub id: &'a ApprovalId,
    pub kind: ApprovalKind,
    pub tool: &'a str,
    /// The command, for a shell call.
    pub command: Option<&'a str>,
    /// Whether the command is one plain call.
    pub plain: bool,
    /// Whether its program can be allowed for a time, with other arguments.
    pub program: bool,
}

/// The meaning of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadReply {
    /// It decides these, each once, in the order of the approvals.
    Decide(Vec<ReplyRuling>),
    /// It looks like a decision, but which one is unclear.
    AskBack(ReplyQuestion),
    /// It is about another subject.
    NotADecision,
}

/// The answer to one approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyRuling {
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
pub(super) enum ReplyProblem {
    /// Not understood completely, or ambiguous.
    Unclear,
    /// Several are pending, none is named.
    Which,
    /// No pending approval has this number.
    NoSuch(u32),
    HowLong,
    /// A scope that is not stated.
    HowFar,
    /// A bare yes or no to these interrupted calls.
    Outcome(Vec<usize>),
}

/// Reads a reply against the pending approvals of its thread. It approves only what the whole reply states plainly.
pub fn read(reply: &str, pending: &[PendingApproval<'_>]) -> ReadReply {
    let folded = Folded::of(reply);
    if folded.chars.is_empty() || folded.chars.len() > LONGEST {
        return ReadReply::NotADecision;
    }
    let tokens = tokens(&folded, pending);
    let head = reason::after_command(&tokens, &folded);
    let decided = match &head {
        Some((head, reason)) => rulings_of(head, pending).map(|rulings| with_reason(rulings, reason)),
        None => rulings_of(&tokens, pending),
    };
    let denies = |rulings: &[ReplyRuling]| rulings.iter().all(|ruling| ruling.answer == Answer::Deny);
    match decided.and_then(|rulings| {
        // A denial may use any words that deny; an approval only the closed form.
        let may = denies(&rulings) || (head.is_none() && is_closed(&tokens, &folded));
        if may { Ok(rulings) } else { Err(ReplyProblem::Unclear) }
    }) {
        Ok(rulings) => ReadReply::Decide(rulings),
        Err(trouble) => match reason::of_denial(&tokens, &folded, pending) {
            Some((rulings, reason)) => ReadReply::Decide(with_reason(rulings, &reason)),
            None => ask_back(&trouble, &tokens, &folded, pending),
        },
    }
}

/// The rulings of these words, if all of them are understood.
pub(super) fn rulings_of(
    tokens: &[Token],
    pending: &[PendingApproval<'_>],
) -> Result<Vec<ReplyRuling>, ReplyProblem> {
    let mut said = statement(tokens).ok_or(ReplyProblem::Unclear)?;
    let only = only(&mut said, pending)?;
    let mut ruled: Vec<Option<Answer>> = vec![None; pending.len()];
    let mut said_of = vec![Meant::default(); pending.len()];
    let mut outcomes = Vec::new();
    let mut rest = None;
    for group in &said.groups {
        let act = group.act.ok_or(ReplyProblem::Unclear)?;
        if group.targets.contains(&Target::Rest) {
            if rest.replace(group).is_some() {
                return Err(ReplyProblem::Unclear);
            }
            continue;
        }
        for (index, meant) in targets(group, &said, only, pending)? {
            let one = pending.get(index).ok_or(ReplyProblem::Which)?;
            let place = ruled.get_mut(index).ok_or(ReplyProblem::Which)?;
            match answer(one.kind, act, group, is_program(group, index))? {
                Some(answer) if place.is_none() => {
                    *place = Some(answer);
                    if let Some(known) = said_of.get_mut(index) {
                        *known = meant;
                    }
                }
                // Named by two acts, even by two that agree: the reply is unclear.
                Some(_) => return Err(ReplyProblem::Unclear),
                None => outcomes.push(index),
            }
        }
    }
    if !outcomes.is_empty() {
        return Err(ReplyProblem::Outcome(outcomes));
    }
    deny_the_rest(rest, only, &mut ruled)?;
    let rulings: Vec<ReplyRuling> = (0..)
        .zip(ruled.into_iter().zip(said_of))
        .filter_map(|(index, (answer, meant))| {
            Some(ReplyRuling { index, answer: answer?, reason: None, meant })
        })
        .collect();
    if rulings.is_empty() { Err(ReplyProblem::Unclear) } else { Ok(rulings) }
}

fn with_reason(mut rulings: Vec<ReplyRuling>, reason: &str) -> Vec<ReplyRuling> {
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
fn only(said: &mut Statement, pending: &[PendingApproval<'_>]) -> Result<Others, ReplyProblem> {
    if !said.only {
        return Ok(Others::Untouched);
    }
    let pointed = said.this;
    let [group] = said.groups.as_mut_slice() else { return Err(ReplyProblem::Unclear) };
    let approves = matches!(group.act, None | Some(Act::Approve(_))) && !group.negated;
    let names =
        !group.targets.iter().any(|target| matches!(target, Target::All | Target::Both | Target::Rest));
    if !approves || !names {
        return Err(ReplyProblem::Unclear);
    }
    if group.targets.is_empty() {
        // `只同意这个`, `只同意一次`.
        let this_one = pending.len() == 1 && (pointed || group.marks.contains(&ScopeWord::Once));
        return if this_one { Ok(Others::Untouched) } else { Err(ReplyProblem::Which) };
    }
    group.act = Some(match group.act {
        Some(Act::Approve(weight)) => Act::Approve(weight.max(WordWeight::Plain)),
        _ => Act::Approve(WordWeight::Plain),
    });
    Ok(Others::Denied)
}

/// The indexes of the approvals that a group is about, each once, and how it refers to them.
fn targets(
    group: &TargetGroup,
    said: &Statement,
    only: Others,
    pending: &[PendingApproval<'_>],
) -> Result<Vec<(usize, Meant)>, ReplyProblem> {
    let unnamed_all = |places: Vec<usize>| places.into_iter().map(|place| (place, Meant::Unnamed)).collect();
    if group.targets.is_empty() {
        return unnamed(group, said, pending).map(unnamed_all);
    }
    let every = || unnamed_all((0..pending.len()).collect());
    match group.targets.as_slice() {
        [Target::All] if !group.negated => return Ok(every()),
        [Target::Both] if !group.negated && pending.len() == 2 => return Ok(every()),
        [Target::Both] => return Err(ReplyProblem::Which),
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
                let plain = !matches!(group.act, Some(Act::Approve(WordWeight::Nod)));
                if !close || !plain || (program && !may_go_by_its_program(index, group, pending)) {
                    return Err(ReplyProblem::Unclear);
                }
                (index, Meant::ByWords)
            }
            Target::All | Target::Both | Target::Rest => return Err(ReplyProblem::Unclear),
        };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => *known = meant.max(*known),
            None => places.push((place, meant)),
        }
    }
    Ok(places)
}

/// Whether naming only the program is enough: for a denial always, for an approval where its words are known and it is
/// approved once, or where it is approved for a time and the program can be.
fn may_go_by_its_program(index: usize, group: &TargetGroup, pending: &[PendingApproval<'_>]) -> bool {
    let Some(one) = pending.get(index) else { return false };
    let once = group.marks.iter().all(|mark| *mark == ScopeWord::Once);
    let for_a_time = group.marks.iter().any(|mark| matches!(mark, ScopeWord::Window(_)))
        && group.marks.iter().all(|mark| matches!(mark, ScopeWord::Window(_) | ScopeWord::Each));
    let allowed = (once && (one.plain || one.program)) || (for_a_time && one.program);
    matches!(group.act, Some(Act::Deny(_))) || allowed
}

/// No approval was named: the only pending one, or all if `都` says so and can mean nothing else.
fn unnamed(
    group: &TargetGroup,
    said: &Statement,
    pending: &[PendingApproval<'_>],
) -> Result<Vec<usize>, ReplyProblem> {
    let alone = said.groups.len() == 1;
    if alone && pending.len() == 1 {
        return Ok(vec![0]);
    }
    let plain = !matches!(group.act, Some(Act::Approve(WordWeight::Nod)));
    let just_each = said.each && !said.this && group.marks.iter().all(|mark| *mark == ScopeWord::Each);
    if alone && plain && just_each {
        return Ok((0..pending.len()).collect());
    }
    Err(ReplyProblem::Which)
}

/// The index of the approval with this number.
pub(super) fn by_number(number: u32, pending: &[PendingApproval<'_>]) -> Result<usize, ReplyProblem> {
    pending.iter().position(|one| one.number.0 == number).ok_or(ReplyProblem::NoSuch(number))
}

/// `第一个` is certain only where the first one is also number one.
fn by_ordinal(number: u32, pending: &[PendingApproval<'_>]) -> Result<usize, ReplyProblem> {
    let place = by_number(number, pending).map_err(|_| ReplyProblem::Which)?;
    let same = u32::try_from(place + 1).is_ok_and(|place| place == number);
    if same { Ok(place) } else { Err(ReplyProblem::Which) }
}

/// Whether a group names an approval by its program alone.
fn is_program(group: &TargetGroup, place: usize) -> bool {
    let names = |target: &Target| match target {
        Target::Loose { index, program, .. } => (*index == place).then_some(*program),
        Target::Named(index) | Target::Index(index) => (*index == place).then_some(false),
        Target::Number(_) | Target::Ordinal(_) | Target::All | Target::Both | Target::Rest => None,
    };
    let mut named = group.targets.iter().filter_map(names).peekable();
    named.peek().is_some() && named.all(|program| program)
}

/// The answer of an act to one approval. `None` if it is a bare yes or no to an interrupted call.
fn answer(
    kind: ApprovalKind,
    act: Act,
    group: &TargetGroup,
    program: bool,
) -> Result<Option<Answer>, ReplyProblem> {
    let reach = || {
        let by_words = |target: &Target| matches!(target, Target::Named(_) | Target::Loose { .. });
        let naming = if group.targets.iter().any(by_words) { Naming::ByWords } else { Naming::Otherwise };
        let scope = scope(&group.marks, naming).map_err(|none| match none {
            NoScope::HowLong => ReplyProblem::HowLong,
            NoScope::HowFar => ReplyProblem::HowFar,
        })?;
        match scope {
            Scope::Minutes(minutes) if program => Ok(Scope::Program(minutes)),
            Scope::Once => Ok(scope),
            _ if program => Err(ReplyProblem::HowFar),
            _ => Ok(scope),
        }
    };
    match (kind, act) {
        (ApprovalKind::Tool, Act::Approve(WordWeight::Nod)) if a_wait(&group.marks) => {
            Err(ReplyProblem::HowFar)
        }
        (ApprovalKind::Tool, Act::Approve(_)) => Ok(Some(Answer::Approve(reach()?))),
        (ApprovalKind::Tool, Act::Deny(_)) => Ok(Some(Answer::Deny)),
        (ApprovalKind::Tool, Act::Rerun | Act::Done) => Err(ReplyProblem::Unclear),
        // How far a cap is raised has words of its own; a bare yes raises it by the least.
        (ApprovalKind::Budget, Act::Approve(WordWeight::Nod)) => Err(ReplyProblem::Unclear),
        (ApprovalKind::Budget, Act::Approve(_)) if reach()? == Scope::Once => {
            Ok(Some(Answer::Approve(Scope::PlusOne)))
        }
        (ApprovalKind::Budget, Act::Deny(_)) => Ok(Some(Answer::Deny)),
        (ApprovalKind::Budget, Act::Approve(_) | Act::Rerun | Act::Done) => Err(ReplyProblem::Unclear),
        // A call that may have run is run again once, not from now on.
        (ApprovalKind::UnknownOutcome, Act::Rerun | Act::Approve(WordWeight::Formal)) => {
            Ok((reach()? == Scope::Once).then_some(Answer::Approve(Scope::Once)))
        }
        (ApprovalKind::UnknownOutcome, Act::Approve(_) | Act::Deny(WordWeight::Nod)) => Ok(None),
        (ApprovalKind::UnknownOutcome, Act::Deny(_)) => Ok(Some(Answer::Deny)),
        (ApprovalKind::UnknownOutcome, Act::Done) => Ok(Some(Answer::Done)),
    }
}

/// Whether there is a duration without a purpose.
fn a_wait(marks: &[ScopeWord]) -> bool {
    marks.iter().any(|mark| matches!(mark, ScopeWord::Length(_))) && !marks.contains(&ScopeWord::Each)
}

/// Denies what no group has named, if that was stated. The rest is never approved, because it was not named.
fn deny_the_rest(
    rest: Option<&TargetGroup>,
    only: Others,
    ruled: &mut [Option<Answer>],
) -> Result<(), ReplyProblem> {
    if let Some(group) = rest {
        let denied = matches!(group.act, Some(Act::Deny(_))) && group.targets.len() == 1;
        if !denied || ruled.iter().all(Option::is_none) {
            return Err(ReplyProblem::Unclear);
        }
    }
    if rest.is_some() || only == Others::Denied {
        for open in ruled.iter_mut().filter(|answer| answer.is_none()) {
            *open = Some(Answer::Deny);
        }
    }
    Ok(())
}
