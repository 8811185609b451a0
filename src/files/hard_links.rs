//! Files with several names: a hard link has no direction, so the only way to know what else a file is called is to
//! look at the files that matter and compare.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use super::dir::{FileId, ProjectDir};
use crate::policy::paths::{PathClass, classify};

/// How many entries are looked at, and for how long, before the search gives up.
const ENTRIES: usize = 100_000;
const TIME: Duration = Duration::from_secs(2);

/// A folder that holds only git's own objects: many files, none of them named by people.
const SKIPPED: &str = ".git/objects";

/// Every file of the project that is not ordinary by its name and has a second name.
#[derive(Clone, Debug, Default)]
pub struct SpecialFiles {
    classes: BTreeMap<FileId, PathClass>,
    /// Whether the whole project was looked at.
    complete: bool,
}

impl SpecialFiles {
    /// Looks through the project. The search is bounded; where it gave up, [`SpecialFiles::is_complete`] says so.
    pub fn find(project: &ProjectDir, own_files: &str) -> Self {
        Self::find_within(project, own_files, ENTRIES)
    }

    fn find_within(project: &ProjectDir, own_files: &str, entries: usize) -> Self {
        let mut found = Self { classes: BTreeMap::new(), complete: true };
        let until = Instant::now() + TIME;
        let mut left = entries;
        // Level by level: the places that matter most are found first, however large the project is.
        let mut folders = VecDeque::from([PathBuf::new()]);
        while let Some(folder) = folders.pop_front() {
            let Ok(listing) = project.list(&folder) else {
                found.complete = false;
                continue;
            };
            for entry in listing {
                let Ok((name, kind)) = entry else {
                    found.complete = false;
                    break;
                };
                if left == 0 || Instant::now() > until {
                    found.complete = false;
                    return found;
                }
                left -= 1;
                found.look_at(project, own_files, folder.join(name), kind, &mut folders);
            }
        }
        found
    }

    /// The class that another name gives to a file; nothing where no such name was found.
    pub fn class_of(&self, file: FileId) -> Option<PathClass> {
        self.classes.get(&file).copied()
    }

    /// Whether the whole project was looked at.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    fn look_at(
        &mut self,
        project: &ProjectDir,
        own_files: &str,
        path: PathBuf,
        listed: FileType,
        folders: &mut VecDeque<PathBuf>,
    ) {
        let class = classify(&path.to_string_lossy(), own_files);
        let is_folder_or_unknown = matches!(listed, FileType::Directory | FileType::Unknown);
        if class == PathClass::Ordinary && !is_folder_or_unknown {
            return;
        }
        if listed == FileType::Directory {
            if path != Path::new(SKIPPED) {
                folders.push_back(path);
            }
            return;
        }
        let Ok(stat) = project.stat(&path) else {
            self.complete = false;
            return;
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => folders.push_back(path),
            FileType::RegularFile if class > PathClass::Ordinary && i128::from(stat.st_nlink) > 1 => {
                let known = self.classes.entry(FileId::of(&stat)).or_insert(class);
                *known = class.max(*known);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn project() -> (tempfile::TempDir, ProjectDir) {
        let dir = tempfile::tempdir().unwrap();
        for path in [".env", "a/b/c/d/e/f/g/h/id_rsa", ".git/hooks/pre-commit", "src/main.rs"] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::File::create(path).unwrap();
        }
        let opened = ProjectDir::open(dir.path()).unwrap();
        (dir, opened)
    }

    #[test]
    fn other_names_of_special_files_are_found_at_any_depth() {
        let (dir, opened) = project();
        for (from, to) in [
            (".env", "one.txt"),
            ("a/b/c/d/e/f/g/h/id_rsa", "two.txt"),
            (".git/hooks/pre-commit", "three.txt"),
            ("src/main.rs", "four.txt"),
        ] {
            fs::hard_link(dir.path().join(from), dir.path().join(to)).unwrap();
        }
        let found = SpecialFiles::find(&opened, "");
        assert!(found.is_complete());
        let class = |name: &str| found.class_of(FileId::of(&opened.stat(Path::new(name)).unwrap()));
        assert_eq!(class("one.txt"), Some(PathClass::Reserved));
        assert_eq!(class("two.txt"), Some(PathClass::Secret));
        assert_eq!(class("three.txt"), Some(PathClass::Sensitive));
        assert_eq!(class("four.txt"), None);
    }

    #[test]
    fn a_search_that_gives_up_says_so() {
        let (_dir, opened) = project();
        assert!(!SpecialFiles::find_within(&opened, "", 3).is_complete());
    }
}
