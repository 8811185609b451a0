//! A value that can be replaced while others hold references to it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::AuthorId;

/// The owners of the project, the first one first; shared by all that ask or tell them.
pub type Owners = Arc<Replaceable<Vec<AuthorId>>>;

/// A value with its replacements. A reader keeps a reference to the value that was current when it asked, so replaced
/// values stay in memory as long as the cell: for what a person replaces now and then, such as settings.
pub struct Replaceable<T> {
    first: Node<T>,
}

struct Node<T> {
    value: T,
    next: OnceLock<Box<Self>>,
}

impl<T> Node<T> {
    const fn new(value: T) -> Self {
        Self { value, next: OnceLock::new() }
    }
}

impl<T> Replaceable<T> {
    pub const fn new(value: T) -> Self {
        Self { first: Node::new(value) }
    }

    fn last(&self) -> (&Node<T>, usize) {
        let (mut node, mut version) = (&self.first, 0);
        while let Some(next) = node.next.get() {
            (node, version) = (next, version + 1);
        }
        (node, version)
    }

    pub fn current(&self) -> &T {
        &self.last().0.value
    }

    /// How often the value was replaced.
    pub fn version(&self) -> usize {
        self.last().1
    }

    /// Replaces the value. Of two replacements at once, either is the last.
    pub fn replace(&self, value: T) {
        let mut new = Box::new(Node::new(value));
        while let Err(back) = self.last().0.next.set(new) {
            new = back;
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Replaceable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Replaceable").field(self.current()).finish()
    }
}

impl<T> Drop for Replaceable<T> {
    fn drop(&mut self) {
        // One by one: each node inside the drop of the one before it would need stack space.
        let mut next = self.first.next.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_keeps_its_value_and_the_next_one_sees_the_new_one() {
        let cell = Replaceable::new("one".to_owned());
        let held = cell.current();
        cell.replace("two".to_owned());
        assert_eq!((held.as_str(), cell.current().as_str(), cell.version()), ("one", "two", 1));
    }

    #[test]
    fn no_replacement_is_lost_and_a_long_chain_is_dropped() {
        let cell = Arc::new(Replaceable::new(0));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..5_000).for_each(|number| cell.replace(number)));
            }
        });
        assert_eq!(cell.version(), 20_000);
    }
}
