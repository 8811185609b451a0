//! A document in memory, and with it the grants and the access records.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ports::{Audit, StoreError};
use crate::store::access::DocumentAccess;
use crate::store::access_records::AccessRecords;
use crate::store::document::{Document, Modified};
use crate::store::grants::{DocumentGrants, GrantRecords};

/// A document in memory. Clones share it.
#[derive(Debug, Default)]
pub struct InMemoryDocument<T> {
    content: Arc<Mutex<Arc<T>>>,
}

/// The grants in memory.
pub type InMemoryGrants = DocumentGrants<InMemoryDocument<GrantRecords>>;
/// The access list in memory.
pub type InMemoryAccess = DocumentAccess<InMemoryDocument<AccessRecords>>;

impl InMemoryGrants {
    pub fn new(audit: Arc<dyn Audit>) -> Self {
        Self::over(InMemoryDocument::default(), audit)
    }
}

impl InMemoryAccess {
    pub fn new(audit: Arc<dyn Audit>) -> Self {
        Self::over(InMemoryDocument::default(), audit)
    }
}

impl<T> Clone for InMemoryDocument<T> {
    fn clone(&self) -> Self {
        Self { content: self.content.clone() }
    }
}

impl<T: Clone + Send + Sync + std::fmt::Debug> Document<T> for InMemoryDocument<T> {
    async fn read(&self) -> Result<Arc<T>, StoreError> {
        Ok(self.content.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn change<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T) -> (R, Modified) + Send + 'static,
    ) -> Result<R, StoreError> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = T::clone(&content);
        let (result, touched) = work(&mut changed);
        if touched == Modified::Yes {
            *content = Arc::new(changed);
        }
        Ok(result)
    }
}
