//! What of an answer is spoken: its sentences, without Markdown, code, tables, addresses and pictograms. Pure.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::domain::Language;
use crate::phrases::conversation as words;

/// Longer inline code is not spoken.
const LONGEST_CODE: usize = 40;

/// The words of a CommonMark text to be spoken, at most this many characters. Empty where nothing can be spoken.
pub fn speakable(markdown: &str, most: usize, language: Language) -> String {
    let mut speech = SpeakableText::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        speech.take(event);
    }
    speech.end_sentence();
    if !speech.has_words {
        return String::new();
    }
    let mut sentences = speech.sentences;
    if speech.omits_code {
        sentences.push(words::speech_code_omitted(language).to_owned());
    }
    if speech.omits_table {
        sentences.push(words::speech_table_omitted(language).to_owned());
    }
    cut(&sentences, most, language)
}

#[derive(Default)]
struct SpeakableText {
    sentences: Vec<String>,
    current: String,
    /// How many enclosing elements are not spoken.
    silent: usize,
    has_words: bool,
    omits_code: bool,
    omits_table: bool,
}

impl SpeakableText {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                self.omits_code = true;
                self.silent += 1;
            }
            Event::Start(Tag::Table(_)) => {
                self.end_sentence();
                self.omits_table = true;
                self.silent += 1;
            }
            Event::Start(Tag::Image { .. } | Tag::Strikethrough | Tag::HtmlBlock) => self.silent += 1,
            Event::End(
                TagEnd::CodeBlock | TagEnd::Table | TagEnd::Image | TagEnd::Strikethrough | TagEnd::HtmlBlock,
            ) => self.silent = self.silent.saturating_sub(1),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) => self.end_sentence(),
            Event::Start(Tag::Item | Tag::List(_)) => self.end_sentence(),
            Event::Text(text) => self.say(&text),
            Event::Code(code) if is_plain(&code) => self.say(&code),
            Event::Code(_) => self.omits_code |= self.silent == 0,
            Event::SoftBreak | Event::HardBreak => self.say(" "),
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        if self.silent > 0 {
            return;
        }
        let spoken = text.split_inclusive(char::is_whitespace).filter(|word| !is_address(word));
        self.current.extend(spoken.flat_map(str::chars).filter(|letter| !is_pictogram(*letter)));
    }

    fn end_sentence(&mut self) {
        let text = self.current.split_whitespace().collect::<Vec<_>>().join(" ");
        self.current.clear();
        if !text.contains(char::is_alphanumeric) {
            return;
        }
        self.has_words = true;
        let ended = text.ends_with(['.', '!', '?', ':', ';', ',', '。', '！', '？', '：', '；', '，', '…']);
        let full_stop = if text.is_ascii() { "." } else { "。" };
        self.sentences.push(if ended { text } else { format!("{text}{full_stop}") });
    }
}

/// Whether inline code can be read like words: a name or a number.
fn is_plain(code: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, ' ' | '_' | '-' | '.');
    code.chars().count() <= LONGEST_CODE && code.chars().all(plain)
}

fn is_address(word: &str) -> bool {
    let word = word.trim_start_matches(['(', '<', '"', '“', '（']);
    ["http://", "https://", "www.", "mailto:"].iter().any(|start| word.starts_with(start))
}

/// Emoji and other symbols that a voice would name or stumble over.
const fn is_pictogram(letter: char) -> bool {
    matches!(letter, '\u{200d}' | '\u{20e3}' | '\u{2190}'..='\u{2bff}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// As many whole sentences as fit, and a word about the rest.
fn cut(sentences: &[String], most: usize, language: Language) -> String {
    let whole = sentences.join("\n");
    if whole.chars().count() <= most {
        return whole;
    }
    let rest = words::speech_rest_omitted(language);
    let room = most.saturating_sub(rest.chars().count() + 1);
    let mut text: String = whole.chars().take(room).collect();
    let ends = |letter: &char| matches!(letter, '.' | '!' | '?' | '。' | '！' | '？' | '\n');
    let end = text.char_indices().rev().find(|(_, letter)| ends(letter));
    let end = end.map(|(at, letter)| at + letter.len_utf8());
    // A sentence that is longer than all is cut at a word.
    let end = end.or_else(|| text.rfind(char::is_whitespace)).unwrap_or(text.len());
    text.truncate(end);
    format!("{}\n{rest}", text.trim_end()).chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_spoken_and_nothing_else() {
        for (markdown, spoken) in [
            ("Hello **there**, _Ann_.", "Hello there, Ann."),
            ("# Title\n\nSome words\nover two lines", "Title.\nSome words over two lines."),
            ("- one\n- two\n  - three\n", "one.\ntwo.\nthree."),
            ("Run `cargo test` and `x=$(rm -rf /)`.", "Run cargo test and .\nThe code is in the text."),
            (
                "Do this:\n\n```sh\nrm -rf target\n```\n\nThen that.",
                "Do this:\nThen that.\nThe code is in the text.",
            ),
            ("```\nonly code\n```", ""),
            ("See [the docs](https://example.org/a?b=c) now.", "See the docs now."),
            ("See https://example.org/a and <https://b.example>.", "See and ."),
            ("| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is all.", "That is all.\nThe table is in the text."),
            ("![a chart](chart.png) It grew.", "It grew."),
            ("Done ✅ 🎉 well", "Done well."),
            ("~~old~~ new", "new."),
            ("<b>bold</b> words", "bold words."),
            ("1. first\n2. second", "first.\nsecond."),
            ("", ""),
            ("---", ""),
            ("✅", ""),
        ] {
            assert_eq!(speakable(markdown, 1000, Language::En), spoken, "{markdown:?}");
        }
        for (markdown, spoken) in
            [("**你好**，世界", "你好，世界。"), ("请看：\n\n```\ncode\n```", "请看：\n代码见文字消息。")]
        {
            assert_eq!(speakable(markdown, 1000, Language::Zh), spoken, "{markdown:?}");
        }
    }

    #[test]
    fn a_long_answer_ends_with_a_whole_sentence_and_a_word_about_the_rest() {
        let long = "One is here. Two is here. Three is here. ".repeat(20);
        let spoken = speakable(&long, 60, Language::En);
        assert_eq!(spoken, "One is here. Two is here.\nThe rest is in the text.");
        let endless = "word ".repeat(200);
        let spoken = speakable(&endless, 50, Language::En);
        assert!(spoken.chars().count() <= 50 && spoken.ends_with("\nThe rest is in the text."), "{spoken}");
        assert!(speakable(&"字".repeat(500), 40, Language::Zh).chars().count() <= 40);
        assert!(speakable("a b", 1, Language::En).chars().count() <= 1);
    }
}
