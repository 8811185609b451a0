//! From a path that a model wrote to a place inside the project, or a refusal. Nothing is opened here.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::reserved::is_reserved;
use crate::domain::ThreadId;
use crate::ports::{ToolContext, ToolFailure};

/// The room that a call's tools may move in.
#[derive(Clone, Debug)]
pub struct Confinement {
    project: PathBuf,
    own_files: PathBuf,
}

/// A place inside the project that tools may touch: links resolved, nothing of it reserved. It need not
/// exist, and what stands there may have changed since: opening it checks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    relative: PathBuf,
}

impl Inside {
    /// The path from the project down; empty for the project itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// The path as people and models are shown it.
    pub fn shown(&self) -> String {
        if self.relative.as_os_str().is_empty() { ".".into() } else { self.relative.to_string_lossy().into() }
    }
}

impl Confinement {
    /// The room of one call.
    pub fn new(context: &ToolContext) -> Self {
        Self::of(&context.project, &context.thread)
    }

    /// The room of a thread's calls.
    pub fn of(project: &Path, thread: &ThreadId) -> Self {
        let own_files = Path::new(".ship/files").join(thread.file_name());
        Self { project: project.to_owned(), own_files }
    }

    /// The project directory.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Where a place is on the disk.
    pub fn absolute(&self, inside: &Inside) -> PathBuf {
        self.project.join(&inside.relative)
    }

    /// Judges a path as the model gave it: relative to the project, or absolute and inside it. One that does
    /// not exist is judged by its nearest parent that does. Touches the disk.
    pub fn resolve(&self, given: &str) -> Result<Inside, ToolFailure> {
        let given = lexically_sound(given)?;
        let lexical = given.strip_prefix(&self.project).unwrap_or(given);
        self.within_reach(lexical)?;
        let full = self.project.join(given);
        let real = self.real_path(&full)?;
        let relative = real.strip_prefix(&self.project).map_err(|_| outside())?;
        self.within_reach(relative)
    }

    /// Takes a path that a walk found, relative to the project and free of links.
    pub(super) fn within_reach(&self, relative: &Path) -> Result<Inside, ToolFailure> {
        if is_reserved(relative, &self.own_files) {
            return Err(ToolFailure::Refused(
                "the agent's own state, ship.json and .env files are out of reach; use another file".into(),
            ));
        }
        Ok(Inside { relative: relative.components().collect() })
    }

    /// The path with every link resolved; parts that do not exist stay as they are.
    fn real_path(&self, full: &Path) -> Result<PathBuf, ToolFailure> {
        let mut existing = full;
        let mut missing = Vec::new();
        loop {
            match existing.canonicalize() {
                Ok(real) => {
                    let real = missing.into_iter().rev().fold(real, |path: PathBuf, name| path.join(name));
                    return Ok(real);
                }
                Err(error) if is_missing(&error) => {
                    // A link to nothing: what it would lead to is not known, so it leads nowhere.
                    if existing.is_symlink() {
                        return Err(outside());
                    }
                    let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                        return Err(outside());
                    };
                    missing.push(name);
                    existing = parent;
                }
                // What is out there, and whether we could read it, is not told.
                Err(_) if !full.starts_with(&self.project) => return Err(outside()),
                Err(error) => return Err(ToolFailure::Failed(format!("cannot resolve the path: {error}"))),
            }
        }
    }
}

fn lexically_sound(given: &str) -> Result<&Path, ToolFailure> {
    let given = given.trim();
    if given.contains('\0') {
        return Err(ToolFailure::BadArguments("a path cannot contain a NUL character".into()));
    }
    if given.starts_with('~') {
        return Err(ToolFailure::Refused(
            "home directories are out of reach; give a path relative to the project".into(),
        ));
    }
    let path = Path::new(if given.is_empty() { "." } else { given });
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(ToolFailure::Refused(
            "`..` is not allowed; give a path relative to the project, without `..`".into(),
        ));
    }
    Ok(path)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn outside() -> ToolFailure {
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
        symlink(".ship", project.path("notes")).unwrap();
        symlink("/proc/self/root", project.path("root")).unwrap();

        let absolute = outside.path("secret").to_string_lossy().into_owned();
        let beside = format!("{}-evil/x", project.root().to_string_lossy());
        for given in [
            "../",
            "..",
            "src/../../x",
            "src/..",
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
