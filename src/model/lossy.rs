//! Decodes a byte stream as UTF-8, with invalid bytes and cuts inside a character. Pure.

/// Decodes a stream of bytes as UTF-8. An invalid byte becomes a replacement character: one bad byte must not lose an
/// answer.
#[derive(Debug, Default)]
pub(crate) struct LossyUtf8 {
    /// The beginning of an incomplete character.
    begun: Vec<u8>,
}

impl LossyUtf8 {
    /// Adds bytes and returns the complete characters.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let odd = chunk.invalid();
            if chunks.peek().is_none() && may_become_a_letter(odd) {
                self.begun = odd.to_vec();
            } else if !odd.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }
}

/// Whether bytes are the beginning of a character, and not invalid.
fn may_become_a_letter(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bad_byte_costs_one_letter() {
        let mut text = LossyUtf8::default();
        assert_eq!(text.feed(b"a\xFFb"), "a\u{FFFD}b");
        assert_eq!(text.feed(b"\xE5\xA5"), "");
        assert_eq!(text.feed(b"\xBDc"), "好c");
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_text(bytes in prop::collection::vec(any::<u8>(), 0..40), cuts in prop::collection::vec(0usize..40, 0..4)) {
            let mut places: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let mut decoder = LossyUtf8::default();
            let mut text: String = places.windows(2).map(|pair| decoder.feed(&bytes[pair[0]..pair[1]])).collect();
            if !decoder.begun.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}
