//! Approvals on disk: one file each, kept after the decision. Written beside and renamed, so that a file is always
//! a whole approval.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::atomic::replace_file;
use super::disk::refused;
use super::layout::{Layout, private_dir};
use crate::domain::{Approval, ApprovalFile, ApprovalId, ApprovalNumber, ApprovalState, ThreadId};
use crate::ports::{ApprovalBook, BoxFuture, StoreError};

const OWNER_ONLY: u32 = 0o600;

/// The approvals of one project.
#[derive(Debug)]
pub struct FileApprovals {
    layout: Layout,
    /// Whoever has it may give out a number.
    numbering: tokio::sync::Semaphore,
    /// What was pending when it was first asked for. The files are many and are read once, not once a thread.
    left: tokio::sync::OnceCell<BTreeMap<ThreadId, Vec<ApprovalId>>>,
}

impl FileApprovals {
    /// The approvals under this `.ship` directory. Touches nothing.
    pub fn new(ship_dir: &Path) -> Self {
        Self {
            layout: Layout::new(ship_dir),
            numbering: tokio::sync::Semaphore::new(1),
            left: tokio::sync::OnceCell::new(),
        }
    }

    /// Reads every approval, newest first; what is none is passed over and reported.
    pub fn read_all(ship_dir: &Path) -> Result<Vec<Approval>, StoreError> {
        read_all(&Layout::new(ship_dir).approvals())
    }

    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Layout) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let layout = self.layout.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&layout)).await;
            done.map_err(|_| StoreError::Closed)?
        })
    }
}

impl ApprovalBook for FileApprovals {
    fn next_number(&self) -> BoxFuture<'_, Result<ApprovalNumber, StoreError>> {
        Box::pin(async move {
            // One at a time, so that no number is given out twice.
            let _turn = self.numbering.acquire().await.map_err(|_| StoreError::Closed)?;
            self.blocking(next_number).await
        })
    }

    fn save(&self, approval: Approval) -> BoxFuture<'_, Result<(), StoreError>> {
        self.blocking(move |layout| {
            let path = file(layout, &approval.id);
            let dir = layout.approvals();
            private_dir(&dir).map_err(|source| refused(&dir, source))?;
            let bytes = serde_json::to_vec_pretty(&ApprovalFile::from(&approval)).unwrap_or_default();
            replace_file(&path, &bytes, OWNER_ONLY).map_err(|source| refused(&path, source))
        })
    }

    fn get(&self, id: &ApprovalId) -> BoxFuture<'_, Result<Option<Approval>, StoreError>> {
        let id = id.clone();
        self.blocking(move |layout| read(&file(layout, &id)))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        self.blocking(|layout| read_all(&layout.approvals()))
    }

    fn left_pending(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Vec<ApprovalId>, StoreError>> {
        let thread = thread.clone();
        Box::pin(async move {
            let left = self.left.get_or_try_init(|| self.blocking(pending)).await?;
            Ok(left.get(&thread).cloned().unwrap_or_default())
        })
    }

    fn numbered(
        &self,
        thread: &ThreadId,
        numbers: Vec<ApprovalNumber>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        let thread = thread.clone();
        self.blocking(move |layout| {
            let mut found = read_all(&layout.approvals())?;
            found.retain(|one| one.thread == thread && numbers.contains(&one.number));
            Ok(found)
        })
    }

    fn of_thread(
        &self,
        thread: &ThreadId,
        ids: Vec<ApprovalId>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        let thread = thread.clone();
        self.blocking(move |layout| {
            let mut found = Vec::new();
            for id in ids {
                found.extend(read(&file(layout, &id))?.filter(|approval| approval.thread == thread));
            }
            Ok(found)
        })
    }
}

fn file(layout: &Layout, id: &ApprovalId) -> PathBuf {
    layout.approvals().join(format!("{id}.json"))
}

fn read(path: &Path) -> Result<Option<Approval>, StoreError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(refused(path, source)),
    };
    let file = serde_json::from_slice::<ApprovalFile>(&bytes).map_err(|error| error.to_string());
    match file.and_then(|file| Approval::try_from(file).map_err(|error| error.to_string())) {
        Ok(approval) => Ok(Some(approval)),
        Err(error) => {
            tracing::warn!(path = %path.display(), error, "an approval file cannot be read and is passed over");
            Ok(None)
        }
    }
}

fn read_all(dir: &Path) -> Result<Vec<Approval>, StoreError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(refused(dir, source)),
    };
    let mut approvals = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| refused(dir, source))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            approvals.extend(read(&path)?);
        }
    }
    approvals.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.number.cmp(&a.number)));
    Ok(approvals)
}

fn pending(layout: &Layout) -> Result<BTreeMap<ThreadId, Vec<ApprovalId>>, StoreError> {
    let mut left: BTreeMap<ThreadId, Vec<ApprovalId>> = BTreeMap::new();
    for approval in read_all(&layout.approvals())? {
        if approval.state == ApprovalState::Pending {
            left.entry(approval.thread).or_default().push(approval.id);
        }
    }
    Ok(left)
}

/// The number after the last one given out. Where the note of it is lost, the files tell.
fn next_number(layout: &Layout) -> Result<ApprovalNumber, StoreError> {
    let note = layout.state().join("approval-number");
    let noted = std::fs::read_to_string(&note).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let last = match noted {
        Some(last) => last,
        None => read_all(&layout.approvals())?.iter().map(|approval| approval.number.0).max().unwrap_or(0),
    };
    let next = last.saturating_add(1);
    replace_file(&note, format!("{next}\n").as_bytes(), OWNER_ONLY)
        .map_err(|source| refused(&note, source))?;
    Ok(ApprovalNumber(next))
}
