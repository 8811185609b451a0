//! Sets the resource limits of a command.

use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::linux;
use super::spec::Limits;

/// Limits this process and its descendants.
pub(super) fn apply(limits: &Limits) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, limits.cpu_secs)?;
    limit(Resource::Fsize, limits.file_bytes)?;
    limit(Resource::Nofile, limits.open_files)?;
    // The kernel counts all processes of the user, also unrelated ones.
    limit(Resource::Nproc, limits.processes.saturating_add(linux::processes_of_user()))
}

/// Sets a limit, or keeps a lower one.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |ceiling| ceiling.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
}
