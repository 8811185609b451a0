//! The options and dependencies of the web adapter, passed by the composition root.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::watch;

use crate::adapters::AdapterHealths;
use crate::domain::{Language, SandboxReport};
use crate::metrics::Metrics;
use crate::ports::{
    AccessStore, ApprovalStore, Audit, Backup, Changes, Checkup, Configuration, DaemonLog, EnrichStep,
    FileStore, Grants, Hook, Ids, InstructionsEditor, Memory, ModelChoices, Onboarding, Rooms, Search,
    Speech, Tasks, ThreadMarks, ThreadStore, UsageReports,
};

/// The settings of this daemon.
#[derive(Clone, Debug)]
pub struct WebOptions {
    pub listen: SocketAddr,
    /// The operator's token. An empty one admits no one.
    pub token: SecretString,
    /// Host names, with or without a port, that the daemon answers to beside its own address, such as those of a
    /// reverse proxy.
    pub allowed_hosts: Vec<String>,
    /// Origins of other pages that may call the API with the token.
    pub allowed_origins: Vec<String>,
    pub name: String,
    /// The daemon's language; `None` means the language of each person's text.
    pub language: Option<Language>,
    pub version: String,
    pub provider: String,
    /// Display name of the operator in the console.
    pub operator_name: Option<String>,
    /// Whether recordings are transcribed: the console offers to record.
    pub listens: bool,
    /// Identifies the project to the page: a path that no other project on the machine has.
    pub project: PathBuf,
    /// How long open responses may continue after a stop.
    pub stop_grace: Duration,
}

/// The adapter's dependencies beside the threads.
#[derive(Clone, Debug)]
pub struct WebParts {
    /// The first configuration; `None` where the project has one.
    pub onboarding: Option<Arc<dyn Onboarding>>,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub store: Arc<dyn ThreadStore>,
    pub approvals: Arc<dyn ApprovalStore>,
    pub grants: Arc<dyn Grants>,
    /// Admitted people and groups, and open requests.
    pub access: Arc<dyn AccessStore>,
    pub memory: Arc<dyn Memory>,
    pub search: Arc<dyn Search>,
    pub audit: Arc<dyn Audit>,
    pub configuration: Arc<dyn Configuration>,
    pub instructions: Arc<dyn InstructionsEditor>,
    pub log: Arc<dyn DaemonLog>,
    pub backup: Arc<dyn Backup>,
    /// The checks of `shipagent doctor`; `None` where the settings come from no files.
    pub checkup: Option<Arc<dyn Checkup>>,
    pub thread_marks: Arc<ThreadMarks>,
    pub tasks: Arc<dyn Tasks>,
    /// The models that threads can choose from.
    pub models: Arc<dyn ModelChoices>,
    pub spending: Arc<dyn UsageReports>,
    /// What agents in the same groups share; `None` where they do not.
    pub rooms: Option<Arc<dyn Rooms>>,
    pub files: Arc<dyn FileStore>,
    /// The steps between a message and its turn, in this order.
    pub enrich: Arc<[Arc<dyn EnrichStep>]>,
    /// Speaks answers; `None` where nothing speaks.
    pub speech: Option<Arc<dyn Speech>>,
    pub ids: Arc<dyn Ids>,
    pub healths: AdapterHealths,
    /// True once the threads of the last process are recovered.
    pub recovered: watch::Receiver<bool>,
    /// Tells of changes anywhere.
    pub changes: Changes,
    /// What has been counted.
    pub metrics: Arc<Metrics>,
    /// The sandbox of commands; `None` until it is known.
    pub sandbox: watch::Receiver<Option<SandboxReport>>,
}
