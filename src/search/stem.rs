//! English word forms. The full-text index stems by the Porter algorithm; ranking needs the same stems on this side. Forms
//! that no ending tells ("went") are replaced by their verb before either of them sees the word.

use std::borrow::Cow;

/// Past forms, participles and plurals without a regular ending, and their base.
const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"),
    ("became", "become"),
    ("began", "begin"),
    ("begun", "begin"),
    ("bought", "buy"),
    ("broke", "break"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("came", "come"),
    ("caught", "catch"),
    ("children", "child"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("cooked", "cook"),
    ("died", "die"),
    ("drank", "drink"),
    ("drawn", "draw"),
    ("drew", "draw"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("eaten", "eat"),
    ("fallen", "fall"),
    ("feet", "foot"),
    ("fell", "fall"),
    ("felt", "feel"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("fought", "fight"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("gone", "go"),
    ("got", "get"),
    ("gotten", "get"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("heard", "hear"),
    ("held", "hold"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("kept", "keep"),
    ("kids", "child"),
    ("kid", "child"),
    ("knew", "know"),
    ("known", "know"),
    ("led", "lead"),
    ("left", "leave"),
    ("lost", "lose"),
    ("made", "make"),
    ("meant", "mean"),
    ("men", "man"),
    ("met", "meet"),
    ("mice", "mouse"),
    ("mom", "mother"),
    ("mum", "mother"),
    ("dad", "father"),
    ("paid", "pay"),
    ("people", "person"),
    ("ran", "run"),
    ("rang", "ring"),
    ("rode", "ride"),
    ("said", "say"),
    ("sang", "sing"),
    ("sat", "sit"),
    ("saw", "see"),
    ("seen", "see"),
    ("sent", "send"),
    ("slept", "sleep"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("stole", "steal"),
    ("stood", "stand"),
    ("sung", "sing"),
    ("swam", "swim"),
    ("taken", "take"),
    ("taught", "teach"),
    ("teeth", "tooth"),
    ("thought", "think"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "take"),
    ("understood", "understand"),
    ("went", "go"),
    ("wives", "wife"),
    ("woke", "wake"),
    ("women", "woman"),
    ("won", "win"),
    ("wore", "wear"),
    ("worn", "wear"),
    ("written", "write"),
    ("wrote", "write"),
];

/// The base of an irregular form; any other word as it is. The Porter algorithm takes the end of "cactus" and "focus" for
/// a plural and stems "cactuses" and "focused" differently: with an "e" all of them have one stem.
pub(super) fn regular(word: &str) -> Cow<'_, str> {
    match IRREGULAR.iter().find(|(form, _)| *form == word) {
        Some((_, base)) => Cow::Borrowed(base),
        None if word.len() > 2 && word.ends_with("us") => Cow::Owned(format!("{word}e")),
        None => Cow::Borrowed(word),
    }
}

/// The Porter stem of a lower-case word. Words with other than ASCII letters are their own stem.
pub(super) fn stem(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let word = plural(word.to_owned());
    let word = past_and_participle(word);
    let word = match word.strip_suffix('y').filter(|rest| has_vowel(rest)) {
        Some(rest) => format!("{rest}i"),
        None => word,
    };
    let word = replaced(word, DOUBLE_ENDINGS, 0);
    let word = replaced(word, ENDINGS, 0);
    let word = cut_ending(word);
    last_letters(word)
}

fn plural(word: String) -> String {
    for (ending, with) in [("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")] {
        if let Some(rest) = word.strip_suffix(ending) {
            return format!("{rest}{with}");
        }
    }
    word
}

fn past_and_participle(word: String) -> String {
    if let Some(rest) = word.strip_suffix("eed") {
        return if measure(rest) > 0 { format!("{rest}ee") } else { word };
    }
    let cut = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing")).filter(|rest| has_vowel(rest));
    let Some(rest) = cut else { return word };
    if ["at", "bl", "iz"].iter().any(|ending| rest.ends_with(ending)) {
        return format!("{rest}e");
    }
    if ends_with_double_consonant(rest) && !rest.ends_with(['l', 's', 'z']) {
        return rest.chars().take(rest.len().saturating_sub(1)).collect();
    }
    if measure(rest) == 1 && ends_short(rest) { format!("{rest}e") } else { rest.to_owned() }
}

/// Endings made of two, and the first of the two.
const DOUBLE_ENDINGS: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

const ENDINGS: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Endings that go where enough of the word is left.
const CUT: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
];

fn replaced(word: String, endings: &[(&str, &str)], least: usize) -> String {
    let found = endings.iter().find_map(|(ending, with)| word.strip_suffix(ending).map(|rest| (rest, with)));
    match found {
        Some((rest, with)) if measure(rest) > least => format!("{rest}{with}"),
        _ => word,
    }
}

fn cut_ending(word: String) -> String {
    if let Some(rest) = word.strip_suffix("ion") {
        return if rest.ends_with(['s', 't']) && measure(rest) > 1 { rest.to_owned() } else { word };
    }
    let found = CUT.iter().find_map(|ending| word.strip_suffix(ending));
    match found {
        Some(rest) if measure(rest) > 1 => rest.to_owned(),
        _ => word,
    }
}

fn last_letters(mut word: String) -> String {
    if let Some(rest) = word.strip_suffix('e') {
        let left = measure(rest);
        if left > 1 || (left == 1 && !ends_short(rest)) {
            word = rest.to_owned();
        }
    }
    if word.ends_with("ll") && measure(&word) > 1 {
        word.pop();
    }
    word
}

/// Which letters are consonants; a `y` behind a consonant is a vowel.
fn consonants(word: &str) -> Vec<bool> {
    let mut out: Vec<bool> = Vec::with_capacity(word.len());
    for letter in word.bytes() {
        let consonant = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => out.last().is_none_or(|before| !before),
            _ => true,
        };
        out.push(consonant);
    }
    out
}

/// How often a vowel is followed by a consonant.
fn measure(word: &str) -> usize {
    consonants(word).windows(2).filter(|two| matches!(two, [false, true])).count()
}

fn has_vowel(word: &str) -> bool {
    consonants(word).contains(&false)
}

fn ends_with_double_consonant(word: &str) -> bool {
    let same = matches!(word.as_bytes(), [.., a, b] if a == b);
    same && consonants(word).last() == Some(&true)
}

/// Whether the word ends consonant, vowel, consonant, and the last is none of w, x and y.
fn ends_short(word: &str) -> bool {
    matches!(consonants(word).as_slice(), [.., true, false, true]) && !word.ends_with(['w', 'x', 'y'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_family_share_a_stem() {
        for family in [
            &["paint", "paints", "painted", "painting"][..],
            &["connect", "connected", "connection", "connections", "connecting"],
            &["run", "running", "runs"],
            &["hope", "hoped", "hoping"],
            &["story", "stories"],
            &["agree", "agreed"],
            &["volunteer", "volunteering", "volunteered"],
            &["adopt", "adoption", "adopting"],
            &["relational", "relate", "relates"],
        ] {
            let stems: Vec<String> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.windows(2).all(|two| two[0] == two[1]), "{family:?} {stems:?}");
        }
    }

    #[test]
    fn stems_are_those_of_the_published_examples() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("plastered", "plaster"),
            ("bled", "bled"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("digitizer", "digit"),
            ("vietnamization", "vietnam"),
            ("hopefulness", "hope"),
            ("electrical", "electr"),
            ("replacement", "replac"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("controlling", "control"),
            ("is", "is"),
            ("größe", "größe"),
            ("2024", "2024"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn irregular_forms_become_their_base() {
        assert_eq!(["went", "bought", "children", "table"].map(regular), ["go", "buy", "child", "table"]);
        for (one, other) in
            [("cactus", "cactuses"), ("bus", "buses"), ("focus", "focused"), ("virus", "viruses")]
        {
            assert_eq!(stem(&regular(one)), stem(&regular(other)), "{one} {other}");
        }
        let sorted_once = IRREGULAR.iter().all(|(form, base)| form != base && regular(base) == *base);
        assert!(sorted_once, "a base is not itself a form");
    }
}
