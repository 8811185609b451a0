//! The grants on disk: `.ship/grants.json`, read at every question, so that a grant taken back is gone at once.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::{Approval, AuthorId, Scope, Timestamp};
use crate::policy::grants::{Calls, Grant, GrantNumber, Reach};
use crate::ports::{BoxFuture, Grants, StoreError};

/// A grant and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredGrant {
    /// What was granted.
    #[serde(flatten)]
    pub grant: Grant,
    /// By whom.
    pub by: Option<AuthorId>,
    /// When.
    pub at: String,
    /// What they were shown.
    pub summary: String,
}

/// What an approval grants beyond its own call, by what is known about that call.
pub type Propose = Box<dyn Fn(&Approval, Scope, Timestamp) -> Option<(Calls, Reach)> + Send + Sync>;

/// Writes a file whole or not at all.
pub type Replace = fn(&Path, &[u8], u32) -> io::Result<()>;

/// The grants of one project.
pub struct GrantBook {
    path: PathBuf,
    propose: Propose,
    replace: Replace,
    /// Whoever has it may write.
    writing: tokio::sync::Semaphore,
}

impl std::fmt::Debug for GrantBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrantBook").field("path", &self.path).finish_non_exhaustive()
    }
}

impl GrantBook {
    /// The grants in this file.
    pub fn new(path: PathBuf, propose: Propose, replace: Replace) -> Self {
        Self { path, propose, replace, writing: tokio::sync::Semaphore::new(1) }
    }

    /// Every grant that is written down, also those whose time is over.
    pub fn read(path: &Path) -> Result<Vec<StoredGrant>, StoreError> {
        let refused = |source| StoreError::Io { path: path.to_owned(), source };
        match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| refused(io::Error::other(error))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(refused(error)),
        }
    }

    fn write(&self, grants: &[StoredGrant]) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec_pretty(grants).unwrap_or_default();
        (self.replace)(&self.path, &bytes, 0o600)
            .map_err(|source| StoreError::Io { path: self.path.clone(), source })
    }
}

impl Grants for GrantBook {
    fn add(&self, approval: Approval, scope: Scope, now: Timestamp) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let Some((calls, reach)) = (self.propose)(&approval, scope, now) else { return Ok(()) };
            let _turn = self.writing.acquire().await.map_err(|_| StoreError::Closed)?;
            let mut grants = Self::read(&self.path)?;
            grants.retain(|known| !matches!(&known.grant.reach, Reach::Until { until, .. } if *until <= now));
            let next = grants.iter().map(|known| known.grant.id.0).max().unwrap_or(0) + 1;
            let grant = Grant { id: GrantNumber(next), tool: approval.tool.clone(), calls, reach };
            let by = match &approval.state {
                crate::domain::ApprovalState::Approved { decided, .. } => Some(decided.by.clone()),
                _ => None,
            };
            tracing::info!(grant = next, tool = approval.tool, summary = approval.summary, "grant added");
            grants.push(StoredGrant { grant, by, at: now.rfc3339(), summary: approval.summary });
            self.write(&grants)
        })
    }
}
