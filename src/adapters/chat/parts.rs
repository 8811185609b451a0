//! What every chat adapter is given.

use std::sync::Arc;

use super::Deciders;
use crate::domain::Language;
use crate::ports::{AccessBook, ApprovalBook, Clock, FileStore, Ids, KeyValueStore};

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
    /// The one client that everybody shares. It bounds how long a connection takes to be made, and nothing else.
    pub http: reqwest::Client,
    /// The files of all threads.
    pub files: Arc<dyn FileStore>,
    pub clock: Arc<dyn Clock>,
    /// TtlCache ids and chance.
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
