//! Limits of stored tool outputs: their number, size and age, so that a long-running daemon does not fill the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The file name's prefix and suffix.
pub(super) const PREFIX: &str = "tool-";
pub(super) const SUFFIX: &str = ".log";

/// The same as the daemon's own log.
const KEPT_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);
const KEPT_FILES: usize = 200;
/// Space for a few of the largest, and for hundreds of ordinary ones.
const KEPT_BYTES: u64 = 256 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredOutput {
    path: PathBuf,
    written: SystemTime,
    bytes: u64,
}

/// Removes old and surplus files from a folder, oldest first. Errors are logged: the next call tries again.
pub(super) fn prune(folder: &Path) {
    for path in surplus(kept(folder)) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, file = %path.display(), "old tool output not removed");
        }
    }
}

fn kept(folder: &Path) -> Vec<StoredOutput> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name();
            name.to_str().filter(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))?;
            let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some(StoredOutput { path: entry.path(), written: about.modified().ok()?, bytes: about.len() })
        })
        .collect()
}

/// The files to delete. The newest always stays: its path is about to be returned.
fn surplus(mut files: Vec<StoredOutput>) -> Vec<PathBuf> {
    files.sort_by(|one, other| (other.written, &other.path).cmp(&(one.written, &one.path)));
    let Some(now) = files.first().map(|newest| newest.written) else { return Vec::new() };
    let (mut count, mut bytes) = (0_usize, 0_u64);
    let mut gone = Vec::new();
    for file in files {
        count += 1;
        bytes = bytes.saturating_add(file.bytes);
        let age = now.duration_since(file.written).unwrap_or_default();
        if count > 1 && (count > KEPT_FILES || bytes > KEPT_BYTES || age > KEPT_FOR) {
            gone.push(file.path);
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u64, days: u64, bytes: u64) -> StoredOutput {
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs((100 - days) * 86_400 + number);
        StoredOutput { path: format!("{number:04}").into(), written, bytes }
    }

    fn gone(files: Vec<StoredOutput>) -> Vec<String> {
        surplus(files).into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_is_too_old_too_many_or_too_large_goes_and_the_newest_stays() {
        let large = KEPT_BYTES / 2;
        assert!(gone(Vec::new()).is_empty());
        assert_eq!(gone(vec![file(1, 15, 1), file(2, 13, 1), file(3, 0, 1)]), ["0001"]);
        assert_eq!(gone(vec![file(1, 3, large), file(2, 2, large), file(3, 1, large)]), ["0001"]);
        assert!(gone(vec![file(1, 90, 2 * KEPT_BYTES)]).is_empty(), "somebody is told of it");
        let many: Vec<StoredOutput> =
            (0..u64::try_from(KEPT_FILES).unwrap() + 3).map(|n| file(n, 1, 1)).collect();
        assert_eq!(gone(many), ["0002", "0001", "0000"]);
    }

    #[test]
    fn nothing_else_in_the_folder_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "tool-new.log",
            "tool-old.log",
            "daemon.2026-01-01.jsonl",
            "audit-2026-01-01.jsonl",
            "tool-x.txt",
        ] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            if name != "tool-new.log" {
                file.set_modified(file.metadata().unwrap().modified().unwrap() - 2 * KEPT_FOR).unwrap();
            }
        }
        fs::create_dir(folder.path().join("tool-folder.log")).unwrap();
        prune(folder.path());
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let expected = [
            "audit-2026-01-01.jsonl",
            "daemon.2026-01-01.jsonl",
            "tool-folder.log",
            "tool-new.log",
            "tool-x.txt",
        ];
        assert_eq!(left, expected);
        prune(&folder.path().join("missing"));
    }
}
