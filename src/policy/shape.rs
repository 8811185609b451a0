//! The shape of a command: the beginning of it that people may agree to for more than once. Commands where a longer
//! ending could do anything at all have no shape; then only the very same command is meant.

use super::shell::{INTERPRETERS, SHELLS, is_wrapper};

/// Programs whose next word says what they do, and the verbs of them that have a verb of their own.
const VERBS: &[(&[&str], &[&str])] = &[
    (&["git"], &["stash", "remote", "worktree", "submodule", "bisect"]),
    (&["cargo"], &["nextest"]),
    (&["npm", "pnpm", "yarn", "bun"], &["run", "run-script", "exec", "dlx", "x"]),
    (&["docker", "podman"], &["compose", "image", "container", "network", "volume"]),
    (&["go"], &["mod", "work"]),
    (
        &["kubectl", "helm", "gh", "glab", "systemctl", "terraform", "brew"],
        &["pr", "issue", "get", "repo", "run"],
    ),
    (
        &[
            "dotnet", "mvn", "gradle", "gradlew", "just", "task", "make", "bundle", "rails", "mix", "poetry",
            "uv", "hatch",
        ],
        &["run", "exec"],
    ),
];

/// Verbs that are too much to agree to in advance, whatever follows.
const NEVER: &[&str] = &[
    "apply",
    "clean",
    "config",
    "delete",
    "destroy",
    "dlx",
    "exec",
    "filter-branch",
    "login",
    "prune",
    "publish",
    "push",
    "rebase",
    "reset",
    "restore",
    "rm",
    "rmi",
    "update-ref",
    "x",
];

/// Programs that do one thing, whatever follows.
const WHOLE: &[&str] = &[
    "black",
    "ctest",
    "eslint",
    "flake8",
    "golangci-lint",
    "jest",
    "mkdir",
    "mocha",
    "mypy",
    "ninja",
    "phpunit",
    "prettier",
    "pylint",
    "pyright",
    "pytest",
    "rspec",
    "ruff",
    "rustfmt",
    "touch",
    "tox",
    "tsc",
    "vitest",
];

/// The shape of a command, when it has one: `git commit -m x` has the shape `git commit`.
pub fn shape_of(argv: &[String]) -> Option<Vec<String>> {
    let (name, words) = argv.split_first()?;
    let name_only = || vec![name.clone()];
    if is_wrapper(name) || name.contains('/') {
        return script(name, words);
    }
    if WHOLE.contains(&name.as_str()) {
        return Some(name_only());
    }
    if SHELLS.contains(&name.as_str()) || INTERPRETERS.contains(&name.as_str()) {
        return interpreted(name, words);
    }
    let (_, deeper) = VERBS.iter().find(|(names, _)| names.contains(&name.as_str()))?;
    let verb = words.first().filter(|verb| is_verb(verb))?;
    let mut shape = name_only();
    shape.push(verb.clone());
    if deeper.contains(&verb.as_str()) {
        shape.push(words.get(1).filter(|inner| is_verb(inner))?.clone());
    }
    Some(shape)
}

/// A word that says what is done: no option, no path elsewhere, nothing that is never agreed to.
fn is_verb(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(['-', '/', '.', '+'])
        && !word.contains('=')
        && !NEVER.contains(&word)
}

/// A language with a script of the project: the script is part of the shape, its arguments are not.
fn interpreted(name: &str, words: &[String]) -> Option<Vec<String>> {
    let (first, rest) = words.split_first()?;
    if first == "-m" && name.starts_with("python") {
        let module = rest.first().filter(|module| is_verb(module))?;
        return Some(vec![name.to_owned(), first.clone(), module.clone()]);
    }
    // A script with a name like a file; an editor or `awk` takes something else in this place.
    let file = first.contains('.') && !first.starts_with('-') && is_inside(first);
    let language =
        !matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "ed" | "ex" | "vi" | "vim" | "nvim" | "view")
            && !matches!(name, "emacs" | "gdb" | "sqlite3");
    (file && language).then(|| vec![name.to_owned(), first.clone()])
}

/// A program of the project: `./gradlew build`.
fn script(name: &str, words: &[String]) -> Option<Vec<String>> {
    if is_wrapper(name) || name.starts_with('/') || !is_inside(name) {
        return None;
    }
    let mut shape = vec![name.to_owned()];
    shape.extend(words.first().filter(|verb| is_verb(verb)).cloned());
    Some(shape)
}

fn is_inside(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|name| name != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_says_what_is_done_and_never_only_who_does_it() {
        for (command, want) in [
            ("git status -s", Some("git status")),
            ("git commit -m x", Some("git commit")),
            ("git stash pop", Some("git stash pop")),
            ("git stash", None),
            ("git push origin", None),
            ("git reset --hard", None),
            ("git -C x status", None),
            ("git -c a=b status", None),
            ("git", None),
            ("npm test", Some("npm test")),
            ("npm run build -- -w", Some("npm run build")),
            ("npm run", None),
            ("npm exec x", None),
            ("cargo build --release", Some("cargo build")),
            ("cargo +nightly build", None),
            ("docker compose up -d", Some("docker compose up")),
            ("docker rm x", None),
            ("make", None),
            ("make test", Some("make test")),
            ("make CC=x test", None),
            ("pytest -q tests", Some("pytest")),
            ("mkdir -p a", Some("mkdir")),
            ("python", None),
            ("python x.py --all", Some("python x.py")),
            ("python -c print", None),
            ("python -m pytest -q", Some("python -m pytest")),
            ("python -m", None),
            ("python ../x.py", None),
            ("python /tmp/x.py", None),
            ("node -e x", None),
            ("node build.js", Some("node build.js")),
            ("sh", None),
            ("sh -c x", None),
            ("bash deploy.sh prod", Some("bash deploy.sh")),
            ("./gradlew build -x", Some("./gradlew build")),
            ("/tmp/x build", None),
            ("../x build", None),
            ("sudo git status", None),
            ("env git status", None),
            ("xargs git status", None),
            ("rm x", None),
            ("find . -name x", None),
            ("curl x", None),
            ("vim a.txt", None),
            ("awk a.b", None),
            ("", None),
        ] {
            let argv: Vec<String> = command.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
            assert_eq!(shape_of(&argv).map(|shape| shape.join(" ")).as_deref(), want, "{command}");
        }
    }
}
