//! Files that the store creates and other code writes: the daemon's log, and the history of the terminal chat.

use std::io;
use std::path::Path;

use tracing_appender::rolling::{RollingFileAppender, Rotation};

use super::disk::refused;
use super::layout::{Layout, private_dir, private_file};
use crate::ports::{StoreError, StoreErrorKind};

/// Days of log files that are kept.
const KEPT_FILES: usize = 14;

/// The daemon's log: `logs/daemon.<date>.jsonl`, a new file each day (UTC).
///
/// # Errors
/// When the folder cannot be created or no file can be opened in it.
pub fn daemon_log(ship_dir: &Path) -> Result<RollingFileAppender, StoreError> {
    let folder = Layout::new(ship_dir).logs();
    // The appender would create it too, but logs an error about the missing folder first.
    private_dir(&folder).map_err(|source| refused(&folder, source))?;
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("daemon")
        .filename_suffix("jsonl")
        .max_log_files(KEPT_FILES)
        .build(&folder)
        .map_err(|source| StoreError::new(StoreErrorKind::Unavailable, folder.to_string_lossy(), source))
}

/// Creates a file that only its owner may read, where there is none: for the line editor of the terminal chat, which
/// reads and writes its history by path.
///
/// # Errors
/// When it cannot be created.
pub fn make_private(path: &Path) -> io::Result<()> {
    private_file().append(true).create(true).open(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(daemon_log(file.path()).unwrap_err().kind(), StoreErrorKind::Unavailable);
    }
}
