//! Control groups (version 2) for commands, where the daemon's own group is its to divide.
//!
//! A group that holds processes cannot divide its memory, so the daemon moves itself into `daemon` below it. Beside
//! that is `commands`, which holds all commands together, with one group for each.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::limits::{Exceeded, MemoryLimits, MemoryScope};

/// Where the kernel shows control groups of version 2, unless version 1 is there.
const MOUNTED: &str = "/sys/fs/cgroup";

const DAEMON: &str = "daemon";
const COMMANDS: &str = "commands";
const CONTROLLERS: &str = "+memory +pids";

/// What keeps the memory of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryControl {
    Groups,
    /// A thread of the daemon that looks at them.
    Sampling,
}

/// What keeps the memory of the commands of a daemon, by its process id; of one that would be started as this
/// process was, without. Changes nothing.
pub fn control_of(daemon: Option<u32>) -> MemoryControl {
    let mounted = Path::new(MOUNTED);
    let found = match daemon {
        Some(pid) => group_of(mounted, &pid.to_string()).is_some_and(|group| is_divided(&group)),
        None => own_group(mounted).is_ok_and(|group| is_divisible(mounted, &group).is_ok()),
    };
    if found { MemoryControl::Groups } else { MemoryControl::Sampling }
}

/// The limit of memory of the daemon's own group, in bytes.
pub(super) fn limit_of_own_group() -> Option<u64> {
    let group = group_of(Path::new(MOUNTED), "self")?;
    fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()
}

/// The groups of all commands.
#[derive(Debug)]
pub(super) struct Groups {
    commands: PathBuf,
    limits: MemoryLimits,
    next: AtomicU64,
    /// Groups that could not be removed yet.
    left: Mutex<BTreeSet<PathBuf>>,
}

/// The group of one command. It is removed with it.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    groups: Arc<Groups>,
}

impl Groups {
    /// Divides the daemon's own group, where it may.
    pub(super) fn prepare(limits: MemoryLimits) -> io::Result<Arc<Self>> {
        let mounted = Path::new(MOUNTED);
        let group = own_group(mounted)?;
        if is_divided(&group) {
            let around = group.parent().ok_or_else(|| other("the group has no parent"))?;
            return Self::below(around, limits);
        }
        is_divisible(mounted, &group)?;
        divide(&group)?;
        Self::below(&group, limits)
    }

    fn below(group: &Path, limits: MemoryLimits) -> io::Result<Arc<Self>> {
        let commands = group.join(COMMANDS);
        make(&commands)?;
        // What a daemon left behind that was killed.
        for entry in fs::read_dir(&commands)?.flatten() {
            remove(&entry.path());
        }
        set(&commands, "cgroup.subtree_control", CONTROLLERS)?;
        set(&commands, "memory.max", &limits.together.to_string())?;
        // A machine without swap has no such file.
        set(&commands, "memory.swap.max", "0").ok();
        Ok(Arc::new(Self { commands, limits, next: AtomicU64::new(0), left: Mutex::default() }))
    }

    /// Makes a group and moves a process into it, with all that it starts from now on.
    pub(super) fn enter(self: &Arc<Self>, pid: u32, processes: u64) -> io::Result<Group> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|path| !remove(path));
        drop(left);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.commands.join(format!("command-{number}"));
        make(&path)?;
        let group = Group { path, groups: self.clone() };
        set(&group.path, "memory.max", &self.limits.command.to_string())?;
        set(&group.path, "memory.swap.max", "0").ok();
        // All of a command ends, not only the process that asked for the last page.
        set(&group.path, "memory.oom.group", "1")?;
        set(&group.path, "pids.max", &processes.to_string())?;
        set(&group.path, "cgroup.procs", &pid.to_string())?;
        Ok(group)
    }
}

impl Group {
    /// Whether the kernel ended the command because of its memory.
    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        let events = fs::read_to_string(self.path.join("memory.events")).ok()?;
        let limits = &self.groups.limits;
        exceeded_in(&events, limits)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes have ended, or are to.
        set(&self.path, "cgroup.kill", "1").ok();
        if !remove(&self.path) {
            let mut left = self.groups.left.lock().unwrap_or_else(PoisonError::into_inner);
            left.insert(self.path.clone());
        }
    }
}

/// What the events of a command's group say. `oom` counts the command's own limit, `oom_kill` any limit that ended it.
fn exceeded_in(events: &str, limits: &MemoryLimits) -> Option<Exceeded> {
    let count = |name: &str| {
        let line = events.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    if count("oom_kill") == 0 {
        return None;
    }
    Some(if count("oom") > 0 {
        Exceeded { scope: MemoryScope::Command, limit: limits.command }
    } else {
        Exceeded { scope: MemoryScope::Together, limit: limits.together }
    })
}

/// Moves the daemon into a group below its own, and lets that divide memory. Undone where it fails.
fn divide(group: &Path) -> io::Result<()> {
    let own = std::process::id().to_string();
    let daemon = group.join(DAEMON);
    make(&daemon)?;
    let divided =
        set(&daemon, "cgroup.procs", &own).and_then(|()| set(group, "cgroup.subtree_control", CONTROLLERS));
    if divided.is_err() {
        set(group, "cgroup.procs", &own).ok();
        remove(&daemon);
    }
    divided
}

/// Whether a group is the daemon's part of one that was divided.
fn is_divided(group: &Path) -> bool {
    group.file_name().is_some_and(|name| name == DAEMON)
        && group.parent().is_some_and(|around| {
            let controllers = fs::read_to_string(around.join("cgroup.subtree_control")).unwrap_or_default();
            has_controllers(&controllers)
        })
}

/// Whether the daemon may divide its group: it was handed over, and no other process is in it.
fn is_divisible(mounted: &Path, group: &Path) -> io::Result<()> {
    if !has_controllers(&fs::read_to_string(group.join("cgroup.controllers"))?) {
        return Err(other("the control group has no memory controller"));
    }
    if !is_delegated(mounted, group)? {
        return Err(other("the control group is not delegated to the daemon"));
    }
    let processes = fs::read_to_string(group.join("cgroup.procs"))?;
    if processes.trim() != std::process::id().to_string() {
        return Err(other("other processes are in the daemon's control group"));
    }
    Ok(())
}

/// A group is handed over by giving it to the user, or by a mark that systemd sets. The topmost group that a
/// container sees is its own; that of a machine has no limits.
fn is_delegated(mounted: &Path, group: &Path) -> io::Result<bool> {
    let user = rustix::process::geteuid();
    if !user.is_root() {
        return Ok(fs::metadata(group.join("cgroup.procs"))?.uid() == user.as_raw());
    }
    let marked = |name: &str| {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(group, name, &mut value).is_ok_and(|length| value.get(..length) == Some(b"1"))
    };
    let own_container = || group == mounted && group.join("memory.max").exists();
    Ok(marked("trusted.delegate") || marked("user.delegate") || own_container())
}

fn own_group(mounted: &Path) -> io::Result<PathBuf> {
    group_of(mounted, "self").ok_or_else(|| other("there are no control groups of version 2"))
}

fn group_of(mounted: &Path, process: &str) -> Option<PathBuf> {
    if !mounted.join("cgroup.controllers").exists() {
        return None;
    }
    let table = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    Some(mounted.join(group_in(&table)?))
}

/// The line of version 2 begins with `0::`.
fn group_in(table: &str) -> Option<&str> {
    table.lines().find_map(|line| line.strip_prefix("0::/"))
}

fn has_controllers(list: &str) -> bool {
    ["memory", "pids"].iter().all(|name| list.split_whitespace().any(|found| found == *name))
}

fn make(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Removes a group; whether it is gone.
fn remove(path: &Path) -> bool {
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn set(group: &Path, file: &str, value: &str) -> io::Result<()> {
    // Never made: a file that is not there belongs to a controller that is not there.
    let opened = OpenOptions::new().write(true).open(group.join(file));
    opened.and_then(|mut file| file.write_all(value.as_bytes()))
}

fn other(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: MemoryLimits = MemoryLimits { command: 100 << 20, together: 300 << 20 };

    /// The files of a group, as the kernel would show them.
    fn group(path: &Path, processes: &str) {
        fs::create_dir_all(path).unwrap();
        for (name, text) in [
            ("cgroup.controllers", "cpu memory pids"),
            ("cgroup.subtree_control", ""),
            ("cgroup.procs", processes),
            ("cgroup.kill", ""),
            ("memory.max", "max"),
            ("memory.swap.max", ""),
            ("memory.oom.group", ""),
            ("memory.events", "low 0\noom 0\noom_kill 0\n"),
            ("pids.max", ""),
        ] {
            put(&path.join(name), text);
        }
    }

    fn put(path: &Path, text: &str) {
        fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn read(path: &Path, file: &str) -> String {
        fs::read_to_string(path.join(file)).unwrap()
    }

    #[test]
    fn a_group_is_divided_only_where_it_is_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mounted = dir.path();
        let own = std::process::id().to_string();
        for (processes, controllers, expected) in [
            (own.as_str(), "cpu memory pids", None),
            (&format!("{own}\n1\n"), "cpu memory pids", Some("other processes")),
            (&own, "cpu pids", Some("no memory controller")),
            (&own, "cpu memory.x pids", Some("no memory controller")),
        ] {
            group(mounted, processes);
            put(&mounted.join("cgroup.controllers"), controllers);
            let told = is_divisible(mounted, mounted).err().map(|error| error.to_string());
            assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
            assert!(told.unwrap_or_default().contains(expected.unwrap_or_default()), "{expected:?}");
        }
    }

    #[test]
    fn the_daemon_moves_below_its_group_and_memory_is_divided() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        group(root, "");
        group(&root.join(DAEMON), "");
        assert!(!is_divided(&root.join(DAEMON)));
        divide(root).unwrap();
        assert_eq!(read(&root.join(DAEMON), "cgroup.procs"), std::process::id().to_string());
        assert_eq!(read(root, "cgroup.subtree_control"), CONTROLLERS);
        put(&root.join("cgroup.subtree_control"), "memory pids");
        assert!(is_divided(&root.join(DAEMON)) && !is_divided(root));
    }

    #[test]
    fn each_command_has_a_group_with_its_limits_and_what_ended_it_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let commands = dir.path().join(COMMANDS);
        let command = commands.join("command-0");
        group(&commands, "");
        group(&command, "");
        let groups = Groups::below(dir.path(), LIMITS).unwrap();
        assert_eq!(read(&commands, "memory.max"), LIMITS.together.to_string());
        let entered = groups.enter(4711, 64).unwrap();
        for (file, expected) in [
            ("memory.max", LIMITS.command.to_string()),
            ("memory.swap.max", "0".to_owned()),
            ("memory.oom.group", "1".to_owned()),
            ("pids.max", "64".to_owned()),
            ("cgroup.procs", "4711".to_owned()),
        ] {
            assert_eq!(read(&command, file), expected, "{file}");
        }
        assert_eq!(entered.exceeded(), None);
        put(&command.join("memory.events"), "max 3\noom 1\noom_kill 2\n");
        let scope = entered.exceeded().map(|exceeded| (exceeded.scope, exceeded.limit));
        assert_eq!(scope, Some((MemoryScope::Command, LIMITS.command)));
        put(&command.join("memory.events"), "max 0\noom 0\noom_kill 2\n");
        let scope = entered.exceeded().map(|exceeded| (exceeded.scope, exceeded.limit));
        assert_eq!(scope, Some((MemoryScope::Together, LIMITS.together)));
        drop(entered);
        assert_eq!(read(&command, "cgroup.kill"), "1");
        assert!(groups.left.lock().unwrap().contains(&command), "tried again when the next one starts");
    }

    #[test]
    fn the_group_of_a_process_is_found_beside_those_of_version_1() {
        for (table, expected) in [
            ("0::/system.slice/shipagent.service\n", Some("system.slice/shipagent.service")),
            ("4:memory:/a\n0::/\n", Some("")),
            ("4:memory:/a\n", None),
        ] {
            assert_eq!(group_in(table), expected, "{table}");
        }
    }
}
