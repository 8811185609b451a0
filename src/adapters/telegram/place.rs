//! Where in Telegram something is said: a chat, and a topic of it.

use super::aliases::Aliases;
use crate::domain::ThreadId;

/// A chat, and a topic of it. The General topic has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// The number the chat has now.
    pub(super) chat: i64,
    /// The topic.
    pub(super) topic: Option<i64>,
}

impl Place {
    /// Where a thread is now; nothing for one that cannot be on Telegram.
    pub(super) fn of(thread: &ThreadId, aliases: &Aliases) -> Option<Self> {
        let chat = aliases.current(thread.chat().parse().ok()?);
        let topic = match thread.topic() {
            Some(topic) => Some(topic.parse().ok()?),
            None => None,
        };
        Some(Self { chat, topic })
    }

    /// Whether several people can read it: groups have numbers below zero.
    pub(super) const fn is_group(self) -> bool {
        self.chat < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_says_its_place() {
        let aliases = Aliases::default();
        let place = |thread: &str| Place::of(&thread.parse().unwrap(), &aliases);
        assert_eq!(place("telegram:chat:7"), Some(Place { chat: 7, topic: None }));
        assert_eq!(place("telegram:chat:-100:topic:5:user:9"), Some(Place { chat: -100, topic: Some(5) }));
        assert_eq!(place("telegram:chat:-100:user:9"), Some(Place { chat: -100, topic: None }));
        assert_eq!(place("telegram:chat:x"), None);
        assert!(place("telegram:chat:-100").unwrap().is_group());
    }
}
