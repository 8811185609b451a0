//! The private folders of commands: in one folder per project, below the system's temporary folder. There is one daemon
//! per project, so everything in it at start-up was left by a daemon that died.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use crate::policy::fingerprint::digest_of;

/// Digits of the digest in the folder's name.
const TOLD: usize = 16;

/// The folder of one project's commands.
#[derive(Clone, Debug)]
pub struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// The folder for the project with this state directory, below the system's temporary folder. Creates nothing.
    pub fn of(state: &Path) -> Self {
        Self::below(&std::env::temp_dir(), state)
    }

    /// The same below another folder.
    pub fn below(temporary: &Path, state: &Path) -> Self {
        let state = state.canonicalize().unwrap_or_else(|_| state.to_owned());
        let mut told = state.as_os_str().as_encoded_bytes().to_vec();
        // Two containers may share the temporary folder, and have different projects under one path.
        if let Ok(facts) = fs::metadata(&state) {
            told.extend(format!("\0{}\0{}", facts.dev(), facts.ino()).into_bytes());
        }
        let told: String = digest_of(&told).chars().take(TOLD).collect();
        Self { root: temporary.join(format!("shipagent-{told}")) }
    }

    /// The remaining folders of earlier daemons. Call it before any command runs.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        if !self.is_ours() {
            return Vec::new();
        }
        fs::read_dir(&self.root).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    /// A folder for one command; removed when it is dropped.
    pub(super) fn folder(&self) -> io::Result<TempDir> {
        match DirBuilder::new().mode(0o700).create(&self.root) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if self.is_ours() {
            return tempfile::Builder::new().prefix("command-").tempdir_in(&self.root);
        }
        // Every user may write to the temporary folder: a folder of another user is not used.
        tracing::warn!(path = %self.root.display(), "scratch folder belongs to another user, using a new one");
        tempfile::Builder::new().prefix("shipagent-").tempdir()
    }

    fn is_ours(&self) -> bool {
        let owner = rustix::process::geteuid().as_raw();
        fs::symlink_metadata(&self.root)
            .is_ok_and(|facts| facts.is_dir() && facts.uid() == owner && facts.mode() & 0o077 == 0)
    }
}

/// Removes the remaining folders, as far as possible.
pub fn sweep(left_behind: Vec<PathBuf>) {
    for path in left_behind {
        if let Err(error) = remove(&path) {
            tracing::warn!(path = %path.display(), %error, "stale scratch folder not removed");
        }
    }
}

/// Removes a folder, also where a command has made parts of it unwritable.
fn remove(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    make_writable(path)?;
    fs::remove_dir_all(path)
}

/// Makes a folder and its subfolders writable. Uses the opened descriptor, never the name again: a command that is
/// still running may put a link there.
fn make_writable(folder: &Path) -> io::Result<()> {
    let opened = open_itself(folder)?;
    let itself = name_of(&opened, folder);
    fs::set_permissions(&itself, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(&itself)?.flatten() {
        // A link is not a folder, even if its target is one.
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

const NO_LINK: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder that may be unreadable, and is no link.
#[cfg(target_os = "linux")]
fn open_itself(folder: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(folder, NO_LINK | OFlags::PATH, Mode::empty())?)
}

#[cfg(target_os = "linux")]
fn name_of(opened: &OwnedFd, _folder: &Path) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

/// A folder that is no link.
#[cfg(not(target_os = "linux"))]
fn open_itself(folder: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(folder, NO_LINK, Mode::empty())?)
}

/// This system has no other name for it.
#[cfg(not(target_os = "linux"))]
fn name_of(_opened: &OwnedFd, folder: &Path) -> PathBuf {
    folder.to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_dead_daemon_left_is_swept_and_nothing_of_another_project() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, other) = (dir.path().join("a/.ship"), dir.path().join("b/.ship"));
        let scratch = Scratch::below(dir.path(), &mine);
        let others = Scratch::below(dir.path(), &other);
        // As if the daemon had died: the folders are not dropped.
        let (left, kept) = (scratch.folder().unwrap().keep(), others.folder().unwrap().keep());
        fs::create_dir_all(left.join("cache/deep")).unwrap();
        fs::File::create(left.join("cache/deep/file")).unwrap();
        let outside = dir.path().join("outside");
        fs::File::create(&outside).unwrap();
        symlink(&outside, left.join("link")).unwrap();
        fs::set_permissions(left.join("cache/deep"), Permissions::from_mode(0o500)).unwrap();
        let scratch = Scratch::below(dir.path(), &mine);
        let found = scratch.left_behind();
        assert_eq!(found, std::slice::from_ref(&left));
        let fresh = scratch.folder().unwrap();
        sweep(found);
        assert!(!left.exists() && fresh.path().is_dir() && kept.is_dir() && outside.is_file());
        assert!(others.left_behind() == [kept]);
    }

    #[test]
    fn a_folder_that_is_not_ours_alone_is_neither_used_nor_swept() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(dir.path(), Path::new("/nowhere/.ship"));
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::File::create(elsewhere.join("file")).unwrap();
        symlink(&elsewhere, &scratch.root).unwrap();
        assert!(scratch.left_behind().is_empty());
        assert!(!scratch.folder().unwrap().path().starts_with(&scratch.root));
        fs::remove_file(&scratch.root).unwrap();
        fs::create_dir(&scratch.root).unwrap();
        fs::set_permissions(&scratch.root, Permissions::from_mode(0o777)).unwrap();
        assert!(!scratch.folder().unwrap().path().starts_with(&scratch.root));
    }

    #[test]
    fn two_projects_under_one_path_have_two_folders() {
        let dir = tempfile::tempdir().unwrap();
        let (state, moved) = (dir.path().join(".ship"), dir.path().join("moved"));
        fs::create_dir(&state).unwrap();
        let one = Scratch::below(dir.path(), &state).root;
        assert_eq!(Scratch::below(dir.path(), &state).root, one);
        // As in another container: the same path, and another folder.
        fs::rename(&state, &moved).unwrap();
        fs::create_dir(&state).unwrap();
        assert_ne!(Scratch::below(dir.path(), &state).root, one);
    }

    #[test]
    fn what_a_link_leads_to_is_not_made_writable() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, link) = (dir.path().join("outside"), dir.path().join("link"));
        fs::create_dir(&outside).unwrap();
        fs::set_permissions(&outside, Permissions::from_mode(0o500)).unwrap();
        symlink(&outside, &link).unwrap();
        assert!(make_writable(&link).is_err());
        assert_eq!(fs::metadata(&outside).unwrap().mode() & 0o777, 0o500);
        // A folder that cannot be read is removed too.
        let shut = dir.path().join("shut");
        fs::create_dir_all(shut.join("inside")).unwrap();
        for folder in [shut.join("inside"), shut.clone()] {
            fs::set_permissions(&folder, Permissions::from_mode(0o000)).unwrap();
        }
        make_writable(&shut).unwrap();
        assert_eq!(fs::metadata(shut.join("inside")).unwrap().mode() & 0o777, 0o700);
    }
}
