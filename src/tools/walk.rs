//! Lists the files below a path: sorted, without following links, without ignored and reserved files.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use super::confine::{Confinement, Inside};

/// Folders of third-party or generated files.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Everything at and below `root`, down to `depth` levels, a folder before its content. Unreadable entries are left
/// out. A root that is itself ignored is listed completely.
pub(super) fn walk(
    confinement: &Confinement,
    root: &Inside,
    depth: usize,
) -> Box<dyn Iterator<Item = DirEntry>> {
    let start = confinement.absolute(root);
    // The walk begins at the project, on the direct path to the root: so every .gitignore between them applies, and
    // none above the project.
    let levels = root.relative().components().count();
    let from_project =
        builder(confinement, &start, confinement.project(), levels.saturating_add(depth)).build();
    let at_start = start.clone();
    let mut heard = from_project.flatten().skip_while(move |entry| entry.path() != at_start).peekable();
    if heard.peek().is_some() {
        return Box::new(heard);
    }
    let mut unheard = builder(confinement, &start, &start, depth);
    Box::new(unheard.ignore(false).git_ignore(false).git_exclude(false).build().flatten())
}

fn builder(confinement: &Confinement, start: &Path, from: &Path, depth: usize) -> WalkBuilder {
    let (confinement, start) = (confinement.clone(), start.to_owned());
    let mut builder = WalkBuilder::new(from);
    builder
        .hidden(false)
        .parents(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .max_depth(Some(depth))
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            let path = entry.path();
            if start.starts_with(path) {
                return true;
            }
            let below = path.starts_with(&start);
            let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
            let relative = path.strip_prefix(confinement.project()).unwrap_or(path);
            below && !skipped && confinement.within_reach(relative).is_ok()
        });
    builder
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::testing::Project;

    fn found(project: &Project, root: &str, depth: usize) -> Vec<String> {
        let confinement = project.confinement();
        let root = confinement.resolve(root).unwrap();
        walk(&confinement, &root, depth)
            .map(|entry| entry.path().strip_prefix(project.root()).unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn generated_ignored_and_reserved_things_are_left_out() {
        let project = Project::new();
        for path in [
            "b.txt",
            "a/x.log",
            "a/y.txt",
            "a/keep.log",
            ".git/config",
            "target/x",
            "a/node_modules/x",
            ".env",
        ] {
            project.file(path, "");
        }
        project.file("ship.json", "{}");
        project.file(".ship/run/token", "");
        project.file(".gitignore", "*.log\n");
        project.file("a/.gitignore", "!keep.log\n");
        let all = ["", ".gitignore", "a", "a/.gitignore", "a/keep.log", "a/y.txt", "b.txt"];
        assert_eq!(found(&project, ".", 9), all);
        assert_eq!(found(&project, "a", 9), ["a", "a/.gitignore", "a/keep.log", "a/y.txt"]);
        assert_eq!(found(&project, ".", 1), ["", ".gitignore", "a", "b.txt"]);
        assert_eq!(found(&project, "b.txt", 1), ["b.txt"]);
    }

    #[test]
    fn a_root_that_is_ignored_is_shown_when_it_is_asked_for() {
        let project = Project::new();
        project.file(".gitignore", "build/\n.ship/\n*.png\n");
        project.file("build/out/a.txt", "");
        project.file("target/debug/a.d", "");
        let own = format!(".ship/files/{}", project.thread().file_name());
        project.file(&format!("{own}/a.png"), "");
        assert_eq!(found(&project, "build", 9), ["build", "build/out", "build/out/a.txt"]);
        assert_eq!(found(&project, "target", 9), ["target", "target/debug", "target/debug/a.d"]);
        assert_eq!(found(&project, &own, 9), [own.clone(), format!("{own}/a.png")]);
    }

    #[test]
    fn links_are_shown_and_not_followed() {
        let project = Project::new();
        project.file("a/x", "");
        symlink("..", project.path("a/up")).unwrap();
        symlink("/", project.path("root")).unwrap();
        assert_eq!(found(&project, ".", 20), ["", "a", "a/up", "a/x", "root"]);
    }
}
