//! The process tree below a helper: adopts, lists and ends children.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;

use rustix::io::{self, Errno};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getpid, getuid, kill_process, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, wait,
};

/// Our own binary, also when its file has been replaced since the start.
pub(in crate::sandbox) const SELF: &str = "/proc/self/exe";

/// Makes this process the parent of every orphaned descendant.
pub(in crate::sandbox) fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))
}

/// Has the kernel kill this process when its parent dies.
pub(in crate::sandbox) fn die_with_parent() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))
}

/// Keeps the command from reading this process's memory and file descriptors.
pub(in crate::sandbox) fn hide_self() {
    // Additional hardening, so errors are ignored: seccomp forbids the same calls.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
}

/// Has the kernel end the command first when the machine is out of memory. Descendants inherit it, and only root can
/// undo it.
pub(in crate::sandbox) fn end_first_without_memory() {
    // Best effort: memory limits are enforced separately.
    OpenOptions::new()
        .write(true)
        .open("/proc/self/oom_score_adj")
        .and_then(|mut file| file.write_all(b"1000"))
        .ok();
}

/// Kills children until there are none. Children of killed processes become ours, so detached processes are found too.
pub(in crate::sandbox) fn end_children() {
    loop {
        for child in children() {
            // An error means that it has ended already.
            kill_process(child, Signal::KILL).ok();
        }
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn children() -> Vec<Pid> {
    let own = getpid();
    processes().filter(|pid| parent_of(*pid) == Some(own)).collect()
}

/// How many processes the user has.
pub(in crate::sandbox) fn processes_of_user() -> u64 {
    let uid = getuid().as_raw();
    let ours = |pid: &Pid| fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == uid);
    processes().filter(ours).count() as u64
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parent_in(&stat)
}

/// The process name is in parentheses and may itself contain parentheses.
fn parent_in(stat: &str) -> Option<Pid> {
    let (_, after_name) = stat.rsplit_once(')')?;
    Pid::from_raw(after_name.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_with_any_name_is_found() {
        for (stat, expected) in [
            ("12 (sh) S 7 12 12 0", Some(7)),
            ("12 (a) b) R 1 (x) S 9 1", Some(9)),
            ("12 (sh) S 0 0", None),
            ("", None),
        ] {
            assert_eq!(parent_in(stat).map(|pid| pid.as_raw_pid()), expected, "{stat}");
        }
        assert_eq!(parent_of(getpid()), rustix::process::getppid());
    }
}
