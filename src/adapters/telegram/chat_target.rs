//! The Telegram chat of a thread, with its topic.

use super::aliases::Aliases;
use crate::domain::ThreadId;

/// The id of the General topic. It is never sent: the server does not accept it.
const GENERAL: i64 = 1;

/// A chat, and a topic where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChatTarget {
    /// The chat id: a person's, or a group's, which is negative.
    pub chat: i64,
    /// The topic; `None` for the General one and in chats without topics.
    pub topic: Option<i64>,
}

impl ChatTarget {
    /// The current target of a thread; `None` for a thread of another platform.
    pub fn of(thread: &ThreadId, chats: &Aliases) -> Option<Self> {
        let chat: i64 = thread.chat().parse().ok()?;
        let topic = thread.topic().and_then(|topic| topic.parse().ok()).filter(|topic| *topic > GENERAL);
        Some(Self { chat: chats.current(chat), topic })
    }

    /// Whether it is a group: groups have negative ids.
    pub const fn is_group(self) -> bool {
        self.chat < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_found_where_its_chat_is_now() {
        let chats = Aliases::default();
        chats.learn(-5, -1005);
        for (thread, place) in [
            ("telegram:chat:7", Some((7, None))),
            ("telegram:chat:-5", Some((-1005, None))),
            ("telegram:chat:-5:topic:9", Some((-1005, Some(9)))),
            ("telegram:chat:-6:topic:1", Some((-6, None))),
            ("telegram:chat:-6:topic:9:user:7", Some((-6, Some(9)))),
            ("telegram:chat:ann", None),
        ] {
            let found = ChatTarget::of(&thread.parse().unwrap(), &chats);
            assert_eq!(found, place.map(|(chat, topic)| ChatTarget { chat, topic }), "{thread}");
        }
    }
}
