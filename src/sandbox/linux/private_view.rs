//! The file system that a command sees. A process can connect to any socket whose path it can open, and Landlock does
//! not restrict that; so every top-level directory without system files (`/tmp`, `/run`, `/var`, `/home`, …) is covered
//! by an empty one, into which only the paths of the rules are mounted again.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::mount::mount_bind_recursive;

use super::mount_table::told;
use super::mounts::CoverMount;
use crate::domain::{Class, Network};
use crate::sandbox::rules::{self, PathAccess, PathRule};
use crate::sandbox::spec::Spec;

/// Top-level directories that stay visible beside those in the rules: they contain devices, kernel files and system
/// settings.
const UNCOVERED: &[&str] = &["/dev", "/etc", "/proc", "/sys"];

/// Links that programs expect: they are created again.
const LINKS: &[&str] = &["/run/current-system", "/run/opengl-driver", "/var/lock", "/var/run"];

/// A path that stays visible, opened before it is covered.
#[derive(Debug)]
struct VisiblePath {
    path: PathBuf,
    access: PathAccess,
    source: OwnedFd,
}

#[derive(Debug)]
pub(super) struct PrivateView {
    covered: Vec<PathBuf>,
    temporary: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    kept: Vec<VisiblePath>,
    /// Other names of visible paths, and sockets. They may be missing.
    extras: Vec<VisiblePath>,
}

impl PrivateView {
    /// Reads the current state of the machine, and opens the paths that stay visible.
    pub(super) fn of(spec: &Spec) -> Result<Self, String> {
        let grants = rules::lasting(spec);
        let mut temporary = rules::temporary_directories();
        // A project may itself be such a directory.
        temporary.retain(|path| !grants.iter().any(|grant| path.starts_with(&grant.path)));
        let mut covered = top_level_directories();
        covered.retain(|path| is_covered(path, &grants) && !temporary.contains(path));
        let links = LINKS.iter().map(PathBuf::from).filter_map(|path| {
            let target = fs::read_link(&path).ok()?;
            is_below(&path, &covered).then_some((path, target))
        });
        let links = links.collect();
        let extras = extras(spec, &grants, &[covered.as_slice(), &temporary].concat());
        let mut kept = Vec::new();
        for grant in needed(grants) {
            let source = open(&grant.path).map_err(|error| told(&grant.path, "cannot be kept")(error))?;
            kept.push(VisiblePath { path: grant.path, access: grant.access, source });
        }
        Ok(Self { covered, temporary, links, kept, extras })
    }

    /// Covers the directories and mounts the visible paths again.
    pub(super) fn build(&self, stage: &CoverMount) -> Result<(), String> {
        for (number, path) in self.covered.iter().enumerate() {
            let cover = stage.folder(&format!("cover-{number}"), Mode::from_raw_mode(0o755))?;
            mount_bind_recursive(&cover, path).map_err(told(path, "cannot be covered"))?;
        }
        for (path, target) in &self.links {
            let made = make_parents(path).and_then(|()| symlink(target, path));
            made.map_err(|error| format!("{} cannot be linked: {error}", path.display()))?;
        }
        for (number, path) in self.temporary.iter().enumerate() {
            let own = stage.folder(&format!("temporary-{number}"), Mode::from_raw_mode(0o1777))?;
            let made = fs::create_dir_all(path);
            made.map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
            mount_bind_recursive(&own, path).map_err(told(path, "cannot be covered"))?;
        }
        for kept in &self.kept {
            let visible = is_below(&kept.path, &self.covered) || is_below(&kept.path, &self.temporary);
            // Elsewhere a mount of its own is needed only to stay writable in read-only surroundings.
            if visible || kept.access == PathAccess::Write {
                kept.mount()?;
            }
        }
        for extra in &self.extras {
            // A name that already resolves through visible paths needs no mount.
            if fs::symlink_metadata(&extra.path).is_err() {
                extra.mount()?;
            }
        }
        Ok(())
    }

    /// Which places are writable, and which inside of them are not.
    pub(super) fn writable_places(&self, spec: &Spec) -> Vec<(PathBuf, bool)> {
        let temporary =
            self.temporary.iter().map(|path| (path.clone(), spec.class == Class::ProjectWritable));
        let kept = self.kept.iter().map(|kept| (kept.path.clone(), kept.access == PathAccess::Write));
        let extras = self.extras.iter().map(|extra| (extra.path.clone(), false));
        temporary.chain(kept).chain(extras).collect()
    }
}

impl VisiblePath {
    /// Mounts it at its original path.
    fn mount(&self) -> Result<(), String> {
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.source.as_raw_fd()));
        let made = if source.is_dir() {
            fs::create_dir_all(&self.path)
        } else {
            make_parents(&self.path).and_then(|()| match File::create_new(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            })
        };
        made.map_err(|error| format!("{} cannot be made: {error}", self.path.display()))?;
        mount_bind_recursive(&source, &self.path).map_err(told(&self.path, "cannot be mounted"))
    }
}

/// Whether a mount point stays writable: the innermost place around it decides.
pub(super) fn is_writable(mount_point: &Path, places: &[(PathBuf, bool)]) -> bool {
    let around = places.iter().filter(|(place, _)| mount_point.starts_with(place));
    around
        .max_by_key(|(place, writable)| (place.as_os_str().len(), *writable))
        .is_some_and(|(_, writable)| *writable)
}

fn is_covered(directory: &Path, grants: &[PathRule]) -> bool {
    !UNCOVERED.iter().any(|path| Path::new(path) == directory)
        && !grants.iter().any(|grant| directory.starts_with(&grant.path))
}

fn is_below(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

/// The grants in path order, without those inside a grant of at least the same access.
fn needed(mut grants: Vec<PathRule>) -> Vec<PathRule> {
    grants.sort_by(|one, other| one.path.cmp(&other.path).then(other.is_write().cmp(&one.is_write())));
    let mut needed: Vec<PathRule> = Vec::new();
    for grant in grants {
        let given = needed
            .iter()
            .any(|around| grant.path.starts_with(&around.path) && (around.is_write() || !grant.is_write()));
        if !given {
            needed.push(grant);
        }
    }
    needed
}

/// Names in replaced places that lead to visible paths, and the operator's sockets. Paths that do not exist, or cannot
/// be opened, are left out.
fn extras(spec: &Spec, grants: &[PathRule], replaced: &[PathBuf]) -> Vec<VisiblePath> {
    let sockets = match spec.network {
        Network::On => spec.sockets.as_slice(),
        Network::Off => &[],
    };
    let is_granted = |place: &Path| grants.iter().any(|grant| place.starts_with(&grant.path));
    let is_hidden = |place: &Path| spec.hidden.iter().any(|hidden| place.starts_with(hidden));
    let aliases = spec.aliases.iter().filter_map(|path| Some((path, path.canonicalize().ok()?)));
    let sockets = sockets.iter().filter_map(|path| Some((path, path.canonicalize().ok()?)));
    let wanted = aliases
        .filter(|(_, place)| is_granted(place))
        .chain(sockets.filter(|(_, place)| !is_hidden(place)))
        .filter(|(path, _)| is_below(path, replaced));
    let kept = wanted.filter_map(|(path, place)| {
        Some(VisiblePath { path: path.clone(), access: PathAccess::Read, source: open(&place).ok()? })
    });
    kept.collect()
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn make_parents(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn top_level_directories() -> Vec<PathBuf> {
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    // A link's target is visited by its own name.
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(of: &[(&str, PathAccess)]) -> Vec<PathRule> {
        of.iter().map(|(path, access)| PathRule { path: PathBuf::from(path), access: *access }).collect()
    }

    #[test]
    fn a_directory_without_system_files_is_covered_unless_the_project_is_above_it() {
        let system = [("/usr", PathAccess::Read), ("/nix/store", PathAccess::Read)];
        for (project, directory, expected) in [
            ("/home/ann/app", "/home", true),
            ("/home/ann/app", "/tmp", true),
            ("/home/ann/app", "/nix", true),
            ("/home/ann/app", "/usr", false),
            ("/home/ann/app", "/etc", false),
            ("/home/ann/app", "/dev", false),
            ("/tmp", "/tmp", false),
            ("/tmp", "/run", true),
            ("/", "/run", false),
        ] {
            let all = grants(&[system.as_slice(), &[(project, PathAccess::Write)]].concat());
            assert_eq!(is_covered(Path::new(directory), &all), expected, "{project} {directory}");
        }
    }

    #[test]
    fn what_is_inside_of_something_kept_is_not_kept_twice_unless_it_may_be_written() {
        let all = grants(&[
            ("/home/ann/app", PathAccess::Write),
            ("/home/ann/app/bin", PathAccess::Read),
            ("/home/ann", PathAccess::Read),
            ("/opt", PathAccess::Read),
            ("/opt", PathAccess::Write),
        ]);
        let expected = grants(&[
            ("/home/ann", PathAccess::Read),
            ("/home/ann/app", PathAccess::Write),
            ("/opt", PathAccess::Write),
        ]);
        assert_eq!(needed(all), expected);
    }

    #[test]
    fn the_innermost_place_decides_whether_a_mount_is_writable() {
        let places = [("/tmp", true), ("/tmp/tools", false), ("/tmp/tools/app", true)];
        let places = places.map(|(path, writable)| (PathBuf::from(path), writable));
        for (mount_point, expected) in [
            ("/", false),
            ("/tmp", true),
            ("/tmp/a", true),
            ("/tmp/tools", false),
            ("/tmp/tools/bin", false),
            ("/tmp/tools/app/data", true),
            ("/tmpfs", false),
        ] {
            assert_eq!(is_writable(Path::new(mount_point), &places), expected, "{mount_point}");
        }
    }
}
