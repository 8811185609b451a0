//! The memory limits, and which of them a command has exceeded. Pure, except for reading the machine's memory.

use std::fs;

use super::cgroup;

/// Assumed memory of a machine that does not report it.
const UNKNOWN_MACHINE: u64 = 4 << 30;

/// The memory limits of commands, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// One command with its descendants.
    pub command: u64,
    /// All commands that run at the same time.
    pub together: u64,
}

impl MemoryLimits {
    /// The limits on this machine: one command gets the configured size, or else half of the machine's memory; all
    /// together get three quarters of it, or as much as one command where that is more.
    pub fn on_this_machine(command_mb: Option<u64>) -> Self {
        Self::of_daemon(command_mb, None)
    }

    /// The limits of a daemon, by its process id; without one, for a daemon that would be started like this process.
    pub fn of_daemon(command_mb: Option<u64>, daemon: Option<u32>) -> Self {
        Self::of(command_mb, memory_of_machine(daemon))
    }

    fn of(command_mb: Option<u64>, machine: u64) -> Self {
        let command = command_mb.map_or(machine / 2, |megabytes| megabytes.saturating_mul(1 << 20));
        Self { command, together: command.max(machine / 4 * 3) }
    }
}

/// Which limit a command has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceededLimit {
    Command,
    /// The limit of all commands; this one used the most.
    Together,
}

/// A command has exceeded a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub scope: ExceededLimit,
    /// The limit, in bytes.
    pub limit: u64,
}

/// Which commands have exceeded a limit, by their bytes.
pub(super) fn exceeding<I: Copy>(used: &[(I, u64)], limits: &MemoryLimits) -> Vec<(I, Exceeded)> {
    let alone = Exceeded { scope: ExceededLimit::Command, limit: limits.command };
    let over: Vec<_> =
        used.iter().filter(|(_, bytes)| *bytes > limits.command).map(|(id, _)| (*id, alone)).collect();
    let total = used.iter().fold(0_u64, |total, (_, bytes)| total.saturating_add(*bytes));
    if !over.is_empty() || total <= limits.together {
        return over;
    }
    let together = Exceeded { scope: ExceededLimit::Together, limit: limits.together };
    used.iter().max_by_key(|(_, bytes)| *bytes).map(|(id, _)| (*id, together)).into_iter().collect()
}

/// The memory of this machine, or of the container that a process is in.
fn memory_of_machine(process: Option<u32>) -> u64 {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = kibibytes_in(&table, "MemTotal").map_or(UNKNOWN_MACHINE, |kibibytes| kibibytes * 1024);
    cgroup::limit_of_group(process).map_or(machine, |limit| machine.min(limit))
}

/// The value of a name, in a table such as `/proc/meminfo`.
pub(super) fn kibibytes_in(table: &str, name: &str) -> Option<u64> {
    table.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        if found != name {
            return None;
        }
        value.trim().strip_suffix("kB")?.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_command_gets_what_is_asked_for_and_all_get_three_quarters_of_the_machine() {
        for (asked, machine, command, together) in [
            (None, 8 * GIB, 4 * GIB, 6 * GIB),
            (Some(512), 8 * GIB, GIB / 2, 6 * GIB),
            (Some(8 * 1024), 8 * GIB, 8 * GIB, 8 * GIB),
            (Some(u64::MAX), 8 * GIB, u64::MAX, u64::MAX),
        ] {
            assert_eq!(MemoryLimits::of(asked, machine), MemoryLimits { command, together }, "{asked:?}");
        }
        assert!(MemoryLimits::on_this_machine(None).command >= 64 << 20);
    }

    #[test]
    fn each_command_above_its_limit_is_named_and_else_the_largest_where_all_are_above_theirs() {
        let limits = MemoryLimits { command: 100, together: 250 };
        let alone = Exceeded { scope: ExceededLimit::Command, limit: 100 };
        let together = Exceeded { scope: ExceededLimit::Together, limit: 250 };
        for (used, expected) in [
            (&[][..], &[][..]),
            (&[(1, 100), (2, 100)], &[]),
            (&[(1, 101), (2, 5), (3, 200)], &[(1, alone), (3, alone)]),
            (&[(1, 80), (2, 90), (3, 85)], &[(2, together)]),
        ] {
            assert_eq!(exceeding(used, &limits), expected, "{used:?}");
        }
    }

    #[test]
    fn a_table_of_the_kernel_is_read_by_whole_names() {
        let table = "MemTotalX:  1 kB\nMemTotal:       24683764 kB\nHugePages:  3\n";
        assert_eq!(kibibytes_in(table, "MemTotal"), Some(24_683_764));
        assert_eq!(kibibytes_in(table, "HugePages"), None);
        assert_eq!(kibibytes_in(table, "SwapTotal"), None);
    }
}
