//! The memory of a command's processes, from `/proc`. File pages that can be read again are not counted.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::limits::kibibytes_in;

/// The precision of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// Fast; memory shared by processes is counted once for each of them.
    Rough,
    /// Slower; memory shared by processes is divided among them.
    Exact,
}

/// The bytes of each of these processes with its descendants.
pub(super) fn measure(roots: &[u32], precision: Precision) -> Vec<u64> {
    let children = children_by_parent(processes());
    roots.iter().map(|root| bytes_of(&tree_below(*root, &children), precision)).collect()
}

fn bytes_of(processes: &[u32], precision: Precision) -> u64 {
    let mut used = MemoryUse::default();
    let mut files = BTreeMap::new();
    for pid in processes {
        used = used.plus(memory_of(*pid, precision));
        files.extend(memory_files_of(*pid));
    }
    let files = files.into_values().fold(0, u64::saturating_add);
    let shared = match precision {
        Precision::Rough => used.shared.saturating_add(files),
        // The mapped part of a mapped file is in both.
        Precision::Exact => used.shared.max(files),
    };
    used.private.saturating_add(shared)
}

/// Bytes in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MemoryUse {
    private: u64,
    /// Mapped files that exist in memory only.
    shared: u64,
}

impl MemoryUse {
    fn plus(self, other: Self) -> Self {
        Self {
            private: self.private.saturating_add(other.private),
            shared: self.shared.saturating_add(other.shared),
        }
    }
}

/// A process and its descendants.
fn tree_below(root: u32, children: &BTreeMap<u32, Vec<u32>>) -> Vec<u32> {
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next) {
        let below = children.get(parent).into_iter().flatten().filter(|child| **child != root);
        let below: Vec<u32> = below.copied().collect();
        tree.extend(below);
        next += 1;
    }
    tree
}

fn children_by_parent(processes: impl Iterator<Item = (u32, u32)>) -> BTreeMap<u32, Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (pid, parent) in processes {
        children.entry(parent).or_default().push(pid);
    }
    children
}

/// Every process with its parent.
fn processes() -> impl Iterator<Item = (u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parent_in(&stat)?))
    })
}

/// The process name is in parentheses and may itself contain parentheses.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// A process that has ended uses nothing.
fn memory_of(pid: u32, precision: Precision) -> MemoryUse {
    let exact = || {
        let table = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        used_in(&table, &["Pss_Anon", "SwapPss"], "Pss_Shmem")
    };
    let rough = || {
        let table = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        used_in(&table, &["RssAnon", "VmSwap"], "RssShmem")
    };
    let used = match precision {
        Precision::Rough => rough(),
        Precision::Exact => exact().or_else(rough),
    };
    used.unwrap_or_default()
}

/// The values of a kernel table; `None` where its first row is missing.
fn used_in(table: &str, private: &[&str], shared: &str) -> Option<MemoryUse> {
    kibibytes_in(table, private.first()?)?;
    let bytes = |name: &str| kibibytes_in(table, name).unwrap_or(0).saturating_mul(1024);
    let private = private.iter().map(|name| bytes(name)).fold(0, u64::saturating_add);
    Some(MemoryUse { private, shared: bytes(shared) })
}

/// Unnamed open files that exist in memory only, by device and inode, with their bytes. They use memory also while they
/// are not mapped.
fn memory_files_of(pid: u32) -> Vec<((u64, u64), u64)> {
    let opened = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let files = opened.filter_map(|entry| {
        let target = fs::read_link(entry.path()).ok()?;
        if !target.as_os_str().as_encoded_bytes().starts_with(b"/memfd:") {
            return None;
        }
        let found = fs::metadata(entry.path()).ok()?;
        Some(((found.dev(), found.ino()), found.blocks().saturating_mul(512)))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_every_descendant_once_whatever_the_kernel_says() {
        let children = children_by_parent([(2, 1), (3, 2), (4, 2), (5, 4), (9, 8), (1, 5)].into_iter());
        let mut tree = tree_below(2, &children);
        tree.sort_unstable();
        // A process id can be reused during the scan: a cycle must end.
        assert_eq!(tree, [1, 2, 3, 4, 5]);
        assert_eq!(tree_below(7, &children), [7]);
    }

    #[test]
    fn the_parent_is_found_whatever_a_process_calls_itself() {
        for (stat, expected) in
            [("12 (sh) S 7 12", Some(7)), ("12 (a) b) R 1 (x) S 9 1", Some(9)), ("", None)]
        {
            assert_eq!(parent_in(stat), expected, "{stat}");
        }
    }

    #[test]
    fn rows_are_added_and_a_table_without_them_says_nothing() {
        let table = "Rss: 900 kB\nPss_Anon:  10 kB\nPss_Shmem:  2 kB\nSwapPss: 1 kB\n";
        let used = used_in(table, &["Pss_Anon", "SwapPss"], "Pss_Shmem");
        assert_eq!(used, Some(MemoryUse { private: 11 * 1024, shared: 2 * 1024 }));
        assert_eq!(used_in(table, &["RssAnon", "VmSwap"], "Pss_Shmem"), None);
    }

    #[test]
    fn this_process_uses_memory() {
        let own = std::process::id();
        for precision in [Precision::Rough, Precision::Exact] {
            let [used, none] = measure(&[own, u32::MAX], precision)[..] else { panic!("two were asked for") };
            assert!(used > 100 << 10 && none == 0, "{precision:?}: {used} {none}");
        }
    }
}
