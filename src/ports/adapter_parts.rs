//! The dependencies of an adapter when it is built.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{
    AccessStore, ApprovalStore, BoxFuture, Clock, EnrichStep, FileStore, Ids, KeyValueStore, StoreError,
};
use crate::domain::{Approval, Author, AuthorId, AuthorRole, Language, Platform};
use crate::metrics::Metrics;

/// The dependencies of every chat adapter, beside its own options.
#[derive(Clone, Debug)]
pub struct ChatParts {
    /// The approvals: a button finds its thread here.
    pub approvals: Arc<dyn ApprovalStore>,
    pub access: Arc<dyn AccessStore>,
    pub answer_rights: AnswerRights,
    /// State that must survive a restart.
    pub notes: Arc<dyn KeyValueStore>,
    /// The HTTP client that all adapters share. It has a connect timeout and no other limits.
    pub http: reqwest::Client,
    pub files: Arc<dyn FileStore>,
    pub clock: Arc<dyn Clock>,
    /// Unique ids and randomness.
    pub ids: Arc<dyn Ids>,
    /// The language of the daemon's texts; `None` means the person's language.
    pub language: Option<Language>,
    /// The steps between an accepted message and its turn, in this order.
    pub enrich: Arc<[Arc<dyn EnrichStep>]>,
}

impl ChatParts {
    /// The language of the reply to this text.
    pub fn language_for(&self, text: &str) -> Language {
        self.language.unwrap_or_else(|| Language::of(text))
    }
}

/// The argument of [`ConfiguredAdapter::build`](super::ConfiguredAdapter::build): the shared parts, and the settings of
/// `ship.json` about people on this platform.
#[derive(Clone, Debug)]
pub struct AdapterParts {
    /// The platform part of the adapter's thread ids.
    pub platform: Platform,
    pub chat: ChatParts,
    /// The owners on this platform.
    pub owners: Vec<AuthorId>,
    /// People on this platform that `approvals.approvers` names by id.
    pub approvers: Vec<AuthorId>,
    /// Whether `approvals.approvers` lets chat administrators decide in their chats.
    pub admins_decide: bool,
    pub metrics: Arc<Metrics>,
}

/// Whether a person may answer an approval: the approval, the person, and the person's role.
pub type MayAnswer = dyn Fn(&Approval, &AuthorId, AuthorRole) -> bool + Send + Sync;

/// Checks who may answer an approval before an answer is given: opening a menu of answers changes what all people in
/// the chat see.
#[derive(Clone)]
pub struct AnswerRights(Arc<MayAnswer>);

impl AnswerRights {
    pub fn new(
        may_answer: impl Fn(&Approval, &AuthorId, AuthorRole) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(may_answer))
    }

    /// Whether a person may answer an approval, with the role from the access records.
    ///
    /// # Errors
    /// If the access records cannot be read.
    pub async fn decides(
        &self,
        access: &dyn AccessStore,
        author: &Author,
        question: &Approval,
    ) -> Result<bool, StoreError> {
        let role = author.role.with(access.role_of(&author.id).await?);
        Ok((self.0)(question, &author.id, role))
    }
}

impl fmt::Debug for AnswerRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerRights")
    }
}

#[derive(Clone, Debug, Default)]
pub struct HookRequest {
    pub headers: http::HeaderMap,
    pub body: Vec<u8>,
}

impl HookRequest {
    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The response: JSON, or no body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HookAnswer {
    /// A status without a body.
    pub const fn of(status: u16) -> Self {
        Self { status, body: Vec::new() }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, body: body.to_string().into_bytes() }
    }
}

/// Handles webhook requests. The listener does not authenticate the caller: the hook must do that first. It confirms an
/// event only after the threads have accepted it.
pub trait Hook: Send + Sync + fmt::Debug {
    /// The path it is served at, such as `/hooks/telegram`.
    fn path(&self) -> &str;

    /// Handles a request. Ends in bounded time.
    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer>;
}
