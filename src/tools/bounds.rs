//! The size limit of a tool's output, counted as JSON, because that is what the model gets.

/// Largest output, without its small fields.
pub(super) const OUTPUT_BYTES: usize = 48 * 1024;

/// The remaining size of an output.
#[derive(Debug)]
pub(super) struct OutputBudget {
    left: usize,
}

impl OutputBudget {
    /// A budget of this many bytes.
    pub(super) const fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    /// Reserves the size of a text; reserves nothing where it does not fit.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let needed = weight(text);
        let fits = needed <= self.left;
        if fits {
            self.left -= needed;
        }
        fits
    }

    /// The beginning of a text that fits, in whole characters.
    pub(super) fn clip<'a>(&self, text: &'a str) -> &'a str {
        let mut used = 0;
        let end = text.char_indices().find(|(_, letter)| {
            used += letter_weight(*letter);
            used > self.left
        });
        end.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
    }
}

/// The size of a text inside a JSON string.
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
            assert_eq!(OutputBudget::new(bytes).clip("中文"), expected, "{bytes}");
        }
    }
}
