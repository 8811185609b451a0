//! The [`Rooms`] port over a directory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::folder::{FolderFault, agents_dir, open_folder, room_dir, segment, segments};
use super::room_log::{append_line, newest, open_locked};
use crate::domain::{AgentCard, RoomLine, ThreadId, Timestamp};
use crate::ports::{BoxFuture, Clock, LineFilter, Rooms, StoreError, StoreErrorKind};
use crate::store::files::{private_dir, swap};

/// A file system that does not answer within this time counts as failed.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most agents of a roster that are read.
const MOST_AGENTS: usize = 200;
/// Largest roster entry.
const MAX_CARD: u64 = 256 * 1024;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Rooms in a directory that the daemons of one user on one machine share.
#[derive(Clone, Debug)]
pub struct SharedRooms {
    root: PathBuf,
    keep_days: u64,
    /// That of the machine: claims of several processes are compared.
    clock: Arc<dyn Clock>,
}

impl SharedRooms {
    /// Uses this directory, which is created where it is missing.
    ///
    /// # Errors
    /// When it cannot be written, or others can write to it.
    pub fn open(root: &Path, keep_days: u64, clock: Arc<dyn Clock>) -> Result<Self, FolderFault> {
        open_folder(root)?;
        Ok(Self { root: root.to_owned(), keep_days, clock })
    }

    /// What is older is not kept.
    fn oldest(&self) -> Timestamp {
        let keep = i64::try_from(self.keep_days.saturating_mul(DAY_MS)).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.clock.now().as_millis().saturating_sub(keep))
    }

    fn dir(&self, room: &ThreadId) -> PathBuf {
        room_dir(&self.root, room)
    }
}

/// Does file work on a blocking thread, for at most [`PATIENCE`].
async fn work<T: Send + 'static>(
    subject: PathBuf,
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let failed = |source: io::Error| {
        let full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let kind = if full { StoreErrorKind::Full } else { StoreErrorKind::Unavailable };
        StoreError::new(kind, subject.display().to_string(), source)
    };
    let done = tokio::time::timeout(PATIENCE, tokio::task::spawn_blocking(job)).await;
    match done {
        Ok(Ok(result)) => result.map_err(failed),
        Ok(Err(_)) => Err(failed(io::Error::other("the file operation failed unexpectedly"))),
        Err(_) => Err(failed(io::Error::new(io::ErrorKind::TimedOut, "the file system does not answer"))),
    }
}

fn json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(io::Error::other)
}

impl Rooms for SharedRooms {
    fn append<'a>(&'a self, room: &'a ThreadId, line: RoomLine) -> BoxFuture<'a, Result<(), StoreError>> {
        let (dir, clock) = (self.dir(room), self.clock.clone());
        Box::pin(work(dir.clone(), move || {
            let bytes = json(&line.cut_text())?;
            let path = segment(&dir, clock.now());
            append_line(&mut open_locked(&dir, &path)?, &bytes)
        }))
    }

    fn claim<'a>(
        &'a self,
        room: &'a ThreadId,
        mut line: RoomLine,
    ) -> BoxFuture<'a, Result<Timestamp, StoreError>> {
        let (dir, clock) = (self.dir(room), self.clock.clone());
        Box::pin(work(dir.clone(), move || {
            let mut file = open_locked(&dir, &segment(&dir, clock.now()))?;
            line.at = clock.now();
            append_line(&mut file, &json(&line)?)?;
            Ok(line.at)
        }))
    }

    fn recent<'a>(
        &'a self,
        room: &'a ThreadId,
        most: usize,
        since: Timestamp,
        which: LineFilter,
    ) -> BoxFuture<'a, Result<Vec<RoomLine>, StoreError>> {
        let dir = self.dir(room);
        Box::pin(work(dir.clone(), move || newest(&dir, most, since, which)))
    }

    fn version<'a>(&'a self, room: &'a ThreadId) -> BoxFuture<'a, Result<u64, StoreError>> {
        let dir = self.dir(room);
        Box::pin(work(dir.clone(), move || {
            let newest = segments(&dir)?.pop();
            let Some(path) = newest else { return Ok(0) };
            let metadata = std::fs::metadata(&path)?;
            // Of two days the later one counts more.
            let day =
                path.file_stem().map(|stem| stem.to_string_lossy().replace('-', "")).unwrap_or_default();
            Ok(day.parse::<u64>().unwrap_or(0).saturating_mul(1 << 36).saturating_add(metadata.len()))
        }))
    }

    fn beat(&self, card: AgentCard) -> BoxFuture<'_, Result<(), StoreError>> {
        let dir = agents_dir(&self.root);
        Box::pin(work(dir.clone(), move || {
            private_dir(&dir)?;
            swap(&dir.join(format!("{}.json", card.id)), &json(&card)?, 0o600)
        }))
    }

    fn roster(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, StoreError>> {
        let (dir, oldest) = (agents_dir(&self.root), self.oldest());
        Box::pin(work(dir.clone(), move || {
            let mut cards = read_roster(&dir)?;
            cards.retain(|card| card.at >= oldest);
            Ok(cards)
        }))
    }

    fn sweep(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let (root, oldest) = (self.root.clone(), self.oldest());
        Box::pin(work(root.clone(), move || sweep(&root, oldest)))
    }
}

fn read_roster(dir: &Path) -> io::Result<Vec<AgentCard>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut cards: Vec<AgentCard> = paths.filter_map(|path| read_card(&path)).take(MOST_AGENTS).collect();
    cards.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(cards)
}

fn read_card(path: &Path) -> Option<AgentCard> {
    let small = std::fs::metadata(path).ok()?.len() <= MAX_CARD;
    let named = path.extension().is_some_and(|extension| extension == "json");
    if !small || !named {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Removes the segments before a day, and the cards of agents that have given no sign of life since, under a lock
/// against other daemons that do the same.
fn sweep(root: &Path, oldest: Timestamp) -> io::Result<()> {
    let _lock = open_locked(root, &root.join("rooms.lock"))?;
    for entry in std::fs::read_dir(agents_dir(root)).into_iter().flatten().flatten() {
        if read_card(&entry.path()).is_some_and(|card| card.at < oldest) {
            std::fs::remove_file(entry.path())?;
        }
    }
    let oldest = oldest.day();
    for platform in folders(root)? {
        for room in folders(&platform.join("-"))? {
            for segment in segments(&room)? {
                let day = segment.file_stem().map(|stem| stem.to_string_lossy().into_owned());
                if day.is_some_and(|day| day < oldest) {
                    std::fs::remove_file(&segment)?;
                }
            }
        }
    }
    Ok(())
}

fn folders(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect())
}
