//! Finds files that may contain secrets below directories of a project: by name, and by another name of the same file.
//! Never follows a link, opens no file, and reports when the search was incomplete.

use std::collections::HashSet;
use std::fs::{self, FileType, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::policy::paths::{self, PathLocation};

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchLimits {
    pub(super) entries: usize,
    pub(super) secrets: usize,
    pub(super) time: Duration,
}

impl SearchLimits {
    /// For directories that must be searched completely.
    pub(super) const COMPLETE: Self =
        Self { entries: 200_000, secrets: 1_000, time: Duration::from_millis(2_000) };
    /// For the rest of the project.
    pub(super) const QUICK: Self = Self { entries: 20_000, secrets: 256, time: Duration::from_millis(500) };
}

/// Identifies a file independently of its name.
pub(super) type SecretFileId = (u64, u64);

/// The result of a search. All paths are relative to the project.
#[derive(Debug, Default)]
pub(super) struct SecretNames {
    /// Files, directories and links that may contain secrets. The content of such a directory is not listed.
    pub(super) secrets: Vec<PathBuf>,
    pub(super) links: Vec<PathBuf>,
    /// Other files that have more than one name.
    pub(super) shared: Vec<(PathBuf, SecretFileId)>,
    /// Whether everything was searched.
    pub(super) complete: bool,
}

/// Whether a path relative to the project may contain secrets.
pub(super) fn is_secret(relative: &Path) -> bool {
    paths::locate("", "", &relative.to_string_lossy()) == PathLocation::Secret
}

/// Searches the `trees`, which are relative to the project.
pub(super) fn search(project: &Path, trees: &[PathBuf], limits: SearchLimits) -> SecretNames {
    let mut search = SecretSearch {
        project,
        left: limits.entries,
        most: limits.secrets,
        deadline: Instant::now() + limits.time,
        found: SecretNames { complete: true, ..SecretNames::default() },
    };
    // Level by level: in a project that is too large, files near the top are found.
    let mut level: Vec<PathBuf> = trees.to_vec();
    while !level.is_empty() && search.found.complete {
        let mut next = Vec::new();
        for folder in level {
            search.look_into(&folder, &mut next);
        }
        level = next;
    }
    search.found
}

/// Files with an ordinary name that are also a secret file under another one; `None` where the project is too large to
/// know.
pub(super) fn other_names_of_secrets(
    project: &Path,
    shared: &[(PathBuf, SecretFileId)],
) -> Option<Vec<PathBuf>> {
    if shared.is_empty() {
        return Some(Vec::new());
    }
    let ids = shared_secrets(project)?;
    let other = |(path, id): &(PathBuf, SecretFileId)| ids.contains(id).then(|| path.clone());
    Some(shared.iter().filter_map(other).collect())
}

/// Every secret file of the project that may have another name; `None` where the project is too large to know.
pub(super) fn shared_secrets(project: &Path) -> Option<HashSet<SecretFileId>> {
    let all = search(project, &[PathBuf::new()], SearchLimits::COMPLETE);
    if all.complete { ids_of(project, &all.secrets) } else { None }
}

/// The same among the results of a search, as far as it got.
pub(super) fn other_names_in(project: &Path, found: &SecretNames) -> Vec<PathBuf> {
    let ids = if found.shared.is_empty() { None } else { ids_of(project, &found.secrets) };
    let known = |id| ids.as_ref().is_some_and(|ids| ids.contains(id));
    found.shared.iter().filter(|(_, id)| known(id)).map(|(path, _)| path.clone()).collect()
}

/// The other names, anywhere in the project, of secrets; `None` where the project is too large to know.
pub(super) fn other_names_of(project: &Path, secrets: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let ids = ids_of(project, secrets)?;
    if ids.is_empty() {
        return Some(Vec::new());
    }
    let all = search(project, &[PathBuf::new()], SearchLimits::COMPLETE);
    let names = all.shared.into_iter().filter(|(_, id)| ids.contains(id)).map(|(path, _)| path);
    all.complete.then(|| names.collect())
}

/// The files at and below secret paths that have more than one name; `None` where there are too many.
fn ids_of(project: &Path, secrets: &[PathBuf]) -> Option<HashSet<SecretFileId>> {
    let mut ids = HashSet::new();
    let mut left = SearchLimits::COMPLETE.entries;
    let mut todo: Vec<PathBuf> = secrets.iter().map(|path| project.join(path)).collect();
    while let Some(path) = todo.pop() {
        left = left.checked_sub(1)?;
        let Ok(facts) = fs::symlink_metadata(&path) else { continue };
        if facts.is_dir() {
            todo.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if facts.is_symlink() {
            // The secret is the link's target.
            ids.extend(fs::metadata(&path).ok().as_ref().map(id_of));
        } else if facts.nlink() > 1 {
            ids.insert(id_of(&facts));
        }
    }
    Some(ids)
}

#[derive(Debug)]
struct SecretSearch<'a> {
    project: &'a Path,
    left: usize,
    most: usize,
    deadline: Instant,
    found: SecretNames,
}

impl SecretSearch<'_> {
    /// Searches one directory, and adds its subdirectories to the list of the next level. A path that is no directory
    /// is checked itself.
    fn look_into(&mut self, folder: &Path, next: &mut Vec<PathBuf>) {
        let entries = match fs::read_dir(self.project.join(folder)) {
            Ok(entries) => entries,
            Err(error) => match error.kind() {
                ErrorKind::NotADirectory => return self.look_at(folder, None, next),
                // A path that is gone, or unreadable for us, is unreadable for our commands too.
                ErrorKind::NotFound | ErrorKind::PermissionDenied => return,
                _ => return self.found.complete = false,
            },
        };
        // The top of the project is always searched completely, because reserved files are there.
        let at_top = folder.as_os_str().is_empty();
        for entry in entries {
            let late = self.left.is_multiple_of(256) && Instant::now() >= self.deadline;
            if self.left == 0 || late || self.found.secrets.len() >= self.most {
                self.found.complete = false;
            }
            let Ok(entry) = entry else { return self.found.complete = false };
            if !self.found.complete && !at_top {
                return;
            }
            self.left = self.left.saturating_sub(1);
            self.look_at(&folder.join(entry.file_name()), entry.file_type().ok(), next);
        }
    }

    fn look_at(&mut self, path: &Path, kind: Option<FileType>, next: &mut Vec<PathBuf>) {
        if is_secret_entry(path) {
            return self.found.secrets.push(path.to_owned());
        }
        let Some(kind) = kind.or_else(|| Some(self.facts(path)?.file_type())) else { return };
        if kind.is_dir() {
            if !is_object_store(path) {
                next.push(path.to_owned());
            }
        } else if kind.is_symlink() {
            self.found.links.push(path.to_owned());
        } else if kind.is_file()
            && let Some(facts) = self.facts(path).filter(|facts| facts.nlink() > 1)
        {
            self.found.shared.push((path.to_owned(), id_of(&facts)));
        }
    }

    fn facts(&self, path: &Path) -> Option<Metadata> {
        fs::symlink_metadata(self.project.join(path)).ok()
    }
}

pub(super) fn id_of(facts: &Metadata) -> SecretFileId {
    (facts.dev(), facts.ino())
}

/// Whether an entry may contain secrets. The names above it are known not to be secret.
fn is_secret_entry(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let in_git = || path.iter().any(|name| name.to_string_lossy().to_lowercase().ends_with(".git"));
    paths::is_secret_name(&name) || (in_git() && is_secret(path))
}

/// Names chosen by git: hashes, and branches, which may have any name.
fn is_object_store(path: &Path) -> bool {
    let in_git = path.iter().rev().skip(1).any(|name| name == ".git");
    in_git && path.file_name().is_some_and(|name| ["objects", "refs", "logs"].iter().any(|own| name == *own))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::testing::Project;

    fn found(project: &Project, tree: &str, limits: SearchLimits) -> (Vec<String>, bool) {
        let mut found = search(project.root(), &[PathBuf::from(tree)], limits);
        found.secrets.sort();
        (found.secrets.iter().map(|path| path.to_string_lossy().into_owned()).collect(), found.complete)
    }

    #[test]
    fn secrets_are_found_at_any_depth_and_in_directories_of_others() {
        let project = Project::new();
        for file in [
            ".env",
            ".env.example",
            "a/b/c/d/e/f/g/h/server.pem",
            "node_modules/x/.npmrc",
            "src/secrets/token",
            "target/debug/id_rsa",
            ".git/refs/heads/secrets",
            ".git/objects/aa/x.key",
            ".git/credentials",
            "src/main.rs",
        ] {
            project.file(file, "");
        }
        symlink("a", project.path("b.key")).unwrap();
        let all = [
            ".env",
            ".git/credentials",
            "a/b/c/d/e/f/g/h/server.pem",
            "b.key",
            "node_modules/x/.npmrc",
            "src/secrets",
            "target/debug/id_rsa",
        ];
        assert_eq!(found(&project, "", SearchLimits::COMPLETE), (all.map(str::to_owned).to_vec(), true));
        assert_eq!(found(&project, "src", SearchLimits::COMPLETE), (vec!["src/secrets".to_owned()], true));
        assert_eq!(found(&project, "a/b/c/d/e/f/g/h/server.pem", SearchLimits::COMPLETE).0.len(), 1);
        assert_eq!(found(&project, "gone", SearchLimits::COMPLETE), (vec![], true));
    }

    #[test]
    fn a_search_that_ran_out_says_so_and_has_seen_the_whole_top() {
        let project = Project::new();
        for n in 0..50 {
            project.file(&format!("{n}.txt"), "");
        }
        project.file("deep/down/.env", "");
        project.file("zz.pem", "");
        for limits in [
            SearchLimits { entries: 3, ..SearchLimits::QUICK },
            SearchLimits { time: Duration::ZERO, ..SearchLimits::QUICK },
            SearchLimits { secrets: 0, ..SearchLimits::QUICK },
        ] {
            assert_eq!(found(&project, "", limits), (vec!["zz.pem".to_owned()], false), "{limits:?}");
        }
    }

    #[test]
    fn another_name_of_a_secret_is_found() {
        let project = Project::new();
        project.file(".env", "");
        project.file("secrets/token", "");
        project.file("a.txt", "");
        for (file, name) in [(".env", "src-env.txt"), ("secrets/token", "t.txt"), ("a.txt", "b.txt")] {
            fs::hard_link(project.path(file), project.path(name)).unwrap();
        }
        let found = search(project.root(), &[PathBuf::new()], SearchLimits::COMPLETE);
        assert_eq!(found.shared.len(), 4, "{found:?}");
        let mut others = other_names_of_secrets(project.root(), &found.shared).unwrap();
        others.sort();
        assert_eq!(others, [PathBuf::from("src-env.txt"), PathBuf::from("t.txt")]);
    }
}
