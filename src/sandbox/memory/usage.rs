//! How much memory the processes of a command use, as `/proc` tells it. Pages of files that can be read again are
//! not counted.

use std::collections::BTreeMap;
use std::fs;

use super::limits::kibibytes_in;

/// How exactly is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// Fast; what processes share is counted once for each of them.
    Rough,
    /// Slower; what processes share is divided among them.
    Exact,
}

/// The bytes that each of these processes uses with all its descendants.
pub(super) fn measure(roots: &[u32], precision: Precision) -> Vec<u64> {
    let children = children_by_parent(processes());
    let bytes_of = |root: &u32| {
        let tree = tree_below(*root, &children);
        tree.into_iter().map(|pid| bytes_of_process(pid, precision)).fold(0, u64::saturating_add)
    };
    roots.iter().map(bytes_of).collect()
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

/// Every process and its parent.
fn processes() -> impl Iterator<Item = (u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parent_in(&stat)?))
    })
}

/// The name of a process stands in parentheses and may itself contain some.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// A process that has ended uses nothing.
fn bytes_of_process(pid: u32, precision: Precision) -> u64 {
    let exact = || {
        let table = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        sum_of(&table, &["Pss_Anon", "Pss_Shmem", "SwapPss"])
    };
    let rough = || {
        let table = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        sum_of(&table, &["RssAnon", "RssShmem", "VmSwap"])
    };
    let bytes = match precision {
        Precision::Rough => rough(),
        Precision::Exact => exact().or_else(rough),
    };
    bytes.unwrap_or(0)
}

/// The sum of some rows of a table; nothing where it has not even the first.
fn sum_of(table: &str, names: &[&str]) -> Option<u64> {
    let (first, others) = names.split_first()?;
    let first = kibibytes_in(table, first)?;
    let others = others.iter().filter_map(|name| kibibytes_in(table, name));
    Some(others.fold(first, u64::saturating_add).saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_every_descendant_once_whatever_the_kernel_says() {
        let children = children_by_parent([(2, 1), (3, 2), (4, 2), (5, 4), (9, 8), (1, 5)].into_iter());
        let mut tree = tree_below(2, &children);
        tree.sort_unstable();
        // A process number can be used again while we look: a circle ends.
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
        assert_eq!(sum_of(table, &["Pss_Anon", "Pss_Shmem", "SwapPss"]), Some(13 * 1024));
        assert_eq!(sum_of(table, &["Pss_Anon", "VmSwap"]), Some(10 * 1024));
        assert_eq!(sum_of(table, &["RssAnon", "VmSwap"]), None);
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
