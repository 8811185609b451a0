//! Gives old journals up, beside the writing: first everything they tell is made safe in the data files, then
//! they go, the oldest first.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::disk::{Disk, refused};
use super::layout::{FileKey, Layout, Stream};
use crate::ports::StoreError;

/// A journal that is no longer written to.
#[derive(Debug)]
pub(super) struct Retired {
    pub(super) journal: PathBuf,
    /// The one that took its place.
    pub(super) successor: PathBuf,
    /// The files it tells of.
    pub(super) touched: BTreeSet<FileKey>,
}

/// The thread that gives journals up.
#[derive(Debug)]
pub(super) struct Retirement {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) layout: Layout,
}

impl Retirement {
    /// Works until the writing side is gone. A journal that cannot be given up now is tried again with the
    /// next one; until then it stands and does no harm.
    pub(super) fn run(self, retired: &Receiver<Retired>) {
        let mut waiting = VecDeque::new();
        while let Ok(next) = retired.recv() {
            waiting.push_back(next);
            while let Some(oldest) = waiting.front() {
                if let Err(error) = self.give_up(oldest) {
                    let path = oldest.journal.display();
                    tracing::warn!(journal = %path, %error, "an old journal stays for now");
                    break;
                }
                waiting.pop_front();
            }
        }
    }

    /// Makes everything it tells of safe, its successor included, and removes it.
    pub(super) fn give_up(&self, old: &Retired) -> Result<(), StoreError> {
        self.sync(self.layout.journals(), std::slice::from_ref(&old.successor))?;
        for (stream, dir) in
            [(Stream::Thread, self.layout.threads()), (Stream::Outbox, self.layout.outboxes())]
        {
            let files = old.touched.iter().filter(|key| key.stream == stream);
            let files: Vec<PathBuf> = files.map(|key| self.layout.data(key)).collect();
            self.sync(dir, &files)?;
        }
        self.disk.remove(&old.journal).map_err(|source| refused(&old.journal, source))?;
        tracing::debug!(journal = %old.journal.display(), files = old.touched.len(), "old journal given up");
        Ok(())
    }

    /// The contents and the names.
    fn sync(&self, dir: PathBuf, files: &[PathBuf]) -> Result<(), StoreError> {
        let synced = self.disk.sync_all(&dir, files).and_then(|()| self.disk.sync_dir(&dir));
        synced.map_err(|source| refused(dir, source))
    }
}
