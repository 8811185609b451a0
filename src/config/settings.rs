//! The configuration as the program knows it: checked, whole, absolute. Whoever holds a `Settings` asks nothing
//! more of files or environment.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::file::{Compound, Mode, Sandbox};
use super::forms::Approver;
use super::problem::Problem;
use crate::domain::{AuthorId, AutoMemory, Language, ReadReplies, WhileRunning, WhileWaiting};
use crate::ports::{AdapterDef, ConfiguredAdapter};

/// Everything a daemon needs to know before it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The project directory, absolute and resolved.
    pub project: PathBuf,
    /// Where state is kept: `.ship` in the project directory.
    pub state: PathBuf,
    pub name: String,
    /// What `Agent.md` says.
    pub agent_md: String,
    /// The language of the daemon's own words to the people it talks with; nothing means theirs.
    pub language: Option<Language>,
    /// The language of whoever runs it, for the terminal.
    pub operator_language: Language,
    /// The people the agent belongs to.
    pub owners: Vec<AuthorId>,
    pub model: ModelSettings,
    /// The console and the API, unless they are off.
    pub web: Option<WebSettings>,
    /// The chat platforms that run, in the order of the adapter table.
    pub adapters: Vec<AdapterSettings>,
    /// Adapters that the file names but that do not run.
    pub idle_adapters: Vec<IdleAdapter>,
    /// What tools may do.
    pub permissions: Permissions,
    /// Who decides, and for how long they are asked.
    pub approvals: Approvals,
    /// What happens to messages that come close together.
    pub queue: Queue,
    /// Bounds of the daemon.
    pub limits: Limits,
    /// What is remembered, and how a conversation is kept inside the model's window.
    pub memory: MemorySettings,
    /// Every value that must not be seen, for redaction.
    pub secrets: Vec<SecretString>,
    /// Whether there is a `ship.json`.
    pub has_file: bool,
    /// What the file may say and yet probably does not mean.
    pub warnings: Vec<Problem>,
}

/// The language model and what it may take.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The one that is asked first.
    pub provider: Provider,
    /// How many tokens its window holds.
    pub context_tokens: u64,
    /// How many times a model may be called in one turn.
    pub max_steps: u32,
    /// Those that are asked when it fails, in order.
    pub fallbacks: Vec<Provider>,
    /// The one that does the agent's own chores, where it is another.
    pub helper: Option<Provider>,
}

/// A kind of model.
#[derive(Clone, Debug)]
pub enum Provider {
    /// The small built-in one.
    Offline,
    /// A server that speaks the OpenAI chat protocol.
    OpenAi(Endpoint),
}

impl Provider {
    /// The model's name, for people.
    pub fn name(&self) -> &str {
        match self {
            Self::Offline => "offline",
            Self::OpenAi(endpoint) => &endpoint.model,
        }
    }
}

/// A model on a server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The server's address, without a slash at its end.
    pub base_url: String,
    /// The key, where the server needs one.
    pub api_key: Option<SecretString>,
    pub model: String,
    /// How many tokens its window holds.
    pub context_tokens: u64,
    /// How long one call may take.
    pub timeout: Duration,
    /// Whether its thinking is sent back to it.
    pub send_reasoning: bool,
    /// How freely it chooses its words.
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
}

/// The console and the API.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// Where they are served.
    pub listen: SocketAddr,
    /// Whether the operator chose that address; where not, a taken port is no reason to give up.
    pub listen_chosen: bool,
    /// The token; nothing means that the daemon makes one.
    pub token: Option<SecretString>,
    /// Further host names they are reached by.
    pub allowed_hosts: Vec<String>,
}

/// A chat platform that runs.
#[derive(Clone, Debug)]
pub struct AdapterSettings {
    /// Its line in the adapter table.
    pub def: AdapterDef,
    /// What its section says.
    pub section: Arc<dyn ConfiguredAdapter>,
}

/// An adapter that the file names but that does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleAdapter {
    /// Its key in the file.
    pub name: &'static str,
    /// Why it does not run.
    pub why: Idle,
}

/// Why an adapter does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// The file says so.
    Disabled,
    /// These keys are empty.
    NoCredentials(Vec<&'static str>),
}

/// What tools may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    pub exec_shell: ExecShell,
    /// Other tools that the file names. A tool that is not here is judged by what it does.
    pub tools: BTreeMap<String, Mode>,
}

/// What shell commands may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecShell {
    /// The verdict on a command that no rule knows.
    pub mode: Mode,
    /// Commands that run unasked.
    pub allow: Vec<String>,
    /// Commands that never run.
    pub deny: Vec<String>,
    /// What happens to commands made of several.
    pub compound: Compound,
    /// Whether they run in the system's sandbox.
    pub sandbox: Sandbox,
    /// Sockets of other programs that approved commands may connect to.
    pub sockets: Vec<PathBuf>,
    /// How long one may take.
    pub timeout: Duration,
}

/// Who decides, and for how long they are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approvals {
    pub approvers: Vec<Approver>,
    /// After how long an undecided request lapses.
    pub expire: Duration,
    /// What a new message does meanwhile.
    pub while_waiting: WhileWaiting,
    pub read_replies: ReadReplies,
}

/// What happens to messages that come close together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// How close together they are answered as one; zero turns it off.
    pub merge: Duration,
    /// What a message does that comes while a turn runs.
    pub while_running: WhileRunning,
}

/// Bounds of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many threads may work at the same time.
    pub max_concurrent_runs: usize,
    /// How many shell commands may run at the same time.
    pub max_processes: usize,
    /// How many messages may wait in one thread.
    pub mailbox: usize,
    /// How many bytes of memory the histories of idle threads may take together.
    pub history_cache: usize,
    /// How long running turns get to end.
    pub stop: Duration,
    /// How many megabytes of memory one command may use; nothing means half of the machine's.
    pub command_memory_mb: Option<u64>,
}

/// What is remembered, and how a conversation is kept inside the model's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// After how long a silence core memory is read anew.
    pub refresh: Duration,
    /// How many of the newest turns are never summed up.
    pub keep_runs: usize,
    /// At how many percent of the window a conversation is summed up once nothing else is to be done.
    pub compact_idle_percent: usize,
    /// At how many percent it is summed up before the model is asked.
    pub compact_percent: usize,
    /// After how many turns a conversation is distilled; nothing leaves it to Agent.md.
    pub distil_every: Option<u32>,
    pub auto: AutoMemory,
}
