//! A view of the machine of the command's own: its own mounts, processes and shared memory.

use std::fs::OpenOptions;
use std::io::Write;

use rustix::mount::{MountFlags, mount};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

use super::{capabilities, mounts};
use crate::sandbox::spec::{Limits, Spec};

/// Moves this process into namespaces of its own and arranges the mounts; its next child is the first process
/// of the new process namespace, and whenever that one ends, the kernel ends all others in it.
///
/// Root separates without a user namespace, in which it would lose its rights to other users' files.
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
        capabilities::keep_for_child().map_err(|error| format!("no leave to mount: {error}"))?;
    }
    Ok(())
}

/// Covers `/proc` by one that shows the command's own processes alone.
pub(in crate::sandbox) fn own_proc(limits: &Limits) -> Result<(), String> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(|error| format!("no /proc of its own: {error}"))?;
    // Root is not bound by the usual limit of processes. Newer kernels have one for each namespace; where it
    // is for the whole machine this process has no leave to change it, or must not: then it stays.
    if own_pid_limit() {
        drop(write("/proc/sys/kernel/pid_max", &limits.processes.max(400).to_string()));
    }
    // Shared memory without a process that maps it is counted nowhere else. The namespace's own limit, in pages.
    drop(write("/proc/sys/kernel/shmall", &(limits.temporary_bytes / 4_096).to_string()));
    Ok(())
}

/// Whether the highest process id is each namespace's own, which it is since Linux 6.14.
fn own_pid_limit() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (6, 14))
}

fn write(path: &str, text: &str) -> Result<(), String> {
    let mut file = OpenOptions::new().write(true).open(path).map_err(|error| format!("{path}: {error}"))?;
    file.write_all(text.as_bytes()).map_err(|error| format!("{path}: {error}"))
}
