//! The closed grammar of an approval: which sequences of words may approve at all. Each word is encoded as one letter,
//! and the whole reply must match one pattern. A word that the patterns do not allow, known or unknown, makes the reply
//! unclear. What is approved is determined by `grammar` and `reader`; nothing here can add to it.

use std::sync::LazyLock;

use regex::Regex;

use super::fold::{Folded, is_han};
use super::tokens::Token;
use super::word::{Language, Word, Yes};

/// The letters of the patterns:
///
/// y ok · C looks good · m 👍 · Z 可以 · z 好 · Y yes to · g do it · p approved · q 执行 · U confirm · I 我同意 ·
/// v 同意 · f approve · F /approve · n no · x not · r rerun · d done ·
/// t A1 · A 全部 · N all · B 两个 · X both · R the rest · h 这个 · j it · H this command ·
/// G commands like this · K 同类命令 · M 这种命令 · e 都 · o only · O just · E always · V 以后 · c once ·
/// w for 10 minutes · W 10 分钟内 · L 10 minutes · s for this thread · S 本会话 · l in this chat · k in this project ·
/// J 本项目 · D 本项目里 · b 吧 · a 那就 · i 嗯 · P please · Q thanks · u anything else
const PARTS: &[(&str, &str)] = &[
    ("<reply>", "(?:<lead>(?:<single><tail>|<several><tail>|<verb><thanks>|U)|<past>)!?[.,]{0,2}"),
    // `approved`, `ok, approved`; after `嗯` it answers whether something was approved.
    ("<past>", "(?:[ym]!?[,.-]?)?p"),
    // `嗯`, `ok`, before the decision.
    ("<lead>", "(?:i,?)?(?:[ymCZz]!?[,.-]?){0,2}"),
    ("<tail>", "(?:!?[.,]{0,2}[PQ]){0,2}"),
    // A verb alone followed by `please` is a request.
    ("<thanks>", "(?:!?[.,]{0,2}Q)?"),
    ("<verb>", "(?:[vfFqI]|[vfFI][hjHG]b?)m*<also>"),
    ("<single>", "(?:[ymCZzg]|<act first>|<target first>|<all first>|<only>|<reach>|<cut off>)m*<also>"),
    // `approve A1, ok`.
    ("<also>", "(?:<between>[ymCZzgqvf]){0,2}"),
    // `1 同意 2 拒绝`, `approve A1, deny the rest`.
    ("<several>", "<own targets>(?:(?:<between>|&)?<own targets>)+(?:<between>[ym])?"),
    (
        "<own targets>",
        "(?:(?:<act first>|<target first>|[WS]e[vZ]<some>)m*|[rd]<targets>|<some>:?[rd]|<deny>)",
    ),
    // `approve A1`, `yes to all`, `执行 1`, `同意 A1 吧`, `allow A1 for 10 minutes`, `那就同意 A1`.
    ("<act first>", "(?:[ymZYvfFI]<targets>(?:b|[ws]|,?c)?|[qU]<targets>b?|Yj|a[vq]<targets>?b?)"),
    // `A1 ok`, `1 和 3 都同意`, `这个可以`.
    ("<target first>", "(?:<some>:?(?:[ymvfZ]|e[vZ])|h[vZ])"),
    // `全部同意`, `都同意`.
    ("<all first>", "(?:Ae?|Be|e)[vfZ]"),
    // `只同意 1`, `only A1`, `approve only A1`, `approve A1 only`, `只有 1 可以`, `只同意这一次`.
    ("<only>", "(?:(?:o[vfF]?<some>|[vfF]o<some>|[vfF]<some>o|o<some>[vZ]|O<some>)(?:[ws]|,?c)?|ov[hc])"),
    ("<reach>", "(?:<once>|<while>|<ever>|F<targets>?L)"),
    // `同意一次`, `just once, ok`, `这次可以`.
    ("<once>", "(?:(?:[ymZ]|[vfFI][hjH]?),?c|c,[ymZvf]|c[vZ])"),
    // `allow for 10 minutes`, `allow it in this thread`, `for 1 hour, yes`, `10 分钟内都同意 git status`, `本会话都同意`.
    (
        "<while>",
        "(?:(?:[ymZ]|[vfFI][hjHG]?)[ws]|v(?:<targets>|[hjHG])?l|[ws],?[ymZvf](?:<targets>|j)?|[WS]e[vZ](?:<targets>|[hHKM])?b?)",
    ),
    // `always allow this command`, `always allow in this project`, `以后都同意 git status`, `本项目一直允许`.
    (
        "<ever>",
        "(?:E[vf](?:<targets>|[jHG])?[lks]?|[EV]ev(?:<targets>|[HKM])?|[EV][KMH]e[vZ]|Kev|[JD]Ee?v|[JD]Vev|Dev|\
         [EV][JD]ev|SEe?v|SVev)",
    ),
    // `重跑`, `rerun A1`, `A1 done`.
    ("<cut off>", "(?:r<targets>?b?|r[hj]|d<targets>?|<some>:?[rd])"),
    // `拒绝 2`, `A2 no`, `deny the rest`.
    ("<deny>", "(?:<no>(?:<targets>|R)[wsc]?|(?:<targets>|R):?e?<no>)"),
    ("<no>", "(?:n|x[ymZzvfgqrp])"),
    ("<between>", "(?:!?[.,]{1,2}|!|-)"),
    ("<targets>", "(?:<some>|A|N|B|X)"),
    ("<some>", "t(?:[&,]?t)*"),
];

static YES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // A part is made of parts below it.
    let mut pattern = "^(?:<reply>)$".to_owned();
    for (name, meaning) in PARTS {
        pattern = pattern.replace(name, meaning);
    }
    Regex::new(&pattern).ok()
});

/// `approve A1, A2 for 10 minutes`: the duration belongs to the last one, or to both.
static TWO_READINGS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("t,t(?:[&,]{0,2}t)*,?[wslkLWSJD]").ok());

/// Whether these words may approve something.
pub(super) fn is_closed(tokens: &[Token], folded: &Folded<'_>) -> bool {
    let letters = letters(tokens);
    let fits = YES.as_ref().is_some_and(|yes| yes.is_match(&letters));
    let two_readings = TWO_READINGS.as_ref().is_none_or(|two| two.is_match(&letters));
    fits && !two_readings
        && !repeats(tokens, folded)
        && !is_report(tokens)
        && !runs_together(tokens)
        && !folded.is_indented()
}

/// Names of two commands without a word or sign between them may be one other command: `approve git rm -rf build`.
fn runs_together(tokens: &[Token]) -> bool {
    tokens.windows(2).any(|pair| pair.iter().all(|token| is_by_words(token.word)))
}

const fn is_by_words(word: Word) -> bool {
    matches!(word, Word::Named(_) | Word::NamedLoosely(_) | Word::Program(_))
}

/// A command with a nod behind it tells how it went: `git status ok`.
fn is_report(tokens: &[Token]) -> bool {
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        before.is_none_or(|before| matches!(before.word, Word::Comma | Word::Stop | Word::And))
    };
    let nods = |at: usize| {
        let behind = tokens.iter().skip(at + 1).find(|token| token.word != Word::Colon);
        behind.is_some_and(|token| matches!(token.word, Word::Approve(Yes::Nod | Yes::Sign)))
    };
    tokens.iter().enumerate().any(|(at, token)| is_by_words(token.word) && begins(at) && nods(at))
}

/// Two decision words without punctuation between them (`好好`, `可以通过`) are another word, and a repeated one expresses
/// impatience.
fn repeats(tokens: &[Token], folded: &Folded<'_>) -> bool {
    let han = |at: usize| folded.chars.get(at).is_some_and(|c| is_han(*c));
    let touch = |one: &Token, other: &Token| one.end == other.at && han(one.end - 1) && han(other.at);
    let same = |one: &Token, other: &Token| {
        folded.chars.get(one.at..one.end) == folded.chars.get(other.at..other.end)
    };
    let mut last: Option<&Token> = None;
    for token in tokens {
        match token.word {
            Word::Approve(_) | Word::Rerun | Word::Done => {
                if last.is_some_and(|last| touch(last, token) || same(last, token)) {
                    return true;
                }
                last = Some(token);
            }
            word if word.names() => last = None,
            _ => {}
        }
    }
    false
}

fn letters(tokens: &[Token]) -> String {
    let mut out = String::with_capacity(tokens.len());
    for token in tokens {
        let letter = letter(token.word);
        // Several exclamation marks count as one.
        if letter != '!' || !out.ends_with('!') {
            out.push(letter);
        }
    }
    out
}

const fn letter(word: Word) -> char {
    match word {
        Word::Approve(yes) => match yes {
            Yes::Nod => 'y',
            Yes::Comment => 'C',
            Yes::Sign => 'm',
            Yes::Can => 'Z',
            Yes::Lone => 'z',
            Yes::To => 'Y',
            Yes::Go => 'g',
            Yes::Past => 'p',
            Yes::First => 'q',
            Yes::Confirm => 'U',
            Yes::Speaker => 'I',
            Yes::Verb => 'v',
            Yes::Formal => 'f',
            Yes::Command => 'F',
        },
        Word::Deny(_) => 'n',
        Word::Negation(_) => 'x',
        Word::Rerun => 'r',
        Word::Done => 'd',
        Word::Number(_)
        | Word::Ordinal(_)
        | Word::Id(_)
        | Word::Named(_)
        | Word::NamedLoosely(_)
        | Word::Program(_) => 't',
        Word::All(Language::Chinese) => 'A',
        Word::All(Language::English) => 'N',
        Word::Both(Language::Chinese) => 'B',
        Word::Both(Language::English) => 'X',
        Word::Rest => 'R',
        Word::This => 'h',
        Word::It => 'j',
        Word::ThisCommand => 'H',
        Word::Kind(Language::English) => 'G',
        Word::Kind(Language::Chinese) => 'K',
        Word::ThisKind => 'M',
        Word::Each => 'e',
        Word::Only => 'o',
        Word::Just => 'O',
        Word::Ever | Word::Forever => 'E',
        Word::Later => 'V',
        Word::Once => 'c',
        Word::Window(_, Language::English) => 'w',
        Word::Window(_, Language::Chinese) => 'W',
        Word::Length(_) => 'L',
        Word::Thread(Language::English) => 's',
        Word::Thread(Language::Chinese) => 'S',
        Word::InThread => 'l',
        Word::Project(Language::English) => 'k',
        Word::Project(Language::Chinese) => 'J',
        Word::InProject => 'D',
        Word::Particle => 'b',
        Word::Then => 'a',
        Word::Yeah => 'i',
        Word::Please => 'P',
        Word::Thanks => 'Q',
        Word::And => '&',
        Word::Comma => ',',
        Word::Stop => '.',
        Word::Colon => ':',
        Word::Exclamation => '!',
        Word::Dash => '-',
        Word::Question
        | Word::Doubt
        | Word::Because
        | Word::Elsewhere
        | Word::Aside
        | Word::Ellipsis
        | Word::Quote
        | Word::OnceUnless
        | Word::StrangeId
        | Word::NamedSeveral
        | Word::Unknown(_) => 'u',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_are_complete_and_valid() {
        let pattern = YES.as_ref().map(Regex::as_str).unwrap();
        assert!(!pattern.contains(['<', '>']), "{pattern}");
    }
}
