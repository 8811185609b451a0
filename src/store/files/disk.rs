//! The file operations of the writer, behind a trait so that tests can make each of them fail.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::atomic;
use super::layout::private_file;
use crate::ports::{StoreError, StoreErrorKind};

/// Above this number, syncing the whole file system is faster than syncing file by file.
const MANY_FILES: usize = 16;

/// The writer's file operations.
pub(super) trait Disk: Send + Sync + std::fmt::Debug {
    /// Opens a file for reading and appending, creating it where it is missing.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Appends to the file. After an error any part of it may be there.
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()>;

    /// Syncs the file's content.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Syncs the content of these files of one directory. Missing files are skipped.
    fn sync_all(&self, dir: &Path, files: &[PathBuf]) -> io::Result<()>;

    /// Syncs the names in a directory.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Truncates the file.
    fn cut(&self, file: &File, length: u64) -> io::Result<()>;

    /// Replaces the whole content.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SystemDisk;

impl Disk for SystemDisk {
    fn open(&self, path: &Path) -> io::Result<File> {
        private_file().read(true).append(true).create(true).open(path)
    }

    fn append(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_all(&self, dir: &Path, files: &[PathBuf]) -> io::Result<()> {
        if files.len() > MANY_FILES && sync_file_system(dir)? {
            return Ok(());
        }
        for path in files {
            match File::open(path) {
                Ok(file) => file.sync_data()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        atomic::sync_dir(dir)
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        atomic::swap(path, bytes, 0o600)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}

/// Syncs a directory's whole file system, where that is supported; returns whether it was done.
#[cfg(target_os = "linux")]
fn sync_file_system(dir: &Path) -> io::Result<bool> {
    match rustix::fs::syncfs(File::open(dir)?) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_dir: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Converts an IO error to a `StoreError`: a full disk has its own kind, because it is temporary.
pub(super) fn refused(path: impl AsRef<Path>, source: io::Error) -> StoreError {
    let kind = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            StoreErrorKind::Full
        }
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, path.as_ref().to_string_lossy(), source)
}

/// A file operation.
type BoxedWork<T> = Box<dyn FnOnce(&Path) -> io::Result<T> + Send>;

/// Runs a file operation on a blocking thread.
pub(super) fn on_disk<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> impl Future<Output = Result<T, StoreError>> + Send {
    boxed_on_disk(path, Box::new(work))
}

/// Takes a box, so that the code of the task exists once for each result, not once for each caller.
async fn boxed_on_disk<T: Send + 'static>(path: PathBuf, work: BoxedWork<T>) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(move || work(&path).map_err(|source| refused(&path, source)));
    done.await.map_err(|_| StoreError::closed())?
}

/// Makes a write beyond a file-size limit fail with an error instead of ending the process.
///
/// The default action of `SIGXFSZ` ends the process. A registered handler prevents that, and stays registered as long
/// as the process. Call it once, inside the runtime, before the store is opened.
pub fn survive_file_size_limits() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_room_is_told_apart_from_other_trouble() {
        for (code, full) in [(28, true), (122, true), (27, true), (30, false), (5, false), (13, false)] {
            let error = refused("x", io::Error::from_raw_os_error(code));
            assert_eq!(error.kind() == StoreErrorKind::Full, full, "{code}");
        }
    }
}
