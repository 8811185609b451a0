//! The mounts of this process's namespace: lists them, and makes one read-only.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_remount};

/// Makes one mount read-only. The other flags stay: some may not be removed.
pub(super) fn make_read_only(place: &Path) -> Result<(), String> {
    let has = match rustix::fs::statvfs(place) {
        Ok(system) => system.f_flag,
        // Covered by a later mount, or inaccessible to the command as well.
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
        // No longer a mount of this namespace: covered by another.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(told(place, "cannot be made read-only")(error)),
    }
}

/// All mount points, once for each mount.
pub(super) fn mount_points() -> Result<Vec<PathBuf>, String> {
    let table = fs::read("/proc/self/mountinfo").map_err(|error| format!("no table of mounts: {error}"))?;
    Ok(table.split(|byte| *byte == b'\n').filter_map(mount_point_in).collect())
}

/// The fifth field of a line; spaces and the like are octal escapes.
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

/// Prefixes a kernel error with the path and the operation.
pub(super) fn told(path: &Path, what: &str) -> impl Fn(Errno) -> String {
    let text = format!("{} {what}", path.display());
    move |error| format!("{text}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_with_any_name_are_read() {
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
