//! Parses the words of a reply into groups of one act with its targets. A target belongs to the act of its own clause;
//! where two acts could have it, there is no statement. The whole reply must parse: one word without a place, and there
//! is no statement. It knows no approvals.

use super::clauses::groups;
use super::scope::ScopeWord;
use super::tokens::Token;
use super::word::{Alone, Word, WordWeight};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Approve(WordWeight),
    Deny(WordWeight),
    /// Run the interrupted call again.
    Rerun,
    /// The interrupted call had run.
    Done,
}

/// What it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Number(u32),
    /// By its number or position.
    Ordinal(u32),
    Index(usize),
    Named(usize),
    /// By a part of its command, or by its program.
    Loose {
        index: usize,
        clause: usize,
        /// Only the program is named, not its arguments.
        program: bool,
    },
    All,
    /// The two pending ones.
    Both,
    /// Those that no other group has.
    Rest,
}

/// One act and its targets.
#[derive(Clone, Debug)]
pub(super) struct TargetGroup {
    /// `None` if only targets were named.
    pub(super) act: Option<Act>,
    /// Whether a negation made it a denial.
    pub(super) negated: bool,
    /// Empty if none was named.
    pub(super) targets: Vec<Target>,
    pub(super) marks: Vec<ScopeWord>,
    /// The clauses of its act.
    pub(super) clauses: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// The acts, in order. Never empty.
    pub(super) groups: Vec<TargetGroup>,
    /// Whether no others are meant.
    pub(super) only: bool,
    /// Whether the reply contains `都`.
    pub(super) each: bool,
    /// Whether the reply contains a demonstrative.
    pub(super) this: bool,
}

/// A relevant part, before grouping.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplyPart {
    Act { act: Act, negated: bool },
    Target(Target),
}

#[derive(Debug, Default)]
struct Parts {
    row: Vec<(ReplyPart, usize)>,
    marks: Vec<(ScopeWord, usize)>,
    only: bool,
    each: bool,
    this: bool,
}

/// The statement of these words, if they form one.
pub(super) fn statement(tokens: &[Token]) -> Option<Statement> {
    let parts = parts(tokens)?;
    let mut groups = groups(&parts.row)?;
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
            word if word.ends_a_clause() => clause += 1,
            Word::And if opens(after) => clause += 1,
            Word::And => {}
            word if word.says_nothing() => {}
            Word::Negation(alone) => {
                let (act, taken) = turned(alone, after)?;
                parts.row.push((ReplyPart::Act { act, negated: true }, clause));
                at += taken;
            }
            Word::This | Word::It => parts.this = true,
            Word::Only | Word::Just => parts.only = true,
            word => match (act(word), target(word, clause), mark(word)) {
                (Some(act), _, _) => parts.row.push((ReplyPart::Act { act, negated: false }, clause)),
                (_, Some(target), _) => parts.row.push((ReplyPart::Target(target), clause)),
                (_, _, Some(mark)) => {
                    parts.each |= mark == ScopeWord::Each;
                    parts.this |= mark == ScopeWord::ThisCommand;
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
    let next = after.iter().find(|token| !token.word.says_nothing());
    next.is_some_and(|token| act(token.word).is_some() || matches!(token.word, Word::Negation(_)))
}

/// The act of a negation with the words after it, and how many of them it includes. `None` if that is unclear: it turns
/// an approval into a denial, but nothing into an approval.
fn turned(alone: Alone, after: &[Token]) -> Option<(Act, usize)> {
    let mut heaviest: Option<WordWeight> = None;
    let mut taken = 0;
    let mut end = None;
    for (at, token) in after.iter().enumerate() {
        let weight = match token.word {
            Word::Approve(yes) => Some(yes.weight()),
            Word::Rerun => Some(WordWeight::Formal),
            _ => None,
        };
        match token.word {
            // `不要批准执行`, but in `不同意 approve A3` the second one begins a new act.
            _ if weight.is_some() => {
                if end.is_some_and(|end| end != token.at) {
                    break;
                }
                heaviest = heaviest.max(weight);
                taken = at + 1;
                end = Some(token.end);
            }
            word if word.says_nothing() => {}
            _ if heaviest.is_some() => break,
            word if word.ends_a_clause() && alone == Alone::Denies => {
                return Some((Act::Deny(WordWeight::Nod), at));
            }
            Word::Negation(Alone::Denies) if alone == Alone::Denies && only_negations(after) => {
                return Some((Act::Deny(WordWeight::Nod), after.len()));
            }
            _ => return None,
        }
    }
    match heaviest {
        Some(weight) => Some((Act::Deny(weight), taken)),
        None if alone == Alone::Denies => Some((Act::Deny(WordWeight::Nod), after.len())),
        None => None,
    }
}

fn only_negations(after: &[Token]) -> bool {
    let silent = |word: Word| word.says_nothing() || word.ends_a_clause();
    after.iter().all(|token| token.word == Word::Negation(Alone::Denies) || silent(token.word))
}

fn act(word: Word) -> Option<Act> {
    match word {
        Word::Approve(yes) => Some(Act::Approve(yes.weight())),
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
        Word::NamedLoosely(index) => Some(Target::Loose { index, clause, program: false }),
        Word::Program(index) => Some(Target::Loose { index, clause, program: true }),
        Word::All(_) => Some(Target::All),
        Word::Both(_) => Some(Target::Both),
        Word::Rest => Some(Target::Rest),
        _ => None,
    }
}

fn mark(word: Word) -> Option<ScopeWord> {
    match word {
        Word::Window(minutes, _) => Some(ScopeWord::Window(minutes)),
        Word::Length(minutes) => Some(ScopeWord::Length(minutes)),
        Word::Each => Some(ScopeWord::Each),
        Word::Ever | Word::Later => Some(ScopeWord::Ever),
        Word::Forever => Some(ScopeWord::Forever),
        Word::Once => Some(ScopeWord::Once),
        Word::Thread(_) | Word::InThread => Some(ScopeWord::Thread),
        Word::Project(_) | Word::InProject => Some(ScopeWord::Project),
        Word::Kind(_) | Word::ThisKind => Some(ScopeWord::Kind),
        Word::ThisCommand => Some(ScopeWord::ThisCommand),
        _ => None,
    }
}

/// A mark belongs to the only group, or to the only one with an act in its clause.
fn place(mark: ScopeWord, clause: usize, groups: &mut [TargetGroup]) -> Option<()> {
    if let [only] = groups {
        only.marks.push(mark);
        return Some(());
    }
    let mut acting = groups.iter_mut().filter(|group| group.clauses.contains(&clause));
    let group = acting.next()?;
    if acting.next().is_some() && !matches!(mark, ScopeWord::Each) {
        return None;
    }
    group.marks.push(mark);
    Some(())
}

impl TargetGroup {
    pub(super) fn new(act: Option<Act>, negated: bool, clause: usize) -> Self {
        Self { act, negated, targets: Vec::new(), marks: Vec::new(), clauses: vec![clause] }
    }

    /// Adds a second act with the same meaning. `None` if it differs.
    pub(super) fn join(&mut self, act: Act, negated: bool, clause: usize) -> Option<()> {
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
