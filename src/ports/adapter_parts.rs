//! What an adapter is given when it is built.

use std::fmt;
use std::sync::Arc;

use super::{AccessBook, ApprovalBook, Clock, FileStore, Ids, KeyValueStore, StoreError};
use crate::domain::{Approval, Author, AuthorId, AuthorRole, Language, Platform};
use crate::metrics::Metrics;

/// What every chat adapter is given, beside its own options.
#[derive(Clone, Debug)]
pub struct ChatParts {
    /// The questions and their answers: a button finds its thread there.
    pub approvals: Arc<dyn ApprovalBook>,
    /// Who was let in beyond the settings.
    pub access: Arc<dyn AccessBook>,
    /// Who may answer a question.
    pub deciders: Deciders,
    /// What must not be forgotten over a restart.
    pub notes: Arc<dyn KeyValueStore>,
    /// The one HTTP client that all adapters share. It bounds how long a connection takes to be made, and nothing else.
    pub http: reqwest::Client,
    /// The files of all threads.
    pub files: Arc<dyn FileStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids and chance.
    pub ids: Arc<dyn Ids>,
    /// The language of the daemon's words; nothing means the person's.
    pub language: Option<Language>,
}

impl ChatParts {
    /// The language to answer these words in.
    pub fn language_for(&self, text: &str) -> Language {
        self.language.unwrap_or_else(|| Language::of(text))
    }
}

/// What [`ConfiguredAdapter::build`](super::ConfiguredAdapter::build) gets: the shared parts, and what the whole of
/// `ship.json` says about people on this platform.
#[derive(Clone, Debug)]
pub struct AdapterParts {
    /// The name the adapter's threads begin with.
    pub platform: Platform,
    /// What every chat adapter is given.
    pub chat: ChatParts,
    /// The owners on this platform.
    pub owners: Vec<AuthorId>,
    /// People on this platform that `approvals.approvers` names by their ids.
    pub approvers: Vec<AuthorId>,
    /// Whether `approvals.approvers` lets those who administer a chat decide there.
    pub admins_decide: bool,
    /// The daemon's counters.
    pub metrics: Arc<Metrics>,
}

/// Whether somebody may answer what somebody led to: who led to it, who wants to answer, and their role.
pub type MayAnswer = dyn Fn(&AuthorId, &AuthorId, AuthorRole) -> bool + Send + Sync;

/// Knows who may answer a question, for where that has to be known before anybody answers: opening a menu of answers
/// changes what all people in the chat see.
#[derive(Clone)]
pub struct Deciders(Arc<MayAnswer>);

impl Deciders {
    /// Those of whom this is true.
    pub fn new(
        may_answer: impl Fn(&AuthorId, &AuthorId, AuthorRole) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(may_answer))
    }

    /// Whether somebody may answer a question, with what the access book calls them.
    ///
    /// # Errors
    /// If the access book cannot be read.
    pub async fn decides(
        &self,
        access: &dyn AccessBook,
        author: &Author,
        question: &Approval,
    ) -> Result<bool, StoreError> {
        let role = author.role.with(access.role_of(&author.id).await?);
        Ok((self.0)(&question.requested_by, &author.id, role))
    }
}

impl fmt::Debug for Deciders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deciders")
    }
}
