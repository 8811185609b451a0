//! Whether git may run without approval in a directory: the repository that git would find must be completely inside
//! the project, and its configuration may not start programs. Opens regular files of the project only, and never
//! blocks.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::policy::Reason;
use crate::policy::shell::{GitUse, read_config};

const CONFIG_BYTES: u64 = 256 * 1024;

/// Files of a repository that point to its other directories.
const POINTER_BYTES: u64 = 8 * 1024;

/// Checks the repository that git finds from a directory of the project upwards. `cwd` is relative to the project and
/// without links. No repository is no objection: git fails then.
pub(super) fn check_repository(project: &Path, cwd: &Path, git: GitUse) -> Result<(), Reason> {
    // Inside a `.git` directory git treats that directory as the repository.
    if cwd.components().any(|part| matches!(part, Component::Normal(name) if is_git_name(name))) {
        return Err(Reason::Sensitive(shown(project, &project.join(cwd))));
    }
    for above in cwd.ancestors() {
        let folder = project.join(above);
        let place = folder.join(".git");
        match fs::symlink_metadata(&place) {
            Ok(facts) if facts.is_dir() => return check_directory(project, &place, git),
            Ok(facts) if facts.is_file() => {
                let place = pointed_to(project, &place, "gitdir:")?;
                return check_directory(project, &place, git);
            }
            Ok(_) => return Err(Reason::Outside(shown(project, &place))),
            Err(_) if looks_bare(&folder) => return Err(Reason::Sensitive(shown(project, &folder))),
            Err(_) => {}
        }
    }
    Ok(())
}

fn is_git_name(name: &std::ffi::OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Whether git would treat a directory as a bare repository.
fn looks_bare(folder: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Checks a repository's own directory.
fn check_directory(project: &Path, directory: &Path, git: GitUse) -> Result<(), Reason> {
    let common = match fs::symlink_metadata(directory.join("commondir")) {
        Ok(_) => pointed_to(project, &directory.join("commondir"), "")?,
        Err(_) => directory.to_owned(),
    };
    for place in [directory, &common, &common.join("objects"), &common.join("objects/info")] {
        no_links_in(project, place)?;
    }
    let alternates = common.join("objects/info/alternates");
    if alternates.symlink_metadata().is_ok() {
        return Err(Reason::Outside(shown(project, &alternates)));
    }
    for file in [common.join("config"), directory.join("config.worktree"), common.join("config.worktree")] {
        check_config(project, directory, &file, git)?;
    }
    Ok(())
}

/// Objects and settings must not be links, which could lead anywhere.
fn no_links_in(project: &Path, folder: &Path) -> Result<(), Reason> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            return Err(Reason::Outside(shown(project, &entry.path())));
        }
    }
    Ok(())
}

fn check_config(project: &Path, directory: &Path, file: &Path, git: GitUse) -> Result<(), Reason> {
    if fs::symlink_metadata(file).is_err() {
        return Ok(());
    }
    let named = |what: &str| Reason::Sensitive(format!("{}: {what}", shown(project, file)));
    let text = read_small(file, CONFIG_BYTES).ok_or_else(|| named("unreadable"))?;
    let config = read_config(&text).map_err(|what| named(&what))?;
    if config.url_credentials && git == GitUse::ShowsUrls {
        return Err(Reason::Secret(shown(project, file)));
    }
    let Some(worktree) = config.worktree else { return Ok(()) };
    match directory.join(&worktree).canonicalize() {
        Ok(place) if place.starts_with(project) => Ok(()),
        _ => Err(Reason::Outside(worktree)),
    }
}

/// The directory that a file points to: after `label`, relative to the file. It must be in the project.
fn pointed_to(project: &Path, file: &Path, label: &str) -> Result<PathBuf, Reason> {
    let outside = || Reason::Outside(shown(project, file));
    let text = read_small(file, POINTER_BYTES).ok_or_else(outside)?;
    let target = text.strip_prefix(label).ok_or_else(outside)?.trim_matches([' ', '\n', '\r']);
    let place = file.parent().unwrap_or(project).join(target).canonicalize().map_err(|_| outside())?;
    if place.starts_with(project) && place != project && place.is_dir() { Ok(place) } else { Err(outside()) }
}

/// The text of a small regular file.
fn read_small(file: &Path, most: u64) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if !fs::symlink_metadata(file).ok()?.is_file() {
        return None;
    }
    let opened = fs::File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
    if !opened.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = opened.take(most + 1).read_to_string(&mut text).ok()?;
    (u64::try_from(read).is_ok_and(|read| read <= most)).then_some(text)
}

fn shown(project: &Path, path: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::testing::Project;

    const PLAIN: &str = "[core]\n\tbare = false\n";

    fn check(project: &Project, cwd: &str) -> Option<String> {
        match check_repository(project.root(), Path::new(cwd), GitUse::Runs) {
            Ok(()) => None,
            Err(Reason::Outside(path)) => Some(format!("outside {path}")),
            Err(Reason::Sensitive(path)) => Some(format!("starts {path}")),
            Err(other) => Some(format!("{other:?}")),
        }
    }

    #[test]
    fn the_nearest_repository_is_the_one_that_counts() {
        let project = Project::new();
        project.file("sub/deep/x", "");
        assert_eq!(check(&project, "sub/deep"), None, "there is none");
        project.file(".git/config", PLAIN);
        assert_eq!(check(&project, "sub/deep"), None);
        project.file("sub/.git/config", "[filter \"x\"]\n\tclean = ./x\n");
        assert_eq!(check(&project, ""), None);
        assert_eq!(check(&project, "sub/deep").unwrap(), "starts sub/.git/config: filter");
        assert_eq!(check(&project, ".git").unwrap(), "starts .git");
        assert_eq!(check(&project, "sub/.git/hooks").unwrap(), "starts sub/.git/hooks");
    }

    #[test]
    fn a_directory_that_looks_like_a_bare_repository_is_one() {
        let project = Project::new();
        project.file("fixture/HEAD", "ref: refs/heads/x");
        project.file("fixture/refs/x", "");
        project.file("fixture/objects/x", "");
        assert_eq!(check(&project, "fixture").unwrap(), "starts fixture");
        assert_eq!(check(&project, ""), None);
    }

    #[test]
    fn nothing_of_a_repository_may_be_outside() {
        let outside = tempfile::tempdir().unwrap();
        let elsewhere = outside.path().to_string_lossy().into_owned();
        for (path, content, want) in [
            ("objects/info/alternates", "/x", Some("outside .git/objects/info/alternates")),
            ("commondir", "../../..", Some("outside .git/commondir")),
            ("config", "[core]\n\tworktree = /", Some("outside /")),
            ("config", "[core]\n\tworktree = ../sub", None),
            ("config.worktree", "[include]\n\tpath = x", Some("starts .git/config.worktree: include")),
        ] {
            let project = Project::new();
            project.file("sub/x", "");
            project.file(".git/config", PLAIN);
            project.file(&format!(".git/{path}"), content);
            assert_eq!(check(&project, "").as_deref(), want, "{path}");
        }
        for link in ["objects", "config", "refs"] {
            let project = Project::new();
            fs::create_dir(project.path(".git")).unwrap();
            symlink(&elsewhere, project.path(&format!(".git/{link}"))).unwrap();
            assert_eq!(check(&project, "").unwrap(), format!("outside .git/{link}"));
        }
        for (pointer, want) in [
            (format!("gitdir: {elsewhere}"), Some("outside .git")),
            ("gitdir: ../x".to_owned(), Some("outside .git")),
            ("nothing".to_owned(), Some("outside .git")),
            ("gitdir: real\n".to_owned(), None),
        ] {
            let project = Project::new();
            project.file("real/config", PLAIN);
            project.file(".git", &pointer);
            assert_eq!(check(&project, "").as_deref(), want, "{pointer}");
        }
        let project = Project::new();
        symlink(&elsewhere, project.path(".git")).unwrap();
        assert_eq!(check(&project, "").unwrap(), "outside .git");
    }

    #[test]
    fn a_configuration_that_is_a_pipe_is_not_waited_for() {
        let project = Project::new();
        fs::create_dir(project.path(".git")).unwrap();
        let pipe = project.path(".git/config");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(check(&project, "").unwrap(), "starts .git/config: unreadable");
    }
}
