//! The few things the writing side does to files, behind a seam so that tests can let each of them fail.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::atomic;
use super::layout::private_file;
use crate::ports::{StoreError, StoreErrorKind};

/// Beyond this many it is quicker to have the whole file system written than one file after the other.
const MANY_FILES: usize = 16;

/// Files as the writing side uses them.
pub(super) trait Disk: Send + Sync + std::fmt::Debug {
    /// Opens a file for reading and appending, creating it where it is missing.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Writes at the end of the file. After an error any part of it may be there.
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()>;

    /// Waits until the file's content is on the disk.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Waits until the content of all these files, of one directory, is on the disk. One that is gone is done.
    fn sync_all(&self, dir: &Path, files: &[PathBuf]) -> io::Result<()>;

    /// Waits until the names in a directory are on the disk.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Cuts the file to this length.
    fn cut(&self, file: &File, length: u64) -> io::Result<()>;

    /// Puts a whole new content in the place of the old one.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The machine's own files.
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

/// Has everything of a directory's file system written at once, where that can be had; tells whether it was.
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

/// The system's refusal in the port's words: no room is told apart, because it passes.
pub(super) fn refused(path: impl AsRef<Path>, source: io::Error) -> StoreError {
    let kind = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            StoreErrorKind::Full
        }
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, path.as_ref().to_string_lossy(), source)
}

/// Runs work on a file or folder off the runtime's threads.
pub(super) async fn on_disk<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(move || work(&path).map_err(|source| refused(&path, source)));
    done.await.map_err(|_| StoreError::closed())?
}

/// Lets a write beyond a file-size limit fail with an error instead of ending the process.
///
/// The system's default for `SIGXFSZ` is death. A signal that somebody listens for is not deadly, and the
/// listening, once begun, lasts as long as the process. To be called once, inside the runtime, before the
/// store is opened.
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
