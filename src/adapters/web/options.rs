//! What the composition root hands to the web adapter.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::watch;

use crate::adapters::AdapterHealths;
use crate::domain::{Language, SandboxReport};
use crate::metrics::Metrics;
use crate::ports::{AccessBook, ApprovalBook, Audit, FileStore, Grants, Hook, Ids, ThreadStore};

/// What is known about this daemon before it runs.
#[derive(Clone, Debug)]
pub struct WebOptions {
    pub listen: SocketAddr,
    /// What a client must know. An empty one lets nobody in.
    pub token: SecretString,
    /// Names, with or without a port, under which the daemon may be asked for beside its own address: those
    /// of a reverse proxy, for one.
    pub allowed_hosts: Vec<String>,
    pub name: String,
    /// The daemon's own language; nothing means that each person's words decide.
    pub language: Option<Language>,
    pub version: String,
    /// Who serves the model.
    pub provider: String,
    pub model: String,
    /// What to call whoever writes in the console.
    pub operator_name: Option<String>,
    /// What the page tells projects apart by: a path that no other project on the machine has.
    pub project: PathBuf,
    /// How long open answers may go on after a stop.
    pub stop_grace: Duration,
}

/// What the adapter works with beside its door.
#[derive(Clone, Debug)]
pub struct WebParts {
    /// Platforms that call us by themselves.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The threads on disk.
    pub store: Arc<dyn ThreadStore>,
    /// The record of questions to people.
    pub approvals: Arc<dyn ApprovalBook>,
    /// What people have allowed beyond a single call.
    pub grants: Arc<dyn Grants>,
    /// Who was let in, and who asks to be.
    pub access: Arc<dyn AccessBook>,
    /// Where it is written down who was allowed what.
    pub audit: Arc<dyn Audit>,
    /// The attachments of messages.
    pub files: Arc<dyn FileStore>,
    pub ids: Arc<dyn Ids>,
    /// How the adapters fare.
    pub healths: AdapterHealths,
    /// Turns true when the threads of the last daemon have been taken up.
    pub recovered: watch::Receiver<bool>,
    /// What has been counted.
    pub metrics: Arc<Metrics>,
    /// What keeps commands in; nothing until it is known.
    pub sandbox: watch::Receiver<Option<SandboxReport>>,
}
