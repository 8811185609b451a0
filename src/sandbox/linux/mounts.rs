//! Sets up the mounts of a command: covers hidden paths, and makes paths read-only.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    unmount,
};

use super::mount_table::{make_read_only, mount_points, told};
use super::private_view::{PrivateView, is_writable};
use crate::sandbox::spec::{ResourceLimits, Spec};

/// The flags of an empty file system that covers a path.
const COVER: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Sets up the mounts of a command. This process has its own mount namespace, and the capability to mount.
pub(super) fn arrange(spec: &Spec) -> Result<(), String> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| format!("mounts cannot be made private: {error}"))?;
    // Visible paths are opened before they are covered.
    let view = PrivateView::of(spec)?;
    let stage = CoverMount::mount(&spec.limits)?;
    view.build(&stage)?;
    hide(spec, &stage)?;
    stage.unmount()?;
    let places = view.writable_places(spec);
    for place in mount_points()? {
        if !is_writable(&place, &places) {
            make_read_only(&place)?;
        }
    }
    Ok(())
}

/// Hides the project's reserved files. Folders are covered by an empty one, files by a file that cannot be opened.
/// Visible folders inside hidden ones, and read-only paths, are mounted read-only.
fn hide(spec: &Spec, stage: &CoverMount) -> Result<(), String> {
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
    for path in &spec.hidden {
        hide_one(path, stage)?;
    }
    for (path, folder) in shown {
        fs::create_dir_all(path).map_err(|error| format!("{} cannot be shown: {error}", path.display()))?;
        mount_bind(format!("/proc/self/fd/{}", folder.as_raw_fd()), path)
            .map_err(told(path, "cannot be shown"))?;
        make_read_only(path)?;
    }
    for path in spec.hidden.iter().filter(|path| path.is_dir()) {
        make_read_only(path)?;
    }
    for path in &spec.read_only {
        mount_bind_recursive(path, path).map_err(told(path, "cannot be mounted"))?;
        make_read_only(path)?;
    }
    Ok(())
}

fn hide_one(path: &Path, stage: &CoverMount) -> Result<(), String> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if found.is_symlink() {
        // The link's target is hidden by its own name, or not accessible.
        return Ok(());
    }
    if found.is_dir() {
        // One for each: folders inside it may be visible.
        mount("tmpfs", path, "tmpfs", COVER | MountFlags::NOEXEC, c"size=64k,mode=0555")
            .map_err(told(path, "cannot be covered"))
    } else {
        mount_bind(stage.unopenable(), path).map_err(told(path, "cannot be covered"))?;
        make_read_only(path)
    }
}

/// Where the stage is mounted: a directory that every machine has, and that contains no project.
const STAGE: &str = "/sys";

/// An empty file system whose folders cover others. It is mounted only during the setup; its bind mounts stay when it
/// is unmounted. All folders share its size limit.
#[derive(Debug)]
pub(super) struct CoverMount;

impl CoverMount {
    fn mount(limits: &ResourceLimits) -> Result<Self, String> {
        let options = format!("size={},nr_inodes=65536,mode=0755", limits.temporary_bytes);
        let options = std::ffi::CString::new(options).map_err(|error| error.to_string())?;
        let place = Path::new(STAGE);
        mount("tmpfs", place, "tmpfs", COVER, options.as_c_str())
            .map_err(told(place, "cannot be covered"))?;
        let stage = Self;
        // A file that cannot be opened, not even by root: a device on a mount without devices.
        let (file, device) = (stage.unopenable(), FileType::CharacterDevice);
        rustix::fs::mknodat(CWD, &file, device, Mode::empty(), makedev(0, 0))
            .map_err(told(&file, "cannot be made"))?;
        Ok(stage)
    }

    /// Creates an empty folder, and returns its path.
    pub(super) fn folder(&self, name: &str, mode: Mode) -> Result<PathBuf, String> {
        let path = Path::new(STAGE).join(name);
        rustix::fs::mkdir(&path, mode).map_err(told(&path, "cannot be made"))?;
        // The umask has removed some bits.
        rustix::fs::chmod(&path, mode).map_err(told(&path, "cannot be made"))?;
        Ok(path)
    }

    fn unopenable(&self) -> PathBuf {
        Path::new(STAGE).join("unopenable")
    }

    fn unmount(self) -> Result<(), String> {
        let place = Path::new(STAGE);
        unmount(place, UnmountFlags::DETACH).map_err(told(place, "cannot be uncovered"))
    }
}
