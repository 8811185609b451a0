//! What every part of the machine may read: the settings, the messages in memory and the time.

use std::sync::Arc;

use serde_json::Value;

use super::compaction::CompactionRules;
use super::history::History;
use crate::domain::{
    Capabilities, CorrelationId, Currency, Delivery, Effects, Footer, Language, ReadReplies, ScopeSettings,
    SpeechMode, ThreadId, Timestamp, WhileRunning, WhileWaiting,
};
use crate::policy::Rights;

/// The settings of a conversation. The same for all threads of a daemon, except for the capabilities.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Within how many milliseconds a second message joins a run that has shown nothing yet.
    pub merge_ms: u64,
    /// What a message does that arrives later.
    pub while_running: WhileRunning,
    /// Most messages that may wait.
    pub mailbox: usize,
    /// Most model calls of a run.
    pub max_steps: u32,
    /// The language of the daemon's texts; `None` means the person's language.
    pub language: Option<Language>,
    /// Who may answer approvals.
    pub rights: Rights,
    /// After how many milliseconds an approval expires.
    pub expire_ms: u64,
    /// What a message does while an approval is pending.
    pub while_waiting: WhileWaiting,
    /// Whether a model classifies replies that the rules cannot.
    pub read_replies: ReadReplies,
    /// Which answers are spoken beside their text.
    pub speech: SpeechMode,
    /// When a conversation is compacted.
    pub compaction: CompactionRules,
    /// Which memory a message may use.
    pub scopes: Arc<ScopeSettings>,
    pub capabilities: Capabilities,
    /// What stands below an answer that is sent to a platform.
    pub footer: Footer,
    /// The currency of the footer.
    pub currency: Currency,
}

/// A function from a tool's name to its effects; `None` for an unknown tool.
pub type EffectsOf = Arc<dyn Fn(&str) -> Option<Effects> + Send + Sync>;

/// Says what is wrong with the arguments of a call, in words for the model.
pub type CheckArguments = Arc<dyn Fn(&str, &Value) -> Result<(), String> + Send + Sync>;

/// What does not change within an event.
pub(super) struct ConversationSettings {
    pub(super) thread: ThreadId,
    pub(super) rules: Arc<Rules>,
    pub(super) effects_of: EffectsOf,
    pub(super) check_arguments: CheckArguments,
}

impl ConversationSettings {
    /// The effects of a tool; `None` for an unknown one.
    pub(super) fn effects_of(&self, tool: &str) -> Option<Effects> {
        (self.effects_of)(tool)
    }

    /// What is wrong with the arguments of a call.
    pub(super) fn check_arguments(&self, tool: &str, input: &Value) -> Result<(), String> {
        (self.check_arguments)(tool, input)
    }
}

/// The settings, the messages in memory and the time of an event.
#[derive(Clone, Copy)]
pub(super) struct TurnContext<'a> {
    pub(super) settings: &'a ConversationSettings,
    pub(super) history: &'a History,
    pub(super) now: Timestamp,
}

impl<'a> TurnContext<'a> {
    pub(super) const fn thread(&self) -> &'a ThreadId {
        &self.settings.thread
    }

    pub(super) fn rules(&self) -> &'a Rules {
        &self.settings.rules
    }

    /// Most model calls of this run: a task may allow fewer than the settings.
    pub(super) fn max_steps(&self, run: &CorrelationId) -> u32 {
        let own = self.history.scheduled(run).and_then(|scheduled| scheduled.max_steps);
        own.map_or(self.rules().max_steps, |own| own.min(self.rules().max_steps))
    }

    /// The language the person writes in, unless the operator has chosen.
    pub(super) fn language(&self) -> Language {
        self.rules().language.unwrap_or_else(|| self.history.language())
    }

    /// Whether messages are sent to the platform, and not read by clients.
    pub(super) fn is_push(&self) -> bool {
        self.rules().capabilities.delivery == Delivery::Push
    }
}
