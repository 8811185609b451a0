//! The shared directory: its layout, and whether it may be trusted.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::domain::{ThreadId, Timestamp};
use crate::store::files::private_dir;

/// Why a shared directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum FolderFault {
    #[error("{0} is writable by other users: run chmod 700 on it")]
    Open(PathBuf),
    #[error("{0} belongs to another user")]
    Foreign(PathBuf),
    #[error("{0} is on a network file system ({1}), where appends are not atomic")]
    Network(PathBuf, &'static str),
    #[error("{path} cannot be used: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// Creates the directory where it is missing, and checks that only this user can write to it.
pub(super) fn open_folder(root: &Path) -> Result<(), FolderFault> {
    let io = |source| FolderFault::Io { path: root.to_owned(), source };
    private_dir(root).map_err(io)?;
    let metadata = std::fs::metadata(root).map_err(io)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(FolderFault::Foreign(root.to_owned()));
    }
    if metadata.permissions().mode() & 0o022 != 0 {
        return Err(FolderFault::Open(root.to_owned()));
    }
    match rustix::fs::statfs(root).map(|fs| network_name(fs.f_type)) {
        Ok(Some(name)) => Err(FolderFault::Network(root.to_owned(), name)),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The name of a network file system, by its magic number.
fn network_name(magic: impl TryInto<i64>) -> Option<&'static str> {
    let magic = magic.try_into().ok()? & 0xFFFF_FFFF;
    match magic {
        0x6969 => Some("nfs"),
        0x517B => Some("smb"),
        0xFF53_4D42 => Some("cifs"),
        0xFE53_4D42 => Some("smb2"),
        0x0102_1997 => Some("9p"),
        _ => None,
    }
}

pub(super) fn room_dir(root: &Path, room: &ThreadId) -> PathBuf {
    root.join(room.platform().as_str()).join("-").join(room.file_name())
}

pub(super) fn agents_dir(root: &Path) -> PathBuf {
    root.join("agents")
}

/// The segment of a day.
pub(super) fn segment(dir: &Path, at: Timestamp) -> PathBuf {
    dir.join(format!("{}.jsonl", at.day()))
}

/// The segments of a room, oldest first. None where the room has no log.
pub(super) fn segments(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    found.sort();
    Ok(found)
}
