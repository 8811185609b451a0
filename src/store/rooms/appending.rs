//! Appends lines to a room's log, one process at a time.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::store::files::{private_dir, private_file};

/// How long a lock of another process is waited for, and how often it is tried. Shorter than the caller waits: a job
/// that was given up neither keeps its thread nor writes later.
const LOCK_WITHIN: Duration = Duration::from_millis(500);
const TRY_EVERY: Duration = Duration::from_millis(2);

/// Opens the segment of a day for appending, and locks it against other processes. The lock ends with the file.
pub(super) fn open_locked(dir: &Path, segment: &Path) -> io::Result<File> {
    let open = || private_file().read(true).append(true).create(true).open(segment);
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private_dir(dir)?;
            open()?
        }
        file => file?,
    };
    locked(|| file.try_lock())?;
    Ok(file)
}

/// Tries to lock a file until it succeeds or the time is over.
pub(super) fn locked(try_lock: impl Fn() -> Result<(), TryLockError>) -> io::Result<()> {
    let deadline = Instant::now() + LOCK_WITHIN;
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps the lock"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(TRY_EVERY),
        }
    }
}

/// Appends a line by one call. A torn line before it is closed, so that it spoils no other.
pub(super) fn append_line(file: &mut File, line: &[u8]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if !ends_in_newline(file)? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    file.write_all(&bytes)
}

fn ends_in_newline(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}
