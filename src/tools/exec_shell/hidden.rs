//! Finds what of the project a command must not see, so that the sandbox can hide it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tools::reserved::is_reserved_name;

/// How deep is looked. What lies deeper, or in folders full of others' files, is not found.
const DEPTH: usize = 6;
const ENTRIES: usize = 20_000;
const FOUND: usize = 256;
const OTHERS: &[&str] = &[".git", "node_modules", "target", ".venv", "venv", "vendor"];

/// Every reserved file and folder of the project, links resolved. Touches the disk.
pub(super) fn hidden_in(project: &Path) -> Vec<PathBuf> {
    let mut search = Search { project, left: ENTRIES, found: Vec::new() };
    // Level by level: the places that matter most are found first, however large the project is.
    let mut level = vec![project.to_owned()];
    for _ in 0..DEPTH {
        level = level.iter().flat_map(|folder| search.look_into(folder)).collect();
    }
    search.found.sort();
    search.found.dedup();
    search.found
}

#[derive(Debug)]
struct Search<'a> {
    project: &'a Path,
    left: usize,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    /// Looks through one folder; gives those in it that are to be looked into next.
    fn look_into(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut deeper = Vec::new();
        let Ok(entries) = fs::read_dir(folder) else { return deeper };
        for entry in entries.flatten() {
            if self.left == 0 || self.found.len() >= FOUND {
                break;
            }
            self.left -= 1;
            let Ok(kind) = entry.file_type() else { continue };
            if is_reserved_name(&entry.file_name()) {
                self.hide(entry.path(), kind.is_symlink());
            } else if kind.is_dir() && !OTHERS.iter().any(|name| entry.file_name() == *name) {
                deeper.push(entry.path());
            }
        }
        deeper
    }

    /// A link is hidden where it leads to; what is outside of the project is out of reach as it is.
    fn hide(&mut self, path: PathBuf, is_link: bool) {
        let place = if is_link { path.canonicalize().ok() } else { Some(path) };
        self.found.extend(place.filter(|place| place.starts_with(self.project) && place != self.project));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::testing::Project;

    #[test]
    fn reserved_files_are_found_wherever_they_are_and_where_links_lead_to() {
        let project = Project::new();
        for file in [
            ".env",
            ".env.example",
            ".ship/run/token",
            "ship.json",
            "api/.env.local",
            "a/b/c/.env",
            "keys/prod.txt",
            "node_modules/x/.env",
        ] {
            project.file(file, "");
        }
        symlink("../keys/prod.txt", project.path("api/.env")).unwrap();
        symlink("/etc/hostname", project.path("a/.env")).unwrap();
        symlink(".", project.path("a/.ship")).unwrap();
        let expected = [".env", ".ship", "a", "a/b/c/.env", "api/.env.local", "keys/prod.txt", "ship.json"];
        assert_eq!(hidden_in(project.root()), expected.map(|path| project.path(path)));
    }
}
