//! The resolved configuration, with absolute paths. Code that has a `Settings` needs neither files nor the
//! environment.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::file::{BotsChoice, Compound, Mode, Sandbox, WavFile};
use super::formats::Approver;
use super::problem::ConfigProblem;
use super::reloading::KeyDigests;
use crate::domain::{
    AuthorId, AutoMemory, BudgetRules, Footer, HistoryReach, Language, ModelChoosers, Price, ReadReplies,
    ScopeSettings, SpeechMode, WhileRunning, WhileWaiting,
};
use crate::ports::{AdapterDef, ConfiguredAdapter, EnrichStep};

/// The settings of a daemon.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The project directory, absolute and resolved.
    pub project: PathBuf,
    /// `.ship` in the project directory.
    pub state: PathBuf,
    pub name: String,
    /// The text of `Agent.md`.
    pub agent_md: String,
    /// The language of the daemon's own messages; `None` means the language of each person.
    pub language: Option<Language>,
    /// The time zone of tasks that name none.
    pub zone: jiff::tz::TimeZone,
    /// The language at the terminal and in start messages.
    pub operator_language: Language,
    pub owners: Vec<AuthorId>,
    pub model: ModelSettings,
    /// The console and the API; `None` where they are off.
    pub web: Option<WebSettings>,
    /// The chat platforms that run, in the order of the adapter table.
    pub adapters: Vec<AdapterSettings>,
    /// Configured adapters that do not run.
    pub idle_adapters: Vec<IdleAdapter>,
    /// The steps between an accepted message and its turn, of the adapter table.
    pub enrich: Arc<[Arc<dyn EnrichStep>]>,
    /// The permissions of the tools.
    pub permissions: PermissionSettings,
    pub approvals: ApprovalSettings,
    pub queue: QueueSettings,
    pub limits: LimitSettings,
    pub memory: MemorySettings,
    pub groups: GroupsSettings,
    pub voice: VoiceSettings,
    pub budget: BudgetSettings,
    /// Secret values, for redaction.
    pub secrets: Vec<SecretString>,
    /// Whether there is a `ship.json`.
    pub has_file: bool,
    /// Valid values of the file that are probably mistakes.
    pub warnings: Vec<ConfigProblem>,
    /// Tells which keys a later version changes.
    pub digests: KeyDigests,
}

/// The models and their limits.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    pub provider: Provider,
    /// The size of the context window.
    pub context_tokens: u64,
    /// Most model calls in one turn.
    pub max_steps: u32,
    /// In this order.
    pub fallbacks: Vec<Provider>,
    /// For summaries and other work of the agent's own; `None` means the main model.
    pub helper: Option<Provider>,
    /// Whether the helper names threads.
    pub titles: bool,
    /// Models that can be chosen for a thread or a task.
    pub named: BTreeMap<String, Provider>,
    pub choosers: ModelChoosers,
}

#[derive(Clone, Debug)]
pub enum Provider {
    Offline,
    /// A server that speaks the OpenAI chat protocol.
    OpenAi(Endpoint),
}

impl Provider {
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
    /// Without a trailing slash.
    pub base_url: String,
    pub api_key: Option<SecretString>,
    pub model: String,
    /// The size of the context window.
    pub context_tokens: u64,
    /// Deadline of one call.
    pub timeout: Duration,
    /// Whether its reasoning is sent back to it.
    pub send_reasoning: bool,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    /// Whether it is called where the first choice does not fit into a spend cap.
    pub at_caps: bool,
}

/// The console and the API.
#[derive(Clone, Debug)]
pub struct WebSettings {
    pub listen: SocketAddr,
    /// Whether the operator chose the address; if not, the next free port is taken.
    pub listen_chosen: bool,
    /// `None` means that the daemon creates one.
    pub token: Option<SecretString>,
    /// Further host names of the console and the API.
    pub allowed_hosts: Vec<String>,
    /// Origins of other pages that may call the API with the token.
    pub allowed_origins: Vec<String>,
}

/// A chat platform that runs.
#[derive(Clone, Debug)]
pub struct AdapterSettings {
    /// Its line in the adapter table.
    pub def: AdapterDef,
    /// Its parsed section.
    pub section: Arc<dyn ConfiguredAdapter>,
}

/// A configured adapter that does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleAdapter {
    /// Its key in the file.
    pub name: &'static str,
    /// Why it does not run.
    pub why: IdleReason,
}

/// Why an adapter does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleReason {
    /// `"enabled": false`.
    Disabled,
    /// These keys are empty.
    NoCredentials(Vec<&'static str>),
}

/// The permissions of the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionSettings {
    pub exec_shell: ExecShellSettings,
    /// Modes by tool name. A tool without an entry is judged by its effects.
    pub tools: BTreeMap<String, Mode>,
}

/// The permissions of shell commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecShellSettings {
    /// The verdict on a command that no rule matches.
    pub mode: Mode,
    /// Commands that run unasked.
    pub allow: Vec<String>,
    /// Commands that never run.
    pub deny: Vec<String>,
    /// The treatment of compound commands.
    pub compound: Compound,
    pub sandbox: Sandbox,
    /// Sockets of other programs that approved commands may connect to.
    pub sockets: Vec<PathBuf>,
    /// Deadline of one command.
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSettings {
    pub approvers: Vec<Approver>,
    pub expire: Duration,
    /// The effect of a new message while a request waits.
    pub while_waiting: WhileWaiting,
    pub read_replies: ReadReplies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// Messages within this time are answered together; zero turns it off.
    pub merge: Duration,
    /// The effect of a message during a turn.
    pub while_running: WhileRunning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    pub max_concurrent_runs: usize,
    /// Most concurrent shell commands.
    pub max_processes: usize,
    /// Most queued messages of one thread.
    pub mailbox: usize,
    /// Most bytes of cached histories of idle threads.
    pub history_cache: usize,
    /// Time for running turns at a stop.
    pub stop: Duration,
    /// Memory limit of one command in MB; `None` means half of the machine's.
    pub command_memory_mb: Option<u64>,
}

/// An embedding model on an OpenAI-compatible server.
#[derive(Clone, Debug)]
pub struct EmbeddingSettings {
    pub base_url: String,
    pub api_key: Option<SecretString>,
    pub model: String,
    /// `None` means as many as the model makes.
    pub dimensions: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct MemorySettings {
    /// Which memory a message may use.
    pub scopes: Arc<ScopeSettings>,
    /// Reach of the agent's search in what was said.
    pub history: HistoryReach,
    /// Whether memory is searched before each turn.
    pub recall: bool,
    /// Idle time after which core memory is read again.
    pub refresh: Duration,
    /// Newest turns that are never summarised.
    pub keep_runs: usize,
    /// Percentage of the window at which an idle conversation is summarised.
    pub compact_idle_percent: usize,
    /// Percentage of the window at which it is summarised before a model call.
    pub compact_percent: usize,
    /// After how many turns a conversation is distilled; nothing leaves it to Agent.md.
    pub distil_every: Option<u32>,
    pub auto: AutoMemory,
    pub embeddings: Option<EmbeddingSettings>,
}

/// Groups with several agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupsSettings {
    /// Where the agents of this machine share what is said, absolute; `None` where they do not.
    pub shared_dir: Option<PathBuf>,
    pub keep_days: u64,
    /// What the agent is for; empty means the first paragraph of Agent.md.
    pub purpose: String,
    pub aliases: Vec<String>,
    /// The chats of each joined room, as `platform:account:chat`.
    pub rooms: BTreeMap<String, Vec<String>>,
    pub bots: BotsChoice,
    pub bot_depth: u32,
    /// How long a message without a mention waits before it is judged.
    pub settle: Duration,
    pub threshold: u32,
}

/// Caps and prices of model calls.
#[derive(Clone, Debug)]
pub struct BudgetSettings {
    pub rules: BudgetRules,
    /// By the model's name; `*` is for all others.
    pub prices: BTreeMap<String, Price>,
    /// The time zone of days and months.
    pub zone: jiff::tz::TimeZone,
    /// What stands below answers.
    pub footer: Footer,
}

/// Spoken messages and spoken answers.
#[derive(Clone, Debug, Default)]
pub struct VoiceSettings {
    /// `None` where nothing transcribes.
    pub stt: Option<SttSettings>,
    /// `None` where nothing speaks.
    pub tts: Option<TtsSettings>,
}

/// A server of speech recognition or synthesis.
#[derive(Clone, Debug)]
pub struct VoiceServer {
    /// Without a trailing slash.
    pub base_url: String,
    pub api_key: Option<SecretString>,
    pub model: String,
}

#[derive(Clone, Debug)]
pub enum SttBackend {
    /// `/audio/transcriptions`.
    Transcriptions(VoiceServer),
    /// `/chat/completions`.
    ChatAudio(VoiceServer),
    /// A program and its arguments.
    Command(Vec<String>),
}

#[derive(Clone, Debug)]
pub struct SttSettings {
    pub backend: SttBackend,
    pub language: Option<String>,
    /// Words to expect.
    pub prompt: Option<String>,
    /// Deadline of one message.
    pub timeout: Duration,
    /// Limits of a recording.
    pub most_secs: u64,
    pub most_mb: u64,
    pub wav: WavFile,
}

#[derive(Clone, Debug)]
pub enum TtsBackend {
    /// `/audio/speech`, the name of the voice, and the only format to ask for.
    Server { at: VoiceServer, voice: Option<String>, format: Option<&'static str> },
    /// A program and its arguments.
    Command(Vec<String>),
}

#[derive(Clone, Debug)]
pub struct TtsSettings {
    pub backend: TtsBackend,
    pub mode: SpeechMode,
    /// Deadline of one answer.
    pub timeout: Duration,
    /// Most characters that are spoken.
    pub most_chars: usize,
}
