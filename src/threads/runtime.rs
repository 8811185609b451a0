//! What all actors share and none changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::FrozenMemory;
use crate::domain::{Capabilities, Language, Platform, ReadReplies, ThreadId, WhileRunning, WhileWaiting};
use crate::metrics::Metrics;
use crate::policy::Rights;
use crate::ports::{
    AccessBook, Adapter, ApprovalBook, Audit, Clock, FileStore, Grants, Ids, Instructions, Judge, Memory,
    Model, ThreadStore, ToolBox,
};
use crate::telemetry::Redactor;
use crate::turn::{CheckArguments, EffectsOf, Rules};

/// Who the agent is.
#[derive(Clone, Debug)]
pub struct AgentFacts {
    pub name: String,
    /// The text of `Agent.md`.
    pub instructions: Arc<dyn Instructions>,
    /// The project directory, absolute.
    pub project: PathBuf,
    /// How much the model can read.
    pub context_tokens: usize,
}

/// What bounds the threads.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Runs in flight at the same time, over all threads.
    pub concurrent_runs: usize,
    /// Messages waiting in one thread.
    pub mailbox: usize,
    /// How many bytes of memory the histories of threads that rest may take together.
    pub history_cache: usize,
    /// Model calls in one run.
    pub max_steps: u32,
    /// Milliseconds within which a second message joins a run.
    pub merge_ms: u64,
    /// What a later message does.
    pub while_running: WhileRunning,
    /// How long one model call may take, whatever happens.
    pub model_deadline: Duration,
    /// How long one tool call may take.
    pub tool_deadline: Duration,
    /// How long one delivery may take.
    pub delivery_deadline: Duration,
    /// How long an idle actor stays in memory.
    pub idle: Duration,
}

/// How people are asked.
#[derive(Clone, Debug)]
pub struct Asking {
    pub rights: Rights,
    /// For how long a question waits.
    pub expire: Duration,
    /// What a message does meanwhile.
    pub while_waiting: WhileWaiting,
    /// Who reads replies that the rules cannot.
    pub read_replies: ReadReplies,
}

/// What all actors share.
#[derive(Debug)]
pub struct Runtime {
    pub store: Arc<dyn ThreadStore>,
    pub model: Arc<dyn Model>,
    pub tools: ToolBox,
    /// The platforms that replies are sent to; any other is one whose clients read the thread themselves.
    pub adapters: BTreeMap<Platform, Arc<dyn Adapter>>,
    /// Who says whether a call may run.
    pub judge: Arc<dyn Judge>,
    /// Where files are put.
    pub shelf: Arc<dyn FileStore>,
    /// The record of questions and answers.
    pub approvals: Arc<dyn ApprovalBook>,
    /// What those who were let in may do.
    pub access: Arc<dyn AccessBook>,
    /// What people have allowed beyond a single call.
    pub grants: Arc<dyn Grants>,
    /// What is remembered from one conversation to the next.
    pub memory: Arc<dyn Memory>,
    /// Core memory as each conversation is shown it.
    pub frozen: FrozenMemory,
    /// Where it is written down who was allowed what.
    pub audit: Arc<dyn Audit>,
    /// How people are asked.
    pub asking: Asking,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    /// Who the agent is.
    pub agent: AgentFacts,
    /// The language of the daemon's words; nothing means the person's.
    pub language: Option<Language>,
    /// What bounds the threads.
    pub limits: Limits,
    /// Leave to run, one permit a run. Waiting is first come, first served, so no thread can starve another.
    pub slots: Arc<Semaphore>,
    pub metrics: Arc<Metrics>,
    /// Takes secrets out of what is shown.
    pub redactor: Redactor,
}

impl Runtime {
    /// What a thread goes by.
    pub(super) fn rules(&self, thread: &ThreadId) -> Arc<Rules> {
        Arc::new(Rules {
            merge_ms: self.limits.merge_ms,
            while_running: self.limits.while_running,
            mailbox: self.limits.mailbox,
            max_steps: self.limits.max_steps,
            language: self.language,
            model: self.model.name().to_owned(),
            capabilities: self.capabilities(thread.platform()),
            rights: self.asking.rights.clone(),
            expire_ms: u64::try_from(self.asking.expire.as_millis()).unwrap_or(u64::MAX),
            while_waiting: self.asking.while_waiting,
            read_replies: self.asking.read_replies,
        })
    }

    /// What a platform can do.
    pub(super) fn capabilities(&self, platform: &Platform) -> Capabilities {
        self.adapters.get(platform).map_or_else(Capabilities::pull, |adapter| adapter.capabilities())
    }

    /// The tools that a thread has.
    pub(super) fn tools_of(&self, thread: &ThreadId) -> ToolBox {
        self.tools.suited(&self.capabilities(thread.platform()))
    }

    /// Looks up what calls of a tool may do in a thread.
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
