//! The files that others write through a handle of ours: the daemon's log, and the lines typed in the terminal chat.

use std::path::{Path, PathBuf};

use tracing_appender::rolling::{RollingFileAppender, Rotation};

use super::disk::refused;
use super::layout::{Layout, private_dir, private_file};
use crate::ports::{StoreError, StoreErrorKind};

/// Days of log files that are kept.
const KEPT_FILES: usize = 14;

/// The daemon's log: `logs/daemon.<date>.jsonl`, a new file each day (UTC).
///
/// # Errors
/// When the folder cannot be made or no file can be opened in it.
pub fn daemon_log(ship_dir: &Path) -> Result<RollingFileAppender, StoreError> {
    let folder = Layout::new(ship_dir).logs();
    // The appender would make it too, but not without complaining first that it is missing.
    private_dir(&folder).map_err(|source| refused(&folder, source))?;
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("daemon")
        .filename_suffix("jsonl")
        .max_log_files(KEPT_FILES)
        .build(&folder)
        .map_err(|source| StoreError::new(StoreErrorKind::Unavailable, folder.to_string_lossy(), source))
}

/// The file of the lines that were typed in the terminal chat, for the line editor, which reads and writes it by its path;
/// nothing where it cannot be made. Only its owner may read it.
pub fn chat_history(ship_dir: &Path) -> Option<PathBuf> {
    let path = Layout::new(ship_dir).run().join("chat_history");
    private_file().append(true).create(true).open(&path).ok()?;
    Some(path)
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
