//! Finds the reserved files of the project, so that the sandbox can hide them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tools::reserved::is_reserved_name;

/// Limits of the search. Deeper files, and files in very large folders, are not found. The top folder of the project is
/// always searched completely.
const DEPTH: usize = 6;
const ENTRIES: usize = 20_000;
const FOUND: usize = 256;
const OTHERS: &[&str] = &[".git", "node_modules", "target", ".venv", "venv", "vendor"];

/// Every reserved file and folder of the project, links resolved. Accesses the disk.
pub(super) fn hidden_in(project: &Path) -> Vec<PathBuf> {
    let mut search = HiddenSearch { project, left: ENTRIES, found: Vec::new() };
    // Level by level: the most important places are found first, also in a large project.
    let mut level = vec![project.to_owned()];
    for _ in 0..DEPTH {
        level = level.iter().flat_map(|folder| search.look_into(folder)).collect();
    }
    search.found.sort();
    search.found.dedup();
    search.found
}

#[derive(Debug)]
struct HiddenSearch<'a> {
    project: &'a Path,
    left: usize,
    found: Vec<PathBuf>,
}

impl HiddenSearch<'_> {
    /// Searches one folder; returns the folders in it to search next.
    fn look_into(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut deeper = Vec::new();
        let Ok(entries) = fs::read_dir(folder) else { return deeper };
        for entry in entries.flatten() {
            if (self.left == 0 || self.found.len() >= FOUND) && folder != self.project {
                break;
            }
            self.left = self.left.saturating_sub(1);
            let Ok(kind) = entry.file_type() else { continue };
            if is_reserved_name(&entry.file_name()) {
                self.found.extend(place_of(self.project, &entry.path()));
            } else if kind.is_dir() && !OTHERS.iter().any(|name| entry.file_name() == *name) {
                deeper.push(entry.path());
            }
        }
        deeper
    }
}

/// The path to hide: a link's target; paths outside the project are not accessible anyway.
pub(super) fn place_of(project: &Path, path: &Path) -> Option<PathBuf> {
    let place = if path.is_symlink() { path.canonicalize().ok()? } else { path.to_owned() };
    (place.starts_with(project) && place != project).then_some(place)
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

    #[test]
    fn the_top_of_the_project_is_looked_at_as_a_whole() {
        let project = Project::new();
        for n in 0..ENTRIES + 10 {
            fs::File::create(project.path(&format!("{n}"))).unwrap();
        }
        for n in 0..FOUND + 10 {
            project.file(&format!(".env.{n}"), "");
        }
        assert_eq!(hidden_in(project.root()).len(), FOUND + 10);
    }
}
