//! The location and class of a path, by its names alone. `files::resolve` follows the links and applies the same rules
//! to the result.

use std::path::PathBuf;

pub(super) use super::path_names::{DATA_ENDINGS, SECRET_WORDS};
use super::path_names::{is_git_secret, is_sensitive_name, may_match_protected};
pub use super::path_names::{is_reserved_name, is_secret_name};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathLocation {
    /// Inside the project and ordinary: the path relative to the project, without `.` and `..`.
    Inside(String),
    /// Inside the project, but it may contain secrets or belongs to the daemon.
    Secret,
    /// Outside the project, or undetermined.
    Outside,
}

/// The location of `path` for a program that runs in `cwd` (relative to the project). `root` is the project's absolute
/// path; empty when it is unknown.
pub fn locate(root: &str, cwd: &str, path: &str) -> PathLocation {
    let (start, rest) = match path.strip_prefix('/') {
        None => (cwd, path),
        Some(_) => match below(root, path) {
            Some(rest) => ("", rest),
            None => return PathLocation::Outside,
        },
    };
    let mut names: Vec<&str> = Vec::new();
    let mut secret = false;
    for name in start.split('/').chain(rest.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    return PathLocation::Outside;
                }
            }
            // A secret folder that `..` leaves again still needs approval: `.ship/../x` may go through a link.
            _ => {
                secret |= is_secret_name(name);
                names.push(name);
            }
        }
    }
    if secret || is_git_secret(names.iter().copied()) {
        PathLocation::Secret
    } else {
        PathLocation::Inside(names.join("/"))
    }
}

/// The part of `path` below `root`, if it is below.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    if root.is_empty() {
        return None;
    }
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The class of a path. Ordered: the later one is the stricter one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathClass {
    /// Read and written by the tools' own rules.
    Ordinary,
    /// Writing it can start programs or instruct the agent: needs approval with high risk.
    Sensitive,
    /// It may contain credentials: reading and writing need approval with high risk.
    Secret,
    /// The daemon's own, or an environment file: not accessible.
    Reserved,
    /// Not in the project: not accessible.
    Outside,
}

/// A path of a tool call, with every link resolved. The judge and the tools use the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The path as the call wrote it.
    pub written: String,
    /// The path relative to the project, without links; empty for the project itself. The file may have changed since:
    /// opening it checks again.
    pub relative: PathBuf,
    /// The strictest class of the path as written, as resolved, and of every other name of the same file.
    pub class: PathClass,
    /// Why the class is not certain: a part could not be read, or too many files had to be compared.
    pub unchecked: Option<String>,
}

/// The class of a path inside the project, by its names alone. `own_files` is the one folder of the daemon's state that
/// the thread of the call may use; empty when there is none.
pub fn classify(relative: &str, own_files: &str) -> PathClass {
    let path = without_own_files(relative, own_files);
    let names = || path.split(['/', '\\']).filter(|name| !matches!(*name, "" | "." | ".."));
    if names().any(is_reserved_name) {
        PathClass::Reserved
    } else if names().any(is_secret_name) || is_git_secret(names()) {
        PathClass::Secret
    } else if names().any(is_sensitive_name) {
        PathClass::Sensitive
    } else {
        PathClass::Ordinary
    }
}

/// The class of a word that may be a path, or a pattern that the shell compares with file names: `.gi*/hooks`.
pub(super) fn class_of_word(word: &str) -> PathClass {
    let known = classify(word, "");
    let pattern = || word.split('/').any(may_match_protected);
    if known == PathClass::Ordinary && pattern() { PathClass::Sensitive } else { known }
}

/// Whether writing this file can start programs outside any sandbox: hooks, settings of tools, the agent's own
/// instructions.
pub fn is_sensitive(relative: &str) -> bool {
    relative.split('/').any(is_sensitive_name)
}

/// The path relative to the thread's own folder if it is inside, otherwise unchanged.
fn without_own_files<'a>(path: &'a str, own_files: &str) -> &'a str {
    let plain = path.strip_prefix("./").unwrap_or(path);
    if own_files.is_empty() || plain.split('/').any(|name| name == "..") {
        return path;
    }
    match plain.strip_prefix(own_files) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_placed_by_its_letters() {
        let inside = |path: &str| PathLocation::Inside(path.into());
        for (cwd, path, place) in [
            ("", "a/b", inside("a/b")),
            ("", "./a/../b", inside("b")),
            ("", "", inside("")),
            ("sub", "..", inside("")),
            ("sub", "../..", PathLocation::Outside),
            ("", "..", PathLocation::Outside),
            ("", "a/../../p/a", PathLocation::Outside),
            ("", "/home/u/p", inside("")),
            ("sub", "/home/u/p/src/x", inside("src/x")),
            ("", "/home/u/p/../q", PathLocation::Outside),
            ("", "/home/u/p2/x", PathLocation::Outside),
            ("", "/etc/passwd", PathLocation::Outside),
            ("", "/", PathLocation::Outside),
            ("", ".env", PathLocation::Secret),
            ("", "sub/.ENV.local", PathLocation::Secret),
            ("", ".env.example", inside(".env.example")),
            ("", ".ship/run/token", PathLocation::Secret),
            ("", ".ship/../README", PathLocation::Secret),
            ("", "/home/u/p/ship.json", PathLocation::Secret),
            ("", "deploy/server.key", PathLocation::Secret),
            ("", "文档/说明.md", inside("文档/说明.md")),
        ] {
            assert_eq!(locate("/home/u/p", cwd, path), place, "{cwd} {path}");
        }
    }

    #[test]
    fn without_a_known_root_every_absolute_path_is_outside() {
        assert_eq!(locate("", "", "/a"), PathLocation::Outside);
        assert_eq!(locate("/", "", "/a"), PathLocation::Outside);
    }

    #[test]
    fn files_that_start_programs_are_sensitive() {
        for path in [".git/hooks/pre-commit", "sub/.GIT/config", ".github/workflows/ci.yml", "Agent.md"] {
            assert!(is_sensitive(path), "{path}");
        }
        for path in ["src/git.rs", ".gitignore", "docs/agent-notes.md"] {
            assert!(!is_sensitive(path), "{path}");
        }
    }

    #[test]
    fn a_path_has_the_strictest_class_of_its_names() {
        use PathClass::{Ordinary, Reserved, Secret, Sensitive};
        for (path, class) in [
            ("", Ordinary),
            ("src/main.rs", Ordinary),
            ("Cargo.toml", Ordinary),
            ("package.json", Ordinary),
            (".gitignore", Ordinary),
            ("build.rs", Sensitive),
            (".github/workflows/ci.yml", Sensitive),
            (".GIT/Hooks/pre-commit", Sensitive),
            (".git", Sensitive),
            (".git/config", Secret),
            ("vendor/x/.git/modules/a/b/config", Secret),
            ("mirror.git/config", Secret),
            ("src/config", Ordinary),
            (".git/hooks/../config", Secret),
            ("sub/.cargo/config.toml", Sensitive),
            (".cargo/credentials.toml", Secret),
            ("Agent.md", Sensitive),
            ("deploy/id_rsa", Secret),
            (".ship/files/t1/a.png", Ordinary),
            ("./.ship/files/t1/a.png", Ordinary),
            (".ship/files/t1", Ordinary),
            (".ship/files/t1/.env", Reserved),
            (".ship/files/t10/a.png", Reserved),
            (".ship/files/t1/../t2/a.png", Reserved),
            (".Ship/files/t1/a.png", Reserved),
            ("a/b/.env.local", Reserved),
            (".git\\hooks\\x", Sensitive),
        ] {
            assert_eq!(classify(path, ".ship/files/t1"), class, "{path}");
        }
    }
}
