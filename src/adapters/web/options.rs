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
    AccessBook, ApprovalBook, Audit, Changes, FileStore, Grants, Hook, Ids, Memory, Search, Tasks,
    ThreadStore,
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
    pub name: String,
    /// The daemon's language; `None` means the language of each person's text.
    pub language: Option<Language>,
    pub version: String,
    pub provider: String,
    pub model: String,
    /// Display name of the operator in the console.
    pub operator_name: Option<String>,
    /// Identifies the project to the page: a path that no other project on the machine has.
    pub project: PathBuf,
    /// How long open responses may continue after a stop.
    pub stop_grace: Duration,
}

/// The adapter's dependencies beside the threads.
#[derive(Clone, Debug)]
pub struct WebParts {
    /// The platforms' webhooks.
    pub hooks: Vec<Arc<dyn Hook>>,
    pub store: Arc<dyn ThreadStore>,
    pub approvals: Arc<dyn ApprovalBook>,
    pub grants: Arc<dyn Grants>,
    /// Admitted people and groups, and open requests.
    pub access: Arc<dyn AccessBook>,
    pub memory: Arc<dyn Memory>,
    pub search: Arc<dyn Search>,
    pub audit: Arc<dyn Audit>,
    pub tasks: Arc<dyn Tasks>,
    pub files: Arc<dyn FileStore>,
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
