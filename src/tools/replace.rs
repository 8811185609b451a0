//! Replaces the content of a file atomically, without following links.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::confine::{Confinement, Inside};
use crate::ports::ToolFailure;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Confinement {
    /// Replaces a regular file, keeping its mode and owner, or creates a new one with its folders. The path from the
    /// project down is opened folder by folder, and no link on it is followed.
    pub(super) fn replace(&self, inside: &Inside, content: &[u8]) -> Result<(), ToolFailure> {
        self.try_replace(inside.relative(), content).map_err(|error| {
            let shown = inside.shown();
            match Errno::from_io_error(&error) {
                Some(Errno::LOOP | Errno::NOTDIR) => {
                    ToolFailure::Refused(format!("{shown} changed while it was being written"))
                }
                _ => ToolFailure::Failed(format!("{shown} cannot be written: {error}")),
            }
        })
    }

    fn try_replace(&self, relative: &Path, content: &[u8]) -> io::Result<()> {
        let name = relative.file_name().ok_or(Errno::ISDIR)?;
        let mut folder: OwnedFd = rustix::fs::open(self.project(), FOLDER, Mode::empty())?;
        for part in relative.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(part) = part else { return Err(Errno::INVAL.into()) };
            folder = enter(&folder, Path::new(part))?;
        }
        let old = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => Some(found),
            Ok(_) => return Err(Errno::LOOP.into()),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        let temporary = format!(".new-{}", uuid::Uuid::new_v4().simple());
        let written = write_new(&folder, &temporary, content, old.as_ref())
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &temporary, &folder, name)?));
        if written.is_err() {
            // If this fails too, a temporary file is left behind, which is harmless.
            rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty()).ok();
        }
        written?;
        Ok(rustix::fs::fsync(&folder)?)
    }
}

/// Opens a folder inside another, creating it where it is missing.
fn enter(folder: &OwnedFd, name: &Path) -> io::Result<OwnedFd> {
    match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::NOENT) => {
            match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(rustix::fs::openat(folder, name, FOLDER, Mode::empty())?)
        }
        opened => Ok(opened?),
    }
}

fn write_new(folder: &OwnedFd, name: &str, content: &[u8], old: Option<&Stat>) -> io::Result<()> {
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let mut file = File::from(rustix::fs::openat(folder, name, NEW_FILE, Mode::from_raw_mode(mode))?);
    file.write_all(content)?;
    if let Some(old) = old {
        let owner = Some(rustix::fs::Uid::from_raw(old.st_uid));
        let group = Some(rustix::fs::Gid::from_raw(old.st_gid));
        // Only root can change the owner; for other users this fails and the owner stays.
        rustix::fs::fchown(&file, owner, group).ok();
        rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o7777))?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::tools::testing::Project;

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_folders_are_made() {
        let project = Project::new();
        project.file("run.sh", "old");
        fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
        let confinement = project.confinement();
        for path in ["run.sh", "new/deep/file.txt"] {
            confinement.replace(&confinement.resolve(path).unwrap(), b"new").unwrap();
            assert_eq!(fs::read(project.path(path)).unwrap(), b"new");
        }
        assert_eq!(fs::metadata(project.path("run.sh")).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(fs::read_dir(project.root()).unwrap().count(), 2, "nothing is left beside them");
    }

    #[test]
    fn a_place_swapped_for_a_link_after_the_judgement_is_not_written_through() {
        let project = Project::new();
        let outside = Project::new();
        outside.file("a.txt", "theirs");
        project.file("dir/a.txt", "mine");
        let confinement = project.confinement();
        let inside = confinement.resolve("dir/a.txt").unwrap();

        fs::remove_file(project.path("dir/a.txt")).unwrap();
        symlink(outside.path("a.txt"), project.path("dir/a.txt")).unwrap();
        assert!(matches!(confinement.replace(&inside, b"new"), Err(ToolFailure::Refused(_))));

        fs::remove_dir_all(project.path("dir")).unwrap();
        symlink(outside.root(), project.path("dir")).unwrap();
        assert!(matches!(confinement.replace(&inside, b"new"), Err(ToolFailure::Refused(_))));
        assert_eq!(fs::read(outside.path("a.txt")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(outside.root()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let project = Project::new();
        project.file("dir/a.txt", "");
        let confinement = project.confinement();
        for path in ["dir", "", "dir/a.txt/b"] {
            assert!(confinement.replace(&confinement.resolve(path).unwrap(), b"x").is_err(), "{path}");
        }
    }
}
