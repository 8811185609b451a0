//! What all actors share: ports, limits and settings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{CapQuestions, FrozenMemory, Groups, Learning, SearchFollowerHandle, ThreadModels, TokenRatios};
use crate::domain::{
    Capabilities, Effects, Footer, HistoryReach, Language, Owners, Payer, Platform, Purpose, RAISE_CALL,
    ReadReplies, Replaceable, ScopeSettings, SpeechMode, ThreadId, WhileRunning, WhileWaiting,
};
use crate::metrics::Metrics;
use crate::policy::Rights;
use crate::ports::{
    AccessStore, Account, Adapter, ApprovalStore, Audit, Budget, Changes, Clock, DirectChats, FileStore,
    Grants, Ids, Instructions, Judge, Memory, Meter, Model, Search, Speech, TaskCommands, Tasks, ThreadMarks,
    ThreadStore, ToolBox, UsageReports,
};
use crate::telemetry::Redactor;
use crate::turn::{CheckArguments, CompactionRules, EffectsOf, PROMOTION, Rules};

/// The agent's name, instructions and project.
#[derive(Clone, Debug)]
pub struct AgentFacts {
    pub name: String,
    /// The text of `Agent.md`.
    pub instructions: Arc<dyn Instructions>,
    /// The project directory, absolute.
    pub project: PathBuf,
}

/// The model that does the agent's own chores.
#[derive(Clone, Debug)]
pub struct HelperModel {
    pub model: Arc<dyn Model>,
    /// How much it can read.
    pub context_tokens: usize,
}

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
    /// Deadline of one tool call.
    pub tool_deadline: Duration,
    pub delivery_deadline: Duration,
    /// How long an idle actor stays in memory.
    pub idle: Duration,
}

/// Settings of approvals.
#[derive(Clone, Debug)]
pub struct ApprovalRules {
    pub rights: Rights,
    /// After which time an approval expires.
    pub expire: Duration,
    /// What a message does while an approval is pending.
    pub while_waiting: WhileWaiting,
    /// Whether a model classifies replies that the rules cannot.
    pub read_replies: ReadReplies,
}

/// The settings that may change while the daemon runs; they count from the next event of a thread.
#[derive(Clone, Debug)]
pub struct TurnSettings {
    /// Decides whether a call may run.
    pub judge: Arc<dyn Judge>,
    /// Which memory a message may use.
    pub scopes: Arc<ScopeSettings>,
    pub recall: RecallSettings,
    /// When a conversation is compacted.
    pub compaction: CompactionRules,
    /// What may be learned from conversations.
    pub learning: Learning,
    /// Whether the helper model names threads.
    pub titles: bool,
    pub approval_rules: ApprovalRules,
    /// The language of the daemon's texts; `None` means the person's language.
    pub language: Option<Language>,
    /// Model calls in one run.
    pub max_steps: u32,
    /// Milliseconds within which a second message joins a run.
    pub merge_ms: u64,
    /// What a message does that arrives during a run.
    pub while_running: WhileRunning,
}

#[derive(Clone, Debug)]
pub struct SpokenAnswers {
    pub mode: SpeechMode,
    pub speaker: Arc<dyn Speech>,
}

#[derive(Debug)]
pub struct Runtime {
    pub store: Arc<dyn ThreadStore>,
    pub models: ThreadModels,
    pub tools: ToolBox,
    /// The platforms with an adapter; on any other, clients read the thread themselves.
    pub adapters: BTreeMap<Platform, Arc<dyn Adapter>>,
    pub files: Arc<dyn FileStore>,
    pub approvals: Arc<dyn ApprovalStore>,
    /// The roles of paired people.
    pub access: Arc<dyn AccessStore>,
    pub grants: Arc<dyn Grants>,
    pub memory: Arc<dyn Memory>,
    /// Finds messages, notes and core memory again.
    pub search: Arc<dyn Search>,
    /// Keeps the search index behind the commits.
    pub follower: SearchFollowerHandle,
    /// Cached core memory per conversation.
    pub frozen: FrozenMemory,
    /// The titles of threads, among what else is noted about them.
    pub marks: Arc<ThreadMarks>,
    /// What sums conversations up.
    pub helper: HelperModel,
    /// Where owners were last spoken with in private.
    pub direct_chats: Arc<dyn DirectChats>,
    pub tasks: Arc<dyn TaskCommands>,
    pub task_book: Arc<dyn Tasks>,
    /// What is known of other agents in groups.
    pub groups: Arc<Groups>,
    /// How the servers count tokens.
    pub tokens: TokenRatios,
    pub audit: Arc<dyn Audit>,
    /// What may change while the daemon runs.
    pub settings: Replaceable<TurnSettings>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub agent: AgentFacts,
    pub limits: Limits,
    /// Permits for concurrent runs. Waiting is first come, first served, so no thread can starve another.
    pub slots: Arc<Semaphore>,
    pub metrics: Arc<Metrics>,
    /// Counts what calls of models use.
    pub meter: Arc<dyn Meter>,
    pub budget: Arc<dyn Budget>,
    /// Which caps owners are asked about.
    pub cap_questions: CapQuestions,
    pub owners: Owners,
    /// What stands below answers.
    pub footer: Footer,
    /// Tells what was spent.
    pub spending: Arc<dyn UsageReports>,
    /// `None` where nothing speaks.
    pub speech: Option<SpokenAnswers>,
    /// Announces changes to clients that show all threads.
    pub changes: Changes,
    /// Redacts secrets from what is shown.
    pub redactor: Redactor,
}

impl Runtime {
    pub(super) fn settings(&self) -> &TurnSettings {
        self.settings.current()
    }

    /// The state machine's settings for a thread.
    pub(super) fn rules(&self, thread: &ThreadId) -> Arc<Rules> {
        let settings = self.settings();
        Arc::new(Rules {
            merge_ms: settings.merge_ms,
            while_running: settings.while_running,
            mailbox: self.limits.mailbox,
            max_steps: settings.max_steps,
            language: settings.language,
            compaction: settings.compaction,
            scopes: settings.scopes.clone(),
            capabilities: self.capabilities(thread.platform()),
            footer: self.footer,
            currency: self.budget.rules().currency.clone(),
            rights: settings.approval_rules.rights.clone(),
            expire_ms: u64::try_from(settings.approval_rules.expire.as_millis()).unwrap_or(u64::MAX),
            while_waiting: settings.approval_rules.while_waiting,
            read_replies: settings.approval_rules.read_replies,
            speech: self.speech.as_ref().map_or(SpeechMode::Off, |speech| speech.mode),
        })
    }

    /// An account of a call that belongs to this thread, but to no run of it.
    pub(super) fn account(&self, thread: &ThreadId, purpose: Purpose) -> Account {
        Account::new(self.meter.clone(), self.payer(thread, purpose))
    }

    /// Who pays for a call of this thread.
    pub(super) fn payer(&self, thread: &ThreadId, purpose: Purpose) -> Payer {
        // The chat of an unattended thread is its task, with the run's time behind an `@` where each has its own.
        let unattended = self.capabilities(thread.platform()).unattended;
        let task = unattended.then(|| thread.chat().split('@').next().unwrap_or_default().to_owned());
        Payer { thread: Some(thread.clone()), task, purpose, ..Payer::default() }
    }

    pub(super) fn capabilities(&self, platform: &Platform) -> Capabilities {
        self.adapters.get(platform).map_or_else(Capabilities::pull, |adapter| adapter.capabilities())
    }

    /// The tools that are available in a thread: to people, or to a run that a task started.
    pub(super) fn tools_of(&self, thread: &ThreadId, scheduled: bool) -> ToolBox {
        let capabilities = self.capabilities(thread.platform());
        let unattended = capabilities.unattended || scheduled;
        self.tools.suited(&Capabilities { unattended, ..capabilities })
    }

    /// A function from a tool's name to the effects its calls may have in this thread.
    pub(super) fn effects_of(&self, thread: &ThreadId) -> EffectsOf {
        let tools = self.tools_of(thread, false);
        let of_tasks = self.tools_of(thread, true);
        // Both may be repeated after a crash: what is kept already is not kept twice, and a cap is raised once.
        let keeps = |name: &str| [PROMOTION, RAISE_CALL].contains(&name).then_some(Effects::ReadOnly);
        let found =
            move |name: &str| tools.get(name).or_else(|| of_tasks.get(name)).map(|(spec, _)| spec.effects);
        Arc::new(move |name| found(name).or_else(|| keeps(name)))
    }

    /// Checks what a model gave a tool of a thread.
    pub(super) fn check_arguments(&self, thread: &ThreadId) -> CheckArguments {
        let tools = self.tools_of(thread, false);
        let of_tasks = self.tools_of(thread, true);
        Arc::new(move |name, arguments| match tools.get(name).or_else(|| of_tasks.get(name)) {
            Some((_, tool)) => tool.check(arguments).map_err(|failure| failure.to_string()),
            None => Err(format!("there is no tool named {name:?}")),
        })
    }
}
