//! The memory of one project, as its port.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::files::MemoryFiles;
use super::hand_edits::IMPORT;
use super::ledger::{self, LEDGER, LedgerState};
use super::notes;
use crate::domain::{
    CoreFile, DistilMark, LedgerLine, MemoryChange, MemoryItem, Provenance, ScopeKey, ThreadId, Timestamp,
};
use crate::policy::fingerprint::digest_of;
use crate::ports::{
    BoxFuture, ChangeError, Clock, LedgerPage, LedgerRequest, Memory, MemoryBatch, Note, NotesAdded,
    NotesPage, StoreError, Undone,
};

/// Most bytes read of a core file: all of it goes into each prompt.
const MOST_BYTES: u64 = 16 * 1024;
/// How many digits of a digest name a version of a file.
const DIGEST_DIGITS: usize = 16;
const ID_DIGITS: usize = 5;

/// Core memory, notes, ledger and tasks. Clones share them.
#[derive(Debug)]
pub struct MemoryBook<F>(Arc<Book<F>>);

impl<F> Clone for MemoryBook<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The files, and what is known of the ledger.
#[derive(Debug)]
pub(super) struct Book<F> {
    pub(super) files: F,
    clock: Arc<dyn Clock>,
    state: Mutex<LedgerState>,
}

/// A core file as it was read.
#[derive(Debug)]
pub(super) struct CoreRead {
    pub(super) file: CoreFile,
    pub(super) bytes: Vec<u8>,
}

impl<F: MemoryFiles> MemoryBook<F> {
    /// The memory in these files. Opens nothing. The clock dates what was edited by hand.
    pub fn over(files: F, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Book { files, clock, state: Mutex::default() }))
    }

    pub fn files(&self) -> &F {
        &self.0.files
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Book<F>) -> Result<T, ChangeError> + Send + 'static,
    ) -> Result<T, ChangeError> {
        self.boxed(Box::new(work)).await.unwrap_or_else(|| Err(StoreError::closed().into()))
    }

    async fn read<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Book<F>) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = self.boxed(Box::new(work)).await.ok_or_else(StoreError::closed)?;
        done.map_err(|error| self.0.files.error(name, error))
    }

    /// Runs work on a blocking thread; `None` where it panicked. Takes a box, so that the code of the task exists once for
    /// each result, not once for each caller.
    async fn boxed<T: Send + 'static>(&self, work: BoxedWork<F, T>) -> Option<T> {
        let book = self.0.clone();
        tokio::task::spawn_blocking(move || work(&book)).await.ok()
    }
}

/// Work on the book.
type BoxedWork<F, T> = Box<dyn FnOnce(&Book<F>) -> T + Send>;

impl<F: MemoryFiles> Book<F> {
    pub(super) fn state(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn digest_of(&self, bytes: &[u8]) -> String {
        self.shortened(&digest_of(bytes))
    }

    /// A digest as the ledger has it.
    pub(super) fn shortened(&self, digest: &str) -> String {
        digest.chars().take(DIGEST_DIGITS).collect()
    }

    pub(super) fn digest_of_empty(&self) -> String {
        self.digest_of(b"")
    }

    /// Ids that no item has: short, and different for each line of the ledger.
    pub(super) fn fresh_ids(
        &self,
        change: &MemoryChange,
        seq: u64,
        items: Vec<MemoryItem>,
    ) -> impl FnMut() -> String + use<F> {
        let seed = format!("{} {seq} {}", change.scope, change.provenance.at.as_millis());
        let mut taken: BTreeSet<String> = items.into_iter().filter_map(|item| item.id).collect();
        let mut number = 0_u64;
        move || loop {
            number = number.saturating_add(1);
            let digits: String =
                digest_of(format!("{seed} {number}").as_bytes()).chars().take(ID_DIGITS).collect();
            let id = format!("k{digits}");
            if taken.insert(id.clone()) {
                return id;
            }
        }
    }

    /// A core file as it is now.
    pub(super) fn read_core(&self, scope: &ScopeKey) -> io::Result<CoreRead> {
        let name = scope.core_file();
        let facts = self.files.facts(&name)?;
        let mut bytes = match facts {
            Some(_) => self.files.read(&name, 0, MOST_BYTES.saturating_add(1))?,
            None => Vec::new(),
        };
        let cut = bytes.len() as u64 > MOST_BYTES;
        let digest = if cut {
            // Its size and date tell one version of a very long file from another.
            let facts = facts.unwrap_or_default();
            let begin = self.digest_of(&bytes);
            // A partial line could have another meaning than the whole.
            let end =
                bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len(), |at| at.saturating_add(1));
            bytes.truncate(end);
            self.digest_of(format!("{begin} {} {}", facts.length, facts.modified).as_bytes())
        } else {
            self.digest_of(&bytes)
        };
        let is_text = std::str::from_utf8(&bytes).is_ok();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(CoreRead { file: CoreFile { text, digest, cut, is_text }, bytes })
    }

    fn core(&self, scope: &ScopeKey) -> io::Result<CoreFile> {
        let found = self.read_core(scope)?.file;
        let mut state = self.state();
        let known = state.refresh(&self.files);
        if known.is_ok() && state.is_settled() && !self.was_edited_by_hand(&state, scope, &found.digest) {
            return Ok(found);
        }
        // The ledger is not needed to read memory: trouble with it is no reason to forget.
        match self.settle(&mut state, scope) {
            Ok(file) => Ok(file),
            Err(error) => {
                tracing::error!(%error, file = LEDGER, "ledger unavailable");
                Ok(found)
            }
        }
    }

    fn scopes(&self) -> io::Result<Vec<ScopeKey>> {
        let mut found = BTreeSet::new();
        for scope in [ScopeKey::Project, ScopeKey::Main] {
            if self.files.facts(&scope.core_file())?.is_some() {
                found.insert(scope);
            }
        }
        for (folder, prefix) in [("memory/users", ""), ("memory/groups", "group:"), ("memory/notes", "")] {
            for name in self.files.names(folder)? {
                let name = name.strip_suffix(".md").unwrap_or(&name);
                if let Ok(scope) = format!("{prefix}{}", ScopeKey::decoded(name)).parse::<ScopeKey>() {
                    found.insert(scope);
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}

impl<F: MemoryFiles> Memory for MemoryBook<F> {
    fn core(&self, scope: &ScopeKey) -> BoxFuture<'_, Result<CoreFile, StoreError>> {
        let scope = scope.clone();
        Box::pin(async move {
            let book = self.0.clone();
            let work = move || book.core(&scope).map_err(|error| book.files.error(&scope.core_file(), error));
            tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::closed())?
        })
    }

    fn apply_all(&self, batch: MemoryBatch) -> BoxFuture<'_, Result<Vec<LedgerLine>, ChangeError>> {
        Box::pin(self.run(move |book| book.apply_all(batch)))
    }

    fn undo(&self, scope: &ScopeKey, provenance: Provenance) -> BoxFuture<'_, Result<Undone, ChangeError>> {
        let scope = scope.clone();
        Box::pin(self.run(move |book| book.undo(&scope, provenance)))
    }

    fn forget_all(
        &self,
        scope: &ScopeKey,
        provenance: Provenance,
    ) -> BoxFuture<'_, Result<usize, ChangeError>> {
        let scope = scope.clone();
        Box::pin(self.run(move |book| book.forget_all(&scope, provenance)))
    }

    fn ledger(&self, request: LedgerRequest) -> BoxFuture<'_, Result<LedgerPage, StoreError>> {
        Box::pin(self.read(LEDGER, move |book| {
            book.complete_changes();
            match &request.scope {
                Some(scope) => book.note_edited_months(std::slice::from_ref(scope)),
                None => book.note_edited_months(&book.scopes()?),
            }
            ledger::page(&book.files, &request)
        }))
    }

    fn newest_to_undo(&self, scope: &ScopeKey) -> BoxFuture<'_, Result<Option<LedgerLine>, StoreError>> {
        let scope = scope.clone();
        Box::pin(self.read(LEDGER, move |book| ledger::newest_to_undo(&book.files, &scope)))
    }

    fn newest_removal(&self, scopes: &[ScopeKey]) -> BoxFuture<'_, Result<u64, StoreError>> {
        let scopes = scopes.to_vec();
        Box::pin(self.read(LEDGER, move |book| {
            let mut state = book.state();
            state.refresh(&book.files)?;
            Ok(state.newest_removal(&scopes))
        }))
    }

    fn distilled(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<DistilMark>, StoreError>> {
        let thread = thread.clone();
        Box::pin(self.read(LEDGER, move |book| {
            let mut state = book.state();
            state.refresh(&book.files)?;
            // The mark says that notes are there: after a crash they are made before it is believed.
            if !state.is_settled() {
                let _lock = book.files.lock()?;
                book.catch_up(&mut state)?;
            }
            Ok(state.mark(&thread))
        }))
    }

    fn unreviewed(&self, scope: &ScopeKey) -> BoxFuture<'_, Result<BTreeSet<String>, StoreError>> {
        let scope = scope.clone();
        Box::pin(self.read(LEDGER, move |book| {
            let mut state = book.state();
            state.refresh(&book.files)?;
            Ok(state.unreviewed(&scope))
        }))
    }

    fn notes(&self, scope: &ScopeKey, month: Option<String>) -> BoxFuture<'_, Result<NotesPage, StoreError>> {
        let scope = scope.clone();
        Box::pin(self.read("memory/notes", move |book| {
            book.complete_changes();
            book.note_edited_months(std::slice::from_ref(&scope));
            notes::page(&book.files, &scope, month.as_deref())
        }))
    }

    fn scopes(&self) -> BoxFuture<'_, Result<Vec<ScopeKey>, StoreError>> {
        Box::pin(self.read("memory", Book::scopes))
    }

    fn add_notes(&self, scope: &ScopeKey, notes: Vec<Note>) -> BoxFuture<'_, Result<NotesAdded, StoreError>> {
        let scope = scope.clone();
        Box::pin(self.read("memory/notes", move |book| {
            let mut state = book.state();
            let _lock = book.files.lock()?;
            book.catch_up(&mut state)?;
            let edited = book.edited_months(&mut state, &scope)?;
            book.enter_months(&mut state, &scope, edited, None)?;
            let forgotten = state.forgotten(&scope);
            let done = notes::add_notes(&book.files, &scope.notes_folder(), notes, &forgotten)?;
            let changed = book.edited_months(&mut state, &scope)?;
            if let Err(error) = book.enter_months(&mut state, &scope, changed, Some(IMPORT)) {
                // The notes are there: their files count as edited by hand at the next read.
                tracing::warn!(%error, file = LEDGER, "import not entered into the ledger");
            }
            Ok(done)
        }))
    }
}
