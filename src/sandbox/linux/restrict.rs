//! All restrictions of the keeper, in the required order: capabilities, files, system calls. Commands of root keep only
//! a few capabilities.

use rustix::io;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

use super::{landlock, seccomp};
use crate::sandbox::control::Restrictions;
use crate::sandbox::rules;
use crate::sandbox::spec::Spec;

/// The capabilities of root's commands: working with files of any owner, changing the user, and ending processes.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Restricts this process and its descendants permanently.
pub(in crate::sandbox) fn restrict(spec: &Spec) -> Result<Restrictions, String> {
    drop_capabilities().map_err(|error| format!("capabilities cannot be given up: {error}"))?;
    let grants = rules::grants(spec);
    let restrictions = landlock::enforce(&grants, spec.network)?;
    seccomp::enforce(spec)?;
    Ok(restrictions)
}

/// Passes the mount capability, which we have inside our user namespace, to the next program.
pub(super) fn keep_mount_capability() -> io::Result<()> {
    let own = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: CapabilitySet::SYS_ADMIN, ..own })?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)
}

/// Drops every capability, permanently.
fn drop_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let own = capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().iter().filter(|capability| !KEPT.contains(*capability)) {
            match remove_capability_from_bounding_set(capability) {
                // A kernel that does not know a capability does not grant it either.
                Ok(()) | Err(io::Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
    }
    let left = own.permitted & KEPT;
    set_capabilities(
        None,
        CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() },
    )
}
