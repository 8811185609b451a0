//! Decides which messages of a group are for the agent. In a direct chat all of them are.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Respond;
use crate::domain::{AuthorId, ChatKind, ThreadId, Timestamp};

/// Most remembered conversations with people.
const MOST: usize = 10_000;

/// How a message addresses the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    pub mentions_me: bool,
    pub replies_to_me: bool,
    pub commands_me: bool,
    /// It addresses another: mentions one, or replies to one.
    pub turns_to_another: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressed {
    /// It is for the agent.
    Answer,
    /// It is not, and is kept as context.
    Overhear,
}

/// Remembers with whom the agent has a conversation.
#[derive(Debug)]
pub struct AddressingPolicy {
    respond: Respond,
    followup: Duration,
    talking: HashMap<(ThreadId, AuthorId), Timestamp>,
}

impl AddressingPolicy {
    /// Answers according to `respond`; for `followup` after an answer the same person need not mention the agent.
    pub fn new(respond: Respond, followup: Duration) -> Self {
        Self { respond, followup, talking: HashMap::new() }
    }

    /// Whether a message is for the agent.
    pub fn hear(
        &mut self,
        thread: &ThreadId,
        author: &AuthorId,
        kind: ChatKind,
        facts: Facts,
        now: Timestamp,
    ) -> Addressed {
        if kind == ChatKind::Direct {
            return Addressed::Answer;
        }
        let addressed = facts.mentions_me || facts.replies_to_me || facts.commands_me;
        let goes_on = !facts.turns_to_another && self.is_talking(thread, author, now);
        if !addressed && !goes_on && (self.respond == Respond::Mention || facts.turns_to_another) {
            return Addressed::Overhear;
        }
        self.note(thread, author, now);
        Addressed::Answer
    }

    fn is_talking(&self, thread: &ThreadId, author: &AuthorId, now: Timestamp) -> bool {
        let last = self.talking.get(&(thread.clone(), author.clone()));
        last.is_some_and(|last| u128::from(now.millis_since(*last)) < self.followup.as_millis())
    }

    fn note(&mut self, thread: &ThreadId, author: &AuthorId, now: Timestamp) {
        if self.followup.is_zero() {
            return;
        }
        if self.talking.len() >= MOST {
            let followup = self.followup.as_millis();
            self.talking.retain(|_, last| u128::from(now.millis_since(*last)) < followup);
        }
        if self.talking.len() < MOST {
            self.talking.insert((thread.clone(), author.clone()), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MENTION: Facts =
        Facts { mentions_me: true, replies_to_me: false, commands_me: false, turns_to_another: false };
    const PLAIN: Facts = Facts { mentions_me: false, ..MENTION };
    const ANOTHER: Facts = Facts { turns_to_another: true, ..PLAIN };

    fn thread() -> ThreadId {
        "fake:chat:1".parse().unwrap()
    }

    fn author(name: &str) -> AuthorId {
        format!("fake:user:{name}").parse().unwrap()
    }

    #[test]
    fn in_a_group_a_mention_opens_a_window_for_the_same_person() {
        let mut addressing = AddressingPolicy::new(Respond::Mention, Duration::from_secs(600));
        let at = |secs: i64| Timestamp::from_millis(secs * 1000);
        use Addressed::{Answer, Overhear};
        for (who, facts, when, expected) in [
            ("ada", PLAIN, 0, Overhear),
            ("ada", MENTION, 10, Answer),
            ("ada", PLAIN, 300, Answer),
            ("bob", PLAIN, 310, Overhear),
            ("ada", ANOTHER, 320, Overhear),
            ("ada", PLAIN, 899, Answer),
            ("ada", PLAIN, 1499, Overhear),
            ("ada", Facts { replies_to_me: true, ..PLAIN }, 2000, Answer),
            ("bob", Facts { commands_me: true, ..ANOTHER }, 2000, Answer),
        ] {
            let heard = addressing.hear(&thread(), &author(who), ChatKind::Group, facts, at(when));
            assert_eq!(heard, expected, "{who} at {when}");
        }
    }

    #[test]
    fn everything_is_answered_in_private_and_where_all_is_wanted() {
        let now = Timestamp::from_millis(0);
        let mut all = AddressingPolicy::new(Respond::All, Duration::ZERO);
        assert_eq!(all.hear(&thread(), &author("a"), ChatKind::Group, PLAIN, now), Addressed::Answer);
        assert_eq!(all.hear(&thread(), &author("a"), ChatKind::Group, ANOTHER, now), Addressed::Overhear);
        let mut mention = AddressingPolicy::new(Respond::Mention, Duration::ZERO);
        assert_eq!(mention.hear(&thread(), &author("a"), ChatKind::Direct, PLAIN, now), Addressed::Answer);
        mention.hear(&thread(), &author("a"), ChatKind::Group, MENTION, now);
        assert_eq!(mention.hear(&thread(), &author("a"), ChatKind::Group, PLAIN, now), Addressed::Overhear);
    }
}
