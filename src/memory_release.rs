//! Returns memory that is not needed at the moment to the system: free memory of the allocator, and pages of the program
//! and its libraries.

use std::ops::Range;

/// Most heaps of the allocator. By default it keeps eight for each core, and each of them its own free memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS: libc::c_int = 2;

/// Bounds the number of heaps. To be called before threads are started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn limit_heaps() {
    // SAFETY: mallopt takes no pointers; no other thread allocates yet.
    #[expect(unsafe_code, reason = "glibc has no other way to set it, and no crate wraps it")]
    let set = unsafe { libc::mallopt(libc::M_ARENA_MAX, HEAPS) };
    if set != 1 {
        tracing::debug!("number of heaps not limited");
    }
}

/// Other allocators have no such limit.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit_heaps() {}

/// Releases what is not needed while nothing happens. Takes a few milliseconds; not for the runtime's own threads.
pub(crate) fn release_unused_memory() {
    release_heap();
    release_program();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn release_heap() {
    // SAFETY: malloc_trim takes no pointers, may be called at any time from any thread, and only releases pages that
    // hold no allocation.
    #[expect(unsafe_code, reason = "glibc has no other way to return free pages, and no crate wraps it")]
    let released = unsafe { libc::malloc_trim(0) };
    tracing::debug!(released = released == 1, "free memory returned to the system");
}

/// Other allocators release memory by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn release_heap() {}

/// Unmaps the pages of the program that were used once, such as those of a start. The kernel keeps them in its cache as long
/// as it has room, and maps them again where they are needed.
#[cfg(target_os = "linux")]
fn release_program() {
    let Ok(mappings) = std::fs::read_to_string("/proc/self/smaps") else { return };
    for range in unchanged_mappings(&mappings) {
        // SAFETY: the range is a private mapping of a file that cannot be written to and has no changed page. Releasing its
        // pages changes nothing that a thread can observe: the next access reads them from the same file.
        #[expect(unsafe_code, reason = "pages of the program cannot be released in another way")]
        let released = unsafe {
            libc::madvise(
                std::ptr::without_provenance_mut(range.start),
                range.end.saturating_sub(range.start),
                libc::MADV_DONTNEED,
            )
        };
        if released != 0 {
            tracing::debug!("pages of the program not released");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn release_program() {}

/// The private, read-only mappings of files in the text of `/proc/self/smaps` that have no page of their own. What the
/// loader has relocated is left out: it is not in the file.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux lists mappings like this"))]
fn unchanged_mappings(smaps: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut current: Option<Range<usize>> = None;
    for line in smaps.lines() {
        if let Some(mapping) = mapping(line) {
            current = mapping.of_file.then_some(mapping.range);
        } else if line.split_whitespace().eq(["Anonymous:", "0", "kB"]) {
            found.extend(current.take());
        }
    }
    found
}

/// The first line of a mapping.
struct Mapping {
    range: Range<usize>,
    /// Whether it is a private mapping of a file that cannot be written to.
    of_file: bool,
}

/// Reads a line such as `5571…-5572… r-xp 00200000 08:01 1234 /usr/bin/shipagent`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let range = address(start)?..address(end)?;
    let access = fields.next()?;
    let inode = fields.nth(2)?;
    Some(Mapping { range, of_file: matches!(access, "r-xp" | "r--p") && inode != "0" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unchanged_pages_of_files_are_released() {
        let smaps = "\
1000-3000 r--p 00000000 08:01 77 /usr/bin/shipagent
Size:                  8 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
3000-9000 r-xp 00002000 08:01 77 /usr/bin/shipagent
Anonymous:             0 kB
9000-a000 r--p 00008000 08:01 77 /usr/bin/shipagent
Anonymous:             4 kB
a000-b000 rw-p 00009000 08:01 77 /usr/bin/shipagent
Anonymous:             0 kB
b000-c000 rw-s 00000000 08:01 78 /project/.ship/state/search.sqlite-shm
Anonymous:             0 kB
c000-d000 r--p 00000000 00:00 0
Anonymous:             0 kB
d000-e000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
e000-f000 r--p 00000000 08:01 79 /a b (deleted)
Anonymous:             0 kB
";
        assert_eq!(unchanged_mappings(smaps), [0x1000..0x3000, 0x3000..0x9000, 0xe000..0xf000]);
    }

    #[test]
    fn the_program_goes_on_after_its_pages_were_released() {
        let before: Vec<String> = (0..100).map(|number| format!("text {number}")).collect();
        for _ in 0..3 {
            release_unused_memory();
        }
        assert_eq!(before.last().map(String::as_str), Some("text 99"));
    }
}
