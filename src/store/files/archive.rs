//! Removes old journals in the background: first syncs the data files with their content, then deletes them, oldest
//! first.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::disk::{Disk, refused};
use super::layout::{FileKey, Layout, Stream};
use crate::ports::StoreError;

/// A journal that is no longer written.
#[derive(Debug)]
pub(super) struct ClosedJournal {
    pub(super) journal: PathBuf,
    /// The journal that replaced it.
    pub(super) successor: PathBuf,
    /// The files with content from it.
    pub(super) touched: BTreeSet<FileKey>,
}

/// The thread that removes journals.
#[derive(Debug)]
pub(super) struct JournalRemover {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) layout: Layout,
}

impl JournalRemover {
    /// Runs until the writer is gone. A journal that cannot be removed is tried again with the next one; until then it
    /// does no harm.
    pub(super) fn run(self, retired: &Receiver<ClosedJournal>) {
        let mut waiting = VecDeque::new();
        while let Ok(next) = retired.recv() {
            waiting.push_back(next);
            while let Some(oldest) = waiting.front() {
                if let Err(error) = self.give_up(oldest) {
                    let path = oldest.journal.display();
                    tracing::warn!(journal = %path, %error, "old journal not removed yet");
                    break;
                }
                waiting.pop_front();
            }
        }
    }

    /// Syncs the files with content from it and its successor, and removes it.
    pub(super) fn give_up(&self, old: &ClosedJournal) -> Result<(), StoreError> {
        self.sync(self.layout.journals(), std::slice::from_ref(&old.successor))?;
        for (stream, dir) in
            [(Stream::Thread, self.layout.threads()), (Stream::Outbox, self.layout.outboxes())]
        {
            let files = old.touched.iter().filter(|key| key.stream == stream);
            let files: Vec<PathBuf> = files.map(|key| self.layout.data(key)).collect();
            self.sync(dir, &files)?;
        }
        self.disk.remove(&old.journal).map_err(|source| refused(&old.journal, source))?;
        tracing::debug!(journal = %old.journal.display(), files = old.touched.len(), "old journal removed");
        Ok(())
    }

    /// Syncs contents and names.
    fn sync(&self, dir: PathBuf, files: &[PathBuf]) -> Result<(), StoreError> {
        let synced = self.disk.sync_all(&dir, files).and_then(|()| self.disk.sync_dir(&dir));
        synced.map_err(|source| refused(dir, source))
    }
}
