//! Ends the process at a named step, so that tests can kill the daemon exactly there. Only in debug builds.

/// Aborts the process where the environment variable `SHIPAGENT_FAIL_POINT` names this step. With `NAME:2`, the second time.
#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "a switch for tests, absent from release builds")]
pub(crate) fn fail_point(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let Ok(wanted) = std::env::var("SHIPAGENT_FAIL_POINT") else { return };
    let (step, times) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    if step == name && PASSED.fetch_add(1, Ordering::Relaxed).saturating_add(1) >= times.parse().unwrap_or(1)
    {
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
#[inline]
pub(crate) const fn fail_point(_name: &str) {}
