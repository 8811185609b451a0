//! Text as search tokens. Words of Latin and other alphabets stay whole; a run of Chinese, Japanese or Korean characters,
//! which has no spaces, becomes its overlapping pairs. Index and query go through the same function.

use std::collections::HashMap;
use std::rc::Rc;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::stem::{regular, stem};
use super::stop_words::{is_stop_word, may_be_grammar};

/// Longer words are digests and encoded data, which people do not search for.
const LONGEST_WORD: usize = 64;

/// A piece of normalized text without separators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Letters and digits of an alphabet.
    Word(String),
    /// Characters of a script without spaces.
    Cjk(Vec<char>),
}

/// Text in the form that tokens are cut from: compatibility forms unified, lower case, no accents on letters.
pub(super) fn normalize(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.nfkc() {
        if c.is_ascii() || is_cjk(c) {
            out.extend(c.to_lowercase());
        } else {
            decompose_canonical(c, |base| {
                if !is_combining_mark(base) {
                    out.extend(base.to_lowercase());
                }
            });
        }
    }
    out
}

/// The words and CJK runs of a normalized text, in order.
pub(super) fn segments(normalized: &str) -> Vec<Segment> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut run: Vec<char> = Vec::new();
    let mut chars = normalized.chars().peekable();
    while let Some(c) = chars.next() {
        if is_cjk(c) && c.is_alphanumeric() {
            close_word(&mut word, &mut out);
            run.push(c);
            continue;
        }
        if !run.is_empty() {
            out.push(Segment::Cjk(std::mem::take(&mut run)));
        }
        if c.is_alphanumeric() {
            word.push(c);
        } else if is_apostrophe(c) && !word.is_empty() {
            close_word(&mut word, &mut out);
            // What stands behind an apostrophe is an ending: felix's, don't, we'll.
            while chars.next_if(|next| next.is_alphabetic() && !is_cjk(*next)).is_some() {}
        } else {
            close_word(&mut word, &mut out);
        }
    }
    close_word(&mut word, &mut out);
    if !run.is_empty() {
        out.push(Segment::Cjk(run));
    }
    out
}

fn close_word(word: &mut String, out: &mut Vec<Segment>) {
    let word = std::mem::take(word);
    if !word.is_empty() && word.chars().count() <= LONGEST_WORD {
        out.push(Segment::Word(word));
    }
}

/// The pairs of a CJK run; a single character stays alone.
pub(super) fn pairs(run: &[char]) -> impl Iterator<Item = String> + '_ {
    let alone = (run.len() == 1).then(|| run.iter().collect());
    run.windows(2).map(|pair| pair.iter().collect()).chain(alone)
}

/// The text that is given to the full-text index: its tokens, separated by spaces. The last character of a CJK run is a
/// token of its own, so that a query for one character, which asks for pairs that begin with it, finds it as well.
pub fn index_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_mul(2));
    let mut add = |token: &str| {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(token);
    };
    for segment in segments(&normalize(text)) {
        match segment {
            Segment::Word(word) => add(&regular(&word)),
            Segment::Cjk(run) => {
                for pair in pairs(&run) {
                    add(&pair);
                }
                if let [_, .., last] = run.as_slice() {
                    add(last.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }
    out
}

/// Makes the tokens that are compared when results are ranked. Texts repeat their words: each is stemmed once.
#[derive(Debug, Default)]
pub(super) struct Stemmer {
    stems: HashMap<String, Rc<str>>,
}

impl Stemmer {
    /// The stems of the words and the pairs of CJK characters of a text.
    pub(super) fn tokens(&mut self, normalized: &str) -> Vec<Rc<str>> {
        let mut out = Vec::new();
        for segment in segments(normalized) {
            match segment {
                Segment::Word(word) => out.push(self.stem(word)),
                Segment::Cjk(run) => out.extend(pairs(&run).map(Rc::from)),
            }
        }
        out
    }

    fn stem(&mut self, word: String) -> Rc<str> {
        if let Some(known) = self.stems.get(&word) {
            return known.clone();
        }
        let made: Rc<str> = stem(&regular(&word)).into();
        self.stems.insert(word, made.clone());
        made
    }
}

/// The words of a text that say what it is about, to compare two texts by: stems without stop words, and single CJK
/// characters without those of grammar.
pub fn content_words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for segment in segments(&normalize(text)) {
        match segment {
            Segment::Word(word) if is_stop_word(&word) => {}
            Segment::Word(word) => out.push(stem(&regular(&word))),
            Segment::Cjk(run) => {
                let said = run.iter().filter(|c| !may_be_grammar(**c));
                out.extend(said.map(char::to_string));
            }
        }
    }
    out
}

/// Whether a character belongs to a script that is written without spaces: Han, Kana, Hangul and Bopomofo.
pub(super) const fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{3035}' | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{30fa}' | '\u{30fc}'..='\u{318f}'
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
}

const fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{02bc}' | '\u{ff07}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_becomes_words_and_pairs() {
        for (text, tokens) in [
            ("Hello, World", "hello world"),
            ("会议", "会议 议"),
            ("会", "会"),
            ("中国人", "中国 国人 人"),
            ("重跑gen-itgc后", "重跑 跑 gen itgc 后"),
            ("版本v2发布", "版本 本 v2 发布 布"),
            ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
            ("résumé Ärger", "resume arger"),
            ("東京タワー", "東京 京タ タワ ワー ー"),
            ("안녕하세요", "안녕 녕하 하세 세요 요"),
            ("don't Felix's", "don felix"),
            ("ran 2024-05-06", "run 2024 05 06"),
            ("snake_case", "snake case"),
            ("🙂 — …", ""),
            ("", ""),
        ] {
            assert_eq!(index_text(text), tokens, "{text}");
        }
        assert_eq!(index_text(&"x".repeat(65)), "", "encoded data is not a word");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_tokens_are_plain(text in "\\PC{0,80}") {
            let tokens = index_text(&text);
            prop_assert!(tokens.chars().all(|c| c == ' ' || c.is_alphanumeric()), "{tokens:?}");
        }

        #[test]
        fn case_and_width_do_not_matter(text in "[a-zA-Z0-9 ]{0,40}") {
            let wide: String = text.chars().map(|c| match c {
                '!'..='~' => char::from_u32(c as u32 + 0xfee0).unwrap(),
                other => other,
            }).collect();
            prop_assert_eq!(index_text(&text), index_text(&wide.to_uppercase()));
        }

        #[test]
        fn every_part_of_a_cjk_run_of_two_or_more_is_found_in_its_tokens(
            run in "[一-龥]{2,12}", from in 0usize..10, length in 2usize..6,
        ) {
            let part: Vec<char> = run.chars().skip(from).take(length).collect();
            prop_assume!(part.len() >= 2);
            let tokens = index_text(&run);
            let all: Vec<&str> = tokens.split(' ').collect();
            for pair in pairs(&part) {
                prop_assert!(all.contains(&pair.as_str()));
            }
        }

        #[test]
        fn every_character_of_a_cjk_run_begins_a_token(run in "[一-龥]{1,12}") {
            let tokens = index_text(&run);
            for c in run.chars() {
                prop_assert!(tokens.split(' ').any(|token| token.starts_with(c)));
            }
        }
    }
}
