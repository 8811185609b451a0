//! Splits off the `<think>…</think>` that some servers leave in front of an answer. Pure, for any split of the pieces.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of content by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThinkPiece {
    /// Part of the answer.
    Text(String),
    /// Part of the reasoning.
    Reasoning(String),
}

/// Splits content piece by piece. A possible tag is held back until it is certain.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThinkSplitter {
    place: TagState,
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TagState {
    /// Only white space so far.
    #[default]
    Beginning,
    /// After the opening tag, before the reasoning's first character.
    Opened,
    Thinking,
    /// After the closing tag, before the answer's first character.
    Closed,
    /// In the answer, where tags are plain text.
    Answer,
}

impl ThinkSplitter {
    /// Adds content and returns what is certain.
    pub(crate) fn feed(&mut self, content: &str) -> Vec<ThinkPiece> {
        self.held.push_str(content);
        let mut told = Vec::new();
        while let Some(piece) = self.step() {
            told.extend(piece);
        }
        told
    }

    /// Ends the content: held-back text is what it looks like.
    pub(crate) fn finish(&mut self) -> Option<ThinkPiece> {
        let rest = std::mem::take(&mut self.held);
        if rest.is_empty() {
            return None;
        }
        match self.place {
            TagState::Beginning | TagState::Answer => Some(ThinkPiece::Text(rest)),
            TagState::Thinking => Some(ThinkPiece::Reasoning(rest)),
            // Only white space can be held back in these states.
            TagState::Opened | TagState::Closed => None,
        }
    }

    /// One step. `None` means that more content is needed.
    fn step(&mut self) -> Option<Option<ThinkPiece>> {
        if self.held.is_empty() {
            return None;
        }
        match self.place {
            TagState::Beginning => {
                let start = self.held.trim_start();
                if let Some(rest) = start.strip_prefix(OPEN) {
                    self.go(TagState::Opened, rest.to_owned());
                } else if OPEN.starts_with(start) {
                    return None;
                } else {
                    self.place = TagState::Answer;
                }
                Some(None)
            }
            TagState::Opened => self.skip_white(TagState::Thinking),
            TagState::Closed => self.skip_white(TagState::Answer),
            TagState::Thinking => self.think(),
            TagState::Answer => Some(Some(ThinkPiece::Text(std::mem::take(&mut self.held)))),
        }
    }

    fn think(&mut self) -> Option<Option<ThinkPiece>> {
        if let Some((thought, rest)) = self.held.split_once(CLOSE) {
            let told = (!thought.is_empty()).then(|| ThinkPiece::Reasoning(thought.to_owned()));
            let rest = rest.to_owned();
            self.go(TagState::Closed, rest);
            return Some(told);
        }
        let certain = self.held.len() - waiting(&self.held, CLOSE);
        if certain == 0 {
            return None;
        }
        let rest = self.held.split_off(certain);
        let thought = std::mem::replace(&mut self.held, rest);
        Some(Some(ThinkPiece::Reasoning(thought)))
    }

    fn skip_white(&mut self, next: TagState) -> Option<Option<ThinkPiece>> {
        let rest = self.held.trim_start().to_owned();
        if rest.is_empty() {
            self.held.clear();
            return None;
        }
        self.go(next, rest);
        Some(None)
    }

    fn go(&mut self, place: TagState, held: String) {
        self.place = place;
        self.held = held;
    }
}

/// How many bytes at the end of `text` may be the beginning of `mark`.
fn waiting(text: &str, mark: &str) -> usize {
    mark.char_indices()
        .rev()
        .map(|(at, _)| at)
        .find(|at| mark.get(..*at).is_some_and(|m| text.ends_with(m)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text and the reasoning of content in these pieces.
    fn split<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let mut splitter = ThinkSplitter::default();
        let mut told: Vec<ThinkPiece> = pieces.into_iter().flat_map(|piece| splitter.feed(piece)).collect();
        told.extend(splitter.finish());
        let (mut text, mut reasoning) = (String::new(), String::new());
        for piece in told {
            match piece {
                ThinkPiece::Text(piece) => text.push_str(&piece),
                ThinkPiece::Reasoning(piece) => reasoning.push_str(&piece),
            }
        }
        (text, reasoning)
    }

    #[test]
    fn thinking_counts_only_at_the_beginning() {
        for (content, text, reasoning) in [
            ("hello", "hello", ""),
            ("<think>hm</think>\n\nhello", "hello", "hm"),
            ("\n <think>\nhm\n</think>hello", "hello", "hm\n"),
            ("<think>never closed", "", "never closed"),
            ("<think>cut </thi", "", "cut </thi"),
            ("<think></think>hello", "hello", ""),
            ("use <think>x</think>", "use <think>x</think>", ""),
            ("<think>a</think><think>b</think>c", "<think>b</think>c", "a"),
            ("<think>1 < 2 </ 3</think>x", "x", "1 < 2 </ 3"),
            ("<thinking>x", "<thinking>x", ""),
            ("<thi", "<thi", ""),
            ("  plain", "  plain", ""),
            ("  ", "  ", ""),
            ("<think>好的</think>你好", "你好", "好的"),
        ] {
            assert_eq!(split([content]), (text.to_owned(), reasoning.to_owned()), "{content:?}");
        }
    }

    #[test]
    fn what_is_certain_is_told_at_once() {
        let mut splitter = ThinkSplitter::default();
        assert_eq!(splitter.feed("<th"), vec![]);
        assert_eq!(splitter.feed("ink>well"), vec![ThinkPiece::Reasoning("well".into())]);
        assert_eq!(splitter.feed(" <"), vec![ThinkPiece::Reasoning(" ".into())]);
        assert_eq!(splitter.feed("/think>\n"), vec![]);
        assert_eq!(splitter.feed("yes"), vec![ThinkPiece::Text("yes".into())]);
    }

    proptest! {
        #[test]
        fn where_it_is_cut_makes_no_difference(
            content in r"\s{0,2}(<think>|<thin|)(a|<|/|好|</think>|think>|\n| ){0,12}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let chars: Vec<char> = content.chars().collect();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
            places.extend([0, chars.len()]);
            places.sort_unstable();
            let pieces: Vec<String> = places.windows(2).map(|w| chars[w[0]..w[1]].iter().collect()).collect();
            prop_assert_eq!(split(pieces.iter().map(String::as_str)), split([content.as_str()]));
        }
    }
}
