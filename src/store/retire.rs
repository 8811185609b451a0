//! Gives old journals up, beside the writing: first everything they tell is made safe in the data files, then
//! they go, the oldest first.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::disk::{Disk, refused};
use super::layout::{FileKey, Layout};
use crate::ports::StoreError;

/// At most this many files are made safe while somebody waits for the store to close; where there are more,
/// the journal simply stays, and the next start reads it.
pub(super) const MAX_FILES_AT_CLOSE: usize = 128;

/// A journal that is no longer written to.
#[derive(Debug)]
pub(super) struct Retired {
    /// Its file.
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
    /// Set when the store closes.
    pub(super) closing: Arc<AtomicBool>,
}

impl Retirement {
    /// Works until the writing side is gone. A journal that cannot be given up now is tried again with the
    /// next one; until then it stands and does no harm.
    pub(super) fn run(self, retired: &Receiver<Retired>) {
        let mut waiting = VecDeque::new();
        while let Ok(next) = retired.recv() {
            waiting.push_back(next);
            while let Some(oldest) = waiting.front() {
                match self.give_up(oldest) {
                    Ok(true) => drop(waiting.pop_front()),
                    Ok(false) => return,
                    Err(error) => {
                        let path = oldest.journal.display();
                        tracing::warn!(journal = %path, %error, "an old journal stays for now");
                        break;
                    }
                }
            }
        }
    }

    /// Whether it is gone; it stays where the store closes and there is too much to do.
    pub(super) fn give_up(&self, old: &Retired) -> Result<bool, StoreError> {
        self.sync(old.successor.clone())?;
        self.sync_dir(self.layout.journals())?;
        for key in &old.touched {
            if old.touched.len() > MAX_FILES_AT_CLOSE && self.closing.load(Ordering::Relaxed) {
                return Ok(false);
            }
            self.sync(self.layout.data(key))?;
        }
        self.sync_dir(self.layout.threads())?;
        self.sync_dir(self.layout.outboxes())?;
        self.disk.remove(&old.journal).map_err(|source| refused(&old.journal, source))?;
        tracing::debug!(journal = %old.journal.display(), files = old.touched.len(), "old journal given up");
        Ok(true)
    }

    fn sync(&self, path: PathBuf) -> Result<(), StoreError> {
        match File::open(&path) {
            Ok(file) => self.disk.sync(&file).map_err(|source| refused(path, source)),
            // Somebody removed it: there is nothing left to be made safe.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(refused(path, source)),
        }
    }

    fn sync_dir(&self, dir: PathBuf) -> Result<(), StoreError> {
        self.disk.sync_dir(&dir).map_err(|source| refused(dir, source))
    }
}
