//! Approvals named by their content: `only git status`. Words are compared with words, from the start of a command or
//! as a sequence inside it, never with parts of words. A command that is not one plain call must be named completely,
//! because its beginning says nothing about its end.

use super::fold::{is_han, words_of};
use super::numbers::glued;
use super::reader::PendingApproval;
use super::word::Word;

/// How well a name matches. The better one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The program it runs, without the arguments.
    Program,
    /// One word of it, or a sequence of words inside it.
    Inside,
    Beginning,
    Whole,
}

/// The names of the pending approvals.
#[derive(Debug)]
pub(super) struct ApprovalNames {
    commands: Vec<Name>,
}

#[derive(Debug)]
struct Name {
    index: usize,
    words: Vec<Vec<char>>,
    /// It is one plain call, by its words and by its characters.
    plain: bool,
    /// It has no character that could make it more than one plain call.
    simple: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FoundName {
    /// Which one is named.
    pub(super) word: Word,
    /// The length of the match.
    pub(super) taken: usize,
}

impl ApprovalNames {
    pub(super) fn of(pending: &[PendingApproval<'_>]) -> Self {
        let mut commands = Vec::new();
        for (index, one) in pending.iter().enumerate() {
            commands.push(Name { index, words: words_of(one.tool), plain: false, simple: false });
            if let Some(command) = one.command {
                let simple = !command.contains(COMPOUND);
                let plain = one.plain && simple;
                commands.push(Name { index, words: words_of(command), plain, simple });
            }
        }
        commands.retain(|name| !name.words.is_empty());
        Self { commands }
    }

    /// The longest name at the start of the text. The best match wins; two equally good ones match nothing.
    pub(super) fn find(&self, rest: &[char]) -> Option<FoundName> {
        let hits: Vec<_> = self.commands.iter().filter_map(|name| name.fits(rest)).collect();
        let taken = hits.iter().map(|(taken, _, _)| *taken).max()?;
        let one_word = !rest.get(..taken)?.iter().any(|c| c.is_whitespace());
        let best = hits.iter().filter(|hit| hit.0 == taken).map(|(_, fit, _)| *fit).max()?;
        let mut named = hits.iter().filter(|hit| hit.0 == taken && hit.1 == best).map(|hit| hit.2);
        let first = named.next()?;
        let word = match (named.any(|other| other != first), best) {
            (true, _) => Word::NamedSeveral,
            (false, Fit::Program) => Word::Program(first),
            (false, Fit::Inside) => Word::NamedLoosely(first),
            (false, Fit::Beginning | Fit::Whole) if one_word => Word::NamedLoosely(first),
            (false, Fit::Beginning | Fit::Whole) => Word::Named(first),
        };
        Some(FoundName { word, taken })
    }
}

/// Characters that make a command more than one plain call.
const COMPOUND: &[char] = &[';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\n', '\\'];

impl Name {
    /// The longest match here: its length, its quality, and its approval.
    fn fits(&self, rest: &[char]) -> Option<(usize, Fit, usize)> {
        let mut best: Option<(usize, Fit, usize)> = None;
        for start in 0..self.words.len() {
            let Some((taken, words)) = self.run(rest, start) else { continue };
            let whole = words == self.words.len();
            let fit = match (start, words) {
                _ if whole => Fit::Whole,
                (0, 1) if self.simple && telling(rest.get(..taken)?) => Fit::Program,
                _ if !self.plain => continue,
                (0, 2..) => Fit::Beginning,
                _ if telling(rest.get(..taken)?) => Fit::Inside,
                _ => continue,
            };
            if best.is_none_or(|(other, fit_of_other, _)| (taken, fit) > (other, fit_of_other)) {
                best = Some((taken, fit, self.index));
            }
        }
        best
    }

    /// How many characters and words match, from one word of the command on.
    fn run(&self, rest: &[char], start: usize) -> Option<(usize, usize)> {
        let mut found = None;
        let mut at = 0;
        for (count, word) in self.words.get(start..)?.iter().enumerate() {
            if count > 0 {
                match rest.get(at) {
                    Some(c) if c.is_whitespace() => at += 1,
                    _ => break,
                }
            }
            if rest.get(at..at + word.len()) != Some(word.as_slice()) {
                break;
            }
            at += word.len();
            if ends(rest.get(at..).unwrap_or_default()) {
                found = Some((at, count + 1));
            }
        }
        found
    }
}

/// Words that say what is meant, and not which command: `approve nothing`.
const AMOUNTS: &str = "any anything every false few less more most nil nobody none nothing null off one several \
    something true two zero";

/// A short word or one without letters would match too much by accident.
fn telling(name: &[char]) -> bool {
    let word: String = name.iter().collect();
    let amount = AMOUNTS.split_ascii_whitespace().any(|amount| amount == word);
    !amount && name.len() >= 2 && name.iter().any(|c| c.is_alphabetic())
}

/// Whether a word of a command ends here.
fn ends(rest: &[char]) -> bool {
    match rest {
        [] => true,
        ['.' | ':', next, ..] => !next.is_ascii_alphanumeric() && !glued(Some(*next)),
        [c, ..] => {
            c.is_whitespace()
                || is_han(*c)
                || matches!(c, ',' | '.' | ':' | '!' | '?' | '"' | '`' | '\'' | ')' | '。' | '、' | '…')
        }
    }
}
