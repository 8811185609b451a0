//! How much a tool may say. Counted as JSON, because that is what the model is sent.

/// Most that one output may weigh, its small fields aside.
pub(super) const OUTPUT_BYTES: usize = 48 * 1024;

/// What is left of an output's room.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// A fresh one of so many bytes.
    pub(super) const fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    /// Takes the room that a text needs; where it does not fit nothing is taken.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let needed = weight(text);
        let fits = needed <= self.left;
        if fits {
            self.left -= needed;
        }
        fits
    }

    /// The beginning of a text that fits, whole characters only.
    pub(super) fn clip<'a>(&self, text: &'a str) -> &'a str {
        let mut used = 0;
        let end = text.char_indices().find(|(_, letter)| {
            used += letter_weight(*letter);
            used > self.left
        });
        end.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
    }
}

/// The bytes of a text inside a JSON string.
pub(super) fn weight(text: &str) -> usize {
    text.chars().map(letter_weight).sum()
}

fn letter_weight(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        control if u32::from(control) < 0x20 => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_is_that_of_the_json_text() {
        for text in ["", "plain", "中文", "\"\\\n\r\t", "\u{1}\u{1f}", "🦀"] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(weight(text), json.len() - 2, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_clipped_between_characters() {
        for (bytes, expected) in [(0, ""), (2, ""), (3, "中"), (5, "中"), (6, "中文"), (99, "中文")] {
            assert_eq!(Budget::new(bytes).clip("中文"), expected, "{bytes}");
        }
    }
}
