//! Orders the passages that a query found. A passage counts by the rare terms it has. A term that it lacks counts in part
//! when a passage shortly before or after it in the same conversation has it: an answer often leaves out what the
//! question named. The numbers were chosen on the questions of `tests/fixtures/memory`.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::calendar::{tells_number, tells_time};
use super::query::{Query, TermKind};
use super::stem::{regular, stem};
use super::stop_words::is_stop_word;
use super::tokens::{Stemmer, is_cjk, normalize};

/// How soon the repetition of a term stops to count, and how much long passages are marked down (BM25).
const SATURATION: f64 = 1.0;
const LENGTH: f64 = 0.3;

/// What a term counts that only a passage so many places before, or after, has.
const LENT_FROM_BEFORE: [f64; 4] = [0.8, 0.6, 0.4, 0.2];
const LENT_FROM_AFTER: [f64; 2] = [0.3, 0.15];
/// Passages further apart in time belong to different conversations.
const LEND_WITHIN_MS: i64 = 6 * 60 * 60 * 1000;

/// How far around a passage its neighbours matter.
pub const WINDOW: i64 = 4;

/// A name is not shortened to fewer letters.
const SHORTEST_NAME: usize = 3;
/// A word that one in so many texts has may be the short form of a name; a more common one is a word.
const RARE: u64 = 200;
/// The name of an author in a question tells who spoke more than what was said.
const NAME_AS_TERM: f64 = 0.3;
const SPOKEN_BY_NAMED: f64 = 1.6;
const TELLS_ASKED_TIME: f64 = 1.15;
const TELLS_ASKED_NUMBER: f64 = 1.2;
const ON_ASKED_DATE: f64 = 2.0;
/// Passages that only ask, or only say "sure", rarely answer.
const QUESTION: f64 = 0.8;
const SHORT: f64 = 0.8;
const SHORT_TOKENS: usize = 5;
/// What a single CJK character counts besides the pairs.
const CHARACTER: f64 = 0.2;

/// A message or note that may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Where it stands. Passages of one source that follow each other have numbers that do.
    pub key: i64,
    /// When it was said, in milliseconds.
    pub at: i64,
    /// The name of its author.
    pub author: String,
    pub text: String,
}

/// How common the terms of a query are where it searches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frequencies {
    pub passages: u64,
    /// How many passages have each term of the query, in the order of the terms.
    pub with_term: Vec<u64>,
}

/// A passage by its place in the list that was ranked, and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    pub index: usize,
    pub score: f64,
    /// The weight of the terms that the passage itself has, and their share in the weight of all terms.
    pub own_weight: f64,
    pub own_share: f64,
}

/// Scores passages and puts the best first; those that have nothing of the query are left out. `passages` are in the
/// order of their keys.
pub fn rank(query: &Query, passages: &[Passage], frequencies: &Frequencies) -> Vec<Ranked> {
    let named = named_authors(query, passages, frequencies);
    let weights = term_weights(query, frequencies, &named);
    let mut stemmer = Stemmer::default();
    let scanned: Vec<Scanned> =
        passages.iter().map(|passage| scan(query, passage, &named, &mut stemmer)).collect();
    let characters = character_weights(query, &scanned);
    let tokens: usize = scanned.iter().map(|one| one.tokens).sum();
    let mean = (tokens as f64 / scanned.len().max(1) as f64).max(1.0);
    let whole: f64 = weights.iter().sum();
    let mut out = Vec::new();
    for (index, own) in scanned.iter().enumerate() {
        let length = SATURATION * (1.0 - LENGTH + LENGTH * own.tokens as f64 / mean);
        let has_term = |one: &Scanned, at: usize| one.counts.get(at).is_some_and(|count| *count > 0);
        let lent = lent_to(index, passages, &scanned, weights.len(), has_term);
        let terms = weights.iter().zip(&own.counts).zip(lent);
        let by_terms: f64 = terms
            .map(|((weight, count), lent)| {
                let count = f64::from(*count);
                weight * (count * (SATURATION + 1.0) / (count + length)).max(lent)
            })
            .sum();
        let has_character = |one: &Scanned, at: usize| one.characters.get(at) == Some(&true);
        let lent = lent_to(index, passages, &scanned, characters.len(), has_character);
        let by_characters: f64 = characters
            .iter()
            .zip(&own.characters)
            .zip(lent)
            .map(|((weight, has), lent)| if *has { *weight } else { weight * lent })
            .sum();
        let score = (by_terms + by_characters) * own.factor;
        if score > 0.0 {
            let had = weights.iter().zip(&own.counts).filter(|(_, count)| **count > 0);
            let own_weight: f64 = had.map(|(weight, _)| weight).sum();
            let own_share = own_weight / whole.max(f64::MIN_POSITIVE);
            out.push(Ranked { index, score, own_weight, own_share });
        }
    }
    out.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    out
}

/// What one passage has of the query.
#[derive(Debug)]
struct Scanned {
    counts: Vec<u32>,
    characters: Vec<bool>,
    tokens: usize,
    factor: f64,
}

fn scan(query: &Query, passage: &Passage, named: &[NamedAuthor], stemmer: &mut Stemmer) -> Scanned {
    let normalized = normalize(&passage.text);
    let tokens = stemmer.tokens(&normalized);
    let mut occurrences: BTreeMap<&str, u32> = BTreeMap::new();
    for token in &tokens {
        let count = occurrences.entry(token).or_default();
        *count = count.saturating_add(1);
    }
    let counts = query.terms.iter().map(|term| match term.kind {
        TermKind::Word | TermKind::Pair => occurrences.get(term.key.as_str()).copied().unwrap_or(0),
        TermKind::Prefix => u32::from(normalized.contains(&term.key)),
    });
    let mut factor = 1.0;
    if let [only] = named
        && only.name == passage.author
    {
        factor *= SPOKEN_BY_NAMED;
    }
    if query.asked.time && tells_time(&normalized, &tokens) {
        factor *= TELLS_ASKED_TIME;
    }
    if query.asked.number && tells_number(&normalized, &tokens) {
        factor *= TELLS_ASKED_NUMBER;
    }
    if query.dates.iter().any(|date| date.covers(passage.at)) {
        factor *= ON_ASKED_DATE;
    }
    if normalized.trim_end().ends_with('?') {
        factor *= QUESTION;
    }
    if tokens.len() < SHORT_TOKENS {
        factor *= SHORT;
    }
    Scanned {
        counts: counts.collect(),
        characters: query.characters.iter().map(|c| normalized.contains(*c)).collect(),
        tokens: tokens.len(),
        factor,
    }
}

/// What each term, or character, counts for the passage at `index` because of its neighbours that have it.
fn lent_to(
    index: usize,
    passages: &[Passage],
    scanned: &[Scanned],
    count: usize,
    has: impl Fn(&Scanned, usize) -> bool,
) -> Vec<f64> {
    let mut lent = vec![0.0_f64; count];
    if count == 0 {
        return lent;
    }
    let Some(own) = passages.get(index) else { return lent };
    let before = LENT_FROM_BEFORE.iter().enumerate().map(|(at, share)| (index.checked_sub(at + 1), share));
    let after = LENT_FROM_AFTER.iter().enumerate().map(|(at, share)| (index.checked_add(at + 1), share));
    for (place, share) in before.chain(after) {
        let Some((there, scan)) = place.and_then(|at| passages.get(at).zip(scanned.get(at))) else {
            continue;
        };
        let near = own.key.abs_diff(there.key) <= WINDOW.unsigned_abs();
        if !near || own.at.abs_diff(there.at) > LEND_WITHIN_MS.unsigned_abs() {
            continue;
        }
        for (_, lent) in lent.iter_mut().enumerate().filter(|(at, _)| has(scan, *at)) {
            *lent = lent.max(*share);
        }
    }
    lent
}

fn term_weights(query: &Query, frequencies: &Frequencies, named: &[NamedAuthor]) -> Vec<f64> {
    let all = frequencies.passages as f64;
    let weigh = |(at, term): (usize, &super::query::Term)| {
        let with = frequencies.with_term.get(at).copied().unwrap_or(0) as f64;
        let is_name = named.iter().any(|author| author.tokens.iter().any(|token| **token == *term.key));
        term.weight * rarity(all, with) * if is_name { NAME_AS_TERM } else { 1.0 }
    };
    query.terms.iter().enumerate().map(weigh).collect()
}

/// How rare a character is among the passages at hand; to count it in the whole index would take a walk over all pairs.
fn character_weights(query: &Query, scanned: &[Scanned]) -> Vec<f64> {
    let weigh = |at: usize| {
        let with = scanned.iter().filter(|one| one.characters.get(at) == Some(&true)).count();
        CHARACTER * rarity(scanned.len() as f64, with as f64)
    };
    (0..query.characters.len()).map(weigh).collect()
}

fn rarity(all: f64, with: f64) -> f64 {
    (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
}

/// An author of a passage whom the question names.
#[derive(Debug)]
struct NamedAuthor {
    name: String,
    /// The terms of the question that stand for the name.
    tokens: Vec<Rc<str>>,
}

fn named_authors(query: &Query, passages: &[Passage], frequencies: &Frequencies) -> Vec<NamedAuthor> {
    let mut names: Vec<&str> = passages.iter().map(|passage| passage.author.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut stemmer = Stemmer::default();
    let named = names.into_iter().filter_map(|name| {
        let normalized = normalize(name);
        let parts = normalized.split(|c: char| !c.is_alphanumeric());
        let mut tokens = Vec::new();
        for part in parts.filter(|part| part.chars().nth(1).is_some()) {
            if part.chars().all(is_cjk) {
                if query.normalized.contains(part) {
                    tokens.extend(stemmer.tokens(part));
                }
            } else {
                for word in query.words.iter().filter(|word| is_name(query, word, part, frequencies)) {
                    tokens.extend(stemmer.tokens(word));
                }
            }
        }
        (!tokens.is_empty()).then(|| NamedAuthor { name: name.to_owned(), tokens })
    });
    named.collect()
}

/// Whether a word of the question is a name or its beginning, as Mel is of Melanie. A word that also means something else
/// is a name only where it is written like one: Will, but not will; Tim is not in time, nor Caroline in car.
fn is_name(query: &Query, word: &str, name: &str, frequencies: &Frequencies) -> bool {
    let written_as_name = query.names.iter().any(|name| name == word);
    if word == name {
        return written_as_name || !is_stop_word(word);
    }
    let begins = word.chars().count() >= SHORTEST_NAME && name.starts_with(word);
    begins && !is_stop_word(word) && (written_as_name || is_rare(query, word, frequencies))
}

/// Whether few texts have a word.
fn is_rare(query: &Query, word: &str, frequencies: &Frequencies) -> bool {
    let key = stem(&regular(word));
    let at = query.terms.iter().position(|term| term.key == key);
    let with = at.and_then(|at| frequencies.with_term.get(at)).copied().unwrap_or(0);
    with.saturating_mul(RARE) <= frequencies.passages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(question: &str, author: &str) -> bool {
        let query = Query::read(question);
        let passage = Passage { key: 1, at: 0, author: author.to_owned(), text: String::new() };
        // Every word of the question is common.
        let frequencies = Frequencies { passages: 1_000, with_term: vec![50; query.terms().len()] };
        !named_authors(&query, &[passage], &frequencies).is_empty()
    }

    #[test]
    fn a_common_word_is_nobodys_name() {
        for (question, author) in [
            ("what did he and she buy", "Andrew"),
            ("where is the key", "Theo"),
            ("what is her job", "Herman"),
            ("how is it going", "Howard"),
            ("when will it rain", "Will"),
            ("what time is it", "Tim"),
            ("is it the same house", "Sam"),
            ("which car was sold", "Caroline"),
            ("How is it going", "Howard"),
        ] {
            assert!(!named(question, author), "{question}: {author}");
        }
        for (question, author) in [
            ("When did Mel paint it?", "Melanie Jones"),
            ("when did melanie paint it", "Melanie Jones"),
            ("what did Will buy", "Will"),
            ("Caroline's house", "Caroline"),
            ("小明养了什么", "小明"),
        ] {
            assert!(named(question, author), "{question}: {author}");
        }
    }
}
