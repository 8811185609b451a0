//! Where files of threads are put.

use super::{BoxFuture, StoreError};
use crate::domain::StoredFile;

/// The files of all threads.
pub trait FileStore: Send + Sync + std::fmt::Debug {
    /// Keeps a file, whole, for certain. One that is there already is replaced.
    fn keep(&self, file: &StoredFile, content: Vec<u8>) -> BoxFuture<'_, Result<(), StoreError>>;
}
