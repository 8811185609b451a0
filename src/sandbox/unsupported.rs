//! Systems without Landlock: commands run without isolation, and the status says so.

use rustix::io;

use super::control::Restrictions;
use super::spec::{ResourceLimits, Spec};

pub(super) const SELF: &str = "shipagent";

const NO: &str = "this system has no sandbox";

pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(super) fn end_children() {}

pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(())
}

pub(super) fn hide_self() {}

pub(super) fn end_first_without_memory() {}

pub(super) fn processes_of_user() -> u64 {
    // Unknown here: too many is better than none.
    4_096
}

pub(super) fn separate(_spec: &Spec) -> Result<(), String> {
    Err(NO.to_owned())
}

pub(super) fn own_proc(_limits: &ResourceLimits) -> Result<(), String> {
    Err(NO.to_owned())
}

pub(super) fn restrict(_spec: &Spec) -> Result<Restrictions, String> {
    Err(NO.to_owned())
}
