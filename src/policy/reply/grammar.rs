//! Who does what to which: the words of a reply as groups of one act with its targets. It takes a reply only whole:
//! one word that it cannot place, and there is no statement. It knows no approvals.

use super::scope::Mark;
use super::tokens::{Alone, Token, Weight, Word};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A yes.
    Approve(Weight),
    /// A no.
    Deny(Weight),
    /// Run the cut-off call again.
    Rerun,
    /// The cut-off call had run.
    Done,
}

/// What it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// By its number.
    Number(u32),
    /// By its number or place.
    Ordinal(u32),
    /// By its id.
    Index(usize),
    /// By its command.
    Named(usize),
    /// By a part of its command.
    Loose {
        /// Which.
        index: usize,
        /// In this clause.
        clause: usize,
    },
    /// All of them.
    All,
    /// The two of them.
    Both,
    /// Those that no other group has.
    Rest,
}

/// One act and its targets.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// What; none if only targets were named.
    pub(super) act: Option<Act>,
    /// Whether a negation made it a no.
    pub(super) negated: bool,
    /// To which; none if none was named.
    pub(super) targets: Vec<Target>,
    /// How far.
    pub(super) marks: Vec<Mark>,
    /// The clauses its act stands in.
    pub(super) clauses: Vec<usize>,
}

/// A whole reply.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// The acts, in order. Never empty.
    pub(super) groups: Vec<Group>,
    /// Whether no others are meant.
    pub(super) only: bool,
    /// Whether `都` was said.
    pub(super) each: bool,
    /// Whether something was pointed at.
    pub(super) this: bool,
}

/// A part that counts, before parts are grouped.
#[derive(Clone, Copy, Debug)]
enum Part {
    Act { act: Act, negated: bool },
    Target(Target),
}

#[derive(Debug, Default)]
struct Parts {
    row: Vec<(Part, usize)>,
    marks: Vec<(Mark, usize)>,
    only: bool,
    each: bool,
    this: bool,
}

/// The statement that these words make, if they make one.
pub(super) fn statement(tokens: &[Token]) -> Option<Statement> {
    let parts = parts(tokens)?;
    let acts_first = matches!(parts.row.first()?, (Part::Act { .. }, _));
    let mut groups =
        if acts_first { acts_first_groups(&parts.row)? } else { targets_first_groups(&parts.row)? };
    for (mark, clause) in parts.marks {
        place(mark, clause, &mut groups)?;
    }
    Some(Statement { groups, only: parts.only, each: parts.each, this: parts.this })
}

fn parts(tokens: &[Token]) -> Option<Parts> {
    let mut parts = Parts::default();
    let mut clause = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let after = tokens.get(at + 1..).unwrap_or_default();
        at += 1;
        match token.word {
            Word::Delimiter | Word::Dash => clause += 1,
            Word::And if opens(after) => clause += 1,
            Word::And | Word::Filler => {}
            Word::Negation(alone) => {
                let (act, taken) = turned(alone, after)?;
                parts.row.push((Part::Act { act, negated: true }, clause));
                at += taken;
            }
            Word::This => parts.this = true,
            Word::Only => parts.only = true,
            word => match (act(word), target(word, clause), mark(word)) {
                (Some(act), _, _) => parts.row.push((Part::Act { act, negated: false }, clause)),
                (_, Some(target), _) => parts.row.push((Part::Target(target), clause)),
                (_, _, Some(mark)) => {
                    parts.each |= mark == Mark::Each;
                    parts.this |= mark == Mark::ThisCommand;
                    parts.marks.push((mark, clause));
                }
                (None, None, None) => return None,
            },
        }
    }
    Some(parts)
}

/// Whether a new act begins here, so that `approve A1 and deny A2` is two clauses.
fn opens(after: &[Token]) -> bool {
    let next = after.iter().find(|token| token.word != Word::Filler);
    next.is_some_and(|token| act(token.word).is_some() || matches!(token.word, Word::Negation(_)))
}

/// What a negation makes of the words that follow it, and how many of them it takes. None if that is not clear: it
/// turns a yes into a no, but nothing into a yes.
fn turned(alone: Alone, after: &[Token]) -> Option<(Act, usize)> {
    let mut heaviest: Option<Weight> = None;
    let mut taken = 0;
    for (at, token) in after.iter().enumerate() {
        match token.word {
            Word::Filler => {}
            Word::Approve(weight) => {
                heaviest = heaviest.max(Some(weight));
                taken = at + 1;
            }
            Word::Rerun => {
                heaviest = Some(Weight::Formal);
                taken = at + 1;
            }
            _ if heaviest.is_some() => break,
            Word::Delimiter if alone == Alone::Denies => return Some((Act::Deny(Weight::Nod), at)),
            Word::Negation(Alone::Denies) if alone == Alone::Denies && only_negations(after) => {
                return Some((Act::Deny(Weight::Nod), after.len()));
            }
            _ => return None,
        }
    }
    match heaviest {
        Some(weight) => Some((Act::Deny(weight), taken)),
        None if alone == Alone::Denies => Some((Act::Deny(Weight::Nod), after.len())),
        None => None,
    }
}

fn only_negations(after: &[Token]) -> bool {
    after
        .iter()
        .all(|token| matches!(token.word, Word::Negation(Alone::Denies) | Word::Filler | Word::Delimiter))
}

fn act(word: Word) -> Option<Act> {
    match word {
        Word::Approve(weight) => Some(Act::Approve(weight)),
        Word::Deny(weight) => Some(Act::Deny(weight)),
        Word::Rerun => Some(Act::Rerun),
        Word::Done => Some(Act::Done),
        _ => None,
    }
}

fn target(word: Word, clause: usize) -> Option<Target> {
    match word {
        Word::Number(number) => Some(Target::Number(number)),
        Word::Ordinal(number) => Some(Target::Ordinal(number)),
        Word::Id(index) => Some(Target::Index(index)),
        Word::Named(index) => Some(Target::Named(index)),
        Word::NamedLoosely(index) => Some(Target::Loose { index, clause }),
        Word::All => Some(Target::All),
        Word::Both => Some(Target::Both),
        Word::Rest => Some(Target::Rest),
        _ => None,
    }
}

fn mark(word: Word) -> Option<Mark> {
    match word {
        Word::Window(minutes) => Some(Mark::Window(minutes)),
        Word::Length(minutes) => Some(Mark::Length(minutes)),
        Word::Each => Some(Mark::Each),
        Word::Ever => Some(Mark::Ever),
        Word::Forever => Some(Mark::Forever),
        Word::Once => Some(Mark::Once),
        Word::Thread => Some(Mark::Thread),
        Word::Project => Some(Mark::Project),
        Word::Kind => Some(Mark::Kind),
        Word::ThisCommand => Some(Mark::ThisCommand),
        _ => None,
    }
}

/// `approve A1 A3, deny A2`: targets follow their act.
fn acts_first_groups(row: &[(Part, usize)]) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut rest_ahead = false;
    for (at, (part, clause)) in row.iter().enumerate() {
        // `其他拒绝`: the rest stands before its act, whatever the others do.
        let acts_next = matches!(row.get(at + 1), Some((Part::Act { .. }, next)) if next == clause);
        match (part, groups.last_mut()) {
            (Part::Target(Target::Rest), _) if acts_next => rest_ahead = true,
            (Part::Act { act, negated }, _) if std::mem::take(&mut rest_ahead) => {
                let mut group = Group::new(*act, *negated, *clause);
                group.targets.push(Target::Rest);
                groups.push(group);
            }
            (Part::Target(target), Some(last)) => last.targets.push(*target),
            (Part::Target(_), None) => return None,
            (Part::Act { act, negated }, Some(last)) if last.targets.is_empty() => {
                last.join(*act, *negated, *clause)?;
            }
            (Part::Act { act, negated }, _) => groups.push(Group::new(*act, *negated, *clause)),
        }
    }
    // `approve A1, ok`: a last act without targets only says the same again.
    if groups.len() > 1
        && let Some(last) = groups.pop_if(|last| last.targets.is_empty())
    {
        let before = groups.last_mut()?;
        before.join(last.act?, last.negated, *last.clauses.first()?)?;
    }
    Some(groups)
}

/// `A1 yes, A2 no`: the act follows its targets.
fn targets_first_groups(row: &[(Part, usize)]) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut waiting: Vec<Target> = Vec::new();
    for (part, clause) in row {
        match part {
            Part::Target(target) => waiting.push(*target),
            Part::Act { act, negated } if waiting.is_empty() => {
                groups.last_mut()?.join(*act, *negated, *clause)?;
            }
            // A negation after the targets leaves them alone: `全部不同意` is a no to all.
            Part::Act { act, .. } => {
                let mut group = Group::new(*act, false, *clause);
                group.targets = std::mem::take(&mut waiting);
                groups.push(group);
            }
        }
    }
    match (groups.is_empty(), waiting.is_empty()) {
        (true, false) => {
            let (_, clause) = row.first()?;
            Some(vec![Group {
                act: None,
                negated: false,
                targets: waiting,
                marks: Vec::new(),
                clauses: vec![*clause],
            }])
        }
        (false, true) => Some(groups),
        _ => None,
    }
}

/// A mark goes to the only group there is, or to the only one that acts in its clause.
fn place(mark: Mark, clause: usize, groups: &mut [Group]) -> Option<()> {
    if let [only] = groups {
        only.marks.push(mark);
        return Some(());
    }
    let mut acting = groups.iter_mut().filter(|group| group.clauses.contains(&clause));
    let group = acting.next()?;
    if acting.next().is_some() && !matches!(mark, Mark::Each) {
        return None;
    }
    group.marks.push(mark);
    Some(())
}

impl Group {
    fn new(act: Act, negated: bool, clause: usize) -> Self {
        Self { act: Some(act), negated, targets: Vec::new(), marks: Vec::new(), clauses: vec![clause] }
    }

    /// Takes in a second act that says the same. None if it says something else.
    fn join(&mut self, act: Act, negated: bool, clause: usize) -> Option<()> {
        let joined = match (self.act?, act) {
            (Act::Approve(one), Act::Approve(other)) => Act::Approve(one.max(other)),
            (Act::Deny(one), Act::Deny(other)) => Act::Deny(one.max(other)),
            // `yes, run it again`.
            (Act::Approve(_), Act::Rerun) | (Act::Rerun, Act::Approve(_) | Act::Rerun) => Act::Rerun,
            (Act::Done, Act::Done) => Act::Done,
            _ => return None,
        };
        self.act = Some(joined);
        self.negated |= negated;
        self.clauses.push(clause);
        Some(())
    }
}
