//! From a path as a tool call writes it to the file it names: every link is read and followed by hand, below the project
//! only. Nothing outside the project is looked at, and no file is opened.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::dir::{FileId, ProjectDir, step};
use super::hard_links::SpecialFiles;
use crate::domain::ThreadId;
use crate::policy::paths::{PathClass, ResolvedPath, classify};

/// Most links on one path, as on Linux.
const LINKS: usize = 40;

/// The one folder of the daemon's state that a thread's calls may use, relative to the project.
pub fn own_files_of(thread: &ThreadId) -> String {
    format!(".ship/files/{}", thread.file_name())
}

/// Resolves and classifies a path that a tool call names: relative to the project, or absolute and below it. White
/// space around it is left out, here and nowhere else. One that does not exist is resolved as far as it does.
pub fn resolve(project: &Path, own_files: &str, written: &str) -> ResolvedPath {
    let path = written.trim();
    if path.starts_with('~') {
        let written = written.to_owned();
        return ResolvedPath {
            written,
            relative: PathBuf::new(),
            class: PathClass::Outside,
            unchecked: None,
        };
    }
    ResolvedPath { written: written.to_owned(), ..resolve_exact(project, own_files, path) }
}

/// Resolves and classifies a path letter by letter, as a program would open it: a word of a shell command.
pub fn resolve_exact(project: &Path, own_files: &str, written: &str) -> ResolvedPath {
    let resolved = |relative: PathBuf, class: PathClass, unchecked: Option<String>| ResolvedPath {
        written: written.to_owned(),
        relative,
        class,
        unchecked,
    };
    let outside = || resolved(PathBuf::new(), PathClass::Outside, None);
    if written.contains('\0') {
        return outside();
    }
    let Ok(path) = below(project, Path::new(written)) else { return outside() };
    let as_written = classify(&path.to_string_lossy(), own_files);
    let dir = match ProjectDir::open(project) {
        Ok(dir) => dir,
        Err(error) => return resolved(path.to_owned(), as_written, Some(error.to_string())),
    };
    let mut walk = Walk::new(project, &dir);
    match walk.run(path) {
        Ok(()) => {}
        Err(WalkStop::Outside) => return outside(),
        Err(WalkStop::Failed(error)) => {
            return resolved(path.to_owned(), as_written, Some(std::io::Error::from(error).to_string()));
        }
    }
    let (relative, found) = walk.end();
    let mut class = as_written.max(classify(&relative.to_string_lossy(), own_files));
    let mut unchecked = None;
    match class_by_other_names(project, &dir, own_files, &relative, found.as_ref()) {
        Ok(other) => class = class.max(other),
        Err(why) => unchecked = Some(why),
    }
    resolved(relative, class, unchecked)
}

/// Where a path leads to inside an open project, letter by letter; nothing where it leads out or cannot be followed.
/// Looks at names and links only.
pub fn follow(project: &Path, dir: &ProjectDir, path: &str) -> Option<PathBuf> {
    let path = below(project, Path::new(path)).ok()?;
    let mut walk = Walk::new(project, dir);
    walk.run(path).ok()?;
    Some(walk.end().0)
}

/// The path from the project down, by its letters; fails for an absolute one elsewhere.
fn below<'a>(project: &Path, path: &'a Path) -> Result<&'a Path, WalkStop> {
    if path.is_relative() {
        return Ok(path);
    }
    path.strip_prefix(project).map_err(|_| WalkStop::Outside)
}

/// The class that hard links, and links at the top of the project, give to a file: `.env` may be a link to it.
fn class_by_other_names(
    project: &Path,
    dir: &ProjectDir,
    own_files: &str,
    relative: &Path,
    found: Option<&Stat>,
) -> Result<PathClass, String> {
    let mut class = class_by_top_links(project, dir, own_files, relative)?;
    let Some(stat) = found else { return Ok(class) };
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if is_regular && i128::from(stat.st_nlink) > 1 && class < PathClass::Reserved {
        let special = SpecialFiles::find(dir, own_files);
        match special.class_of(FileId::of(stat)) {
            Some(other) => class = class.max(other),
            None if special.is_complete() => {}
            None => return Err("it has other names, and not every file could be compared".to_owned()),
        }
    }
    Ok(class)
}

fn class_by_top_links(
    project: &Path,
    dir: &ProjectDir,
    own_files: &str,
    relative: &Path,
) -> Result<PathClass, String> {
    let mut class = PathClass::Ordinary;
    for entry in dir.list(Path::new("")).map_err(|error| error.to_string())? {
        let (name, kind) = entry.map_err(|error| error.to_string())?;
        let of_name = classify(&name.to_string_lossy(), own_files);
        if of_name < PathClass::Secret || !matches!(kind, FileType::Symlink | FileType::Unknown) {
            continue;
        }
        let mut walk = Walk::new(project, dir);
        if walk.run(Path::new(&name)).is_ok() {
            let (target, _) = walk.end();
            let is_itself = target == Path::new(&name);
            if !is_itself && !target.as_os_str().is_empty() && relative.starts_with(&target) {
                class = class.max(of_name);
            }
        }
    }
    Ok(class)
}

/// Why a walk did not reach its end.
#[derive(Debug)]
enum WalkStop {
    Outside,
    Failed(Errno),
}

impl From<Errno> for WalkStop {
    fn from(error: Errno) -> Self {
        Self::Failed(error)
    }
}

/// A walk from the project down, name by name.
#[derive(Debug)]
struct Walk<'a> {
    project: &'a Path,
    root: &'a ProjectDir,
    /// The folders entered so far, below the project.
    folders: Vec<OwnedFd>,
    /// The names of the folders, and after them of what is no folder or does not exist.
    names: Vec<OsString>,
    links: usize,
    /// What the last name is, where it exists and is no folder.
    last: Option<Stat>,
}

impl<'a> Walk<'a> {
    fn new(project: &'a Path, root: &'a ProjectDir) -> Self {
        Self { project, root, folders: Vec::new(), names: Vec::new(), links: 0, last: None }
    }

    fn run(&mut self, path: &Path) -> Result<(), WalkStop> {
        let mut todo: Vec<OsString> = Vec::new();
        push(&mut todo, path)?;
        while let Some(name) = todo.pop() {
            if name == ".." {
                self.up()?;
            } else if self.folders.len() < self.names.len() {
                // Below what does not exist, or is no folder.
                self.last = None;
                self.names.push(name);
            } else if let Some(target) = self.down(name)? {
                if target.is_absolute() {
                    self.folders.clear();
                    self.names.clear();
                }
                push(&mut todo, below(self.project, &target)?)?;
            }
        }
        Ok(())
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.folders.last().map_or_else(|| self.root.fd(), AsFd::as_fd)
    }

    fn up(&mut self) -> Result<(), WalkStop> {
        self.last = None;
        self.names.pop().ok_or(WalkStop::Outside)?;
        self.folders.truncate(self.names.len());
        Ok(())
    }

    /// Takes one name; gives the target of a link instead of following it.
    fn down(&mut self, name: OsString) -> Result<Option<PathBuf>, WalkStop> {
        self.last = None;
        let stat = match rustix::fs::statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => {
                self.names.push(name);
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                self.links += 1;
                if self.links > LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target = rustix::fs::readlinkat(self.here(), &name, Vec::new())?;
                Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
            }
            FileType::Directory => {
                let folder = step(self.here(), &name)?;
                self.folders.push(folder);
                self.names.push(name);
                Ok(None)
            }
            _ => {
                self.names.push(name);
                self.last = Some(stat);
                Ok(None)
            }
        }
    }

    fn end(self) -> (PathBuf, Option<Stat>) {
        (self.names.iter().collect(), self.last)
    }
}

/// Puts the names of a relative path on the stack, the first one on top.
fn push(todo: &mut Vec<OsString>, path: &Path) -> Result<(), WalkStop> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => names.push(OsString::from("..")),
            Component::Normal(name) => names.push(name.to_owned()),
            Component::RootDir | Component::Prefix(_) => return Err(WalkStop::Outside),
        }
    }
    todo.extend(names.into_iter().rev());
    Ok(())
}
