//! Finds many patterns in one pass over a sequence of symbols (Aho–Corasick), and knows at any time how much of the end
//! may be the beginning of a pattern. Pure.

const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;

/// The patterns to search for.
#[derive(Debug)]
pub(super) struct Automaton {
    states: Vec<AutomatonState>,
    /// The transitions from the root, by symbol.
    first: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct AutomatonState {
    symbol: u8,
    child: u32,
    sibling: u32,
    /// The state of the longest suffix that is a prefix of a pattern.
    fail: u32,
    depth: u32,
    /// The length of the longest pattern that ends here.
    matched: u32,
}

impl AutomatonState {
    const fn new(symbol: u8, sibling: u32, depth: u32) -> Self {
        Self { symbol, child: NONE, sibling, fail: ROOT, depth, matched: 0 }
    }
}

impl Automaton {
    /// An automaton for these patterns, with symbols below `symbols`. Empty patterns are ignored.
    pub(super) fn new(patterns: &[Vec<u8>], symbols: usize) -> Self {
        let mut automaton =
            Self { states: vec![AutomatonState::new(0, NONE, 0)], first: vec![ROOT; symbols] };
        for pattern in patterns {
            automaton.add(pattern);
        }
        automaton.link();
        let mut child = automaton.state(ROOT).child;
        while child != NONE {
            let state = automaton.state(child);
            if let Some(first) = automaton.first.get_mut(usize::from(state.symbol)) {
                *first = child;
            }
            child = state.sibling;
        }
        automaton
    }

    /// Whether there are no patterns.
    pub(super) fn is_empty(&self) -> bool {
        self.states.len() <= 1
    }

    pub(super) const fn start(&self) -> u32 {
        ROOT
    }

    /// The state after one more symbol.
    #[inline]
    pub(super) fn next(&self, mut from: u32, symbol: u8) -> u32 {
        while from != ROOT {
            if let Some(child) = self.child(from, symbol) {
                return child;
            }
            from = self.state(from).fail;
        }
        self.first.get(usize::from(symbol)).copied().unwrap_or(ROOT)
    }

    /// How many of the last symbols may be the beginning of a pattern.
    #[inline]
    pub(super) fn depth(&self, state: u32) -> usize {
        self.state(state).depth as usize
    }

    /// The length of the longest pattern that ends here; 0 for none.
    #[inline]
    pub(super) fn matched(&self, state: u32) -> usize {
        self.state(state).matched as usize
    }

    #[inline]
    fn state(&self, at: u32) -> AutomatonState {
        self.states.get(at as usize).copied().unwrap_or(AutomatonState::new(0, NONE, 0))
    }

    #[inline]
    fn child(&self, of: u32, symbol: u8) -> Option<u32> {
        let mut child = self.state(of).child;
        while child != NONE {
            let state = self.state(child);
            if state.symbol == symbol {
                return Some(child);
            }
            child = state.sibling;
        }
        None
    }

    fn add(&mut self, pattern: &[u8]) {
        let mut at = ROOT;
        for symbol in pattern {
            at = match self.child(at, *symbol) {
                Some(child) => child,
                None => {
                    let parent = self.state(at);
                    let new = u32::try_from(self.states.len()).unwrap_or(ROOT);
                    self.states.push(AutomatonState::new(*symbol, parent.child, parent.depth + 1));
                    if let Some(parent) = self.states.get_mut(at as usize) {
                        parent.child = new;
                    }
                    new
                }
            };
        }
        if at != ROOT
            && let Some(state) = self.states.get_mut(at as usize)
        {
            state.matched = state.depth;
        }
    }

    /// Sets the failure links, level by level.
    fn link(&mut self) {
        let mut queue = std::collections::VecDeque::from([ROOT]);
        while let Some(parent) = queue.pop_front() {
            let mut child = self.state(parent).child;
            while child != NONE {
                let AutomatonState { symbol, sibling, matched, .. } = self.state(child);
                let fail = self.fallback(parent, symbol);
                let inherited = self.state(fail).matched;
                if let Some(state) = self.states.get_mut(child as usize) {
                    state.fail = fail;
                    state.matched = if matched > 0 { matched } else { inherited };
                }
                queue.push_back(child);
                child = sibling;
            }
        }
    }

    fn fallback(&self, parent: u32, symbol: u8) -> u32 {
        let mut at = parent;
        while at != ROOT {
            at = self.state(at).fail;
            if let Some(child) = self.child(at, symbol) {
                return child;
            }
        }
        ROOT
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_plain_search_finds(
            patterns in proptest::collection::vec(proptest::collection::vec(0u8..3, 1..6), 0..6),
            text in proptest::collection::vec(0u8..3, 0..60),
        ) {
            let automaton = Automaton::new(&patterns, 3);
            let mut state = automaton.start();
            for end in 1..=text.len() {
                state = automaton.next(state, text[end - 1]);
                let seen = &text[..end];
                let matched = patterns.iter().filter(|pattern| seen.ends_with(pattern)).map(Vec::len).max();
                prop_assert_eq!(automaton.matched(state), matched.unwrap_or(0));
                let begun = (1..=end)
                    .rev()
                    .find(|length| patterns.iter().any(|pattern| pattern.starts_with(&seen[end - length..])));
                prop_assert_eq!(automaton.depth(state), begun.unwrap_or(0));
            }
        }
    }
}
