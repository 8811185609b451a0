//! A small document that is read often and changed rarely: the grants, the access records. Each store implements it;
//! the rules over it are shared.

use std::future::Future;
use std::sync::Arc;

use crate::ports::StoreError;

/// Whether a change modified the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modified {
    /// It did: the document is written.
    Yes,
    No,
}

pub trait Document<T>: Send + Sync + std::fmt::Debug {
    /// The current document; the default where there is none. Cheap while it does not change.
    fn read(&self) -> impl Future<Output = Result<Arc<T>, StoreError>> + Send;

    /// Changes the document without a concurrent change, in this process or another. The change is durable on return.
    fn change<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T) -> (R, Modified) + Send + 'static,
    ) -> impl Future<Output = Result<R, StoreError>> + Send;
}
