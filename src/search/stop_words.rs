//! Words of a question that say how it is asked, not what about.

/// Left out of a query as long as another word remains.
const ENGLISH: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "aren", "as", "at", "be",
    "been", "before", "being", "but", "by", "can", "could", "couldn", "did", "didn", "do", "does", "doesn",
    "doing", "don", "for", "from", "had", "hadn", "has", "hasn", "have", "haven", "having", "he", "her",
    "hers", "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it", "its", "just", "ll", "many",
    "may", "me", "might", "more", "most", "much", "must", "my", "not", "of", "on", "or", "our", "ours",
    "out", "over", "s", "shall", "she", "should", "shouldn", "so", "some", "such", "t", "than", "that",
    "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to", "too", "up",
    "us", "ve", "very", "was", "wasn", "we", "were", "weren", "what", "when", "where", "which", "while",
    "who", "whom", "whose", "why", "will", "with", "won", "would", "wouldn", "you", "your", "yours",
];

/// Chinese question phrases, longest first: cut out of a query before its pairs are made.
const CHINESE_PHRASES: &[&str] = &[
    "什么时候",
    "什么时间",
    "为什么",
    "怎么样",
    "是不是",
    "有没有",
    "能不能",
    "多长时间",
    "哪一天",
    "哪一个",
    "什么样",
    "请问",
    "什么",
    "怎么",
    "怎样",
    "如何",
    "哪里",
    "哪儿",
    "哪个",
    "哪些",
    "哪天",
    "哪位",
    "多少",
    "多久",
    "几个",
    "几点",
    "几次",
    "几号",
    "为何",
    "是谁",
    "谁的",
    "是否",
];

/// Chinese characters of grammar. A pair that has one says less than another pair.
const CHINESE_GRAMMAR: &str = "的了是在有和与就都也很吗呢吧啊呀哪谁几么这那我你他她它们把被给跟之着不没";
/// Characters of grammar that also begin and end words: 会议, 过敏, 地址, 要求, 对象, 小说. They say less only beside another
/// character of grammar.
const CHINESE_GRAMMAR_OR_WORD: &str = "对从到去来要会能个其说过得地";

/// Whether an English word only asks.
pub(super) fn is_stop_word(word: &str) -> bool {
    ENGLISH.binary_search(&word).is_ok()
}

/// Cuts question phrases out of a run of CJK characters; what stood on both sides is not joined.
pub(super) fn without_question_phrases(run: &[char]) -> Vec<Vec<char>> {
    let mut out = vec![Vec::new()];
    let mut rest = run;
    while let [first, behind @ ..] = rest {
        let text: String = rest.iter().take(4).collect();
        match CHINESE_PHRASES.iter().find(|phrase| text.starts_with(**phrase)) {
            Some(phrase) => {
                rest = rest.get(phrase.chars().count()..).unwrap_or_default();
                out.push(Vec::new());
            }
            None => {
                if let Some(part) = out.last_mut() {
                    part.push(*first);
                }
                rest = behind;
            }
        }
    }
    out.retain(|part| !part.is_empty());
    out
}

/// Whether a CJK character may be one of grammar.
pub(super) fn may_be_grammar(c: char) -> bool {
    CHINESE_GRAMMAR.contains(c) || CHINESE_GRAMMAR_OR_WORD.contains(c)
}

/// How many characters of a CJK pair are there for grammar.
pub(super) fn grammar_characters(pair: &str) -> usize {
    match pair.chars().filter(|c| may_be_grammar(*c)).count() {
        1 => pair.chars().filter(|c| CHINESE_GRAMMAR.contains(*c)).count(),
        count => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_so_that_it_can_be_searched() {
        assert!(ENGLISH.is_sorted());
        assert!(is_stop_word("when") && is_stop_word("a") && is_stop_word("yours") && !is_stop_word("group"));
    }

    #[test]
    fn characters_that_are_part_of_a_word_are_not_grammar() {
        for word in ["会议", "过敏", "地址", "地铁", "要求", "对象", "得奖", "小说", "能力", "个人", "从事"]
        {
            assert_eq!(grammar_characters(word), 0, "{word}");
        }
        for (pair, count) in [("的狗", 1), ("我叫", 1), ("要去", 2), ("他会", 2), ("来了", 2), ("东京", 0)]
        {
            assert_eq!(grammar_characters(pair), count, "{pair}");
        }
    }

    #[test]
    fn question_phrases_separate_what_stands_around_them() {
        for (question, left) in [
            ("林晓的狗叫什么名字", &["林晓的狗叫", "名字"][..]),
            ("什么时候出差", &["出差"]),
            ("为什么", &[]),
            ("会议室", &["会议室"]),
        ] {
            let run: Vec<char> = question.chars().collect();
            let parts: Vec<String> =
                without_question_phrases(&run).iter().map(|part| part.iter().collect()).collect();
            assert_eq!(parts, left, "{question}");
        }
    }
}
