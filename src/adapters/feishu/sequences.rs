//! The sequence numbers of card updates: strictly growing for each card.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Most cached cards.
const MOST: usize = 1024;

/// The last sequence number of each card.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    last: Mutex<HashMap<String, i32>>,
}

impl Sequences {
    /// The card's next sequence number, at least `floor`. A floor that grows with time covers evicted cards.
    pub(super) fn next(&self, card: &str, floor: i32) -> i32 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= MOST && !last.contains_key(card) {
            last.clear();
        }
        let number = last.entry(card.to_owned()).or_default();
        *number = number.saturating_add(1).max(floor).max(1);
        *number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_only_grow() {
        let sequences = Sequences::default();
        let numbers = [0, 0, 500, 400, 502].map(|floor| sequences.next("a", floor));
        assert_eq!(numbers, [1, 2, 500, 501, 502]);
        assert_eq!(sequences.next("b", 0), 1);
    }
}
