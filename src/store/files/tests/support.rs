//! Messages, commits and disks with injected failures.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::domain::{DeliveryId, Intent, OutboundIntent, ThreadId, Timestamp};
use crate::ports::{Commit, Durability, OutboxEntry, OutboxLine, Receipt, Work};
use crate::store::ThreadFiles;
use crate::store::files::disk::{Disk, SystemDisk};
use crate::store::files::writer::Bounds;
pub(super) use crate::store::tests::support::{message_at as message, thread};
use crate::uimessage::{RunStatus, UiMessage};

/// The same message with the status `running`.
pub(super) fn running(mut message: UiMessage) -> UiMessage {
    message.metadata.status = Some(RunStatus::Running);
    message
}

pub(super) fn said(thread: &ThreadId, id: &str) -> UiMessage {
    message(thread, id, "run", 1, &format!("text of {id}"))
}

pub(super) fn put(thread: &ThreadId, index: usize) -> OutboxLine {
    let intent = OutboundIntent {
        thread_id: thread.clone(),
        correlation_id: "run".parse().unwrap(),
        reply_to: None,
        intent: Intent::AssistantText { text: format!("chunk {index}") },
    };
    let (id, at) = (DeliveryId::new("m", index), Timestamp::default());
    OutboxLine::Entry(OutboxEntry { id, at, intent, on_behalf_of: None })
}

pub(super) fn receipt(index: usize) -> OutboxLine {
    let id = DeliveryId::new("m", index);
    OutboxLine::Receipt { id, at: Timestamp::default(), receipt: Receipt::default() }
}

pub(super) fn commit(thread: &ThreadId, messages: Vec<UiMessage>) -> Commit {
    let thread = thread.clone();
    Commit { thread, messages, outbox: Vec::new(), durability: Durability::Written, work: Work::Settled }
}

/// The content of a thread file with these messages.
pub(super) fn lines(messages: &[UiMessage]) -> String {
    messages.iter().map(|message| serde_json::to_string(message).unwrap() + "\n").collect()
}

/// A directory for one test, in memory where the system offers that: these tests create very many files.
pub(super) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Writes a file as another program would.
pub(super) fn overwrite(path: &Path, bytes: &[u8]) {
    let _gone = std::fs::remove_file(path);
    File::create(path).unwrap().write_all(bytes).unwrap();
}

/// Limits so small that journals and outboxes are replaced within a short test.
pub(super) const TIGHT: Bounds = Bounds { journal: 1500, outbox: 600 };

pub(super) fn open(dir: &Path) -> ThreadFiles {
    ThreadFiles::open_on(Arc::new(FakeDisk::default()), dir, TIGHT).unwrap()
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[derive(Clone, Debug, Default)]
pub(super) enum DiskFault {
    #[default]
    None,
    /// After this many operations everything fails; a last append is half written. Simulates a killed process.
    DeadAfter(usize),
    /// Appends to files whose path contains this text are half written and fail: disk full.
    FullFor(&'static str),
    /// Both: disk full for such files, and everything fails after this many operations.
    FullForThenDead(&'static str, usize),
    SyncFails,
}

/// Real files without real syncs: counts operations, tracks what was synced, and fails as configured.
#[derive(Debug, Default)]
pub(super) struct FakeDisk {
    state: Mutex<State>,
    syncing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    trouble: DiskFault,
    operations: usize,
    /// How much of each file would survive a power loss, by inode.
    synced: BTreeMap<u64, u64>,
}

impl FakeDisk {
    pub(super) fn with(trouble: DiskFault) -> Arc<Self> {
        let disk = Arc::new(Self::default());
        disk.make(trouble);
        disk
    }

    pub(super) fn make(&self, trouble: DiskFault) {
        self.state.lock().unwrap().trouble = trouble;
    }

    /// No operation ends before `body` does.
    pub(super) fn hangs_during<T>(&self, body: impl FnOnce() -> T) -> T {
        let _held = self.state.lock().unwrap();
        body()
    }

    /// No sync ends before `body` does; appends go on.
    pub(super) fn syncs_hang_during<T>(&self, body: impl FnOnce() -> T) -> T {
        let _held = self.syncing.lock().unwrap();
        body()
    }

    pub(super) fn operations(&self) -> usize {
        self.state.lock().unwrap().operations
    }

    /// Truncates every data file and journal to a length between what was synced and what is there.
    pub(super) fn lose_power(&self, ship_dir: &Path, mut choose: impl FnMut(u64, u64) -> u64) {
        let state = self.state.lock().unwrap();
        for dir in ["threads", "state/outbox", "state/journal"] {
            let mut paths: Vec<PathBuf> =
                std::fs::read_dir(ship_dir.join(dir)).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            for path in paths {
                let file = File::options().write(true).open(path).unwrap();
                let facts = file.metadata().unwrap();
                let sure = state.synced.get(&facts.ino()).copied().unwrap_or(0).min(facts.len());
                file.set_len(choose(sure, facts.len())).unwrap();
            }
        }
    }

    /// Counts an operation; fails when the disk is dead, and returns whether it died just now.
    fn begin(&self) -> Result<(), bool> {
        let mut state = self.state.lock().unwrap();
        state.operations += 1;
        match state.trouble {
            DiskFault::DeadAfter(last) | DiskFault::FullForThenDead(_, last) if state.operations > last => {
                Err(state.operations == last + 1)
            }
            _ => Ok(()),
        }
    }

    fn note_synced(&self, file: &File) {
        let facts = file.metadata().unwrap();
        self.state.lock().unwrap().synced.insert(facts.ino(), facts.len());
    }
}

fn dead(_now: bool) -> io::Error {
    io::Error::other("the process is dead")
}

impl Disk for FakeDisk {
    fn open(&self, path: &Path) -> io::Result<File> {
        self.begin().map_err(dead)?;
        SystemDisk.open(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        if let Err(now) = self.begin() {
            if now {
                SystemDisk.append(file, half)?;
            }
            return Err(dead(now));
        }
        let trouble = self.state.lock().unwrap().trouble.clone();
        if let DiskFault::FullFor(word) | DiskFault::FullForThenDead(word, _) = trouble
            && path_of(file).contains(word)
        {
            SystemDisk.append(file, half)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        SystemDisk.append(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let _alone = self.syncing.lock().unwrap();
        self.begin().map_err(dead)?;
        if matches!(self.state.lock().unwrap().trouble, DiskFault::SyncFails) {
            return Err(io::Error::from_raw_os_error(5));
        }
        self.note_synced(file);
        Ok(())
    }

    fn sync_all(&self, _dir: &Path, files: &[PathBuf]) -> io::Result<()> {
        files.iter().filter_map(|path| File::open(path).ok()).try_for_each(|file| self.sync(&file))
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        self.begin().map_err(dead)
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        self.begin().map_err(dead)?;
        let mut state = self.state.lock().unwrap();
        let synced = state.synced.entry(file.metadata()?.ino()).or_default();
        *synced = length.min(*synced);
        SystemDisk.cut(file, length)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.begin().map_err(dead)?;
        SystemDisk.replace(path, bytes)?;
        self.note_synced(&File::open(path)?);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.begin().map_err(dead)?;
        SystemDisk.remove(path)
    }
}

fn path_of(file: &File) -> String {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::read_link(link).unwrap().to_string_lossy().into_owned()
}
