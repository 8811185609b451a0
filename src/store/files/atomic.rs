//! Atomic replacement of small files: after a crash the old or the new content is there, never a mix.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces the content of `path`, creating it where it is missing, with the file mode `mode`, such as `0o600`. On
/// return the new content survives a power loss.
pub fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    swap(path, bytes, mode)?;
    sync_dir(parent(path))
}

/// As [`replace_file`], but without a sync of the directory: after a power loss the old content may be back.
pub(in crate::store) fn swap(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut temp = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(std::fs::Permissions::from_mode(mode))
        .tempfile_in(parent(path))?;
    temp.write_all(bytes)?;
    temp.as_file().sync_all()?;
    temp.persist(path)?;
    Ok(())
}

/// Checks whether files can be created and written in a directory. Leaves nothing behind.
///
/// # Errors
/// When they cannot.
pub fn probe_writable(dir: &Path) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".doctor-").tempfile_in(dir)?;
    file.write_all(b"probe")?;
    file.as_file().sync_all()
}

/// Syncs the entries of a directory to the disk.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_mode_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        replace_file(&path, b"old", 0o600).unwrap();
        replace_file(&path, b"new", 0o640).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dir");
        std::fs::create_dir(&path).unwrap();
        assert!(replace_file(&path, b"x", 0o600).is_err());
        assert!(path.is_dir());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
