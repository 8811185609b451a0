//! Reads which items of a numbered list a person keeps: `1 3`, `keep 1 and 3`, `only 2`, `留1和3`.

/// Words that may stand before and between the numbers.
const WORDS: [&str; 28] = [
    "只保留",
    "只记住",
    "只留",
    "只要",
    "只记",
    "保留",
    "记住",
    "留下",
    "留",
    "要",
    "记",
    "第",
    "和",
    "与",
    "跟",
    "条",
    "项",
    "个",
    "吧",
    "keep",
    "only",
    "just",
    "remember",
    "number",
    "numbers",
    "and",
    "please",
    "the",
];

/// The items that a text chooses out of `count`, in order, each once; nothing where it is no choice, or names an item that
/// is not there.
pub fn chosen(text: &str, count: usize) -> Option<Vec<usize>> {
    let low = text.trim().to_lowercase();
    let mut rest = low.as_str();
    let mut out: Vec<usize> = Vec::new();
    while let Some(first) = rest.chars().next() {
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        if digits > 0 {
            let number: usize = rest.get(..digits)?.parse().ok()?;
            if !(1..=count).contains(&number) {
                return None;
            }
            out.push(number);
            rest = rest.get(digits..)?;
        } else if first.is_whitespace()
            || matches!(first, ',' | '，' | '、' | '&' | '+' | '#' | '.' | '。' | ':' | '：')
        {
            rest = rest.get(first.len_utf8()..)?;
        } else {
            let word = WORDS.iter().find(|word| rest.starts_with(**word))?;
            rest = rest.get(word.len()..)?;
            // A word of Latin letters is a whole word.
            if word.is_ascii() && rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return None;
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_choose_and_anything_else_does_not() {
        for (text, expected) in [
            ("1 3", Some(vec![1, 3])),
            ("keep 3, 1 and 3", Some(vec![1, 3])),
            ("Only 2.", Some(vec![2])),
            ("留 1、3", Some(vec![1, 3])),
            ("只要第1条和第2条", Some(vec![1, 2])),
            ("keep 4", None),
            ("0", None),
            ("keep", None),
            ("yes", None),
            ("1 or 2?", None),
            ("not 1", None),
            ("keeping 1", None),
            ("1 please deploy", None),
            ("", None),
        ] {
            assert_eq!(chosen(text, 3), expected, "{text}");
        }
    }
}
