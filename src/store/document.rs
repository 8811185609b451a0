//! A small document that is read often and changed seldom: the grants, the access list. Each store keeps it in its own way;
//! the rules over it are written once.

use std::future::Future;
use std::sync::Arc;

use crate::ports::StoreError;

/// Whether a change changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// It did: the document is written.
    Yes,
    No,
}

/// Keeps one document.
pub trait Document<T>: Send + Sync + std::fmt::Debug {
    /// The document as it is now; the empty one where there is none. Cheap while it does not change.
    fn read(&self) -> impl Future<Output = Result<Arc<T>, StoreError>> + Send;

    /// Changes the document with no other change in between, in this process or another. What was changed is durable on
    /// return.
    fn change<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T) -> (R, Touched) + Send + 'static,
    ) -> impl Future<Output = Result<R, StoreError>> + Send;
}
