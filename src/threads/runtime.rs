//! What all actors share: ports, limits and settings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{FrozenMemory, Learning, SearchFollowerHandle, TokenBook};
use crate::domain::{
    Capabilities, HistoryReach, Language, Platform, ReadReplies, ScopeSettings, ThreadId, WhileRunning,
    WhileWaiting,
};
use crate::metrics::Metrics;
use crate::policy::Rights;
use crate::ports::{
    AccessBook, Adapter, ApprovalBook, Audit, Changes, Clock, DirectChats, FileStore, Grants, Ids,
    Instructions, Judge, Memory, Model, Search, TaskCommands, ThreadStore, ToolBox,
};
use crate::telemetry::Redactor;
use crate::turn::{CheckArguments, CompactionRules, EffectsOf, Rules};

/// The agent's name, instructions and project.
#[derive(Clone, Debug)]
pub struct AgentFacts {
    pub name: String,
    /// The text of `Agent.md`.
    pub instructions: Arc<dyn Instructions>,
    /// The project directory, absolute.
    pub project: PathBuf,
    /// The model's context window.
    pub context_tokens: usize,
}

/// The model that does the agent's own chores.
#[derive(Clone, Debug)]
pub struct HelperModel {
    pub model: Arc<dyn Model>,
    /// How much it can read.
    pub context_tokens: usize,
}

/// What is recalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallSettings {
    /// Whether memory is searched before each turn.
    pub quiet: bool,
    /// Which history a search reaches.
    pub reach: HistoryReach,
}

/// Limits of threads, runs and calls.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Runs in flight at the same time, over all threads.
    pub concurrent_runs: usize,
    /// Messages waiting in one thread.
    pub mailbox: usize,
    /// Most bytes of memory for the histories of idle threads together.
    pub history_cache: usize,
    /// Model calls in one run.
    pub max_steps: u32,
    /// Milliseconds within which a second message joins a run.
    pub merge_ms: u64,
    /// What a message does that arrives during a run.
    pub while_running: WhileRunning,
    /// Deadline of one model call.
    pub model_deadline: Duration,
    /// Deadline of one tool call.
    pub tool_deadline: Duration,
    /// Deadline of one delivery.
    pub delivery_deadline: Duration,
    /// How long an idle actor stays in memory.
    pub idle: Duration,
}

/// Settings of approvals.
#[derive(Clone, Debug)]
pub struct Asking {
    pub rights: Rights,
    /// After which time an approval expires.
    pub expire: Duration,
    /// What a message does while an approval is pending.
    pub while_waiting: WhileWaiting,
    /// Whether a model classifies replies that the rules cannot.
    pub read_replies: ReadReplies,
}

#[derive(Debug)]
pub struct Runtime {
    pub store: Arc<dyn ThreadStore>,
    pub model: Arc<dyn Model>,
    pub tools: ToolBox,
    /// The platforms with an adapter; on any other, clients read the thread themselves.
    pub adapters: BTreeMap<Platform, Arc<dyn Adapter>>,
    /// Decides whether a call may run.
    pub judge: Arc<dyn Judge>,
    pub shelf: Arc<dyn FileStore>,
    /// The approval records.
    pub approvals: Arc<dyn ApprovalBook>,
    /// The roles of paired people.
    pub access: Arc<dyn AccessBook>,
    pub grants: Arc<dyn Grants>,
    pub memory: Arc<dyn Memory>,
    /// Which memory a message may use.
    pub scopes: Arc<ScopeSettings>,
    /// Finds messages, notes and core memory again.
    pub search: Arc<dyn Search>,
    /// Keeps the search index behind the commits.
    pub follower: SearchFollowerHandle,
    pub recall: RecallSettings,
    /// Cached core memory per conversation.
    pub frozen: FrozenMemory,
    /// When a conversation is compacted.
    pub compaction: CompactionRules,
    /// What sums conversations up.
    pub helper: HelperModel,
    /// Where owners were last spoken with in private.
    pub direct_chats: Arc<dyn DirectChats>,
    pub tasks: Arc<dyn TaskCommands>,
    /// What may be learned from conversations.
    pub learning: Learning,
    /// How the servers count tokens.
    pub tokens: TokenBook,
    pub audit: Arc<dyn Audit>,
    pub asking: Asking,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub agent: AgentFacts,
    /// The language of the daemon's texts; `None` means the person's language.
    pub language: Option<Language>,
    pub limits: Limits,
    /// Permits for concurrent runs. Waiting is first come, first served, so no thread can starve another.
    pub slots: Arc<Semaphore>,
    pub metrics: Arc<Metrics>,
    /// Announces changes to clients that show all threads.
    pub changes: Changes,
    /// Redacts secrets from what is shown.
    pub redactor: Redactor,
}

impl Runtime {
    /// The state machine's settings for a thread.
    pub(super) fn rules(&self, thread: &ThreadId) -> Arc<Rules> {
        Arc::new(Rules {
            merge_ms: self.limits.merge_ms,
            while_running: self.limits.while_running,
            mailbox: self.limits.mailbox,
            max_steps: self.limits.max_steps,
            language: self.language,
            compaction: self.compaction,
            scopes: self.scopes.clone(),
            model: self.model.name().to_owned(),
            capabilities: self.capabilities(thread.platform()),
            rights: self.asking.rights.clone(),
            expire_ms: u64::try_from(self.asking.expire.as_millis()).unwrap_or(u64::MAX),
            while_waiting: self.asking.while_waiting,
            read_replies: self.asking.read_replies,
        })
    }

    pub(super) fn capabilities(&self, platform: &Platform) -> Capabilities {
        self.adapters.get(platform).map_or_else(Capabilities::pull, |adapter| adapter.capabilities())
    }

    /// The tools that are available in a thread.
    pub(super) fn tools_of(&self, thread: &ThreadId) -> ToolBox {
        self.tools.suited(&self.capabilities(thread.platform()))
    }

    /// A function from a tool's name to the effects its calls may have in this thread.
    pub(super) fn effects_of(&self, thread: &ThreadId) -> EffectsOf {
        let tools = self.tools_of(thread);
        Arc::new(move |name| tools.get(name).map(|(spec, _)| spec.effects))
    }

    /// Checks what a model gave a tool of a thread.
    pub(super) fn check_arguments(&self, thread: &ThreadId) -> CheckArguments {
        let tools = self.tools_of(thread);
        Arc::new(move |name, arguments| match tools.get(name) {
            Some((_, tool)) => tool.check(arguments).map_err(|failure| failure.to_string()),
            None => Err(format!("there is no tool named {name:?}")),
        })
    }
}
