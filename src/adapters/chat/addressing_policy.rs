//! Decides which messages of a group are for the agent. In a direct chat all of them are.

use std::collections::HashMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{Addressed, AuthorId, ChatKind, ThreadId, Timestamp};

/// Most threads with a remembered conversation.
const MOST: usize = 10_000;

/// How a message addresses the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AddressingFacts {
    pub mentions_me: bool,
    pub replies_to_me: bool,
    pub commands_me: bool,
    /// It addresses another: mentions one, or replies to one.
    pub turns_to_another: bool,
}

/// The person the agent talks with in a thread, and when they last spoke to it.
#[derive(Debug)]
struct Talk {
    with: AuthorId,
    last: Timestamp,
}

/// Remembers with whom the agent talks in each thread.
#[derive(Debug)]
pub struct AddressingPolicy {
    respond: Respond,
    followup: Duration,
    /// Whether other agents are here: then no agent answers everything.
    has_peers: bool,
    talks: HashMap<ThreadId, Talk>,
}

impl AddressingPolicy {
    /// Answers according to `respond`. A person who wrote to the agent need not mention it again for `followup`, unless
    /// another person speaks or is addressed in between.
    pub fn new(respond: Respond, followup: Duration) -> Self {
        Self { respond, followup, has_peers: false, talks: HashMap::new() }
    }

    /// Notes whether other agents are here.
    pub fn know_peers(&mut self, has_peers: bool) {
        if has_peers && !self.has_peers && self.respond == Respond::All {
            tracing::warn!(
                "groups.respond \"all\" refused: other agents are here, only messages that name this one are answered"
            );
        }
        self.has_peers = has_peers;
    }

    /// What a message of a program is. It opens no conversation, and ends the one with a person.
    pub fn hear_program(&mut self, thread: &ThreadId, facts: AddressingFacts) -> Addressed {
        self.talks.remove(thread);
        let named = facts.mentions_me || facts.replies_to_me || facts.commands_me;
        if named { Addressed::ANSWER } else { Addressed::CONTEXT }
    }

    /// Whether a message is for the agent.
    pub fn classify(
        &mut self,
        thread: &ThreadId,
        author: &AuthorId,
        kind: ChatKind,
        facts: AddressingFacts,
        now: Timestamp,
    ) -> Addressed {
        if kind == ChatKind::Direct {
            return Addressed::ANSWER;
        }
        if facts.mentions_me || facts.replies_to_me || facts.commands_me {
            self.note(thread, author, now);
            return Addressed::ANSWER;
        }
        let goes_on = !facts.turns_to_another && self.is_talking(thread, author, now);
        if goes_on {
            self.note(thread, author, now);
            return Addressed::UNNAMED;
        }
        self.talks.remove(thread);
        match self.respond {
            _ if facts.turns_to_another => Addressed::CONTEXT,
            Respond::Mention => Addressed::CONTEXT,
            Respond::Relevant => Addressed::UNDECIDED,
            Respond::All if self.has_peers => Addressed::CONTEXT,
            Respond::All => Addressed::UNNAMED,
        }
    }

    fn is_talking(&self, thread: &ThreadId, author: &AuthorId, now: Timestamp) -> bool {
        self.talks.get(thread).is_some_and(|talk| talk.with == *author && self.is_open(talk, now))
    }

    fn is_open(&self, talk: &Talk, now: Timestamp) -> bool {
        u128::from(now.millis_since(talk.last)) < self.followup.as_millis()
    }

    fn note(&mut self, thread: &ThreadId, author: &AuthorId, now: Timestamp) {
        if self.followup.is_zero() {
            return;
        }
        if self.talks.len() >= MOST {
            let followup = self.followup.as_millis();
            self.talks.retain(|_, talk| u128::from(now.millis_since(talk.last)) < followup);
        }
        if self.talks.len() < MOST || self.talks.contains_key(thread) {
            self.talks.insert(thread.clone(), Talk { with: author.clone(), last: now });
        }
    }
}

/// How the agent behaves in groups.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GroupsSection {
    /// Which messages in a group are for the agent.
    pub respond: Respond,
    /// Whether a group shares one conversation.
    pub threading: Threading,
    /// For how many seconds a person who wrote to the agent need not mention it again, unless another speaks.
    #[schemars(range(min = 0, max = 86400))]
    pub followup_secs: u64,
}

impl Default for GroupsSection {
    fn default() -> Self {
        Self { respond: Respond::default(), threading: Threading::default(), followup_secs: 120 }
    }
}

impl GroupsSection {
    /// How long a person who wrote to the agent need not mention it again.
    pub const fn followup(&self) -> Duration {
        Duration::from_secs(self.followup_secs)
    }
}

/// Which messages in a group are for the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Respond {
    /// Those that mention it or reply to it.
    #[default]
    Mention,
    /// Also those without a mention that a small model finds the agent should answer.
    Relevant,
    /// Every one.
    All,
}

/// Whether a group shares one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threading {
    /// One for all.
    #[default]
    Shared,
    /// One for each person.
    PerUser,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MENTION: AddressingFacts = AddressingFacts {
        mentions_me: true,
        replies_to_me: false,
        commands_me: false,
        turns_to_another: false,
    };
    const PLAIN: AddressingFacts = AddressingFacts { mentions_me: false, ..MENTION };
    const ANOTHER: AddressingFacts = AddressingFacts { turns_to_another: true, ..PLAIN };

    fn thread() -> ThreadId {
        "fake:chat:1".parse().unwrap()
    }

    fn author(name: &str) -> AuthorId {
        format!("fake:user:{name}").parse().unwrap()
    }

    #[test]
    fn a_mention_opens_a_window_for_the_same_person_until_another_speaks_or_is_addressed() {
        let mut addressing = AddressingPolicy::new(Respond::Mention, Duration::from_secs(120));
        let at = |secs: i64| Timestamp::from_millis(secs * 1000);
        const ANSWER: Addressed = Addressed::ANSWER;
        const CONTEXT: Addressed = Addressed::CONTEXT;
        const UNNAMED: Addressed = Addressed::UNNAMED;
        for (who, facts, when, expected) in [
            ("ada", PLAIN, 0, CONTEXT),
            ("ada", MENTION, 10, ANSWER),
            ("ada", PLAIN, 129, UNNAMED),
            ("ada", PLAIN, 248, UNNAMED),
            ("ada", PLAIN, 368, CONTEXT),
            // Another person speaks.
            ("ada", MENTION, 400, ANSWER),
            ("bob", PLAIN, 401, CONTEXT),
            ("ada", PLAIN, 402, CONTEXT),
            // Another person is addressed, by the same one or a third.
            ("ada", MENTION, 500, ANSWER),
            ("ada", ANOTHER, 501, CONTEXT),
            ("ada", PLAIN, 502, CONTEXT),
            ("ada", MENTION, 600, ANSWER),
            ("bob", ANOTHER, 601, CONTEXT),
            ("ada", PLAIN, 602, CONTEXT),
            // The window is that of the last person who spoke to the agent.
            ("ada", MENTION, 700, ANSWER),
            ("bob", MENTION, 701, ANSWER),
            ("bob", PLAIN, 702, UNNAMED),
            ("ada", AddressingFacts { replies_to_me: true, ..PLAIN }, 2000, ANSWER),
            ("bob", AddressingFacts { commands_me: true, ..ANOTHER }, 2000, ANSWER),
        ] {
            let heard = addressing.classify(&thread(), &author(who), ChatKind::Group, facts, at(when));
            assert_eq!(heard, expected, "{who} at {when}");
        }
    }

    #[test]
    fn a_program_that_speaks_ends_a_conversation_and_opens_none() {
        let now = Timestamp::from_millis(0);
        let mut addressing = AddressingPolicy::new(Respond::Mention, Duration::from_secs(120));
        let plain = |policy: &mut AddressingPolicy, who: &str| {
            policy.classify(&thread(), &author(who), ChatKind::Group, PLAIN, now)
        };
        addressing.classify(&thread(), &author("a"), ChatKind::Group, MENTION, now);
        assert_eq!(plain(&mut addressing, "a"), Addressed::UNNAMED);
        assert_eq!(addressing.hear_program(&thread(), PLAIN), Addressed::CONTEXT);
        assert_eq!(plain(&mut addressing, "a"), Addressed::CONTEXT);
        assert_eq!(addressing.hear_program(&thread(), MENTION), Addressed::ANSWER);
        assert_eq!(plain(&mut addressing, "bot"), Addressed::CONTEXT);
    }

    #[test]
    fn where_relevance_counts_a_message_that_names_nobody_is_undecided() {
        let now = Timestamp::from_millis(0);
        let mut relevant = AddressingPolicy::new(Respond::Relevant, Duration::from_secs(120));
        for (facts, expected) in [
            (PLAIN, Addressed::UNDECIDED),
            (ANOTHER, Addressed::CONTEXT),
            (MENTION, Addressed::ANSWER),
            (PLAIN, Addressed::UNNAMED),
        ] {
            assert_eq!(relevant.classify(&thread(), &author("a"), ChatKind::Group, facts, now), expected);
        }
        assert_eq!(
            relevant.classify(&thread(), &author("b"), ChatKind::Direct, PLAIN, now),
            Addressed::ANSWER
        );
    }

    #[test]
    fn everything_is_answered_in_private_and_where_all_is_wanted() {
        let now = Timestamp::from_millis(0);
        let mut all = AddressingPolicy::new(Respond::All, Duration::ZERO);
        assert_eq!(all.classify(&thread(), &author("a"), ChatKind::Group, PLAIN, now), Addressed::UNNAMED);
        assert_eq!(all.classify(&thread(), &author("a"), ChatKind::Group, ANOTHER, now), Addressed::CONTEXT);
        all.know_peers(true);
        assert_eq!(all.classify(&thread(), &author("a"), ChatKind::Group, PLAIN, now), Addressed::CONTEXT);
        assert_eq!(all.classify(&thread(), &author("a"), ChatKind::Group, MENTION, now), Addressed::ANSWER);
        let mut mention = AddressingPolicy::new(Respond::Mention, Duration::ZERO);
        assert_eq!(
            mention.classify(&thread(), &author("a"), ChatKind::Direct, PLAIN, now),
            Addressed::ANSWER
        );
        mention.classify(&thread(), &author("a"), ChatKind::Group, MENTION, now);
        assert_eq!(
            mention.classify(&thread(), &author("a"), ChatKind::Group, PLAIN, now),
            Addressed::CONTEXT
        );
    }
}
