//! Redacts text that arrives in pieces: a possible beginning of a secret is held back until more is known. Pure.

use super::redact::Redactor;

/// A longer word is released piece by piece.
const LONGEST_WORD: usize = 16 * 1024;
/// Most bytes that are held back.
const LONGEST_HELD: usize = 64 * 1024;
/// The part of such a word that is held back; longer than any spelling of a secret without spaces.
const HELD_OF_WORD: usize = 4 * 1024;

/// A growing text, redacted. Shown text is remembered while it may be the beginning of a secret: of a secret spelled
/// with spaces the first letters may have been shown, but no more.
#[derive(Clone, Debug)]
pub struct RedactedStream {
    redactor: Redactor,
    text: String,
    /// How many bytes of the text were shown.
    shown: usize,
}

impl RedactedStream {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, text: String::new(), shown: 0 }
    }

    /// Adds text and returns what no continuation can change.
    pub fn push(&mut self, more: &str) -> String {
        self.text.push_str(more);
        let text = &self.text;
        let looked = self.redactor.look(text);
        let enough = text.len().saturating_sub(HELD_OF_WORD);
        let sure = self.redactor.sure_of(text);
        let word = word_before(text, sure);
        let at = if text.len() - word > LONGEST_WORD { enough.min(sure) } else { word };
        let at = looked.cut_before(text, at.min(looked.likely));
        let at = if text.len() - at > LONGEST_HELD { looked.cut_before(text, enough) } else { at };
        let at = at.max(self.shown);
        let clean = self.redactor.part(text, self.shown..at, &looked);
        let known = looked.cut_before(text, at.min(looked.pending));
        let known = if text.len() - known > LONGEST_HELD { at } else { known };
        self.text.drain(..known);
        self.shown = at - known;
        clean
    }

    /// Returns the rest at the end of the text.
    pub fn finish(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        let looked = self.redactor.look(&text);
        self.redactor.part(&text, std::mem::take(&mut self.shown)..text.len(), &looked)
    }
}

/// The start of the word at a position. A secret without spaces is within one word.
fn word_before(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.trim_end_matches(|letter: char| letter.is_ascii_graphic()).len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn streamed<'a>(redactor: &Redactor, pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut stream = RedactedStream::new(redactor.clone());
        let mut out: String = pieces.into_iter().map(|piece| stream.push(piece)).collect();
        out.push_str(&stream.finish());
        out
    }

    fn letters(text: &str) -> impl Iterator<Item = &str> {
        text.char_indices().filter_map(|(at, letter)| text.get(at..at + letter.len_utf8()))
    }

    #[test]
    fn a_secret_never_shows_however_it_is_cut() {
        let secrets =
            ["hunter2-hunter2", "-----BEGIN KEY-----\nabc def\nghi\n-----END-----", "pass é word 好"];
        let redactor = Redactor::new(secrets).unwrap();
        for secret in secrets {
            let text = format!("it is {secret}, 就是{secret}。\n{}", serde_json::to_string(secret).unwrap());
            let out = streamed(&redactor, letters(&text));
            assert_eq!(out, redactor.apply(&text), "{secret}");
            assert_eq!(out.matches("[redacted]").count(), 3);
        }
    }

    #[test]
    fn ordinary_words_are_shown_as_soon_as_they_end() {
        let mut stream = RedactedStream::new(Redactor::new(["hunter2-hunter2"]).unwrap());
        assert_eq!(stream.push("It is wor"), "It is ");
        assert_eq!(stream.push("king, 一切"), "working, 一切");
        assert_eq!(stream.push("顺利"), "顺利");
        assert_eq!(stream.finish(), "");
    }

    #[test]
    fn a_word_without_end_is_let_go_of_bit_by_bit() {
        let redactor = Redactor::new(["hunter2-hunter2"]).unwrap();
        let mut stream = RedactedStream::new(redactor);
        let mut out = String::new();
        for _ in 0..1_500 {
            out.push_str(&stream.push("abcdef=hunter2-hunter2"));
            assert!(stream.text.len() <= LONGEST_WORD + 100);
        }
        out.push_str(&stream.finish());
        assert_eq!(out, "abcdef=[redacted]".repeat(1_500));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn pieces_come_out_as_the_whole_would(
            secret in "[!-~]{6,20}",
            around in proptest::collection::vec("[a-z 中。\n%\"\\\\]{0,12}", 3),
            cuts in proptest::collection::vec(0usize..200, 0..12),
        ) {
            let redactor = Redactor::new([&secret]).unwrap().only_known();
            let text = around.join(&secret);
            let mut cuts: Vec<usize> = cuts.iter().map(|at| text.floor_char_boundary(at % (text.len() + 1))).collect();
            cuts.sort_unstable();
            cuts.push(text.len());
            let mut from = 0;
            let mut pieces = Vec::new();
            for cut in cuts {
                pieces.push(text.get(from..cut).unwrap());
                from = cut;
            }
            prop_assert_eq!(streamed(&redactor, pieces), redactor.apply(&text));
        }
    }
}
