//! Copies the project's state into a tar archive while the daemon runs.
//!
//! The journals come first and the files that they describe later: the next start replays what a copied file lacks, so
//! the archive has every commit that was confirmed before it began, each of them completely. Caches, the lock and the token
//! are left out, and so is `.env`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::disk::refused;
use super::layout::Layout;
use super::tar::{header, padding, trailer};
use crate::ports::{Backup, BackupPieces, BoxFuture, StoreError};

/// How much of a file is read at once.
const PIECE: usize = 64 * 1024;
/// Pieces that may wait for a slow client.
const BACKLOG: usize = 4;

/// Folders and files of `.ship/`, in the order of the archive. What is below an earlier one is not repeated.
const ORDER: &[&str] = &["state/journal", "threads", "state", ""];

/// What can be rebuilt, or belongs to the running process.
const LEFT_OUT: &[&str] = &["run", "state/index", "state/catalog.jsonl", "state/search.sqlite"];

/// Files of the project beside `.ship/`.
const OF_PROJECT: &[&str] = &["Agent.md", "ship.json"];

/// The archive of a project's files.
#[derive(Debug)]
pub struct FileBackup {
    project: PathBuf,
    ship: PathBuf,
    /// One archive at a time: it reads everything.
    turn: Arc<Semaphore>,
}

impl FileBackup {
    /// Of the project with this `.ship` directory. Opens nothing.
    pub fn new(project: &Path, ship_dir: &Path) -> Self {
        let ship = Layout::new(ship_dir).root().to_owned();
        Self { project: project.to_owned(), ship, turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Backup for FileBackup {
    fn begin(&self) -> BoxFuture<'_, Option<BackupPieces>> {
        Box::pin(async move {
            let permit = self.turn.clone().try_acquire_owned().ok()?;
            let (pieces, receiver) = mpsc::channel(BACKLOG);
            let (project, ship) = (self.project.clone(), self.ship.clone());
            let _writing = tokio::task::spawn_blocking(move || {
                let archive = Archive { pieces, _permit: permit };
                archive.write(&project, &ship);
            });
            Some(receiver)
        })
    }
}

/// The receiver is gone.
struct Abandoned;

struct Archive {
    pieces: mpsc::Sender<Result<Vec<u8>, StoreError>>,
    _permit: OwnedSemaphorePermit,
}

impl Archive {
    fn write(&self, project: &Path, ship: &Path) {
        let listed = files_of(ship).map_err(|source| refused(ship, source));
        let files = match listed {
            Ok(files) => files,
            Err(error) => {
                // The receiver may be gone as well.
                drop(self.pieces.blocking_send(Err(error)));
                return;
            }
        };
        let own = files.into_iter().map(|path| (ship.join(&path), Path::new(".ship").join(path)));
        let beside = OF_PROJECT.iter().map(|name| (project.join(name), PathBuf::from(name)));
        for (path, name) in own.chain(beside) {
            match self.add(&path, &name.to_string_lossy()) {
                Ok(Ok(())) => {}
                Ok(Err(Abandoned)) => return,
                // It was removed since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    drop(self.pieces.blocking_send(Err(refused(&path, source))));
                    return;
                }
            }
        }
        drop(self.pieces.blocking_send(Ok(trailer())));
    }

    fn send(&self, piece: Vec<u8>) -> Result<(), Abandoned> {
        self.pieces.blocking_send(Ok(piece)).map_err(|_| Abandoned)
    }

    /// Adds a file as long as it is now; what is appended meanwhile is left out.
    fn add(&self, path: &Path, name: &str) -> io::Result<Result<(), Abandoned>> {
        let file = File::open(path)?;
        let facts = file.metadata()?;
        let length = facts.len();
        if self.send(header(name, length, facts.permissions().mode(), facts.mtime())).is_err() {
            return Ok(Err(Abandoned));
        }
        let mut content = file.take(length);
        let mut left = length;
        while left > 0 {
            let mut piece = Vec::with_capacity(PIECE);
            content.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
            if piece.is_empty() {
                // It was made shorter: the announced length is kept with zeros, which a reader of lines skips.
                let wanted = usize::try_from(left.min(PIECE as u64)).unwrap_or(PIECE);
                piece.resize(wanted, 0);
            }
            left = left.saturating_sub(piece.len() as u64);
            if self.send(piece).is_err() {
                return Ok(Err(Abandoned));
            }
        }
        Ok(self.send(padding(length)))
    }
}

/// The files to copy, in order, relative to `.ship/`.
fn files_of(ship: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut listed) = (Vec::new(), BTreeSet::new());
    for part in ORDER {
        list(ship, Path::new(part), &mut |path| {
            if listed.insert(path.clone()) {
                files.push(path);
            }
        })?;
    }
    Ok(files)
}

fn list(ship: &Path, folder: &Path, add: &mut dyn FnMut(PathBuf)) -> io::Result<()> {
    let entries = match fs::read_dir(ship.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        paths.push((folder.join(entry.file_name()), kind));
    }
    paths.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (path, kind) in paths {
        let is = |known: &&str| {
            path.starts_with(known) || path.to_string_lossy().starts_with(&format!("{known}-"))
        };
        if LEFT_OUT.iter().any(is) || is_temporary(&path) {
            continue;
        }
        // Links lead out of the state.
        if kind.is_dir() {
            list(ship, &path, add)?;
        } else if kind.is_file() {
            add(path);
        }
    }
    Ok(())
}

/// Whether a file is the unfinished replacement of another one.
fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".new-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        io::Write::write_all(&mut File::create(path).unwrap(), name.as_bytes()).unwrap();
    }

    #[tokio::test]
    async fn journals_come_first_and_caches_and_secrets_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            ".env",
            "Agent.md",
            "ship.json",
            "notes.txt",
            ".ship/threads/b.jsonl",
            ".ship/state/journal/0000000001.jsonl",
            ".ship/state/outbox/b.jsonl",
            ".ship/state/index/b.idx",
            ".ship/state/search.sqlite-wal",
            ".ship/state/catalog.jsonl",
            ".ship/state/.new-1",
            ".ship/run/token",
            ".ship/grants.json",
        ] {
            write(dir.path(), name);
        }
        let backup = FileBackup::new(dir.path(), &dir.path().join(".ship"));
        let mut pieces = backup.begin().await.unwrap();
        assert!(backup.begin().await.is_none(), "one at a time");
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.recv().await {
            bytes.extend(piece.unwrap());
        }
        let mut names = Vec::new();
        for block in bytes.chunks(512).filter(|block| &block[257..262] == b"ustar") {
            names.push(String::from_utf8_lossy(&block[..100]).trim_end_matches('\0').to_owned());
        }
        assert_eq!(
            names,
            [
                ".ship/state/journal/0000000001.jsonl",
                ".ship/threads/b.jsonl",
                ".ship/state/outbox/b.jsonl",
                ".ship/grants.json",
                "Agent.md",
                "ship.json",
            ]
        );
        assert_eq!(bytes.len() % 512, 0);
        drop(pieces);
        // The archive before has ended, so the next one can begin.
        while backup.begin().await.is_none() {
            tokio::task::yield_now().await;
        }
    }
}
