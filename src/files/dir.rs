//! The project directory as an open descriptor: every step below it is one name, never a link, never `..`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// A folder on the way: looked up, not read, never through a link.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder whose entries are listed.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Never waits for a writer, never becomes the daemon's terminal, never follows a last link, is not inherited.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Identifies a file independently of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    device: i128,
    inode: i128,
}

impl FileId {
    /// The file that was looked at.
    pub fn of(stat: &Stat) -> Self {
        Self { device: i128::from(stat.st_dev), inode: i128::from(stat.st_ino) }
    }
}

/// A regular file of the project, open for reading.
#[derive(Debug)]
pub struct OpenedFile {
    pub file: File,
    /// What was known of it when it was opened.
    pub stat: Stat,
}

impl OpenedFile {
    /// Its length when it was opened.
    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(u64::MAX)
    }

    /// Whether it has other names.
    pub fn has_other_names(&self) -> bool {
        i128::from(self.stat.st_nlink) > 1
    }
}

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
pub enum DirOpenError {
    /// It is no regular file; it was not opened.
    #[error("not a regular file")]
    NotRegular(FileType),
    /// A part of the path is a link by now, or the file was exchanged.
    #[error("changed while it was being opened")]
    Changed,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for DirOpenError {
    fn from(error: Errno) -> Self {
        if error == Errno::LOOP { Self::Changed } else { Self::Io(error.into()) }
    }
}

/// An open project directory.
#[derive(Debug)]
pub struct ProjectDir {
    fd: OwnedFd,
}

impl ProjectDir {
    /// Opens the project. `path` is absolute and free of links.
    ///
    /// # Errors
    /// When there is no such directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: rustix::fs::open(path, STEP, Mode::empty())? })
    }

    /// A second descriptor of the project directory.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens a regular file for reading by its path from the project down. Folders, pipes, sockets and devices are
    /// not opened at all.
    ///
    /// # Errors
    /// When it is no regular file, a part of the path is a link, or the system refuses.
    pub fn open_file(&self, relative: &Path) -> Result<OpenedFile, DirOpenError> {
        let (folder, name) = self.parent(relative)?;
        let seen = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        must_be_regular(&seen)?;
        let file = File::from(rustix::fs::openat(&folder, &name, READ, Mode::empty())?);
        let stat = rustix::fs::fstat(&file)?;
        must_be_regular(&stat)?;
        if FileId::of(&stat) != FileId::of(&seen) {
            return Err(DirOpenError::Changed);
        }
        Ok(OpenedFile { file, stat })
    }

    /// What stands at a path, without opening it.
    ///
    /// # Errors
    /// When nothing does, a folder on the way is a link, or the system refuses.
    pub fn stat(&self, relative: &Path) -> Result<Stat, DirOpenError> {
        if relative.as_os_str().is_empty() {
            return Ok(rustix::fs::fstat(&self.fd)?);
        }
        let (folder, name) = self.parent(relative)?;
        Ok(rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The entries of a folder with what they are, as far as the listing tells.
    ///
    /// # Errors
    /// When it is no folder, a part of the path is a link, or the system refuses.
    pub fn list(
        &self,
        relative: &Path,
    ) -> Result<impl Iterator<Item = io::Result<(OsString, FileType)>> + use<>, DirOpenError> {
        use std::os::unix::ffi::OsStrExt as _;

        let listed = if relative.as_os_str().is_empty() {
            rustix::fs::openat(&self.fd, ".", LISTED, Mode::empty())?
        } else {
            let (folder, name) = self.parent(relative)?;
            rustix::fs::openat(&folder, &name, LISTED, Mode::empty())?
        };
        let entries = Dir::new(listed)?;
        Ok(entries.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
                (name != "." && name != "..").then(|| Ok((name, entry.file_type())))
            }
            Err(error) => Some(Err(error.into())),
        }))
    }

    /// The folder of a path, walked name by name, and the last name.
    fn parent(&self, relative: &Path) -> Result<(OwnedFd, PathBuf), DirOpenError> {
        let name = relative.file_name().ok_or(Errno::ISDIR)?;
        let mut folder = self.fd.try_clone()?;
        for part in relative.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(part) = part else { return Err(Errno::INVAL.into()) };
            folder = step(&folder, part)?;
        }
        Ok((folder, PathBuf::from(name)))
    }
}

/// Opens a subfolder. Every link is refused with [`Errno::LOOP`].
pub(super) fn step(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(&folder, name, STEP, Mode::empty()).map_err(|error| {
        let is_link = || {
            rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
        };
        // Linux says "not a directory" of a link that must not be followed.
        if error == Errno::NOTDIR && is_link() { Errno::LOOP } else { error }
    })
}

fn must_be_regular(stat: &Stat) -> Result<(), DirOpenError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(DirOpenError::Changed),
        other => Err(DirOpenError::NotRegular(other)),
    }
}
