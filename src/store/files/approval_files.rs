//! Approvals on disk: one file each, kept after the decision. Written to a temporary file and renamed, so that a file
//! is always complete.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::approval_numbers::ApprovalNumbers;
use super::atomic::replace_file;
use super::disk::refused;
use super::layout::{Layout, private_dir};
use crate::domain::{Approval, ApprovalFile, ApprovalId, ApprovalNumber, ThreadId};
use crate::ports::{ApprovalStore, BoxFuture, StoreError};

const OWNER_ONLY: u32 = 0o600;

/// The approvals of one project.
#[derive(Debug)]
pub struct FileApprovals {
    layout: Layout,
    /// Held while a number is assigned.
    numbering: tokio::sync::Semaphore,
    /// The approvals that were pending at the start. Loaded once for all threads, because there are many files.
    left: tokio::sync::OnceCell<BTreeMap<ThreadId, Vec<ApprovalId>>>,
    /// The pending approvals, loaded on first use, so that settled ones are not read again.
    waiting: Arc<PendingSet>,
    /// Set once the numbers of all existing approvals are in the index.
    noted: tokio::sync::OnceCell<()>,
}

impl FileApprovals {
    /// The approvals under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path) -> Self {
        Self {
            layout: Layout::new(ship_dir),
            numbering: tokio::sync::Semaphore::new(1),
            left: tokio::sync::OnceCell::new(),
            waiting: Arc::default(),
            noted: tokio::sync::OnceCell::new(),
        }
    }

    /// Reads every approval, newest first; files that cannot be parsed are logged and skipped.
    pub fn read_all(ship_dir: &Path) -> Result<Vec<Approval>, StoreError> {
        read_all(&Layout::new(ship_dir).approvals())
    }

    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Layout) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        self.boxed(Box::new(work))
    }

    /// Takes a box, so that the code of the task exists once for each result, not once for each caller.
    fn boxed<T: Send + 'static>(&self, work: BoxedWork<T>) -> BoxFuture<'_, Result<T, StoreError>> {
        let layout = self.layout.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&layout)).await;
            done.map_err(|_| StoreError::closed())?
        })
    }
}

/// Work on the files.
type BoxedWork<T> = Box<dyn FnOnce(&Layout) -> Result<T, StoreError> + Send>;

impl ApprovalStore for FileApprovals {
    fn next_number(&self) -> BoxFuture<'_, Result<ApprovalNumber, StoreError>> {
        Box::pin(async move {
            // One at a time, so that no number is assigned twice.
            let _turn = self.numbering.acquire().await.map_err(|_| StoreError::closed())?;
            self.blocking(next_number).await
        })
    }

    fn save(&self, approval: Approval) -> BoxFuture<'_, Result<(), StoreError>> {
        let waiting = Arc::clone(&self.waiting);
        self.blocking(move |layout| {
            let path = file(layout, &approval.id);
            let dir = layout.approvals();
            private_dir(&dir).map_err(|source| refused(&dir, source))?;
            if approval.is_pending() {
                note_number(layout, &approval);
            }
            let bytes = serde_json::to_vec_pretty(&ApprovalFile::from(&approval)).unwrap_or_default();
            replace_file(&path, &bytes, OWNER_ONLY).map_err(|source| refused(&path, source))?;
            waiting.note(&approval);
            Ok(())
        })
    }

    fn get(&self, id: &ApprovalId) -> BoxFuture<'_, Result<Option<Approval>, StoreError>> {
        let id = id.clone();
        self.blocking(move |layout| read(&file(layout, &id)))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        self.blocking(|layout| read_all(&layout.approvals()))
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        let waiting = Arc::clone(&self.waiting);
        self.blocking(move |layout| {
            let mut found = Vec::new();
            for id in waiting.ids(|| read_all(&layout.approvals()))? {
                found.extend(read(&file(layout, &id))?.filter(Approval::is_pending));
            }
            newest_first(&mut found);
            Ok(found)
        })
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
        Box::pin(async move {
            let numbers = self.blocking(move |layout| Ok(given_out(layout, numbers))).await?;
            let sought = numbers.clone();
            let mut ids = self.blocking(move |layout| Ok(ids_of(layout, &sought))).await?;
            if ids.iter().any(Option::is_none) {
                // From before the index existed, or interrupted: rebuild the index once from the files.
                self.noted.get_or_try_init(|| self.blocking(note_numbers)).await?;
                ids = self.blocking(move |layout| Ok(ids_of(layout, &numbers))).await?;
            }
            self.of_thread(&thread, ids.into_iter().flatten().collect()).await
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
            tracing::warn!(path = %path.display(), error, "unreadable approval file skipped");
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
    newest_first(&mut approvals);
    Ok(approvals)
}

fn newest_first(approvals: &mut [Approval]) {
    approvals.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.number.cmp(&a.number)));
}

fn pending(layout: &Layout) -> Result<BTreeMap<ThreadId, Vec<ApprovalId>>, StoreError> {
    let mut left: BTreeMap<ThreadId, Vec<ApprovalId>> = BTreeMap::new();
    for approval in read_all(&layout.approvals())?.into_iter().filter(Approval::is_pending) {
        left.entry(approval.thread).or_default().push(approval.id);
    }
    Ok(left)
}

/// Adds a number to the index. A failure is only logged: the question is asked in any case, and the index can be
/// rebuilt.
fn note_number(layout: &Layout, approval: &Approval) {
    let noted = private_dir(&layout.state())
        .and_then(|()| ApprovalNumbers::new(&layout.state()).note(approval.number, &approval.id));
    if let Err(error) = noted {
        tracing::warn!(%error, number = %approval.number, "approval number not indexed");
    }
}

/// Adds the numbers of all approvals to the index.
fn note_numbers(layout: &Layout) -> Result<(), StoreError> {
    let all = read_all(&layout.approvals())?;
    let state = layout.state();
    // The newest is written last: it wins where two have the same number.
    let numbers = all.iter().rev().map(|approval| (approval.number, &approval.id));
    private_dir(&state)
        .and_then(|()| ApprovalNumbers::new(&state).note_all(numbers))
        .map_err(|source| refused(&state, source))
}

/// Those of the numbers that were assigned; others need no look-up.
fn given_out(layout: &Layout, mut numbers: Vec<ApprovalNumber>) -> Vec<ApprovalNumber> {
    if let Some(last) = last_number(layout) {
        numbers.retain(|number| (1..=last).contains(&number.0));
    }
    numbers
}

/// The approval ids of these numbers, in their order.
fn ids_of(layout: &Layout, numbers: &[ApprovalNumber]) -> Vec<Option<ApprovalId>> {
    let known = ApprovalNumbers::new(&layout.state());
    numbers.iter().map(|number| known.find(*number).ok().flatten()).collect()
}

/// The last assigned number, if its file exists.
fn last_number(layout: &Layout) -> Option<u32> {
    let note = layout.state().join("approval-number");
    std::fs::read_to_string(&note).ok().and_then(|text| text.trim().parse::<u32>().ok())
}

/// The number after the last one assigned. If its file is lost, the approvals are read.
fn next_number(layout: &Layout) -> Result<ApprovalNumber, StoreError> {
    let note = layout.state().join("approval-number");
    let last = match last_number(layout) {
        Some(last) => last,
        None => read_all(&layout.approvals())?.iter().map(|approval| approval.number.0).max().unwrap_or(0),
    };
    let next = last.saturating_add(1);
    replace_file(&note, format!("{next}\n").as_bytes(), OWNER_ONLY)
        .map_err(|source| refused(&note, source))?;
    Ok(ApprovalNumber(next))
}

/// The pending approvals; `None` before the first query.
#[derive(Debug, Default)]
pub(super) struct PendingSet(Mutex<Option<BTreeSet<ApprovalId>>>);

impl PendingSet {
    /// Records a write. Called after the write: a concurrent scan sees the file, or is updated here.
    pub(super) fn note(&self, written: &Approval) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = known.as_mut() else { return };
        if written.is_pending() {
            waiting.insert(written.id.clone());
        } else {
            waiting.remove(&written.id);
        }
    }

    /// The pending approvals. The first call scans with `all`; writes meanwhile are recorded after that.
    pub(super) fn ids(
        &self,
        all: impl FnOnce() -> Result<Vec<Approval>, StoreError>,
    ) -> Result<Vec<ApprovalId>, StoreError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = match known.as_mut() {
            Some(waiting) => waiting,
            None => {
                let found = all()?.into_iter().filter(Approval::is_pending).map(|approval| approval.id);
                known.insert(found.collect())
            }
        };
        Ok(waiting.iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ApprovalState, Timestamp};
    use crate::store::tests::support::asked;

    fn approval(number: u32, thread: &str) -> Approval {
        asked(number, &thread.parse().unwrap())
    }

    /// Adds a file with an assigned number that a scan of all approvals would find.
    fn plant(dir: &Path, number: u32, thread: &str) {
        let planted = Approval { id: "apr_planted_planted".parse().unwrap(), ..approval(number, thread) };
        let bytes = serde_json::to_vec(&ApprovalFile::from(&planted)).unwrap();
        replace_file(&dir.join("approvals/apr_planted_planted.json"), &bytes, OWNER_ONLY).unwrap();
    }

    async fn found(book: &FileApprovals, thread: &str, numbers: &[u32]) -> Vec<String> {
        let numbers = numbers.iter().copied().map(ApprovalNumber).collect();
        let found = book.numbered(&thread.parse().unwrap(), numbers).await.unwrap();
        found.iter().map(|one| one.id.to_string()).collect()
    }

    #[tokio::test]
    async fn what_waits_is_known_without_reading_what_was_answered() {
        let dir = tempfile::tempdir().unwrap();
        let book = FileApprovals::new(dir.path());
        let waiting = async |book: &FileApprovals| -> Vec<u32> {
            book.pending().await.unwrap().iter().map(|approval| approval.number.0).collect()
        };
        let answered = |number| Approval {
            state: ApprovalState::Cancelled { at: Timestamp::from_millis(5), reason: "late".to_owned() },
            ..approval(number, "web:chat:1")
        };
        for number in [1, 2, 3] {
            book.save(approval(number, "web:chat:1")).await.unwrap();
        }
        book.save(answered(1)).await.unwrap();
        assert_eq!(waiting(&book).await, [3, 2]);
        book.save(approval(4, "web:chat:2")).await.unwrap();
        book.save(answered(2)).await.unwrap();
        assert_eq!(waiting(&book).await, [4, 3]);
        assert_eq!(waiting(&FileApprovals::new(dir.path())).await, [4, 3], "so does the next daemon");
        // An unreadable file affects only requests for it.
        let gone = file(&book.layout, &answered(2).id);
        std::fs::remove_file(&gone).unwrap();
        std::fs::create_dir(&gone).unwrap();
        assert!(book.list().await.is_err());
        assert_eq!(waiting(&book).await, [4, 3]);
    }

    #[tokio::test]
    async fn deciding_a_settled_question_again_reads_that_question_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        private_dir(&dir.path().join("state")).unwrap();
        let book = FileApprovals::new(dir.path());
        for number in 1..=3 {
            assert_eq!(book.next_number().await.unwrap(), ApprovalNumber(number));
            book.save(approval(number, if number == 3 { "web:chat:b" } else { "web:chat:a" })).await.unwrap();
        }
        plant(dir.path(), 2, "web:chat:a");
        // The scan is not repeated now, after a restart, or for unassigned numbers.
        for book in [book, FileApprovals::new(dir.path())] {
            assert_eq!(found(&book, "web:chat:a", &[2]).await, ["apr_00000000000000000002"]);
            assert_eq!(found(&book, "web:chat:a", &[3, 1]).await, ["apr_00000000000000000001"]);
            assert_eq!(found(&book, "web:chat:a", &[4, 0, u32::MAX]).await, [""; 0]);
            assert_eq!(found(&book, "web:chat:a", &[2]).await, ["apr_00000000000000000002"]);
        }
    }

    #[tokio::test]
    async fn the_approvals_of_an_older_daemon_are_looked_through_once() {
        let dir = tempfile::tempdir().unwrap();
        private_dir(&dir.path().join("state")).unwrap();
        let book = FileApprovals::new(dir.path());
        for number in 1..=3 {
            book.next_number().await.unwrap();
            book.save(approval(number, "web:chat:a")).await.unwrap();
        }
        std::fs::remove_file(dir.path().join("state/approval-ids")).unwrap();
        let book = FileApprovals::new(dir.path());
        assert_eq!(found(&book, "web:chat:a", &[2]).await, ["apr_00000000000000000002"]);
        plant(dir.path(), 1, "web:chat:a");
        assert_eq!(found(&book, "web:chat:a", &[1]).await, ["apr_00000000000000000001"]);
    }
}
