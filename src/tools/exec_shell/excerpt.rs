//! The beginning and the end of a text of any length, in bounded memory. Pure.

/// Keeps the beginning and the end, up to a size.
#[derive(Debug)]
pub(super) struct Excerpt {
    bytes: usize,
    head: String,
    tail: String,
    /// The size of everything added.
    total: u64,
}

impl Excerpt {
    /// With this many bytes for the beginning and for the end.
    pub(super) const fn new(bytes: usize) -> Self {
        Self { bytes, head: String::new(), tail: String::new(), total: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.total += text.len() as u64;
        let mut rest = text;
        // The head is closed once a text did not fit.
        if self.tail.is_empty() && self.head.len() < self.bytes {
            let room = text.floor_char_boundary(self.bytes - self.head.len());
            let (fits, over) = text.split_at_checked(room).unwrap_or((text, ""));
            self.head.push_str(fits);
            rest = over;
        }
        self.tail.push_str(rest);
        // Rarely, so that trimming costs little in total.
        if self.tail.len() > 2 * self.bytes {
            self.tail = self.last_of_tail().to_owned();
        }
    }

    /// Whether something was omitted.
    pub(super) fn is_cut(&self) -> bool {
        self.left_out() > 0
    }

    /// The text, with a note where something was omitted.
    pub(super) fn text(&self) -> String {
        let tail = self.last_of_tail();
        match self.left_out() {
            0 => format!("{}{tail}", self.head),
            bytes => format!("{}\n[... {bytes} bytes left out ...]\n{tail}", self.head),
        }
    }

    fn last_of_tail(&self) -> &str {
        let start = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(self.bytes));
        self.tail.get(start..).unwrap_or_default()
    }

    fn left_out(&self) -> u64 {
        self.total - self.head.len() as u64 - self.last_of_tail().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_whole_and_a_long_one_has_two_ends() {
        let mut excerpt = Excerpt::new(4);
        excerpt.push("abcd");
        excerpt.push("ef");
        assert_eq!((excerpt.text().as_str(), excerpt.is_cut()), ("abcdef", false));
        excerpt.push("ghijkl");
        assert_eq!(
            (excerpt.text().as_str(), excerpt.is_cut()),
            ("abcd\n[... 4 bytes left out ...]\nijkl", true)
        );
    }

    #[test]
    fn two_hundred_megabytes_take_no_memory() {
        let mut excerpt = Excerpt::new(1_000);
        let piece = "x".repeat(100_000);
        for _ in 0..2_000 {
            excerpt.push(&piece);
            assert!(excerpt.tail.len() <= 2_000 && excerpt.head.len() <= 1_000);
        }
        assert_eq!(excerpt.left_out(), 200_000_000 - 2_000);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_without_being_counted(pieces in prop::collection::vec("[a中🦀\n]{0,12}", 0..30)) {
            let mut excerpt = Excerpt::new(16);
            pieces.iter().for_each(|piece| excerpt.push(piece));
            let whole = pieces.concat();
            if excerpt.is_cut() {
                prop_assert!(whole.starts_with(&excerpt.head) && whole.ends_with(excerpt.last_of_tail()));
                let shown = excerpt.head.len() + excerpt.last_of_tail().len();
                prop_assert_eq!(excerpt.left_out() as usize + shown, whole.len());
                prop_assert!(shown <= 32);
            } else {
                prop_assert_eq!(excerpt.text(), whole);
            }
        }
    }
}
