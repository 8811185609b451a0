//! Covers what a command must not see, and makes read-only what it must not change.

use std::fs::{self, Metadata};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, StatVfsMountFlags, makedev};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use crate::domain::{Class, Network};
use crate::sandbox::spec::Spec;

/// Sockets through which a command could have somebody else act for it. Without network there are no sockets
/// at all.
const FOREIGN_HANDS: &[&str] = &[
    "/run/containerd",
    "/run/crio",
    "/run/dbus",
    "/run/docker.sock",
    "/run/libvirt",
    "/run/podman",
    "/run/snapd.socket",
    "/run/systemd/private",
    "/run/user",
];

const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Arranges the mounts of a command. This process has a mount namespace of its own, and the right to mount.
pub(super) fn arrange(spec: &Spec) -> Result<(), String> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| format!("mounts cannot be made private: {error}"))?;
    let writable: &[&Path] = match spec.class {
        Class::ReadOnly => &[],
        Class::ProjectWritable => &[&spec.project, &spec.scratch],
    };
    for path in writable {
        // A mount of its own, so that it can stay writable when its surroundings do not.
        mount_bind_recursive(*path, *path).map_err(told(path, "cannot be mounted"))?;
    }
    cover(spec)?;
    for place in mount_points()? {
        if !writable.iter().any(|path| place.starts_with(path)) {
            make_read_only(&place)?;
        }
    }
    Ok(())
}

/// Covers everything hidden. Folders are covered by an empty one, files by something that cannot be opened.
fn cover(spec: &Spec) -> Result<(), String> {
    let shown: Vec<(&PathBuf, OwnedFd)> = spec
        .shown
        .iter()
        .map(|path| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder =
                rustix::fs::open(path, flags, Mode::empty()).map_err(told(path, "cannot be shown"))?;
            Ok((path, folder))
        })
        .collect::<Result<_, String>>()?;
    let stub = Stub::make(&spec.scratch)?;
    for path in &spec.hidden {
        cover_one(path, &stub)?;
    }
    if spec.network == Network::On {
        FOREIGN_HANDS.iter().try_for_each(|path| cover_one(Path::new(path), &stub))?;
    }
    stub.put_away()?;
    for (path, folder) in shown {
        fs::create_dir_all(path).map_err(|error| format!("{} cannot be shown: {error}", path.display()))?;
        mount_bind(format!("/proc/self/fd/{}", folder.as_raw_fd()), path)
            .map_err(told(path, "cannot be shown"))?;
        make_read_only(path)?;
    }
    for path in spec.hidden.iter().filter(|path| path.is_dir()) {
        make_read_only(path)?;
    }
    Ok(())
}

fn cover_one(path: &Path, stub: &Stub) -> Result<(), String> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if found.is_symlink() {
        // Where it leads to is hidden by its own name, or is out of reach.
        return Ok(());
    }
    if is_folder(&found) {
        mount("tmpfs", path, "tmpfs", PLAIN, c"size=64k,mode=0555").map_err(told(path, "cannot be covered"))
    } else {
        mount_bind(&stub.file, path).map_err(told(path, "cannot be covered"))?;
        make_read_only(path)
    }
}

fn is_folder(found: &Metadata) -> bool {
    found.is_dir()
}

/// A file that nobody can open, not even root: a device where there may be no devices.
#[derive(Debug)]
struct Stub {
    folder: PathBuf,
    file: PathBuf,
}

impl Stub {
    /// Makes one in a file system of its own that covers `folder` for the moment.
    fn make(folder: &Path) -> Result<Self, String> {
        mount("tmpfs", folder, "tmpfs", PLAIN, c"size=64k,mode=0700")
            .map_err(told(folder, "cannot be covered"))?;
        let file = folder.join("hidden");
        rustix::fs::mknodat(CWD, &file, FileType::CharacterDevice, Mode::empty(), makedev(0, 0))
            .map_err(told(&file, "cannot be made"))?;
        Ok(Self { folder: folder.to_owned(), file })
    }

    /// Uncovers the folder. Where the stub covers something it stays.
    fn put_away(self) -> Result<(), String> {
        unmount(&self.folder, UnmountFlags::DETACH).map_err(told(&self.folder, "cannot be uncovered"))
    }
}

/// Makes one mount read-only. The other flags stay: some may not be taken away.
fn make_read_only(place: &Path) -> Result<(), String> {
    let has = match rustix::fs::statvfs(place) {
        Ok(system) => system.f_flag,
        // Covered by a later mount, or in a place where the command cannot go either.
        Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR | Errno::NOTCONN) => return Ok(()),
        Err(error) => return Err(told(place, "cannot be looked at")(error)),
    };
    if has.contains(StatVfsMountFlags::RDONLY) {
        return Ok(());
    }
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let flags = kept.iter().filter(|(has_it, _)| has.contains(*has_it)).map(|(_, keeps)| *keeps);
    let flags = flags.fold(MountFlags::BIND | MountFlags::RDONLY, MountFlags::union);
    match mount_remount(place, flags, c"") {
        // Not a mount of this namespace any more: covered by another.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(told(place, "cannot be made read-only")(error)),
    }
}

fn mount_points() -> Result<Vec<PathBuf>, String> {
    let table = fs::read("/proc/self/mountinfo").map_err(|error| format!("no table of mounts: {error}"))?;
    Ok(table.split(|byte| *byte == b'\n').filter_map(mount_point_in).collect())
}

/// The fifth field of a line; spaces and the like are written as three octal digits.
fn mount_point_in(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *byte == b'\\').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        path.push(octal.unwrap_or(*byte));
        rest = if octal.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(path)))
}

fn told(path: &Path, what: &str) -> impl Fn(Errno) -> String {
    let text = format!("{} {what}", path.display());
    move |error| format!("{text}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_whatever_their_name() {
        for (line, expected) in [
            (&b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"[..], Some("/")),
            (b"23 22 0:5 / /mnt/with\\040space\\134 rw - tmpfs tmpfs rw", Some("/mnt/with space\\")),
            ("24 22 0:5 / /数据 rw - tmpfs tmpfs rw".as_bytes(), Some("/数据")),
            (b"25 22 0:5 / /odd\\9 rw - tmpfs tmpfs rw", Some("/odd\\9")),
            (b"", None),
        ] {
            assert_eq!(mount_point_in(line), expected.map(PathBuf::from));
        }
        assert!(mount_points().unwrap().contains(&PathBuf::from("/")));
    }
}
