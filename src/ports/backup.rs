//! The port that copies the project's state while the daemon runs.

use tokio::sync::mpsc;

use super::{BoxFuture, StoreError};

/// The bytes of a tar archive in pieces; ends after an error.
pub type BackupPieces = mpsc::Receiver<Result<Vec<u8>, StoreError>>;

/// Makes an archive from which the project can be restored.
pub trait Backup: Send + Sync + std::fmt::Debug {
    /// Begins an archive; `None` while another one is made. Dropping the receiver ends it.
    fn begin(&self) -> BoxFuture<'_, Option<BackupPieces>>;
}
