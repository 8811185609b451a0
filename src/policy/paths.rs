//! Where a path points, by its letters alone. Links are resolved by whoever has the files, who then asks again.

/// Where a path points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Inside the project, in plain sight: the path relative to the project, without `.` and `..`.
    Inside(String),
    /// Inside the project, but it may hold secrets or is the daemon's own.
    Secret,
    /// Outside the project, or nobody can tell.
    Outside,
}

/// Finds where `path` points for a program that runs in `cwd` (relative to the project). `root` is the project's own
/// absolute path; empty when it is not known.
pub fn locate(root: &str, cwd: &str, path: &str) -> Place {
    let (start, rest) = match path.strip_prefix('/') {
        None => (cwd, path),
        Some(_) => match below(root, path) {
            Some(rest) => ("", rest),
            None => return Place::Outside,
        },
    };
    let mut names: Vec<&str> = Vec::new();
    let mut secret = false;
    for name in start.split('/').chain(rest.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    return Place::Outside;
                }
            }
            // A secret that `..` leaves again still has to be asked about: `.ship/../x` may go through a link.
            _ => {
                secret |= is_secret_name(name);
                names.push(name);
            }
        }
    }
    if secret { Place::Secret } else { Place::Inside(names.join("/")) }
}

/// What of `path` is below `root`, when it is.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    if root.is_empty() {
        return None;
    }
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The daemon's own state and settings, and files that hold secrets by custom: no tool reaches them.
pub fn is_reserved_name(name: &str) -> bool {
    let name = folded(name);
    match name.as_str() {
        ".ship" | "ship.json" | ".env" => true,
        ".env.example" => false,
        other => other.starts_with(".env."),
    }
}

/// A file or folder whose content is better not shown unasked.
pub fn is_secret_name(name: &str) -> bool {
    const NAMES: &[&str] = &[
        ".ssh",
        ".gnupg",
        ".aws",
        ".kube",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".git-credentials",
        ".htpasswd",
        ".envrc",
        "credentials",
        "credentials.json",
        "secrets",
    ];
    const ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".keystore", ".kdbx"];
    let folded = folded(name);
    is_reserved_name(name)
        || NAMES.contains(&folded.as_str())
        || folded.starts_with("id_rsa")
        || folded.starts_with("id_ed25519")
        || folded.starts_with("id_ecdsa")
        || ENDINGS.iter().any(|ending| folded.ends_with(ending))
}

/// Whether writing this file can start programs outside any sandbox: hooks, settings of tools, the agent's own
/// instructions.
pub fn is_sensitive(relative: &str) -> bool {
    const FOLDERS: &[&str] = &[".git", ".github", ".gitlab", ".husky", ".vscode", ".idea", ".devcontainer"];
    const FILES: &[&str] = &[
        "agent.md",
        ".gitattributes",
        ".gitmodules",
        ".gitconfig",
        ".bashrc",
        ".profile",
        ".bash_profile",
        ".zshrc",
        ".gitlab-ci.yml",
        ".mcp.json",
        "rust-toolchain.toml",
    ];
    relative.split('/').any(|name| {
        let name = folded(name);
        FOLDERS.contains(&name.as_str()) || FILES.contains(&name.as_str())
    })
}

/// The name as a file system that folds case, drops invisible characters or trailing dots would take it.
fn folded(name: &str) -> String {
    let visible: String =
        name.chars().filter(|c| !c.is_control() && !super::shell::is_invisible(*c)).collect();
    visible.to_uppercase().to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_placed_by_its_letters() {
        let inside = |path: &str| Place::Inside(path.into());
        for (cwd, path, place) in [
            ("", "a/b", inside("a/b")),
            ("", "./a/../b", inside("b")),
            ("", "", inside("")),
            ("sub", "..", inside("")),
            ("sub", "../..", Place::Outside),
            ("", "..", Place::Outside),
            ("", "a/../../p/a", Place::Outside),
            ("", "/home/u/p", inside("")),
            ("sub", "/home/u/p/src/x", inside("src/x")),
            ("", "/home/u/p/../q", Place::Outside),
            ("", "/home/u/p2/x", Place::Outside),
            ("", "/etc/passwd", Place::Outside),
            ("", "/", Place::Outside),
            ("", ".env", Place::Secret),
            ("", "sub/.ENV.local", Place::Secret),
            ("", ".env.example", inside(".env.example")),
            ("", ".ship/run/token", Place::Secret),
            ("", ".ship/../README", Place::Secret),
            ("", "/home/u/p/ship.json", Place::Secret),
            ("", "deploy/server.key", Place::Secret),
            ("", "文档/说明.md", inside("文档/说明.md")),
        ] {
            assert_eq!(locate("/home/u/p", cwd, path), place, "{cwd} {path}");
        }
    }

    #[test]
    fn without_a_known_root_every_absolute_path_is_outside() {
        assert_eq!(locate("", "", "/a"), Place::Outside);
        assert_eq!(locate("/", "", "/a"), Place::Outside);
    }

    #[test]
    fn files_that_start_programs_are_sensitive() {
        for path in [".git/hooks/pre-commit", "sub/.GIT/config", ".github/workflows/ci.yml", "Agent.md"] {
            assert!(is_sensitive(path), "{path}");
        }
        for path in ["src/git.rs", ".gitignore", "docs/agents.md"] {
            assert!(!is_sensitive(path), "{path}");
        }
    }
}
