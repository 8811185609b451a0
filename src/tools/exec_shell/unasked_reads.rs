//! What a command without approval would read: an objection to it, or the paths to hide from it. The judge and the tool
//! use the same function, so that both agree.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::hidden::{hidden_in, place_of};
use super::repository::check_repository;
use crate::policy::shell::{GitUse, ReadPath};
use crate::policy::{Reason, paths};
use crate::sandbox::{ProbeResult, SandboxMode};
use crate::tools::secret_search::{
    SearchLimits, SecretFileId, SecretNames, id_of, is_secret, other_names_in, other_names_of,
    other_names_of_secrets, search,
};

/// How often links may lead to directories that were not searched yet.
const ROUNDS: usize = 8;
/// Most names of a folder that are compared with a pattern.
const MOST_NAMES: usize = 4_096;

/// The reason not to run a command without approval that reads these paths; `hides` says whether secrets are hidden
/// from it. Accesses the disk.
pub fn object_to_reads(project: &Path, reads: &[ReadPath], hides: bool) -> Option<Reason> {
    examine(project, reads, hides).err()
}

/// Whether secrets are hidden from commands without approval, as soon as the sandbox was probed. Where a sandbox is
/// required and missing, no command runs.
pub async fn hides_secrets(found: ProbeResult, mode: SandboxMode) -> bool {
    found.isolation_for(mode).await.map_or(true, crate::sandbox::Isolation::hides)
}

/// The paths to hide from a command that reads these; `hides` says whether hiding is possible. Accesses the disk.
///
/// # Errors
/// The reason why approval is needed: it reads a secret that cannot be hidden, something outside the project, or more
/// than can be searched; or git would run programs of the repository's configuration.
pub(super) fn check_reads(project: &Path, reads: &[ReadPath], hides: bool) -> Result<Vec<PathBuf>, Reason> {
    examine(project, reads, hides).map(ReadCheck::into_hidden)
}

fn examine<'a>(project: &'a Path, reads: &[ReadPath], hides: bool) -> Result<ReadCheck<'a>, Reason> {
    let runs_git = reads.iter().any(|read| read.git != GitUse::None);
    let mut check = ReadCheck { project, hides, runs_git, hidden: Vec::new() };
    let (mut shared, mut trees, mut follows_links) = (Vec::new(), Vec::new(), false);
    let mut named = Vec::new();
    for read in reads {
        named.extend(matching(project, &read.path)?.into_iter().map(|path| (read, path)));
    }
    for (read, path) in named {
        let Some((path, facts)) = resolve(project, &path)? else { continue };
        if read.git != GitUse::None {
            check_repository(project, &path, read.git)?;
        } else if facts.is_dir() && read.deep {
            trees.push(path);
            follows_links |= read.follows_links;
        } else if facts.is_file() && facts.nlink() > 1 {
            shared.push((path, id_of(&facts)));
        } else if !facts.is_file() && !facts.is_dir() {
            // A pipe would hold the command up until its deadline.
            return Err(Reason::Unchecked(path.to_string_lossy().into_owned()));
        }
    }
    check.other_names(&shared, true)?;
    check.trees(trees, follows_links)?;
    if runs_git {
        check.tracked_files()?;
    }
    Ok(check)
}

/// The paths that a path may mean to the shell: itself, and the names that match `*` and `?` in its last part.
fn matching(project: &Path, path: &str) -> Result<Vec<String>, Reason> {
    let mut paths = vec![path.to_owned()];
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    if !name.contains(['*', '?']) || resolve(project, folder)?.is_none() {
        return Ok(paths);
    }
    let unknown = || Reason::NotLiteral(path.to_owned());
    // A letter may be several bytes, and `?` one of them.
    let pattern = regex::escape(name).replace(r"\*", ".*").replace(r"\?", ".*");
    let pattern = regex::Regex::new(&format!("^(?s:{pattern})$")).map_err(|_| unknown())?;
    let entries = fs::read_dir(project.join(folder)).map_err(|_| unknown())?;
    for (at, entry) in entries.enumerate() {
        let name = entry.map_err(|_| unknown())?.file_name();
        // The shell leaves names with a leading dot out. One with a leading `-` would be an option.
        let name = name.to_str().ok_or_else(unknown)?;
        if at >= MOST_NAMES || (name.starts_with('-') && pattern.is_match(name)) {
            return Err(unknown());
        }
        if !name.starts_with('.') && pattern.is_match(name) {
            paths.push(format!("{folder}/{name}"));
        }
    }
    Ok(paths)
}

/// The target of a path, relative to the project, and its metadata; `None` where it does not exist.
fn resolve(project: &Path, path: &str) -> Result<Option<(PathBuf, fs::Metadata)>, Reason> {
    let full = project.join(path);
    let Ok(real) = full.canonicalize() else { return Ok(None) };
    let Ok(relative) = real.strip_prefix(project) else { return Err(Reason::Outside(path.to_owned())) };
    if is_secret(relative) {
        return Err(Reason::Secret(path.to_owned()));
    }
    Ok(fs::symlink_metadata(&real).ok().map(|facts| (relative.to_owned(), facts)))
}

struct ReadCheck<'a> {
    project: &'a Path,
    hides: bool,
    runs_git: bool,
    /// Relative to the project.
    hidden: Vec<PathBuf>,
}

impl ReadCheck<'_> {
    /// Searches directories that are read completely.
    fn trees(&mut self, mut trees: Vec<PathBuf>, follows_links: bool) -> Result<(), Reason> {
        let mut seen: Vec<PathBuf> = Vec::new();
        for _ in 0..ROUNDS {
            if trees.is_empty() {
                return Ok(());
            }
            let found = search(self.project, &trees, SearchLimits::COMPLETE);
            if !found.complete {
                return Err(too_large(&trees));
            }
            seen.append(&mut trees);
            self.secrets(&found)?;
            self.other_names(&found.shared, false)?;
            if follows_links {
                trees = self.led_to(&found, &seen)?;
            }
        }
        Err(too_large(&trees))
    }

    /// Secrets among the paths: hidden or, where that is not possible, an objection.
    fn secrets(&mut self, found: &SecretNames) -> Result<(), Reason> {
        match found.secrets.iter().find(|path| !self.can_hide(path)) {
            Some(path) => Err(Reason::Secret(path.to_string_lossy().into_owned())),
            None => {
                // A secret file may be readable under another name, so its other names are hidden too.
                let others = other_names_of(self.project, &found.secrets).ok_or_else(|| too_large(&[]))?;
                self.hidden.extend(others);
                self.hidden.extend_from_slice(&found.secrets);
                Ok(())
            }
        }
    }

    /// Files that may be secret ones under another name. A file that the command names is not hidden: that would only
    /// look like an error.
    fn other_names(&mut self, shared: &[(PathBuf, SecretFileId)], named: bool) -> Result<(), Reason> {
        let others = other_names_of_secrets(self.project, shared).ok_or_else(|| too_large(&[]))?;
        match others.first() {
            Some(first) if named || !self.hides || self.runs_git => {
                Err(Reason::Secret(first.to_string_lossy().into_owned()))
            }
            _ => {
                self.hidden.extend(others);
                Ok(())
            }
        }
    }

    /// Which files git reads is unknown: a second name of a secret is an objection anywhere, as far as a quick search
    /// finds it.
    fn tracked_files(&self) -> Result<(), Reason> {
        let found = search(self.project, &[PathBuf::new()], SearchLimits::QUICK);
        match other_names_in(self.project, &found).first() {
            Some(path) => Err(Reason::Secret(path.to_string_lossy().into_owned())),
            None => Ok(()),
        }
    }

    /// Directories of the project that links lead to and that were not searched yet.
    fn led_to(&self, found: &SecretNames, seen: &[PathBuf]) -> Result<Vec<PathBuf>, Reason> {
        let mut trees = Vec::new();
        let secret_links = found.secrets.iter().filter(|path| self.project.join(path).is_symlink());
        for link in found.links.iter().chain(secret_links) {
            let Some((path, facts)) = resolve(self.project, &link.to_string_lossy())? else { continue };
            let known = seen.iter().chain(&trees).any(|tree| path.starts_with(tree));
            if (facts.is_dir() || facts.nlink() > 1) && !known {
                trees.push(path);
            }
        }
        Ok(trees)
    }

    /// Whether a secret can be hidden from this command. git would report a hidden file as changed, and needs its own
    /// files: with git only untracked kinds of files are hidden.
    fn can_hide(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.hides && (!self.runs_git || (paths::is_reserved_name(&name) && !is_settings(path)))
    }

    /// The paths to hide, and further ones that a quick search finds.
    fn into_hidden(self) -> Vec<PathBuf> {
        if !self.hides {
            return Vec::new();
        }
        let mut found = self.hidden;
        if !self.runs_git {
            let rest = search(self.project, &[PathBuf::new()], SearchLimits::QUICK);
            found.extend(other_names_in(self.project, &rest));
            found.extend(rest.secrets);
        }
        let mut hidden = hidden_in(self.project);
        hidden.extend(found.iter().filter_map(|path| place_of(self.project, &self.project.join(path))));
        if self.runs_git {
            hidden.retain(|path| !is_settings(path));
        }
        hidden.sort();
        hidden.dedup();
        hidden
    }
}

/// The project's settings, which may be tracked.
fn is_settings(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("ship.json"))
}

fn too_large(trees: &[PathBuf]) -> Reason {
    let tree = trees.first().filter(|tree| !tree.as_os_str().is_empty());
    Reason::TooLargeToCheck(tree.map_or_else(|| ".".to_owned(), |tree| tree.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::policy::shell::{ShellCall, unasked};
    use crate::tools::testing::Project;

    /// `asks` and why, or the hidden paths, relative to the project.
    fn check(project: &Project, command: &str, hides: bool) -> String {
        let root = project.root().to_string_lossy().into_owned();
        let known = unasked(&root, &ShellCall { command, cwd: "" }, &|_| true).unwrap();
        let reads = known.unwrap_or_else(|| panic!("{command} does more than look")).reads;
        match check_reads(project.root(), &reads, hides) {
            Ok(hidden) => {
                let relative = |path: &PathBuf| path.strip_prefix(project.root()).unwrap().to_owned();
                let hidden: Vec<String> =
                    hidden.iter().map(|path| relative(path).to_string_lossy().into_owned()).collect();
                format!("hides {}", hidden.join(" "))
            }
            Err(Reason::Secret(path)) => format!("asks: secret {path}"),
            Err(Reason::Outside(path)) => format!("asks: outside {path}"),
            Err(Reason::TooLargeToCheck(path)) => format!("asks: too large {path}"),
            Err(other) => format!("asks: {other:?}"),
        }
    }

    fn sample() -> Project {
        let project = Project::new();
        for file in [
            ".env",
            "ship.json",
            "src/main.rs",
            "lib/deep/down/server.pem",
            "node_modules/x/id_rsa",
            "clean/a.txt",
            ".git/config",
        ] {
            project.file(file, "");
        }
        project
    }

    #[test]
    fn a_pattern_means_every_file_that_it_matches() {
        let project = sample();
        for file in
            ["docs/a.md", "docs/b.txt", "docs/.env", "keys/a.md", "keys/id_rsa", "dash/-r", "dash/a.md"]
        {
            project.file(file, "");
        }
        symlink("/etc/hostname", project.path("clean/out.md")).unwrap();
        symlink("../.env", project.path("clean/in.txt")).unwrap();
        symlink("/etc", project.path("etc")).unwrap();
        for command in [
            "cat docs/*.md",
            "cat docs/*",
            "wc -l docs/?.*",
            "cat keys/*.md",
            "cd docs && cat *.md",
            "cat dash/a*",
        ] {
            assert!(check(&project, command, false).starts_with("hides"), "{command}");
            assert!(check(&project, command, true).starts_with("hides"), "{command}");
        }
        for (command, want) in [
            ("cat keys/*", "asks: secret keys/id_rsa"),
            ("cat keys/id?rsa", "asks: secret keys/id_rsa"),
            ("cat clean/*.md", "asks: outside clean/out.md"),
            ("cat clean/*.txt", "asks: secret clean/in.txt"),
            ("cat etc/h*", "asks: outside etc"),
            ("cat dash/*", "asks: NotLiteral(\"dash/*\")"),
        ] {
            assert_eq!(check(&project, command, true), want, "{command}");
        }
        mknodat(CWD, project.path("docs/pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for command in ["cat docs/*", "cat docs/pipe"] {
            assert_eq!(check(&project, command, true), "asks: Unchecked(\"docs/pipe\")", "{command}");
        }
    }

    #[test]
    fn what_a_sandbox_hides_is_not_asked_about_and_without_one_it_is() {
        let project = sample();
        project.file("1/2/3/4/5/6/7/.env", "");
        let all = "hides .env .git/config 1/2/3/4/5/6/7/.env lib/deep/down/server.pem node_modules/x/id_rsa ship.json";
        for (command, hiding, bare) in [
            ("grep -r x .", all, "asks: secret "),
            ("grep -r x src", all, "hides "),
            ("grep -r x clean src", all, "hides "),
            ("grep -r x lib", all, "asks: secret lib/deep/down/server.pem"),
            ("rg x", all, "asks: secret "),
            ("rg x node_modules", all, "asks: secret node_modules/x/id_rsa"),
            ("diff -r clean lib", all, "asks: secret lib/deep/down/server.pem"),
            ("diff clean lib/deep/down", all, "asks: secret lib/deep/down/server.pem"),
            ("cat src/main.rs", all, "hides "),
            ("ls -R", all, "hides "),
            ("git diff", "hides .env", "hides "),
            ("git status", "hides .env", "hides "),
            ("git grep x", "hides .env", "hides "),
            ("git log && grep -r x src", "hides .env", "hides "),
            ("git log && grep -r x lib", "asks: secret lib/deep/down/server.pem", "asks: secret lib"),
            ("git log && grep -r x 1", "hides .env 1/2/3/4/5/6/7/.env", "asks: secret 1/2/3/4/5/6/7/.env"),
        ] {
            assert_eq!(check(&project, command, true), hiding, "{command}");
            assert!(check(&project, command, false).starts_with(bare), "{command}");
        }
    }

    #[test]
    fn what_a_link_leads_to_is_what_counts() {
        let project = sample();
        let outside = tempfile::tempdir().unwrap();
        for (target, link) in [
            (outside.path(), "out"),
            (outside.path(), "src/out"),
            (Path::new(".env"), "plain.txt"),
            (Path::new("../lib"), "clean/lib"),
            (Path::new("../clean"), "linked/clean"),
            (Path::new("nowhere"), "dangling"),
        ] {
            fs::create_dir_all(project.path(link).parent().unwrap()).unwrap();
            symlink(target, project.path(link)).unwrap();
        }
        for hides in [true, false] {
            for (command, want) in [
                ("cat out/x", None),
                ("ls out", Some("asks: outside out")),
                ("cat plain.txt", Some("asks: secret plain.txt")),
                ("cat dangling", None),
                ("grep -r x out", Some("asks: outside out")),
                ("grep -R x src", Some("asks: outside src/out")),
                ("diff -r clean src", Some("asks: outside src/out")),
                ("grep -r x clean", None),
            ] {
                let got = check(&project, command, hides);
                match want {
                    Some(want) => assert_eq!(got, want, "{command} {hides}"),
                    None => assert!(got.starts_with("hides"), "{command} {hides}: {got}"),
                }
            }
        }
        assert!(check(&project, "grep -R x clean", false).starts_with("asks: secret"));
        assert!(check(&project, "grep -R x clean", true).contains("lib/deep/down/server.pem"));
        assert!(check(&project, "grep -R x linked", false).starts_with("asks: secret"), "by two links");
    }

    #[test]
    fn another_name_of_a_secret_is_a_secret() {
        let project = sample();
        fs::hard_link(project.path(".env"), project.path("clean/copy.txt")).unwrap();
        fs::hard_link(project.path("src/main.rs"), project.path("src/same.rs")).unwrap();
        for hides in [true, false] {
            assert_eq!(check(&project, "cat clean/copy.txt", hides), "asks: secret clean/copy.txt");
            assert!(check(&project, "cat src/same.rs", hides).starts_with("hides"));
            assert!(check(&project, "grep -r x src", hides).starts_with("hides"));
            assert_eq!(check(&project, "git diff", hides), "asks: secret clean/copy.txt");
        }
        assert_eq!(check(&project, "grep -r x clean", false), "asks: secret clean/copy.txt");
        assert!(check(&project, "grep -r x clean", true).contains("clean/copy.txt"));
    }

    #[test]
    fn git_is_not_run_where_the_repository_starts_programs() {
        let project = sample();
        project.file(".git/config", "[filter \"x\"]\n\tclean = ./x\n");
        for command in ["git status", "git log --oneline", "cd src && git diff"] {
            assert!(check(&project, command, true).contains("Sensitive"), "{command}");
        }
        assert!(check(&project, "ls", true).starts_with("hides"));
    }
}
