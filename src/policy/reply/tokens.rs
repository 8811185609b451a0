//! Splits a reply into words with one meaning each. The longest match at a position is used; text without a match is
//! kept as unknown, and no reply with an unknown word approves.

use super::fold::{Folded, is_han};
use super::naming::ApprovalNames;
use super::numbers::{NumberedReply, Stretch, glued, numbered, starts, stretch};
use super::reader::PendingApproval;
use super::word::{Word, WordWeight, Yes};
use super::{words_en, words_zh};

/// A word and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) word: Word,
    pub(super) at: usize,
    /// The position after its last character.
    pub(super) end: usize,
    /// Whether it is a single Chinese character.
    lone_han: bool,
}

/// Splits a normalized reply into words.
pub(super) fn tokens(folded: &Folded<'_>, pending: &[PendingApproval<'_>]) -> Vec<Token> {
    let names = ApprovalNames::of(pending);
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = folded.chars.get(at) {
        if *c == ' ' {
            at += 1;
            continue;
        }
        let (word, taken) = next(folded, at, pending, &names);
        let end = at + taken.max(1);
        out.push(Token { word, at, end, lone_han: taken == 1 && is_han(*c) });
        at = end;
    }
    in_context(&mut out);
    out
}

fn next(
    folded: &Folded<'_>,
    at: usize,
    pending: &[PendingApproval<'_>],
    names: &ApprovalNames,
) -> (Word, usize) {
    let rest = folded.chars.get(at..).unwrap_or_default();
    let before = at.checked_sub(1).and_then(|before| folded.chars.get(before)).copied();
    let mut best = (Word::Unknown(0), 0);
    let mut consider = |word: Word, taken: usize| {
        if taken > best.1 {
            best = (word, taken);
        }
    };
    if let Some((word, taken)) = vocabulary(rest, before) {
        consider(word, taken);
    }
    if let (None, Some((word, taken))) = (before, addressed(rest)) {
        consider(word, taken);
    }
    if !glued(before) {
        if let Some((word, taken)) = id(folded, at, pending).or_else(|| number(rest)) {
            consider(word, taken);
        }
        if let Some((stretch, taken)) = stretch(rest) {
            consider(in_words(stretch), taken);
        }
        if let Some(found) = names.find(rest)
            && says_nothing_else(rest, found.taken)
        {
            consider(found.word, found.taken);
        }
        if let Some((word, taken)) = quoted_command(rest, names) {
            consider(word, taken);
        }
    }
    match best {
        (_, 0) => unknown(rest),
        found => found,
    }
}

fn number(rest: &[char]) -> Option<(Word, usize)> {
    let (numbered, taken) = numbered(rest)?;
    let word = match numbered {
        NumberedReply::Number(number) => Word::Number(number),
        NumberedReply::Ordinal(number) => Word::Ordinal(number),
    };
    Some((word, taken))
}

fn in_words(stretch: Stretch) -> Word {
    match stretch {
        Stretch::Minutes(minutes, language) => Word::Window(Some(minutes), language),
        Stretch::Length(minutes) => Word::Length(minutes),
        Stretch::OutOfRange(language) => Word::Window(None, language),
        Stretch::Point => Word::Doubt,
    }
}

/// A command in quotation marks or as code: ``approve `git status` ``. The marks contain the command and nothing else.
/// A quoted number repeats the words of another message.
fn quoted_command(rest: &[char], names: &ApprovalNames) -> Option<(Word, usize)> {
    let (sign, inner) = rest.split_first().filter(|(sign, _)| matches!(sign, '`' | '"' | '\''))?;
    let found = names.find(inner)?;
    (inner.get(found.taken) == Some(sign)).then_some((found.word, found.taken + 2))
}

/// The longest matching entry of the tables.
fn vocabulary(rest: &[char], before: Option<char>) -> Option<(Word, usize)> {
    let mut best: Option<(Word, usize)> = None;
    for (word, entries) in words_zh::WORDS.iter().chain(words_en::WORDS) {
        for entry in entries.split('|') {
            if let Some(taken) = starts(rest, entry)
                && best.is_none_or(|(_, longest)| taken > longest)
                && stands_alone(entry, rest.get(taken..).unwrap_or_default(), before)
            {
                best = Some((*word, taken));
            }
        }
    }
    // `no. 1` may be a number or a denial.
    if let Some((Word::Deny(_), taken @ 2)) = best
        && rest.get(taken) == Some(&'.')
        && rest
            .get(taken + 1..)
            .is_some_and(|after| numbered(after.strip_prefix(&[' ']).unwrap_or(after)).is_some())
    {
        return Some((Word::Doubt, taken + 1));
    }
    best
}

/// `/approve@name`: in groups a command may carry the name of the bot.
fn addressed(rest: &[char]) -> Option<(Word, usize)> {
    let sign = rest.iter().position(|c| *c == '@')?;
    let (word, taken) = vocabulary(rest.get(..sign)?, None).filter(|_| rest.first() == Some(&'/'))?;
    let name = rest.get(sign + 1..)?.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
    (taken == sign && name > 0).then_some((word, sign + 1 + name))
}

/// Whether a Latin word has no letters, digits or joining characters around it.
fn stands_alone(entry: &str, after: &[char], before: Option<char>) -> bool {
    let latin = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let command = entry.starts_with('/');
    let begins = match command {
        true => before.is_none(),
        false => !latin(entry.chars().next()) || !glued(before),
    };
    let dotted = after.first() == Some(&'.') && latin(after.get(1).copied());
    let ends = !latin(entry.chars().next_back()) || (!glued(after.first().copied()) && !dotted);
    begins && ends
}

/// An approval's own id, case-sensitive.
fn id(folded: &Folded<'_>, at: usize, pending: &[PendingApproval<'_>]) -> Option<(Word, usize)> {
    let rest = folded.cased.get(at..)?;
    let run: String =
        rest.iter().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
    if let Some(index) = pending.iter().position(|one| one.id.as_str() == run) {
        return Some((Word::Id(index), run.len()));
    }
    let like_an_id = run.len() >= 16 && run.contains(|c: char| c.is_ascii_digit());
    like_an_id.then_some((Word::StrangeId, run.len()))
}

/// Whether no word of a name has a meaning of its own. A command is written by a model: it must not hide the `not` of a
/// reply by containing one too.
fn says_nothing_else(rest: &[char], taken: usize) -> bool {
    let name = rest.get(..taken).unwrap_or_default();
    let mut words = name.split(|c| c.is_whitespace());
    let first = words.next().unwrap_or_default();
    let silent = |word: &[char]| match vocabulary(word, None) {
        Some((Word::Aside | Word::Stop | Word::Dash, _)) | None => true,
        Some((_, length)) => length < word.len(),
    };
    let phrase = vocabulary(rest, None).is_some_and(|(_, length)| length >= first.len());
    let last_is_a_number = words.clone().next_back().is_some_and(|word| numbered(word).is_some());
    !phrase && !last_is_a_number && !name.iter().any(|c| is_han(*c) || *c == '?') && words.all(silent)
}

/// An unknown word: a sequence of Latin letters and symbols, or one other character.
fn unknown(rest: &[char]) -> (Word, usize) {
    let run = rest.iter().take_while(|c| c.is_ascii_graphic() && !is_sign(**c)).count();
    if run > 0 { (Word::Unknown(2), run) } else { (Word::Unknown(1), 1) }
}

fn is_sign(c: char) -> bool {
    matches!(c, ',' | '.' | ';' | ':' | '!' | '?' | '"' | '`' | '(' | ')' | '[' | ']')
}

/// Resolves meanings that depend on the neighbours.
fn in_context(tokens: &mut [Token]) {
    let seen: Vec<Token> = tokens.to_vec();
    for (i, token) in tokens.iter_mut().enumerate() {
        let before = i.checked_sub(1).and_then(|before| seen.get(before));
        let after = seen.get(i + 1..).unwrap_or_default();
        token.word = match token.word {
            // `你好`, `好难`, `银行`: a part of a longer word.
            Word::Approve(Yes::Lone | Yes::First) | Word::Deny(WordWeight::Nod)
                if token.lone_han
                    && (strange(before, |other| other.end == token.at)
                        || strange(after.first(), |other| other.at == token.end)) =>
            {
                Word::Unknown(1)
            }
            // `特别`, but not `别删`.
            Word::Negation(_) if token.lone_han && strange(before, |other| other.end == token.at) => {
                Word::Unknown(1)
            }
            Word::Dash if numeric(before) && numeric(after.first()) => Word::Doubt,
            Word::Then if i > 0 => Word::Doubt,
            Word::OnceUnless => {
                let waits = after.iter().take_while(|other| !other.word.ends_a_clause()).any(|other| {
                    !matches!(other.word, Word::Please | Word::Thanks | Word::And | Word::Exclamation)
                });
                if waits { Word::Doubt } else { Word::Once }
            }
            other => other,
        };
    }
}

fn numeric(neighbour: Option<&Token>) -> bool {
    neighbour.is_some_and(|other| matches!(other.word, Word::Number(_) | Word::Ordinal(_)))
}

fn strange(neighbour: Option<&Token>, touches: impl Fn(&Token) -> bool) -> bool {
    neighbour.is_some_and(|other| other.lone_han && matches!(other.word, Word::Unknown(_)) && touches(other))
}
