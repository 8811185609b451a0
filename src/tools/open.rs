//! Opens a resolved file, and checks that the opened file is the resolved one.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::FileType;

use super::confine::{Confinement, Inside};
use crate::files::{DirOpenError, FileId, OpenedFile, ProjectDir};
use crate::policy::paths::PathClass;
use crate::ports::ToolFailure;

/// A regular file, open for reading.
#[derive(Debug)]
pub(super) struct OpenedPath {
    pub(super) file: File,
    /// Its length at that time.
    pub(super) size: u64,
}

impl Confinement {
    /// Opens a regular file for reading. Folders, pipes, sockets and devices are refused without being opened; a file
    /// that was replaced by a link since it was resolved is refused as well.
    pub(super) fn open(&self, inside: &Inside) -> Result<OpenedPath, ToolFailure> {
        let dir = ProjectDir::open(self.project()).map_err(|error| failed(inside, &error))?;
        let opened = dir.open_file(inside.relative()).map_err(|error| not_opened(inside, error))?;
        if opened.has_other_names() {
            self.check_other_names(&dir, inside, &opened)?;
        }
        if is_on_a_kernel_file_system(&opened.file) {
            return Err(special(inside, "a file of the kernel"));
        }
        Ok(OpenedPath { size: opened.size(), file: opened.file })
    }

    /// Opens a regular file for reading; `None` where there is none.
    pub(super) fn open_if_there(&self, inside: &Inside) -> Result<Option<OpenedPath>, ToolFailure> {
        let dir = ProjectDir::open(self.project()).map_err(|error| failed(inside, &error))?;
        match dir.stat(inside.relative()) {
            Err(DirOpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => self.open(inside).map(Some),
        }
    }

    /// Refuses a file that has another name with a stricter class than the one it was judged by.
    fn check_other_names(
        &self,
        dir: &ProjectDir,
        inside: &Inside,
        opened: &OpenedFile,
    ) -> Result<(), ToolFailure> {
        let known = self.special_files(dir);
        match known.class_of(FileId::of(&opened.stat)) {
            Some(class) if class >= PathClass::Secret && class > inside.class() => {
                Err(ToolFailure::Refused(format!("{} is another name of a secret file", inside.shown())))
            }
            Some(_) => Ok(()),
            None if known.is_complete() || !self.is_unasked() => Ok(()),
            None => Err(ToolFailure::Refused(format!(
                "{} has other names, and not every file could be compared",
                inside.shown()
            ))),
        }
    }
}

fn not_opened(inside: &Inside, error: DirOpenError) -> ToolFailure {
    match error {
        DirOpenError::NotRegular(FileType::Directory) => ToolFailure::BadArguments(format!(
            "{} is a directory; use list_files to see into it",
            inside.shown()
        )),
        DirOpenError::NotRegular(FileType::Fifo) => special(inside, "a pipe"),
        DirOpenError::NotRegular(FileType::Socket) => special(inside, "a socket"),
        DirOpenError::NotRegular(_) => special(inside, "a device"),
        DirOpenError::Changed => changed(inside),
        DirOpenError::Io(error) if error.kind() == io::ErrorKind::IsADirectory => ToolFailure::BadArguments(
            format!("{} is a directory; use list_files to see into it", inside.shown()),
        ),
        DirOpenError::Io(error) => failed(inside, &error),
    }
}

/// Files of `/proc` and the like can block, change something, or show another process.
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

/// Checks that a path is a folder.
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

    fn open(project: &Project, path: &str) -> Result<OpenedPath, ToolFailure> {
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

        fs::remove_dir_all(project.path("dir")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::copy(outside.path(), elsewhere.path().join("a.txt")).unwrap();
        symlink(elsewhere.path(), project.path("dir")).unwrap();
        assert!(matches!(confinement.open(&inside), Err(ToolFailure::Refused(_))));
    }

    #[test]
    fn special_files_are_refused_without_waiting() {
        let project = Project::new();
        let pipe = project.path("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
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
    fn a_second_name_that_a_walk_found_is_compared_as_well() {
        let project = Project::new();
        project.file("deep/down/here/id_rsa", "key");
        fs::hard_link(project.path("deep/down/here/id_rsa"), project.path("plain.txt")).unwrap();
        let confinement = project.confinement();
        let inside = confinement.within_reach(Path::new("plain.txt")).unwrap();
        assert!(matches!(confinement.open(&inside), Err(ToolFailure::Refused(_))));
    }

    #[test]
    fn what_is_not_there_is_said_plainly() {
        let project = Project::new();
        project.file("src/a.txt", "a");
        assert!(open(&project, "b.txt").unwrap_err().to_string().contains("does not exist"));
        assert!(open(&project, "src").unwrap_err().to_string().contains("use list_files"));
    }
}
