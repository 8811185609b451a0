//! Control groups (version 2) for commands, where the daemon's own group is delegated to it.
//!
//! A group with processes cannot divide its memory, so the daemon moves itself into `daemon` below it. Beside that is
//! `commands`, with one group for each command.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::limits::{Exceeded, ExceededLimit, MemoryLimits};

/// The mount point of control groups version 2, unless version 1 is there.
const MOUNTED: &str = "/sys/fs/cgroup";

const DAEMON: &str = "daemon";
const COMMANDS: &str = "commands";
const CONTROLLERS: &str = "+memory +pids";

/// The kernel releases killed processes with a delay; until then their group cannot be removed.
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);
const REMOVAL_ATTEMPTS: u32 = 500;

/// How the memory of commands is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryControl {
    Groups,
    /// A thread of the daemon that samples their memory.
    Sampling,
}

/// How the memory of a daemon's commands is limited, by its process id; without one, for a daemon that would be started
/// like this process. Changes nothing.
pub fn control_of(daemon: Option<u32>) -> MemoryControl {
    let mounted = Path::new(MOUNTED);
    let found = match daemon {
        Some(pid) => group_of(mounted, &pid.to_string()).is_some_and(|group| is_divided(&group)),
        None => own_group(mounted).is_ok_and(|group| is_divisible(mounted, &group).is_ok()),
    };
    if found { MemoryControl::Groups } else { MemoryControl::Sampling }
}

/// The smallest memory limit of a process's group and of its ancestors, in bytes. Without a process id: of this
/// process.
pub(super) fn limit_of_group(process: Option<u32>) -> Option<u64> {
    let mounted = Path::new(MOUNTED);
    let process = process.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    limit_around(mounted, &group_of(mounted, &process)?)
}

fn limit_around(mounted: &Path, group: &Path) -> Option<u64> {
    let around = group.ancestors().take_while(|group| group.starts_with(mounted));
    let limits = around
        .filter_map(|group| fs::read_to_string(group.join("memory.max")).ok()?.trim().parse::<u64>().ok());
    limits.min()
}

/// The groups of all commands.
#[derive(Debug)]
pub(super) struct ControlGroups {
    commands: PathBuf,
    limits: MemoryLimits,
    next: AtomicU64,
    left: Mutex<LeftGroups>,
}

/// Groups that could not be removed yet.
#[derive(Debug, Default)]
struct LeftGroups {
    paths: BTreeSet<PathBuf>,
    /// Whether a thread is retrying the removal.
    removing: bool,
}

/// The group of one command, removed with it.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    groups: Arc<ControlGroups>,
}

impl ControlGroups {
    /// Divides the daemon's own group, if it is delegated.
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
        // Groups of a daemon that was killed.
        let stale = fs::read_dir(&commands)?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        let stale: Vec<PathBuf> = stale.collect();
        set(&commands, "cgroup.subtree_control", CONTROLLERS)?;
        set(&commands, "memory.max", &limits.together.to_string())?;
        // A machine without swap has no such file.
        set(&commands, "memory.swap.max", "0").ok();
        let groups = Arc::new(Self { commands, limits, next: AtomicU64::new(0), left: Mutex::default() });
        for path in stale {
            groups.end(path);
        }
        Ok(groups)
    }

    /// Creates a group and moves a process into it, with its future descendants.
    pub(super) fn enter(self: &Arc<Self>, pid: u32, processes: u64) -> io::Result<ControlGroup> {
        self.fill(self.create()?, pid, processes)
    }

    /// Sets the limits of a new group and moves a process into it.
    fn fill(self: &Arc<Self>, path: PathBuf, pid: u32, processes: u64) -> io::Result<ControlGroup> {
        let group = ControlGroup { path, groups: self.clone() };
        set(&group.path, "memory.max", &self.limits.command.to_string())?;
        set(&group.path, "memory.swap.max", "0").ok();
        // The whole command is ended, not only the process that requested the last page.
        set(&group.path, "memory.oom.group", "1")?;
        set(&group.path, "pids.max", &processes.to_string())?;
        set(&group.path, "cgroup.procs", &pid.to_string())?;
        Ok(group)
    }

    /// A new group.
    fn create(&self) -> io::Result<PathBuf> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.commands.join(format!("command-{number}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| path),
            }
        }
    }

    /// Kills the remaining processes of a group, and removes it as soon as the kernel allows it.
    fn end(self: &Arc<Self>, path: PathBuf) {
        set(&path, "cgroup.kill", "1").ok();
        if remove(&path) {
            return;
        }
        let mut left = self.left();
        left.paths.insert(path);
        if left.removing {
            return;
        }
        let groups = self.clone();
        let removing = move || groups.remove_left();
        // Without a thread the next failed removal retries.
        left.removing = thread::Builder::new().name("command-groups".to_owned()).spawn(removing).is_ok();
    }

    fn remove_left(&self) {
        for _ in 0..REMOVAL_ATTEMPTS {
            thread::sleep(REMOVAL_PAUSE);
            let mut left = self.left();
            left.paths.retain(|path| !remove(path));
            if left.paths.is_empty() {
                left.removing = false;
                return;
            }
        }
        let mut left = self.left();
        left.removing = false;
        tracing::warn!(groups = left.paths.len(), "control groups not removed");
    }

    fn left(&self) -> MutexGuard<'_, LeftGroups> {
        // No code panics while it holds the lock.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ControlGroup {
    /// Whether the kernel ended the command because of its memory.
    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        let events = fs::read_to_string(self.path.join("memory.events")).ok()?;
        let limits = &self.groups.limits;
        exceeded_in(&events, limits)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.groups.end(std::mem::take(&mut self.path));
    }
}

/// Parses the events of a command's group. `oom` counts the command's own limit, `oom_kill` any limit that ended it.
fn exceeded_in(events: &str, limits: &MemoryLimits) -> Option<Exceeded> {
    let count = |name: &str| {
        let line = events.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    if count("oom_kill") == 0 {
        return None;
    }
    Some(if count("oom") > 0 {
        Exceeded { scope: ExceededLimit::Command, limit: limits.command }
    } else {
        Exceeded { scope: ExceededLimit::Together, limit: limits.together }
    })
}

/// Moves the daemon into a group below its own, and enables memory control there. Undone on failure.
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

/// Whether a group is the daemon's part of a divided one.
fn is_divided(group: &Path) -> bool {
    group.file_name().is_some_and(|name| name == DAEMON)
        && group.parent().is_some_and(|around| {
            let controllers = fs::read_to_string(around.join("cgroup.subtree_control")).unwrap_or_default();
            has_controllers(&controllers)
        })
}

/// Whether the daemon may divide its group: it is delegated, and no other process is in it.
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

/// A group is delegated by its owner, or by an attribute that systemd sets. The topmost group that a container sees is
/// its own; that of a machine has no limits.
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

/// Removes a group; returns whether it is gone.
fn remove(path: &Path) -> bool {
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn set(group: &Path, file: &str, value: &str) -> io::Result<()> {
    // Never created: a missing file belongs to a missing controller.
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
        group(&commands, "");
        let groups = ControlGroups::below(dir.path(), LIMITS).unwrap();
        assert_eq!(read(&commands, "memory.max"), LIMITS.together.to_string());
        let command = commands.join("command-0");
        group(&command, "");
        let entered = groups.fill(command.clone(), 4711, 64).unwrap();
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
        assert_eq!(scope, Some((ExceededLimit::Command, LIMITS.command)));
        put(&command.join("memory.events"), "max 0\noom 0\noom_kill 2\n");
        let scope = entered.exceeded().map(|exceeded| (exceeded.scope, exceeded.limit));
        assert_eq!(scope, Some((ExceededLimit::Together, LIMITS.together)));
        drop(entered);
        assert_eq!(read(&command, "cgroup.kill"), "1");
        assert!(groups.left().paths.contains(&command), "tried again until the kernel lets it go");
        fs::remove_dir_all(&command).unwrap();
        while groups.left().removing {
            thread::yield_now();
        }
        assert!(groups.left().paths.is_empty());
    }

    #[test]
    fn what_a_killed_daemon_left_is_killed_and_its_groups_are_not_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let commands = dir.path().join(COMMANDS);
        let stale = commands.join("command-0");
        group(&commands, "");
        group(&stale, "4711");
        let groups = ControlGroups::below(dir.path(), LIMITS).unwrap();
        assert_eq!(read(&stale, "cgroup.kill"), "1");
        assert!(groups.left().paths.contains(&stale));
        assert_eq!(groups.create().unwrap(), commands.join("command-1"));
        fs::remove_dir_all(&stale).unwrap();
    }

    #[test]
    fn the_smallest_limit_of_the_groups_around_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (mounted, own) = (dir.path(), dir.path().join("service/daemon"));
        group(&own, "");
        assert_eq!(limit_around(mounted, &own), None);
        put(&mounted.join("service/memory.max"), "400\n");
        put(&mounted.join("memory.max"), "900\n");
        assert_eq!(limit_around(mounted, &own), Some(400));
        put(&own.join("memory.max"), "300\n");
        assert_eq!(limit_around(mounted, &own), Some(300));
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
