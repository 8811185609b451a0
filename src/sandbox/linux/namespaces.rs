//! Namespaces of a command: its own mounts, processes and shared memory.

use std::fs::OpenOptions;
use std::io::Write;

use rustix::mount::{MountFlags, mount};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

use super::mounts;
use super::restrict::keep_mount_capability;
use crate::sandbox::spec::{ResourceLimits, Spec};

/// Moves this process into new namespaces and sets up the mounts; its next child is the first process of the new PID
/// namespace, and when that one ends, the kernel ends all others in it.
///
/// Root needs no user namespace, in which it would lose access to other users' files.
pub(in crate::sandbox) fn separate(spec: &Spec) -> Result<(), String> {
    let (uid, gid) = (getuid(), getgid());
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if !uid.is_root() {
        flags |= UnshareFlags::NEWUSER;
    }
    #[expect(
        deprecated,
        reason = "only unsharing the table of files can be unsafe, and that is not asked for"
    )]
    rustix::thread::unshare(flags).map_err(|error| format!("no namespaces: {error}"))?;
    if !uid.is_root() {
        write("/proc/self/setgroups", "deny")?;
        write("/proc/self/uid_map", &format!("{uid} {uid} 1", uid = uid.as_raw()))?;
        write("/proc/self/gid_map", &format!("{gid} {gid} 1", gid = gid.as_raw()))?;
    }
    mounts::arrange(spec)?;
    if !uid.is_root() {
        keep_mount_capability().map_err(|error| format!("no leave to mount: {error}"))?;
    }
    Ok(())
}

/// Mounts a `/proc` that shows only the command's own processes.
pub(in crate::sandbox) fn own_proc(limits: &ResourceLimits) -> Result<(), String> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(|error| format!("no /proc of its own: {error}"))?;
    // The usual process limit does not apply to root. Newer kernels have a limit per namespace; where it is global,
    // this process may not, or must not, change it: then it stays.
    if own_pid_limit() {
        drop(write("/proc/sys/kernel/pid_max", &limits.processes.max(400).to_string()));
    }
    // Shared memory that no process maps is counted nowhere else. The namespace's own limit, in pages.
    drop(write("/proc/sys/kernel/shmall", &(limits.temporary_bytes / 4_096).to_string()));
    Ok(())
}

/// Whether the highest process id is per namespace, which it is since Linux 6.14.
fn own_pid_limit() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (6, 14))
}

fn write(path: &str, text: &str) -> Result<(), String> {
    let mut file = OpenOptions::new().write(true).open(path).map_err(|error| format!("{path}: {error}"))?;
    file.write_all(text.as_bytes()).map_err(|error| format!("{path}: {error}"))
}
