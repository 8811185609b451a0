//! Opening what was judged, and making sure that what was opened is what was judged.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::confine::{Confinement, Inside};
use super::reserved::is_reserved_name;
use crate::ports::ToolFailure;

/// A regular file, open for reading.
#[derive(Debug)]
pub(super) struct Opened {
    /// The file.
    pub(super) file: File,
    /// Its length when it was opened.
    pub(super) size: u64,
}

/// Never waits for a writer, never becomes our terminal, never follows a last link, is not inherited.
const CAREFULLY: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Confinement {
    /// Opens a regular file for reading. Folders, pipes, sockets and devices are refused without being
    /// opened; a file that was exchanged for a link since it was judged is refused as well.
    pub(super) fn open(&self, inside: &Inside) -> Result<Opened, ToolFailure> {
        let path = self.absolute(inside);
        let seen = fs::symlink_metadata(&path).map_err(|error| failed(inside, &error))?;
        must_be_regular(inside, &seen)?;
        let file = self.open_beneath(inside).map_err(|error| match error.raw_os_error() {
            Some(code) if is_link_trouble(code) => changed(inside),
            _ => failed(inside, &error),
        })?;
        let opened = file.metadata().map_err(|error| failed(inside, &error))?;
        must_be_regular(inside, &opened)?;
        if opened.nlink() > 1 && self.is_another_name_of_a_secret(&opened) {
            return Err(ToolFailure::Refused(format!("{} is another name of a secret file", inside.shown())));
        }
        if is_on_a_kernel_file_system(&file) {
            return Err(special(inside, "a file of the kernel"));
        }
        Ok(Opened { file, size: opened.len() })
    }

    /// Opens by a walk from the project down in which no part may be a link.
    #[cfg(target_os = "linux")]
    fn open_beneath(&self, inside: &Inside) -> io::Result<File> {
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;

        let root = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(self.project(), root, Mode::empty())?;
        let no_links = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&root, inside.relative(), CAREFULLY, Mode::empty(), no_links) {
            Ok(file) => Ok(File::from(file)),
            // An old kernel, or a container that forbids the call.
            Err(Errno::NOSYS | Errno::PERM) => self.open_and_compare(inside),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_beneath(&self, inside: &Inside) -> io::Result<File> {
        self.open_and_compare(inside)
    }

    /// Opens by name, then resolves the name again: the same file must stand at the same place.
    fn open_and_compare(&self, inside: &Inside) -> io::Result<File> {
        let path = self.absolute(inside);
        let file = File::from(rustix::fs::open(&path, CAREFULLY, Mode::empty())?);
        let (opened, there) = (file.metadata()?, fs::symlink_metadata(&path)?);
        let same = path.canonicalize()? == path && same_file(&opened, &there);
        if same { Ok(file) } else { Err(rustix::io::Errno::LOOP.into()) }
    }

    /// A hard link has no direction: the only way to tell is to compare with the secrets themselves.
    fn is_another_name_of_a_secret(&self, opened: &Metadata) -> bool {
        let Ok(entries) = fs::read_dir(self.project()) else { return true };
        entries
            .flatten()
            .filter(|entry| is_reserved_name(&entry.file_name()))
            .filter_map(|entry| fs::metadata(entry.path()).ok())
            .any(|secret| same_file(&secret, opened))
    }
}

fn must_be_regular(inside: &Inside, metadata: &Metadata) -> Result<(), ToolFailure> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        let shown = inside.shown();
        return Err(ToolFailure::BadArguments(format!(
            "{shown} is a directory; use list_files to see into it"
        )));
    }
    if kind.is_symlink() {
        return Err(changed(inside));
    }
    let name = if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(special(inside, name))
}

fn same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Files of `/proc` and its like can block, change something, or show another process.
#[cfg(target_os = "linux")]
fn is_on_a_kernel_file_system(file: &File) -> bool {
    const PROC: i64 = 0x9fa0;
    const SYSFS: i64 = 0x6265_6572;
    const DEBUGFS: i64 = 0x6462_6720;
    const TRACEFS: i64 = 0x7472_6163;
    const CGROUP2: i64 = 0x6367_7270;
    let Ok(system) = rustix::fs::fstatfs(file) else { return false };
    [PROC, SYSFS, DEBUGFS, TRACEFS, CGROUP2]
        .iter()
        .any(|magic| i128::from(*magic) == i128::from(system.f_type))
}

#[cfg(not(target_os = "linux"))]
fn is_on_a_kernel_file_system(_file: &File) -> bool {
    false
}

fn is_link_trouble(code: i32) -> bool {
    use rustix::io::Errno;
    [Errno::LOOP, Errno::XDEV].iter().any(|errno| errno.raw_os_error() == code)
}

fn failed(inside: &Inside, error: &io::Error) -> ToolFailure {
    let shown = inside.shown();
    ToolFailure::Failed(match error.kind() {
        io::ErrorKind::NotFound => format!("{shown} does not exist; use list_files to see what does"),
        io::ErrorKind::PermissionDenied => format!("{shown} cannot be read: permission denied"),
        _ => format!("{shown} cannot be read: {error}"),
    })
}

fn changed(inside: &Inside) -> ToolFailure {
    ToolFailure::Refused(format!("{} changed while it was being opened", inside.shown()))
}

fn special(inside: &Inside, kind: &str) -> ToolFailure {
    ToolFailure::Refused(format!("{} is {kind}, not a regular file", inside.shown()))
}

/// Where a folder is expected: that it is one, or why not.
pub(super) fn must_be_directory(inside: &Inside, path: &Path) -> Result<(), ToolFailure> {
    let metadata = fs::symlink_metadata(path).map_err(|error| failed(inside, &error))?;
    if metadata.is_dir() {
        return Ok(());
    }
    let shown = inside.shown();
    Err(ToolFailure::BadArguments(format!("{shown} is not a directory; use read_file to read a file")))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::tools::testing::Project;

    fn open(project: &Project, path: &str) -> Result<Opened, ToolFailure> {
        let confinement = project.confinement();
        confinement.open(&confinement.resolve(path)?)
    }

    #[test]
    fn a_file_swapped_for_a_link_after_the_judgement_is_not_opened() {
        let project = Project::new();
        let outside = tempfile::NamedTempFile::new().unwrap();
        project.file("dir/a.txt", "mine");
        let confinement = project.confinement();
        let inside = confinement.resolve("dir/a.txt").unwrap();

        fs::remove_file(project.path("dir/a.txt")).unwrap();
        symlink(outside.path(), project.path("dir/a.txt")).unwrap();
        assert!(matches!(confinement.open(&inside), Err(ToolFailure::Refused(_))));
        assert!(confinement.open_and_compare(&inside).is_err());

        fs::remove_dir_all(project.path("dir")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::copy(outside.path(), elsewhere.path().join("a.txt")).unwrap();
        symlink(elsewhere.path(), project.path("dir")).unwrap();
        assert!(matches!(confinement.open(&inside), Err(ToolFailure::Refused(_))));
        assert!(confinement.open_and_compare(&inside).is_err());
    }

    #[test]
    fn special_files_are_refused_without_waiting() {
        let project = Project::new();
        let pipe = project.path("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        let _listener = UnixListener::bind(project.path("socket")).unwrap();
        for (path, kind) in [("pipe", "a pipe"), ("socket", "a socket")] {
            let failure = open(&project, path).unwrap_err();
            assert_eq!(failure, ToolFailure::Refused(format!("{path} is {kind}, not a regular file")));
        }
    }

    #[test]
    fn a_second_name_of_a_secret_is_refused_and_of_another_file_is_not() {
        let project = Project::new();
        project.file(".env", "KEY=1");
        project.file("a.txt", "a");
        fs::hard_link(project.path(".env"), project.path("plain.txt")).unwrap();
        fs::hard_link(project.path("a.txt"), project.path("b.txt")).unwrap();
        assert!(matches!(open(&project, "plain.txt"), Err(ToolFailure::Refused(_))));
        let mut text = String::new();
        open(&project, "b.txt").unwrap().file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a");
    }

    #[test]
    fn the_way_without_openat2_opens_the_same_files() {
        let project = Project::new();
        project.file("src/a.txt", "a");
        let confinement = project.confinement();
        let inside = confinement.resolve("src/a.txt").unwrap();
        assert!(confinement.open_and_compare(&inside).is_ok());
        assert_eq!(confinement.open(&inside).unwrap().size, 1);
    }

    #[test]
    fn what_is_not_there_is_said_plainly() {
        let project = Project::new();
        project.file("src/a.txt", "a");
        assert!(open(&project, "b.txt").unwrap_err().to_string().contains("does not exist"));
        assert!(open(&project, "src").unwrap_err().to_string().contains("use list_files"));
    }
}
