//! Who may answer a question, for where that has to be known before anybody answers: opening a menu of answers changes
//! what everybody in the chat has before them.

use std::fmt;
use std::sync::Arc;

use crate::domain::{Approval, Author, AuthorId, AuthorRole};
use crate::ports::{AccessBook, StoreError};

/// Whether somebody may answer what somebody led to: who led to it, who wants to answer, and their role.
pub type MayAnswer = dyn Fn(&AuthorId, &AuthorId, AuthorRole) -> bool + Send + Sync;

/// Knows who may answer a question.
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
