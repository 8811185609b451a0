//! Resolves a model's path to a file inside the project that the call may use, or refuses it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::reserved::is_reserved;
use crate::domain::{Class, ThreadId};
use crate::files::{self, ProjectDir, SpecialFiles};
use crate::policy::paths::{PathClass, ResolvedPath, classify};
use crate::ports::{ToolContext, ToolFailure};

/// The part of the project that a call may use.
#[derive(Clone, Debug)]
pub struct Confinement {
    project: PathBuf,
    own_files: PathBuf,
    /// Whether the call runs without approval.
    unasked: bool,
    /// Computed once per call, and only when a file with several names is opened.
    special: Arc<OnceLock<SpecialFiles>>,
}

/// A path inside the project that tools may use: links resolved, not reserved. It may not exist, and may have changed
/// since: opening it checks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    relative: PathBuf,
    class: PathClass,
}

impl Inside {
    /// The path relative to the project; empty for the project itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    pub fn class(&self) -> PathClass {
        self.class
    }

    /// The path for people and models.
    pub fn shown(&self) -> String {
        if self.relative.as_os_str().is_empty() { ".".into() } else { self.relative.to_string_lossy().into() }
    }
}

impl Confinement {
    pub fn new(context: &ToolContext) -> Self {
        let unasked = context.permit.class == Class::ReadOnly;
        Self { unasked, ..Self::of(&context.project, &context.thread) }
    }

    /// For an approved call of a thread.
    pub fn of(project: &Path, thread: &ThreadId) -> Self {
        let own_files = PathBuf::from(files::own_files_of(thread));
        Self { project: project.to_owned(), own_files, unasked: false, special: Arc::default() }
    }

    pub fn project(&self) -> &Path {
        &self.project
    }

    pub fn absolute(&self, inside: &Inside) -> PathBuf {
        self.project.join(&inside.relative)
    }

    /// Resolves a model's path: relative to the project, or absolute and inside it. It is resolved and classified by
    /// the same function as in the judge. Accesses the disk.
    pub fn resolve(&self, given: &str) -> Result<Inside, ToolFailure> {
        let ResolvedPath { relative, class, unchecked, .. } =
            files::resolve(&self.project, &self.own_files.to_string_lossy(), given);
        match class {
            PathClass::Outside => return Err(outside(given)),
            PathClass::Reserved => return Err(reserved()),
            // The judge asks about these; a call without approval was judged by another file.
            PathClass::Secret if self.unasked => {
                return Err(ToolFailure::Refused("the file may hold secrets, and nobody was asked".into()));
            }
            PathClass::Secret | PathClass::Sensitive | PathClass::Ordinary => {}
        }
        match unchecked {
            Some(why) if self.unasked => {
                Err(ToolFailure::Failed(format!("the path cannot be checked: {why}")))
            }
            _ => Ok(Inside { relative, class }),
        }
    }

    /// A path that a walk found, relative to the project and without links.
    pub(super) fn within_reach(&self, relative: &Path) -> Result<Inside, ToolFailure> {
        if is_reserved(relative, &self.own_files) {
            return Err(reserved());
        }
        let class = classify(&relative.to_string_lossy(), &self.own_files.to_string_lossy());
        Ok(Inside { relative: relative.components().collect(), class })
    }

    /// Every file of the project that is not ordinary by its name and has other names.
    pub(super) fn special_files(&self, dir: &ProjectDir) -> &SpecialFiles {
        self.special.get_or_init(|| SpecialFiles::find(dir, &self.own_files.to_string_lossy()))
    }

    /// Whether the call runs without approval.
    pub(super) fn is_unasked(&self) -> bool {
        self.unasked
    }
}

fn reserved() -> ToolFailure {
    ToolFailure::Refused(
        "the agent's own state, ship.json and .env files are out of reach; use another file".into(),
    )
}

fn outside(given: &str) -> ToolFailure {
    if given.contains('\0') {
        return ToolFailure::BadArguments("a path cannot contain a NUL character".into());
    }
    if given.trim().starts_with('~') {
        return ToolFailure::Refused(
            "home directories are out of reach; give a path relative to the project".into(),
        );
    }
    ToolFailure::Refused("the path leads out of the project; give one inside it".into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::testing::Project;

    #[test]
    fn no_way_out_of_the_project_is_accepted() {
        let project = Project::new();
        let outside = Project::new();
        outside.file("secret", "x");
        project.file("src/main.rs", "fn main() {}");
        project.file(".env", "KEY=1");
        project.file(".ship/run/token", "t");
        symlink(outside.root(), project.path("out")).unwrap();
        symlink(outside.path("secret"), project.path("secret-link")).unwrap();
        symlink(outside.path("nothing-here"), project.path("dangling")).unwrap();
        symlink("loop-b", project.path("loop-a")).unwrap();
        symlink("loop-a", project.path("loop-b")).unwrap();
        symlink(".env", project.path("harmless.txt")).unwrap();
        project.file("sub/.env.local", "KEY=2");
        std::fs::hard_link(project.path("sub/.env.local"), project.path("second-name.txt")).unwrap();
        project.file("kept/prod.txt", "KEY=3");
        symlink("kept/prod.txt", project.path(".env.prod")).unwrap();
        symlink(".ship", project.path("notes")).unwrap();
        symlink("/proc/self/root", project.path("root")).unwrap();

        let absolute = outside.path("secret").to_string_lossy().into_owned();
        let beside = format!("{}-evil/x", project.root().to_string_lossy());
        for given in [
            "../",
            "..",
            "src/../../x",
            "src/../.env",
            "src/../../p/x",
            "source/../../x",
            " .env",
            ".env\u{a0}",
            "\u{3000}ship.json\n",
            "．ｅｎｖ",
            ".e\u{200b}nv",
            "second-name.txt",
            "kept/prod.txt",
            "/etc/passwd",
            "/",
            "//etc/passwd",
            "/nonexistent/file",
            &absolute,
            &beside,
            "out",
            "out/",
            "out/secret",
            "out/not/there",
            "secret-link",
            "dangling",
            "dangling/x",
            "root/etc/passwd",
            "~",
            "~/x",
            "~root/x",
            ".env",
            "./.env",
            ".env/",
            ".//.env",
            ".ENV",
            ".env.local",
            "not/there/.env",
            "harmless.txt",
            "notes/run/token",
            ".ship",
            ".ship/run/token",
            ".ship/files/web%3Achat%3Aother/x",
            "ship.json",
            "Ship.JSON",
        ] {
            let judged = project.confinement().resolve(given);
            assert!(matches!(judged, Err(ToolFailure::Refused(_))), "{given:?}: {judged:?}");
        }
        for given in ["a\0b", "loop-a", "loop-a/x"] {
            assert!(project.confinement().resolve(given).is_err(), "{given:?}");
        }
    }

    #[test]
    fn places_inside_are_found_however_they_are_spelled() {
        let project = Project::new();
        project.file("src/main.rs", "");
        project.file("文档/说 明.md", "");
        project.file(".env.example", "");
        symlink("src", project.path("source")).unwrap();
        symlink(project.path("src"), project.path("absolute-link")).unwrap();
        let own = format!(".ship/files/{}/photo.png", project.thread().file_name());
        project.file(&own, "");
        let absolute = project.path("src/main.rs").to_string_lossy().into_owned();
        for (given, expected) in [
            ("", ""),
            (".", ""),
            ("./", ""),
            ("src", "src"),
            ("src/", "src"),
            ("src/..", ""),
            ("new/../src", "src"),
            ("source/../b.txt", "b.txt"),
            (" src/main.rs\n", "src/main.rs"),
            ("./src//main.rs", "src/main.rs"),
            ("source/main.rs", "src/main.rs"),
            ("absolute-link/main.rs", "src/main.rs"),
            (absolute.as_str(), "src/main.rs"),
            ("文档/说 明.md", "文档/说 明.md"),
            (".env.example", ".env.example"),
            ("new/file.txt", "new/file.txt"),
            ("source/new.txt", "src/new.txt"),
            (own.as_str(), own.as_str()),
        ] {
            let inside = project.confinement().resolve(given).unwrap();
            assert_eq!(inside.relative(), Path::new(expected), "{given:?}");
        }
    }
}
