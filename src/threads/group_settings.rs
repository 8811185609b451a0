//! How the agent behaves in groups, as the settings say.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::ThreadId;
use crate::groups::BotLimits;

/// Whether agents answer agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerAgents {
    #[default]
    Never,
    /// When they name this agent.
    Named,
}

/// How the agent behaves in groups, on all platforms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// How long a message without a mention waits, so that a burst is judged once.
    pub settle: Duration,
    /// The score from which such a message is answered.
    pub threshold: u32,
    pub agents: AnswerAgents,
    pub limits: BotLimits,
    /// The rooms of chats that no id joins, by the chats of this agent.
    pub joined: BTreeMap<ThreadId, ThreadId>,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            settle: Duration::from_millis(1_000),
            threshold: 60,
            agents: AnswerAgents::Never,
            limits: BotLimits { depth: 2 },
            joined: BTreeMap::new(),
        }
    }
}
