//! Reserved files that a command creates: a new `ship.json` would be loaded at the next start. A file that does not
//! exist cannot be covered, so new ones are moved away after the command.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::tools::reserved::is_reserved_name;

/// The reserved names at the top of a project before a command runs.
#[derive(Debug)]
pub(super) struct Quarantine {
    project: PathBuf,
    before: BTreeSet<OsString>,
}

impl Quarantine {
    /// Records the existing ones. Accesses the disk.
    pub(super) fn before(project: &Path) -> Self {
        Self { project: project.to_owned(), before: reserved(project) }
    }

    /// Moves new ones into `.ship/quarantine`, and returns notes about them. Accesses the disk.
    pub(super) fn after(self, call: &str) -> Vec<String> {
        let new = reserved(&self.project).into_iter().filter(|name| !self.before.contains(name));
        new.map(|name| self.take(&name, call)).collect()
    }

    fn take(&self, name: &OsString, call: &str) -> String {
        let shown = name.to_string_lossy();
        let relative = Path::new(".ship/quarantine").join(format!("{call}-{shown}"));
        match self.move_away(name, &relative) {
            Ok(()) => {
                format!("{shown} is reserved: the one the command made was moved to {}", relative.display())
            }
            Err(error) => {
                format!("{shown} is reserved, but the one the command made could not be moved: {error}")
            }
        }
    }

    fn move_away(&self, name: &OsString, relative: &Path) -> io::Result<()> {
        let target = self.project.join(relative);
        if let Some(folder) = target.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        fs::rename(self.project.join(name), target)
    }
}

fn reserved(project: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(project).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter(|name| is_reserved_name(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;

    #[test]
    fn a_reserved_file_that_appears_is_moved_away_and_an_older_one_stays() {
        let project = Project::new();
        project.file(".env", "old");
        project.file(".ship/x", "");
        let quarantine = Quarantine::before(project.root());
        project.file("ship.json", "{}");
        project.file("fine.txt", "");
        let notes = quarantine.after("call-1");
        assert_eq!(
            notes,
            [
                "ship.json is reserved: the one the command made was moved to .ship/quarantine/call-1-ship.json"
            ]
        );
        assert!(project.path(".ship/quarantine/call-1-ship.json").is_file());
        assert!(project.path(".env").is_file() && project.path("fine.txt").is_file());
        assert!(!project.path("ship.json").exists());
    }
}
