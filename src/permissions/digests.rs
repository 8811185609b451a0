//! Digests of the files that a call depends on, bounded in bytes and time. Files beyond the bounds are identified by
//! inode, size and times, of which the change time cannot be set by hand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Stat};

use crate::files::{self, DirOpenError, ProjectDir};
use crate::policy::fingerprint::{ContentDigest, FileDigest, digest_of};
use crate::policy::paths::is_reserved_name;
use crate::policy::shell::{Dependencies, Dependency, has_script_name, named_in};

/// Most bytes read for one call.
const MOST_BYTES: u64 = 64 << 20;
/// Time limit for reading; the rest of judging needs time as well.
const TIME: Duration = Duration::from_secs(3);
/// Most bytes of a file that are searched for names of other files, and most files that are followed.
const SEARCHED_BYTES: usize = 256 << 10;
const MOST_FOLLOWED: usize = 256;
/// Most entries of a folder that are compared.
const MOST_ENTRIES: usize = 4_096;

/// The files that a call depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallFiles {
    /// The files it runs, and those that they load by convention.
    pub(super) scripts: Vec<FileDigest>,
    /// The other files it names.
    pub(super) operands: Vec<FileDigest>,
    /// Whether some of the code it runs is unknown until it runs, or could not be read.
    pub(super) undetermined: bool,
}

impl CallFiles {
    /// All files, for the fingerprint.
    pub(super) fn all(&self) -> Vec<FileDigest> {
        self.scripts.iter().chain(&self.operands).cloned().collect()
    }
}

/// How the files that a command names, but does not run, are bound to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileOperands {
    /// By their content.
    Content,
    /// By their location: a read-only command shows what is there, also in a log that grows.
    PathLocation,
}

/// The files that a command depends on. Missing files are left out: creating one later changes the list.
pub(super) fn files_of(
    project: &Path,
    cwd: &str,
    depends: &Dependencies,
    operands: FileOperands,
) -> CallFiles {
    let Ok(dir) = ProjectDir::open(project) else {
        return CallFiles { undetermined: true, ..CallFiles::default() };
    };
    let mut digests = Digests {
        project,
        dir,
        left: MOST_BYTES,
        until: Instant::now() + TIME,
        known: BTreeMap::new(),
        undetermined: false,
    };
    let scripts = digests.of(cwd, &depends.scripts, Follow::Names);
    let undetermined = depends.undetermined || digests.undetermined;
    let mut operands = match operands {
        FileOperands::Content => digests.of(cwd, &depends.operands, Follow::Nothing),
        FileOperands::PathLocation => digests.places(&depends.operands),
    };
    operands.extend(digests.targets(&depends.written));
    CallFiles { scripts, operands, undetermined }
}

/// The digest of one file, by its path relative to the project; without a digest where it is missing.
pub(super) fn digest_file(project: &Path, relative: &Path) -> FileDigest {
    let path = relative.to_string_lossy().into_owned();
    let files = BTreeSet::from([Dependency::File(path.clone())]);
    let depends = Dependencies { operands: files, ..Dependencies::default() };
    let found = files_of(project, "", &depends, FileOperands::Content).operands.into_iter().next();
    FileDigest { path, digest: found.and_then(|file| file.digest) }
}

/// Whether files that a file names are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    Names,
    Nothing,
}

/// Whether the folders in a folder count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    Ignored,
    Included,
}

struct Digests<'a> {
    project: &'a Path,
    dir: ProjectDir,
    left: u64,
    until: Instant,
    /// Files that were read, by resolved path.
    known: BTreeMap<PathBuf, (String, Option<String>)>,
    undetermined: bool,
}

impl Digests<'_> {
    fn of(&mut self, cwd: &str, depends: &BTreeSet<Dependency>, follow: Follow) -> Vec<FileDigest> {
        let mut out = BTreeSet::new();
        let mut todo: VecDeque<(Dependency, u8, bool)> =
            depends.iter().cloned().map(|one| (one, 0, true)).collect();
        let mut followed: BTreeSet<Dependency> = depends.clone();
        while let Some((dependency, depth, is_run)) = todo.pop_front() {
            match &dependency {
                Dependency::Folder(folder) => out.extend(self.folder(folder, Below::Ignored)),
                Dependency::Tree(folder) => out.extend(self.folder(folder, Below::Included)),
                Dependency::File(path) => {
                    let Some((relative, digest, text)) = self.file(path) else { continue };
                    if !is_run && !has_script_name(&relative) && !self.is_executable(&relative) {
                        continue;
                    }
                    out.insert(FileDigest { path: relative.clone(), digest: Some(digest) });
                    if follow == Follow::Nothing || depth > 1 {
                        continue;
                    }
                    for (next, is_run) in next_files(cwd, &relative, text.as_deref().unwrap_or_default()) {
                        if followed.len() < depends.len() + MOST_FOLLOWED && followed.insert(next.clone()) {
                            todo.push_back((next, depth + 1, is_run));
                        }
                    }
                }
            }
        }
        out.into_iter().collect()
    }

    fn is_executable(&self, relative: &str) -> bool {
        self.dir.stat(Path::new(relative)).is_ok_and(|stat| stat.st_mode & 0o111 != 0)
    }

    /// The resolved paths of files that are only written: they may not exist yet.
    fn targets(&self, paths: &BTreeSet<String>) -> Vec<FileDigest> {
        let target = |path: &String| {
            let relative = files::follow(self.project, &self.dir, path);
            let relative =
                relative.map_or_else(|| "elsewhere".to_owned(), |to| to.to_string_lossy().into_owned());
            FileDigest { path: path.clone(), digest: Some(format!("written at {relative}")) }
        };
        paths.iter().map(target).collect()
    }

    /// The locations of files, without reading them.
    fn places(&self, depends: &BTreeSet<Dependency>) -> Vec<FileDigest> {
        let mut out = BTreeSet::new();
        for dependency in depends {
            let (Dependency::File(path) | Dependency::Folder(path) | Dependency::Tree(path)) = dependency;
            let Some(relative) = files::follow(self.project, &self.dir, path) else { continue };
            let Ok(stat) = self.dir.stat(&relative) else { continue };
            let kind = format!("{:?}", FileType::from_raw_mode(stat.st_mode));
            out.insert(FileDigest { path: relative.to_string_lossy().into_owned(), digest: Some(kind) });
        }
        out.into_iter().collect()
    }

    /// A file's resolved path, its digest and, where it is short, its text; `None` where there is no file.
    fn file(&mut self, path: &str) -> Option<(String, String, Option<String>)> {
        let relative = files::follow(self.project, &self.dir, path)?;
        let shown = relative.to_string_lossy().into_owned();
        if let Some((digest, text)) = self.known.get(&relative) {
            return Some((shown, digest.clone(), text.clone()));
        }
        let (digest, text) = match self.dir.open_file(&relative) {
            Ok(opened) => self.content(opened),
            Err(DirOpenError::NotRegular(FileType::Directory)) => return None,
            Err(DirOpenError::Io(error)) if is_missing(&error) => return None,
            Err(DirOpenError::NotRegular(_) | DirOpenError::Changed | DirOpenError::Io(_)) => {
                self.undetermined = true;
                let about = self.dir.stat(&relative).map_or_else(|_| String::new(), |stat| identity(&stat));
                (format!("unreadable {about}"), None)
            }
        };
        self.known.insert(relative, (digest.clone(), text.clone()));
        Some((shown, digest, text))
    }

    /// The digest of the whole content, within the call's bounds.
    fn content(&mut self, mut opened: files::OpenedFile) -> (String, Option<String>) {
        let beyond = |stat: &Stat| (format!("unread {}", identity(stat)), None);
        if opened.size() > self.left {
            return beyond(&opened.stat);
        }
        let mut digest = ContentDigest::new();
        let mut text = Vec::new();
        let mut chunk = vec![0; 64 << 10];
        loop {
            let read = match opened.file.read(&mut chunk) {
                Ok(read) if self.left >= read as u64 && Instant::now() < self.until => read,
                Ok(_) => return beyond(&opened.stat),
                Err(_) => {
                    self.undetermined = true;
                    return beyond(&opened.stat);
                }
            };
            if read == 0 {
                let text = (text.len() <= SEARCHED_BYTES).then(|| String::from_utf8(text).ok()).flatten();
                return (digest.finish(), text);
            }
            self.left -= read as u64;
            let piece = chunk.get(..read).unwrap_or_default();
            digest.add(piece);
            if text.len() <= SEARCHED_BYTES {
                text.extend_from_slice(piece);
            }
        }
    }

    /// The files in a folder, by identity, size and times.
    fn folder(&mut self, path: &str, below: Below) -> Option<FileDigest> {
        let top = files::follow(self.project, &self.dir, path)?;
        let sign = if below == Below::Included { "**" } else { "" };
        let shown = format!("{}/{sign}", top.to_string_lossy());
        let mut lines = BTreeSet::new();
        let mut todo = vec![top];
        while let Some(folder) = todo.pop() {
            let listed = match self.dir.list(&folder) {
                Ok(listed) => listed,
                Err(DirOpenError::Io(error)) if is_missing(&error) && lines.is_empty() => return None,
                Err(_) => {
                    self.undetermined = true;
                    return Some(FileDigest { path: shown, digest: Some("unreadable".to_owned()) });
                }
            };
            for entry in listed.take(MOST_ENTRIES) {
                let Ok((name, kind)) = entry else {
                    self.undetermined = true;
                    break;
                };
                // The daemon's own files, which no command sees, change all the time.
                if is_reserved_name(&name.to_string_lossy()) {
                    continue;
                }
                let place = folder.join(&name);
                if kind == FileType::Directory && below == Below::Included && todo.len() < MOST_ENTRIES {
                    todo.push(place);
                } else if kind != FileType::Directory && !name.to_string_lossy().ends_with(".sample") {
                    let about = self.dir.stat(&place).map_or_else(|_| String::new(), |stat| identity(&stat));
                    lines.insert(format!("{} {about}", place.to_string_lossy()));
                }
            }
            if lines.len() >= MOST_ENTRIES || Instant::now() >= self.until {
                self.undetermined = true;
                break;
            }
        }
        let all: Vec<String> = lines.into_iter().collect();
        Some(FileDigest { path: shown, digest: Some(digest_of(all.join("\n").as_bytes())) })
    }
}

/// The files that a script or build file names, relative to its own folder and to the command's folder, and whether it
/// certainly runs them.
fn next_files(cwd: &str, relative: &str, text: &str) -> Vec<(Dependency, bool)> {
    let own = relative.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut out = Vec::new();
    for (name, is_run) in named_in(relative, text) {
        for folder in [own, cwd] {
            let path = Path::new(folder).join(&name);
            out.push((Dependency::File(path.to_string_lossy().into_owned()), is_run));
        }
    }
    out
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Identifies a file without reading it.
fn identity(stat: &Stat) -> String {
    let Stat { st_dev, st_ino, st_size, st_mode, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } =
        stat;
    format!("{st_dev}:{st_ino} {st_mode:o} {st_size} {st_mtime}.{st_mtime_nsec} {st_ctime}.{st_ctime_nsec}")
}
