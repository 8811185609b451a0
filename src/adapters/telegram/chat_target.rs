//! The Telegram chat of a thread, with its topic; and the groups that became supergroups, which have a new id while their
//! thread keeps the old one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::domain::ThreadId;
use crate::ports::{Durability, KeyValueStore, StoreError};

/// The id of the General topic. It is never sent: the server does not accept it.
const GENERAL: i64 = 1;

/// A chat, and a topic where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// The name of the note.
const NOTE: &str = "moved-chats";
/// Most migrations followed for one chat; a real chat migrates once.
const LONGEST_CHAIN: usize = 8;

/// Maps migrated chats to their new ids. Clones share the map.
#[derive(Clone, Debug)]
pub struct Aliases {
    /// From the old id to the new one.
    moved: Arc<watch::Sender<BTreeMap<i64, i64>>>,
}

impl Default for Aliases {
    fn default() -> Self {
        Self { moved: Arc::new(watch::Sender::new(BTreeMap::new())) }
    }
}

impl Aliases {
    /// Loads the stored aliases.
    pub async fn load(&self, notes: &dyn KeyValueStore) -> Result<(), StoreError> {
        let note = notes.get(NOTE).await?;
        let pairs: Vec<(i64, i64)> =
            note.map(serde_json::from_value).and_then(Result::ok).unwrap_or_default();
        self.moved.send_modify(|moved| moved.extend(pairs));
        Ok(())
    }

    /// Records a migration: both ids mean the same thread.
    pub fn learn(&self, from: i64, to: i64) {
        if from != to && self.current(to) != from {
            self.moved.send_modify(|moved| {
                moved.insert(from, to);
            });
        }
    }

    /// Stores the aliases durably: Telegram reports a migration once.
    pub async fn save(&self, notes: &dyn KeyValueStore) -> Result<(), StoreError> {
        let pairs: Vec<Value> = self.moved.borrow().iter().map(|(from, to)| json!([from, to])).collect();
        notes.put(NOTE, pairs.into(), Durability::Synced).await
    }

    /// The current id of a chat.
    pub fn current(&self, chat: i64) -> i64 {
        let moved = self.moved.borrow();
        let steps = std::iter::successors(Some(chat), |chat| moved.get(chat).copied());
        steps.take(LONGEST_CHAIN).last().unwrap_or(chat)
    }

    /// The id in a chat's ThreadId: its first one.
    pub fn original(&self, chat: i64) -> i64 {
        let moved = self.moved.borrow();
        let before = |chat: &i64| moved.iter().find(|(_, to)| *to == chat).map(|(from, _)| *from);
        std::iter::successors(Some(chat), before).take(LONGEST_CHAIN).last().unwrap_or(chat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FileNotes;

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

    #[tokio::test]
    async fn a_chat_that_moved_keeps_its_thread_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"telegram".parse().unwrap());
        let aliases = Aliases::default();
        aliases.load(&notes).await.unwrap();
        aliases.learn(-5, -1005);
        aliases.learn(-5, -1005);
        aliases.save(&notes).await.unwrap();
        let later = Aliases::default();
        later.load(&notes).await.unwrap();
        for known in [aliases, later] {
            assert_eq!((known.current(-5), known.original(-1005)), (-1005, -5));
            assert_eq!((known.current(-1005), known.original(-5)), (-1005, -5));
            assert_eq!((known.current(7), known.original(7)), (7, 7));
        }
    }

    #[test]
    fn a_circle_is_not_walked_forever() {
        let aliases = Aliases::default();
        aliases.learn(1, 2);
        aliases.learn(2, 1);
        aliases.learn(3, 3);
        assert_eq!((aliases.current(1), aliases.original(2)), (2, 1));
    }
}
