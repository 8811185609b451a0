//! A question in the words of a person, as terms with weights: what to look for, and whether it asks for a time or a
//! number.

use super::calendar::{CalendarDate, dates_in};
use super::stem::{regular, stem};
use super::stop_words::{grammar_characters, is_stop_word, may_be_grammar, without_question_phrases};
use super::tokens::{Segment, normalize, pairs, segments};

/// A query has at most so many terms; those behind are left out.
const MOST_TERMS: usize = 48;

/// What a CJK pair counts that has one, or two, characters of grammar.
const HALF_GRAMMAR: f64 = 0.35;
const ALL_GRAMMAR: f64 = 0.1;
/// What a CJK character counts that was left alone between question phrases.
const LEFT_ALONE: f64 = 0.3;

/// What is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// As the full-text index is asked for it.
    text: String,
    /// As texts are compared with it: the stem, for a word.
    pub(super) key: String,
    pub(super) kind: TermKind,
    /// Its share, before rarity counts.
    pub(super) weight: f64,
}

/// How a term is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermKind {
    /// Equal stems.
    Word,
    /// Equal pairs.
    Pair,
    /// One CJK character: any pair that begins with it, or the character at the end of a run.
    Prefix,
}

/// What a question asks for, as far as its words tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) time: bool,
    pub(super) number: bool,
}

/// A question that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub(super) terms: Vec<Term>,
    /// Its CJK characters, those of grammar left out.
    pub(super) characters: Vec<char>,
    pub(super) words: Vec<String>,
    /// Words that are written like a name: with a capital letter, and not at the beginning.
    pub(super) names: Vec<String>,
    pub(super) normalized: String,
    pub(super) asked: Asked,
    pub(super) dates: Vec<CalendarDate>,
}

impl Query {
    /// Reads a question. One without letters and digits has no terms and finds nothing.
    pub fn read(question: &str) -> Self {
        let normalized = normalize(question);
        let segments = segments(&normalized);
        let mut words = Vec::new();
        let mut characters = Vec::new();
        for segment in &segments {
            match segment {
                Segment::Word(word) => words.push(word.clone()),
                Segment::Cjk(run) => characters.extend(without_question_phrases(run).concat()),
            }
        }
        if characters.iter().any(|c| !may_be_grammar(*c)) {
            characters.retain(|c| !may_be_grammar(*c));
        }
        characters.sort_unstable();
        characters.dedup();
        let mut terms = terms_of(&segments, StopWords::LeftOut);
        if terms.is_empty() {
            terms = terms_of(&segments, StopWords::Kept);
        }
        terms.truncate(MOST_TERMS);
        characters.truncate(MOST_TERMS);
        let (asked, dates) = (asked(&words, &normalized), dates_in(&normalized));
        Self { terms, characters, words, names: names_in(question), normalized, asked, dates }
    }

    /// What is looked for, each once.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The query in the syntax of the full-text index: any of the terms. None where there is nothing to look for.
    pub fn expression(&self) -> Option<String> {
        any_of(self.terms.iter().map(Term::expression))
    }

    /// A wider query for when too little was found: any of the CJK characters.
    pub fn character_expression(&self) -> Option<String> {
        any_of(self.characters.iter().map(|c| format!("\"{c}\"*")))
    }
}

impl Term {
    /// This term alone in the syntax of the full-text index. Terms have no quotation marks.
    pub fn expression(&self) -> String {
        match self.kind {
            TermKind::Word | TermKind::Pair => format!("\"{}\"", self.text),
            TermKind::Prefix => format!("\"{}\"*", self.text),
        }
    }
}

/// A keyword in the syntax of the full-text index: all of its words, and its CJK runs as they stand. None where there is
/// nothing to look for.
pub fn keyword_expression(keyword: &str) -> Option<String> {
    let one = |segment: &Segment| match segment {
        Segment::Word(word) => format!("\"{}\"", regular(word)),
        Segment::Cjk(run) => match run.as_slice() {
            [alone] => format!("\"{alone}\"*"),
            run => format!("\"{}\"", pairs(run).collect::<Vec<_>>().join(" ")),
        },
    };
    let all: Vec<String> = segments(&normalize(keyword)).iter().take(MOST_TERMS).map(one).collect();
    (!all.is_empty()).then(|| all.join(" AND "))
}

fn names_in(question: &str) -> Vec<String> {
    let words = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.skip(1).filter(|word| word.starts_with(char::is_uppercase)).map(normalize).collect()
}

fn any_of(expressions: impl Iterator<Item = String>) -> Option<String> {
    let all = expressions.collect::<Vec<_>>().join(" OR ");
    (!all.is_empty()).then_some(all)
}

/// What becomes of words that only ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopWords {
    Kept,
    LeftOut,
}

fn terms_of(segments: &[Segment], stop_words: StopWords) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for segment in segments {
        match (segment, stop_words) {
            (Segment::Word(word), StopWords::LeftOut) if is_stop_word(word) => {}
            (Segment::Word(word), _) => {
                let word = regular(word);
                add(
                    &mut terms,
                    Term { key: stem(&word), text: word.into_owned(), kind: TermKind::Word, weight: 1.0 },
                );
            }
            (Segment::Cjk(run), StopWords::LeftOut) => {
                for part in without_question_phrases(run) {
                    add_run(&mut terms, &part, run.len());
                }
            }
            (Segment::Cjk(run), StopWords::Kept) => add_run(&mut terms, run, run.len()),
        }
    }
    terms
}

/// Adds the terms of a part of a CJK run of `whole` characters.
fn add_run(terms: &mut Vec<Term>, part: &[char], whole: usize) {
    for pair in pairs(part) {
        let grammar = match part {
            [alone] => usize::from(may_be_grammar(*alone)),
            _ => grammar_characters(&pair),
        };
        let (kind, weight) = match (part.len(), grammar) {
            (1, _) if whole == 1 => (TermKind::Prefix, 1.0),
            (1, 0) => (TermKind::Prefix, LEFT_ALONE),
            (1, _) => continue,
            (_, 0) => (TermKind::Pair, 1.0),
            (_, 1) => (TermKind::Pair, HALF_GRAMMAR),
            _ => (TermKind::Pair, ALL_GRAMMAR),
        };
        add(terms, Term { text: pair.clone(), key: pair, kind, weight });
    }
}

fn add(terms: &mut Vec<Term>, term: Term) {
    if !terms.iter().any(|known| known.key == term.key) {
        terms.push(term);
    }
}

const ASKS_TIME: &[&str] = &[
    "how long",
    "what date",
    "what day",
    "which day",
    "what time",
    "什么时候",
    "什么时间",
    "哪天",
    "哪一天",
    "多久",
    "几号",
    "几点",
    "多长时间",
];
const ASKS_NUMBER: &[&str] = &[
    "how many",
    "how much",
    "how old",
    "how far",
    "how long",
    "how often",
    "多少",
    "几",
    "多大",
    "多久",
    "多长时间",
];

fn asked(words: &[String], normalized: &str) -> Asked {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| normalized.contains(phrase));
    Asked { time: words.iter().any(|word| word == "when") || says(ASKS_TIME), number: says(ASKS_NUMBER) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expressions(question: &str) -> Vec<String> {
        Query::read(question).terms.iter().map(Term::expression).collect()
    }

    #[test]
    fn a_question_becomes_the_terms_that_carry_its_meaning() {
        for (question, expected) in [
            (
                "When did Caroline go to the LGBTQ support group?",
                &["\"caroline\"", "\"go\"", "\"lgbtq\"", "\"support\"", "\"group\""][..],
            ),
            ("What did she buy, and what had he bought?", &["\"buy\""]),
            ("Felix's bike", &["\"felix\"", "\"bike\""]),
            ("会议", &["\"会议\""]),
            ("京", &["\"京\"*"]),
            ("重跑gen-itgc后", &["\"重跑\"", "\"gen\"", "\"itgc\"", "\"后\"*"]),
            ("狗叫什么名字", &["\"狗叫\"", "\"名字\""]),
            ("who are you", &["\"who\"", "\"are\"", "\"you\""]),
            ("什么", &["\"什么\""]),
            ("ＡＢＣ　Ⅳ", &["\"abc\"", "\"iv\""]),
            ("?!… 🙂", &[]),
        ] {
            assert_eq!(expressions(question), expected, "{question}");
        }
    }

    #[test]
    fn quotation_marks_and_operators_of_a_question_are_not_syntax() {
        for question in ["\"a\" OR \"b\"", "x NEAR(y)", "text:word*", "-not ^caret", "a\" OR scope:\"b"] {
            let expression = Query::read(question).expression().unwrap_or_default();
            let outside: String = expression.split('"').step_by(2).collect();
            assert!(
                outside.split(' ').all(|word| ["", "OR", "*"].contains(&word)),
                "{question} {expression}"
            );
        }
    }

    #[test]
    fn a_question_says_whether_it_asks_for_a_time_or_a_number() {
        for (question, time, number) in [
            ("When is the race?", true, false),
            ("How long did it take?", true, true),
            ("How many plates?", false, true),
            ("什么时候出发", true, false),
            ("花了多少钱", false, true),
            ("Where is it?", false, false),
        ] {
            assert_eq!(Query::read(question).asked, Asked { time, number }, "{question}");
        }
    }

    #[test]
    fn a_very_long_question_is_bounded() {
        let long: String = (0..5_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(Query::read(&long).terms.len(), MOST_TERMS);
    }
}
