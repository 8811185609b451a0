//! Returns free memory of the allocator to the system.

/// Releases free memory. Takes a few milliseconds; not for the runtime's own threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn release_free_memory() {
    // SAFETY: malloc_trim takes no pointers, may be called at any time from any thread, and only releases pages that
    // hold no allocation.
    #[expect(unsafe_code, reason = "glibc has no other way to return free pages, and no crate wraps it")]
    let released = unsafe { libc::malloc_trim(0) };
    tracing::debug!(released = released == 1, "free memory returned to the system");
}

/// Other allocators release memory by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn release_free_memory() {}
